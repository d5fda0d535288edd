"""One compilation for NVIDIA GPUs between its passes: the module in the form that it has, and what passes found out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triton._C.libtriton import ir

from tle_raw.flir.nvidia.buffers_in_place import KernelBuffer, KernelDescriptor
from tle_raw.flir.nvidia.fence_partitions import Handover
from tle_raw.flir.nvidia.memory_order import Barrier
from tle_raw.flir.nvidia.place_buffers import Placement
from tle_raw.flir.nvidia.place_clusters import Placed
from tle_raw.flir.nvidia.read_buffers import SharedBuffer
from tle_raw.flir.nvidia.read_ports import Region, RegionPlace
from tle_raw.flir.parse_module import parse_module
from tle_raw.flir.pass_value import Pass
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.fragments.fragment import Fragment, fragment_by_identity
from tle_raw.knobs import knobs
from tle_raw.linker.llvm.plain_loops import WHOLE
from tle_raw.linker.mlir.generic_form import generic_text, peek_generic
from tle_raw.linker.mlir.generic_tree import Operation, read_operations
from tle_raw.linker.ptx.branch_back import LIKE_NVCC
from tle_raw.triton_version import VERSION

Stage = Callable[[Any, dict[str, Any]], Any]


class State:
    """The state between passes: see ``run_stage``. What calls them is derived from it."""

    def __init__(self, options: Any, capability: int) -> None:
        self.options, self.capability = options, capability
        self.disabled = frozenset(knobs.disable_passes.split(","))
        self.pipeline: tuple[Pass, ...] = ()
        self.has_buffers = False
        self.waits_for_mbarriers = False  # the kernel itself; Triton's stage may add waits
        self.has_edits = False  # between the conversion and Triton's stage
        self.notes_waits = False  # for groups of copies: see `keep_waits`
        self.has_pointers = False  # into buffers
        self.has_borders = False  # of traced regions
        self.accesses = 0  # by them
        self.is_ordered = False  # before Triton's stage: see `order_in_front`
        self.has_clusters = False  # or meets all blocks of the grid
        self.clusters: Placed | None = None  # what its blocks do with each other
        self.has_mbarriers = False
        self.marked = 0  # operations that Triton's barriers are not wanted at
        self.hide_used = VERSION >= (3, 7)  # see `hide_accesses`
        self.given = ""  # the stage's text, where it may have to begin again
        self.has_partitions = False  # of its warps
        self.handover: Handover | None = None  # between them
        self.has_executors = False  # which loops were divided among
        self.may_be_divided = False  # into partitions by Triton itself, or by the kernel
        self.has_layouts = False  # of tensors, that it says
        self.is_explicit = False  # it waits for products itself
        self.has_hints = False  # regions of it are called with hint="pipeline"
        self.has_groups = False  # its loops are marked by `tle.range`
        self.has_stages = False  # groups of them run in stages
        self.buffers: list[SharedBuffer] = []
        self.lines: list[str] = []  # of the TritonGPU text, as long as passes edit it
        # A module that no pass has changed since, with its text as it is printed, and with the one it was read from.
        self.printed: tuple[Any, str] | None = None
        self.read: tuple[Any, str] | None = None
        self.peeked: tuple[Any, str] | None = None  # the same in generic form
        self.tree: tuple[str, list[str], list[Operation]] | None = None  # a text, and what was read of it
        self.regions: list[Region] = []
        self.compiled: list[CompiledFragment] = []
        self.places: list[RegionPlace] = []  # whose warps run each region, where warps are specialised
        self.declared = 0  # threads of the block, where the regions' declarations alone decide it
        self.threads = 0  # the same with what their compilers decided
        self.missing: set[Barrier] = set()
        self.in_place: list[dict[int, KernelBuffer]] = []
        self.descriptors: list[dict[int, KernelDescriptor]] = []
        self.placements: list[Placement] = []
        self.has_branches = False
        self.without_libdevice = False
        self.assembly = ""  # the PTX that ptxas got

    def enter(self, own: Stage, source: Any, metadata: dict[str, Any]) -> None:
        """Begin a stage: Triton's ``own``, and what it would get. ``module`` is that, and then what comes of it."""
        self.own, self.module, self.metadata = own, source, metadata
        self.context = getattr(source, "context", None)
        self.lines = []

    def begin_again(self) -> None:
        """The same stage, with all atomic operations whose results are used in Triton's sight."""
        self.module, self.lines, self.hide_used = parse_module(self.given, self.context), [], False
        self.handover = None

    def text(self) -> str:
        if self.lines:
            return "\n".join(self.lines)
        if isinstance(self.module, str):
            return self.module
        if self.printed is None or self.printed[0] is not self.module:
            self.printed = self.module, self.module.str()
        return self.printed[1]

    def _any_text(self) -> str:
        """The module's text in one of MLIR's forms, whichever is there."""
        is_there = self.read is not None and self.read[0] is self.module and not self.lines
        return self.read[1] if is_there and self.read is not None else self.text()

    def _generic(self) -> str:
        """The module's text in generic form. It takes the module's place, which is fit for no more passes then."""
        if not isinstance(self.module, str):
            if self.peeked is not None and self.peeked[0] is self.module:
                self._take(self.peeked[1])
            else:
                self._take(generic_text(self.module, ir))
        return self.text()

    def _peeked(self) -> str:
        """The same, and a module stays one, as long as tensors have layouts in it."""
        if isinstance(self.module, str):
            return self.text()
        if self.peeked is None or self.peeked[0] is not self.module:
            if not (text := peek_generic(self.module, ir)):
                return self._generic()
            self.peeked = self.module, text
        return self.peeked[1]

    def _operations(self) -> tuple[list[str], list[Operation]]:
        """The text's lines in generic form and the operations in them, read once until a pass changes it."""
        text = self._peeked()
        if self.tree is None or self.tree[0] is not text:
            lines = text.splitlines()
            self.tree = text, lines, read_operations(lines)
        return self.tree[1], self.tree[2]

    @property
    def fragments(self) -> list[Fragment]:
        return [fragment_by_identity(region.record.fragment) for region in self.regions]

    @property
    def are_all_pinned(self) -> bool:
        """No call waits for its barriers: nothing is left to be done when Triton's stage has run."""
        return all(placement.pinned for placement in self.placements)

    def _parsed(self) -> Any:
        if not isinstance(self.module, str):
            return self.module
        module = parse_module(self.module, self.context)
        self.read = module, self.module
        return module

    def _changed(self) -> None:
        """A pass has changed the module in its place."""
        self.printed = self.read = self.peeked = None

    def _take(self, text: str) -> None:
        """The whole module in place of its lines."""
        self.module, self.lines = text, []

    def _has_cuda_code(self) -> bool:
        """Whether a region is CUDA C++, whose loops are made as nvcc makes them."""
        return any(LIKE_NVCC in fragment.text for fragment in self.compiled)

    def _is_whole_kernel(self) -> bool:
        """Whether the kernel is one region of CUDA C++ alone."""
        return any(WHOLE in fragment.text for fragment in self.compiled)

    def _edit(self, text: str) -> int:
        """Put an edited text in the module's place: 1 where that changes it."""
        changed = text != self.module
        self.module = text
        return int(changed)

    def _places(self) -> list[RegionPlace]:
        """Whose warps run each region."""
        return self.places or [RegionPlace(-1, -1, self.options.num_warps)] * len(self.regions)
