"""How the passes of the stage that makes LLVM IR are called, Triton's own among them."""

from __future__ import annotations

from triton._C.libtriton import ir, passes

from tle_raw.flir.exact_block import with_block
from tle_raw.flir.nvidia.calls.state import State
from tle_raw.flir.nvidia.check_regions import WARP, check_warps
from tle_raw.flir.nvidia.leave_out_libdevice import may_need_libdevice
from tle_raw.flir.nvidia.link_fragments import link_fragments
from tle_raw.flir.nvidia.region_partitions import fit_partitions
from tle_raw.flir.nvidia.shared_memory_limit import asked_of_driver, check_shared_memory, needs_alignment
from tle_raw.flir.record_regions import record_regions
from tle_raw.linker.llvm.choose_values import choose_values
from tle_raw.linker.llvm.clusters import with_clusters
from tle_raw.linker.llvm.constant_factors import constant_factors
from tle_raw.linker.llvm.constant_offsets import constant_offsets
from tle_raw.linker.llvm.join_offsets import join_offsets
from tle_raw.linker.llvm.join_pointers import join_pointers
from tle_raw.linker.llvm.launch_bounds import least_blocks, with_launch_bounds
from tle_raw.linker.llvm.launched_structs import launched_structs
from tle_raw.linker.llvm.no_vectors import keeps_scalars, without_no_vectors
from tle_raw.linker.llvm.plain_loops import WHOLE, plain_loops
from tle_raw.linker.llvm.shared_accesses import shared_accesses
from tle_raw.linker.llvm.shared_memory import DYNAMIC_NAME, dynamic_shared_alignment
from tle_raw.linker.llvm.text import read_global_alone
from tle_raw.linker.llvm.unwanted_barriers import without_unwanted
from tle_raw.linker.llvm.wide_copies import wide_copies
from tle_raw.linker.llvm.words_of_halves import words_of_halves
from tle_raw.triton_version import VERSION

# Where control flow of the kernel may leave a region out: TritonGPU's structured and plain branches.
_BRANCHES = (" scf.", " cf.")
GRID_SYNC = "%envreg"  # the driver's registers, in which cooperative groups find the memory of a grid's barrier


class LlvmIr(State):
    """A method for each pass: see ``run_stage``."""

    def triton_llir(self) -> int:
        self.module = self.own(self.module, self.metadata)
        return 1

    def fit_partitions(self) -> int | None:
        if not self.may_be_divided:
            return None
        self._place_warps()
        self.compiled = fit_partitions(self.text(), self.options.num_warps, self.regions, self.compiled)
        return len(self.compiled)

    def _place_warps(self) -> None:
        """Triton says where each partition's warps begin: the pass that its next stage begins with, and finds done."""
        manager = ir.pass_manager(self.context)
        mode = "consan" in str(getattr(self.options, "instrumentation_mode", ""))
        passes.ttgpuir.add_allocate_warp_groups(manager, *([mode] if VERSION >= (3, 8) else []))
        manager.run(self.module, "tle_raw_warp_groups")
        self._changed()

    def leave_out_libdevice(self) -> int:
        self.without_libdevice = not may_need_libdevice(self.text())
        return 1

    def link_fragments(self) -> int:
        before = self.text()  # the stage works on the module in place
        self.has_branches = any(word in before for word in _BRANCHES)
        self.module = link_fragments(
            self.own,
            self.module,
            self.metadata,
            self.compiled,
            self.options,
            before=before,
            without_libdevice=self.without_libdevice,
        )
        return 1

    def unwanted_barriers(self) -> int | None:
        if not self.marked:
            return None
        self.module, found = without_unwanted(self.module)
        return found

    def shared_accesses(self) -> int | None:
        if not self.accesses:
            return None
        has_remote = self.clusters is not None and self.clusters.has_remote
        self.module, found = shared_accesses(self.module, has_remote=has_remote)
        return found

    def join_clusters(self) -> int | None:
        placed = self.clusters
        if placed is None or not (placed.launch.cluster or placed.has_multicast):
            return None
        self.module, found = with_clusters(
            self.module, placed.launch.dims, has_multicast=placed.has_multicast, waits=placed.waits_for_others
        )
        return found

    def keep_scalars(self) -> int | None:
        """A kernel that always runs its regions takes the attribute over from theirs."""
        if self._edit(without_no_vectors(self.module)):
            return 1
        promised = not self.has_branches and any(keeps_scalars(fragment.text) for fragment in self.compiled)
        return 0 if promised or keeps_scalars(self.module) else None

    def launched_structs(self) -> int | None:
        return self._edit(launched_structs(self.module)) if self._has_cuda_code() else None

    def wide_copies(self) -> int | None:
        return self._edit(wide_copies(self.module)) if self._has_cuda_code() else None

    def join_offsets(self) -> int | None:
        return self._edit(join_offsets(self.module)) if self._is_whole_kernel() else None

    def constant_factors(self) -> int | None:
        return self._edit(constant_factors(self.module)) if self._is_whole_kernel() else None

    def constant_offsets(self) -> int | None:
        return self._edit(constant_offsets(self.module)) if self._is_whole_kernel() else None

    def choose_values(self) -> int | None:
        return self._edit(choose_values(self.module)) if self._is_whole_kernel() else None

    def words_of_halves(self) -> int | None:
        return self._edit(words_of_halves(self.module)) if self._is_whole_kernel() else None

    def plain_loops(self) -> int | None:
        return self._edit(plain_loops(self.module)) if self._is_whole_kernel() else None

    def join_pointers(self) -> int | None:
        return self._edit(join_pointers(self.module)) if self._is_whole_kernel() else None

    def launch_bounds(self) -> int | None:
        """The source's, where the kernel is one region alone."""
        blocks = min((least_blocks(f.text) for f in self.compiled if WHOLE in f.text), default=0)
        threads = self.threads or self.metadata["num_warps"] * WARP
        return self._edit(with_launch_bounds(self.module, blocks, threads)) if blocks else None

    def check_warps(self) -> int | None:
        if self.may_be_divided:  # Triton's stage counts those of workers too
            return None
        check_warps(self.metadata["num_warps"], self.regions, self.options)
        return 1

    def launch_exact_block(self) -> int | None:
        if not self.threads:
            return None
        self.metadata["num_warps"] = self.threads // WARP
        return self._edit(with_block(self.module, self.threads))

    def check_shared_memory(self) -> int:
        dynamic = self.metadata["shared"] or 0
        check_shared_memory(dynamic, self.compiled, self.capability, self.buffers)
        self.metadata["shared"] = asked_of_driver(dynamic, self.compiled, self.capability)
        return 1

    def align_shared_memory(self) -> int | None:
        if not needs_alignment(self.capability, self.compiled):
            return None
        self._edit(dynamic_shared_alignment(read_global_alone(self.module, DYNAMIC_NAME)).text)
        return 1

    def record_regions(self) -> int:
        self.metadata["tle_raw"] = record_regions([region.record for region in self.regions], self.compiled)
        if any(GRID_SYNC in fragment.text for fragment in self.compiled):  # all blocks must run at the same time
            self.metadata["launch_cooperative_grid"] = True
        return 1
