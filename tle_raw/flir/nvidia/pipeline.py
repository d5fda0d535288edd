"""What FLIR does inside Triton's stages for NVIDIA GPUs.

``passes.NVIDIA`` is the pipeline: it reads top to bottom, and each of its passes names its file. Here is
how they are joined to Triton's stages and how each is called, in the same order. A module without regions goes through
untouched.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import triton
from triton._C.libtriton import gluon_ir, ir, passes

from tle_raw.errors import PipelineHintWarning, ScheduleError, TLEError
from tle_raw.flir.check_groups import check_groups
from tle_raw.flir.compile_fragments import compile_fragments
from tle_raw.flir.dump import add_dump
from tle_raw.flir.exact_block import exact_block, with_block
from tle_raw.flir.group_markers import holds_executors, holds_groups
from tle_raw.flir.keep_loads import keep_loads
from tle_raw.flir.nvidia.arrive_by_warps import arrive_by_warps
from tle_raw.flir.nvidia.buffers_in_place import KernelBuffer, KernelDescriptor, find_buffers, find_descriptors
from tle_raw.flir.nvidia.check_exclusive import check_exclusive
from tle_raw.flir.nvidia.check_order import check_order
from tle_raw.flir.nvidia.check_partitions import check_partitions
from tle_raw.flir.nvidia.check_phases import WAITS, check_phases
from tle_raw.flir.nvidia.check_regions import (
    WARP,
    asks_triton,
    check_compiled,
    check_launch,
    check_not_specialised,
    check_warps,
)
from tle_raw.flir.nvidia.close_crossings import close_crossings
from tle_raw.flir.nvidia.close_in_place import close_in_place, only_stores_cross, with_pure_markers
from tle_raw.flir.nvidia.convert_results import convert_results
from tle_raw.flir.nvidia.convert_to_ttgpuir import convert_partitions, convert_to_ttgpuir
from tle_raw.flir.nvidia.defer_stores import defer_stores, stores_tiles
from tle_raw.flir.nvidia.explain_ptx import explained_refusals, refuse_indirect_calls
from tle_raw.flir.nvidia.explicit_ttgir import BLACKWELL, explicit_ttgir, uses_tensor_memory
from tle_raw.flir.nvidia.fence_partitions import Handover, fence_partitions, find_handover
from tle_raw.flir.nvidia.grouped_ttgir import pipeline_groups, settle_layouts
from tle_raw.flir.nvidia.hide_accesses import RepeatedAccessError
from tle_raw.flir.nvidia.insert_barriers import has_notes, insert_barriers
from tle_raw.flir.nvidia.join_tma_copies import join_tma_copies
from tle_raw.flir.nvidia.keep_operands import keep_operands
from tle_raw.flir.nvidia.keep_waits import NOTE, keep_waits, note_waits
from tle_raw.flir.nvidia.label_groups import first_loop, label_groups
from tle_raw.flir.nvidia.lay_out_descriptors import lay_out_descriptors
from tle_raw.flir.nvidia.leave_loops import leave_loops
from tle_raw.flir.nvidia.leave_out_libdevice import may_need_libdevice
from tle_raw.flir.nvidia.limit_registers import limit_registers
from tle_raw.flir.nvidia.link_fragments import link_fragments
from tle_raw.flir.nvidia.lower_async_load import EARLY, LOAD, early_loads, lower_async_load
from tle_raw.flir.nvidia.memory_order import Barrier
from tle_raw.flir.nvidia.multiply_in_place import HOPPER, multiply_in_place
from tle_raw.flir.nvidia.open_crossings import holds_buffers, open_crossings
from tle_raw.flir.nvidia.order_copies import holds_mbarriers, order_copies
from tle_raw.flir.nvidia.order_pointers import order_pointers
from tle_raw.flir.nvidia.order_regions import missing_barriers, place_barriers, place_in_text
from tle_raw.flir.nvidia.partitions import SPECIALIZE
from tle_raw.flir.nvidia.passes import NVIDIA, NVIDIA_BUFFERS, NVIDIA_TRACED
from tle_raw.flir.nvidia.pin_barriers import pin_barriers
from tle_raw.flir.nvidia.pipeline_hints import group_hinted_loops, holds_hints
from tle_raw.flir.nvidia.place_buffers import Placement, place_buffers
from tle_raw.flir.nvidia.place_named_barriers import holds_named, place_named_barriers
from tle_raw.flir.nvidia.read_buffers import SharedBuffer, read_buffers
from tle_raw.flir.nvidia.read_ports import Region, RegionPlace, holds_ports, is_border, read_regions
from tle_raw.flir.nvidia.reduce_in_place import reduce_in_place
from tle_raw.flir.nvidia.region_partitions import (
    enter_partitions,
    fit_partitions,
    region_places,
)
from tle_raw.flir.nvidia.release_layouts import release_layouts
from tle_raw.flir.nvidia.reorder_loads import reorder_loads
from tle_raw.flir.nvidia.replace_ports import replace_ports, spelling_of
from tle_raw.flir.nvidia.schedule_groups import schedule_groups
from tle_raw.flir.nvidia.shared_memory_limit import asked_of_driver, check_shared_memory, needs_alignment
from tle_raw.flir.nvidia.shared_pointers import SharedPointers, follow_buffers
from tle_raw.flir.nvidia.specialise_executors import Machine, specialise_executors
from tle_raw.flir.nvidia.take_addresses import asks_addresses, take_addresses
from tle_raw.flir.nvidia.yield_products import yield_products
from tle_raw.flir.parse_module import parse_module
from tle_raw.flir.pass_value import Pass
from tle_raw.flir.record_regions import record_regions
from tle_raw.flir.run_stage import run_stage
from tle_raw.flir.traced_failures import guard_stages
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.fragments.fragment import Fragment, fragment_by_identity
from tle_raw.knobs import knobs
from tle_raw.linker.llvm.no_vectors import keeps_scalars, without_no_vectors
from tle_raw.linker.llvm.shared_accesses import shared_accesses
from tle_raw.linker.llvm.shared_memory import dynamic_shared_alignment
from tle_raw.linker.llvm.text import read_module
from tle_raw.linker.llvm.unwanted_barriers import without_unwanted
from tle_raw.linker.mlir.generic_form import generic_text
from tle_raw.linker.mlir.text import value_uses
from tle_raw.linker.ptx.branch_back import LIKE_NVCC, branch_back
from tle_raw.linker.ptx.pair_words import pair_words
from tle_raw.linker.ptx.spread_divisions import spread_divisions
from tle_raw.linker.ptx.wide_local_addresses import wide_local_addresses
from tle_raw.linker.ptx.zero_accumulators import zero_accumulators
from tle_raw.linker.verify import verify_kernel
from tle_raw.regions import traced_regions
from tle_raw.regions.ports import LAYOUT, NAMED
from tle_raw.regions.stages import begin_compilation, end_compilation
from tle_raw.target import Target

Stage = Callable[[Any, dict[str, Any]], Any]
GRID_SYNC = "%envreg"  # the driver's registers, in which cooperative groups find the memory of a grid's barrier
MAJOR, MINOR = (int(v) for v in triton.__version__.split(".")[:2])
SPELLING = spelling_of((MAJOR, MINOR))
IS_NEWEST = (MAJOR, MINOR) >= (3, 9)
# Whether its waits for copies out of buffers say that the buffers' reading is enough; before it always is.
WAITS_FOR_READING = "bool" in (gluon_ir.GluonOpBuilder.create_async_tma_store_wait.__doc__ or "")
# What the passes between the conversion and Triton's stage look for, beside the markers of what crosses. A kernel that
# holds none of it, as one that clears buffers and reaches them by pointers, is not printed and read again there.
_EDITED = (
    *(f'symbol = "{marker}' for marker in (LAYOUT, NAMED)),
    *("tt.dot", "ttng.", "tt.descriptor_", "ttg.async_", EARLY),
)
# Where control flow of the kernel may leave a region out: TritonGPU's structured and plain branches.
_BRANCHES = (" scf.", " cf.")


def wrap_stages(stages: dict[str, Stage], options: Any, capability: int) -> None:
    """Wrap the stages of one compilation."""
    traced_regions.begin()
    compilation = Compilation(options, capability)
    if "ttir" in stages:
        stages["ttir"] = _with_loads_apart(stages["ttir"])
    for name in ("ttgir", "llir", "ptx", "cubin"):
        if name in stages:
            stages[name] = _joined(name, stages[name], compilation)
    guard_stages(stages)
    begin_compilation("cuda", stages, options, add_dump)


def _with_loads_apart(own: Stage) -> Stage:
    """Triton's own first stage, on a module from which it leaves out no load of a buffer."""

    def ttir(source: Any, metadata: dict[str, Any]) -> Any:
        return own(keep_loads(source), metadata)

    return ttir


def _joined(name: str, own: Stage, compilation: Compilation) -> Stage:
    """A stage that runs our passes with Triton's ``own`` among them, or that alone where there is no region."""

    def joined(source: Any, metadata: dict[str, Any]) -> Any:
        compilation.enter(own, source, metadata)
        if name == "ttgir":
            end_compilation()
            compilation.choose_pipeline(source.str_nodebug())
        if not any(each.stage == name for each in compilation.pipeline):
            return own(compilation.module, metadata)
        try:
            run_stage(compilation.pipeline, name, compilation, compilation.disabled)
        except RepeatedAccessError:
            compilation.begin_again()
            run_stage(compilation.pipeline, name, compilation, compilation.disabled)
        return compilation.module

    joined.__name__ = name
    return joined


class Compilation:
    """One kernel from stage to stage, with a method for each pass: see ``run_stage``."""

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
        self.has_mbarriers = False
        self.marked = 0  # operations that Triton's barriers are not wanted at
        self.hide_used = (MAJOR, MINOR) >= (3, 7)  # see `hide_accesses`
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
            self._take(generic_text(self.module, ir))
        return self.text()

    @property
    def fragments(self) -> list[Fragment]:
        return [fragment_by_identity(region.record.fragment) for region in self.regions]

    @property
    def are_all_pinned(self) -> bool:
        """No call waits for its barriers: nothing is left to be done when Triton's stage has run."""
        return all(placement.pinned for placement in self.placements)

    def choose_pipeline(self, text: str) -> None:
        """By what the kernel's Triton IR holds. A kernel that holds nothing of ours has none."""
        self.has_layouts = LAYOUT in text
        self.has_buffers = holds_buffers(text) or (EARLY in text and bool(early_loads(text.splitlines())))
        self.has_groups, self.has_hints = holds_groups(text), holds_hints(text)
        self.has_partitions = SPECIALIZE in text
        self.may_be_divided = self.has_partitions or asks_triton(text, self.capability)
        self.waits_for_mbarriers = self.has_buffers and holds_mbarriers(text)
        self.has_pointers = asks_addresses(text)
        self.has_borders = is_border(text)
        if holds_ports(text):
            self.pipeline = NVIDIA
        elif self.has_buffers or self.has_groups:
            self.pipeline = NVIDIA_BUFFERS
        elif self.has_borders:
            self.pipeline = NVIDIA_TRACED
        else:
            traced_regions.describe(self.metadata)

    # --- ttgir ------------------------------------------------------------------------------------------------

    def specialise_executors(self) -> int | None:
        if not self.has_groups or not holds_executors(self._any_text()):
            return None
        machine = Machine(
            self.capability,
            self.options.num_warps,
            self.options.num_stages,
            SPELLING.memory_barrier,
            captures_inside=(MAJOR, MINOR) >= (3, 7),
            has_tma_copy=(MAJOR, MINOR) < (3, 7),
        )
        text, found = specialise_executors(generic_text(self.module, ir), machine)
        self._take(text)
        self.module = self._parsed()
        self.has_groups = holds_groups(text)
        if not found:  # such a loop of one iteration is none any more
            return None
        self.has_buffers = self.has_partitions = self.waits_for_mbarriers = True
        self.has_executors = self.may_be_divided = True
        return found

    def pipeline_hints(self) -> int | None:
        if not self.has_hints:
            return None
        if self.has_partitions:
            reason = "the kernel's warps are specialised, and a partition that runs ahead takes the place of stages"
            warnings.warn(PipelineHintWarning(f'hint="pipeline" has no effect: {reason}'), stacklevel=2)
            return None
        given = generic_text(self.module, ir).splitlines()
        lines, found, unheard = group_hinted_loops(given, self.options.num_stages)
        for each in unheard:
            warnings.warn(PipelineHintWarning(str(each)), stacklevel=2)
        self._take("\n".join(lines))
        self.module, self.has_groups = self._parsed(), self.has_groups or found > 0
        return found or None

    def check_groups(self) -> int | None:
        if not self.has_groups:
            return None
        self.lines = generic_text(self.module, ir).splitlines()
        check_groups(self.lines)
        return 1

    def reorder_loads(self) -> int | None:
        if not self.has_groups:
            return None
        self.lines, found = reorder_loads(self.lines)
        return found or None

    def label_groups(self) -> int | None:
        if not self.has_groups:
            return None
        lines, found = label_groups(self.lines)
        self.has_stages = found > 0
        self._take("\n".join(lines))
        self.module = self._parsed()
        return found or None

    def order_traced_regions(self) -> int | None:
        if self.has_borders:
            lines = self.text().splitlines()
            place_in_text(lines, missing_barriers(lines), SPELLING.memory_barrier)
            self.module = parse_module("\n".join(lines), self.context)
        traced_regions.describe(self.metadata)
        return 1 if self.has_borders else None

    def take_addresses(self) -> int | None:
        if not self.has_pointers:
            return None
        self.given = self._generic()
        text, found = take_addresses(self.given, SPELLING, hide_used=self.hide_used)
        self._take(text)
        return found

    def check_partitions(self) -> int | None:
        if not self.has_partitions:
            return None
        keeps_warps = self.capability < BLACKWELL
        lines = self._generic().splitlines()
        return check_partitions(lines, self.options.num_ctas, self.has_stages, keeps_warps=keeps_warps)

    def open_crossings(self) -> int | None:
        if not self.has_buffers:
            return None
        self._take(open_crossings(self._generic(), SPELLING))
        is_edited = self.has_partitions or self.capability >= BLACKWELL or _holds_any(self.module, _EDITED)
        self.has_edits = is_edited or not only_stores_cross(self.module)
        if not self.has_edits:
            self._take(with_pure_markers(self.module))
        if not self.has_partitions:  # which are converted one by one, as texts
            self.module = self._parsed()
        return 1

    def convert_to_ttgpuir(self) -> int:
        if self.has_partitions:
            given = self._generic()
            self.module = convert_partitions(given, self.context, self.options, self.capability)
        else:
            self.module = self._parsed()
            convert_to_ttgpuir(self.module, self.options, self.capability)
            self._changed()
        return 1

    def close_crossings(self) -> int | None:
        if not self.has_buffers:
            return None
        if not self.has_edits:
            found = close_in_place(self.module)
            self._changed()
            return found or None
        self.module = note_waits(close_crossings(self._generic(), self.options.num_warps))
        self.notes_waits = NOTE in self.module
        return 1

    def lower_tma_copy(self) -> int | None:
        if not self.has_edits:
            return None
        self.module, found = join_tma_copies(self.text())
        return found or None

    def reduce_in_place(self) -> int | None:
        if not self.has_edits:
            return None
        self.module, found = reduce_in_place(self.text(), read_only=WAITS_FOR_READING)
        return found or None

    def lay_out_descriptors(self) -> int | None:
        if not self.has_partitions:
            return None
        self.module, found = lay_out_descriptors(self.text())
        return found or None

    def multiply_in_place(self) -> int | None:
        if not self.has_edits:
            return None
        self.module, found, background = multiply_in_place(
            self.text(), self.options.num_warps, self.capability, fences=not IS_NEWEST
        )
        self.is_explicit = background > 0 or uses_tensor_memory(self.module)
        return found or None

    def yield_products(self) -> int | None:
        if not self.has_partitions or not self.is_explicit:
            return None
        self.module, found = yield_products(self.text())
        return found or None

    def arrive_by_warps(self) -> int | None:
        if not self.has_partitions or self.capability != HOPPER:  # from sm_100 on Triton may take warps from workers
            return None
        lines, pointers = self._follow_buffers()
        self.module, found = arrive_by_warps(
            lines, pointers, self.options.num_warps, SPELLING, by_threads=knobs.racecheck
        )
        return found

    def fence_partitions(self) -> int | None:
        if not self.has_partitions:
            return None
        if self.handover is None:
            self._follow_buffers()
        assert self.handover is not None
        barrier = "" if IS_NEWEST else SPELLING.barrier
        self.module, found = fence_partitions(self.text(), barrier, self.handover)
        return found or None

    def _follow_buffers(self) -> tuple[list[str], SharedPointers]:
        """The module's lines with the ways of its buffers, and what partitions hand over in them."""
        lines = self.text().splitlines()
        pointers = follow_buffers(lines)
        self.handover = find_handover(lines, pointers, waits=IS_NEWEST)
        return lines, pointers

    def keep_operands(self) -> int | None:
        if not self.is_explicit:
            return None
        self.module, found = keep_operands(self.text())
        return found or None

    def lower_async_load(self) -> int | None:
        if not self.has_edits:
            return None
        self.module, found = lower_async_load(self.text(), self._coalesced)
        return found or None

    def leave_loops(self) -> int | None:
        if not self.has_edits:
            return None
        is_new = self.capability >= BLACKWELL
        self.module, found = leave_loops(self.text(), with_buffers=is_new)
        if self.pipeline is NVIDIA or not holds_named(self.module):  # they are placed in this text
            self.module = self._parsed()
        return found if is_new else found or None

    def _coalesced(self, text: str) -> list[str]:
        module, types = parse_module(text, self.context), list[str]()
        manager = ir.pass_manager(self.context)
        passes.ttgpuir.add_coalesce(manager)
        manager.run(module, "tle_raw_coalesce")
        module.walk(lambda each: types.extend(_pointer_types(each)))
        return types

    def read_ports(self) -> int:
        self.lines = self.text().splitlines()
        self.regions = read_regions(self.lines)
        return len(self.regions)

    def find_partitions(self) -> int | None:
        if not self.may_be_divided:
            return None
        self.places = region_places(self.lines, self.regions, self.options.num_warps)
        return len(set(self.places))

    def declared_block(self) -> int | None:
        if self.may_be_divided:
            return None
        self.declared = exact_block(self.lines, [fragment.block for fragment in self.fragments])
        return 1

    def check_launch(self) -> int:
        self._check_launch(self.declared)
        return 1

    def check_not_specialised(self) -> int:
        check_not_specialised(self.lines, self.regions, self.capability)
        return 1

    def compile_fragments(self) -> int:
        records = [region.record for region in self.regions]
        self.compiled = compile_fragments(records, Target("cuda", self.capability))
        return 1

    def check_exclusive(self) -> int:
        check_exclusive(self.lines, self.regions, self.compiled)
        return 1

    def compiled_block(self) -> int | None:
        if self.may_be_divided:
            return None
        declared = [fragment.block for fragment in self.fragments]
        self.threads = exact_block(self.lines, [*declared, *(fragment.block for fragment in self.compiled)])
        return 1

    def check_compiled(self) -> int | None:
        if self.threads:
            return None
        if self.declared:  # what the compilers wrote for is another block: then the launch's counts after all
            self._check_launch(0)
        for region, fragment, place in zip(self.regions, self.compiled, self._places()):
            check_compiled(region, fragment, place)
        return 1

    def enter_partitions(self) -> int | None:
        if not self.may_be_divided:
            return None
        self.compiled = enter_partitions(self.regions, self.places, self.compiled)
        return len(set(self.places))

    def decide_barriers(self) -> int:
        self.missing = missing_barriers(self.lines, self.regions, self.compiled)
        return 1

    def order_regions(self) -> int:
        place_in_text(self.lines, self.missing, SPELLING.memory_barrier)
        traced_regions.describe(self.metadata)
        return 1

    def find_buffers(self) -> int | None:
        self.in_place = find_buffers(self.lines, self.regions)
        self.descriptors = find_descriptors(self.lines, self.regions)
        return sum(len(placed) for placed in self.in_place) + sum(len(placed) for placed in self.descriptors) or None

    def place_buffers(self) -> int:
        self.placements = place_buffers(self.regions, partial(value_uses, self.lines), self.in_place, self.descriptors)
        return 1

    def place_barriers(self) -> int:
        place_barriers(self.regions, self.placements, self.compiled, self.missing)
        return 1

    def pin_barriers(self) -> int:
        pin_barriers(self.lines, self.regions, self.placements, self.compiled)
        return 1

    def replace_ports(self) -> int:
        self._take(
            replace_ports(
                self.lines,
                self.regions,
                self.placements,
                self.compiled,
                SPELLING,
                self.capability >= 90,
                self.has_stages,
            )
        )
        return len(self.regions)

    def limit_registers(self) -> int | None:
        if not any(fragment.register_limit for fragment in self.compiled):
            return None
        return self._edit(limit_registers(self.module, self.compiled, self.options))

    def settle_layouts(self) -> int | None:
        if not self.has_stages:
            return None
        self.module = self._parsed()
        settle_layouts(self.module, self.options, self.capability)
        self._changed()
        return 1

    def schedule_groups(self) -> int | None:
        if not self.has_stages:
            return None
        masks_products = (MAJOR, MINOR) >= (3, 9)
        lines, found = schedule_groups(generic_text(self.module, ir).splitlines(), masks_products)
        self.module = parse_module("\n".join(lines), self.context)
        return found or None

    def pipeline_groups(self) -> int | None:
        if not self.has_stages:
            return None
        before = self.module.str()
        try:
            pipeline_groups(self.module, self.metadata, self.options, self.capability, with_regions=bool(self.regions))
            self._changed()
        except RuntimeError as error:
            raise ScheduleError(
                "Triton's pipeliner does not take this loop: what it says stands above, on standard error",
                hint="put the operation that it names into a group of the last stage",
            ).at(call_site=first_loop(before)) from error
        return 1

    def check_phases(self) -> int | None:
        if not self.has_edits or self.has_partitions or WAITS not in self._any_text():
            return None
        check_phases(self._any_text().splitlines())
        return 1

    def place_named_barriers(self) -> int | None:
        if not self.has_edits or not holds_named(self._any_text()):
            return None
        text = self.text()
        if self.regions and isinstance(self.module, str):  # as passes left it
            text = self._parsed().str()
        threads = self.threads or WARP * self.options.num_warps
        located = (MAJOR, MINOR) != (3, 7)
        self.module, found = place_named_barriers(text.splitlines(), self.compiled, threads, located=located)
        if not self.regions:
            self.module = self._parsed()
        return found

    def triton_ttgir(self) -> int | None:
        if self.is_explicit or self.has_stages:
            return None
        self.module = self.own(self._parsed(), self.metadata)
        self._changed()
        return 1

    def explicit_ttgir(self) -> int | None:
        if not self.is_explicit:
            return None
        if self.has_stages:
            raise ScheduleError(
                "a kernel that waits for wgmma itself has no software pipeliner, and groups in stages need it",
                hint="tl.dot takes the place of tle.gpu.wgmma in such a loop, or leave pipe_stages out",
            ).at(call_site=first_loop(self._parsed().str()))
        self.module = explicit_ttgir(self._parsed(), self.metadata, self.options, self.capability)
        self._changed()
        return 1

    def _parsed(self) -> Any:
        if not isinstance(self.module, str):
            return self.module
        module = parse_module(self.module, self.context)
        self.read = module, self.module
        return module

    def _changed(self) -> None:
        """A pass has changed the module in its place."""
        self.printed = self.read = None

    def convert_results(self) -> int | None:
        if not self.has_executors:
            return None
        text, found = convert_results(self._generic())
        self._take(text)
        return found or None

    def keep_waits(self) -> int | None:
        if not self.notes_waits:
            return None
        self._take(keep_waits(self._generic()))
        return 1

    def release_layouts(self) -> int | None:
        if not self.has_layouts:
            return None
        text, found = release_layouts(self._generic())
        self._take(text)
        return found or None

    def defer_stores(self) -> int | None:
        if not self.is_explicit or self.options.num_ctas > 1 or not stores_tiles(self._text_behind()):
            return None
        text, found = defer_stores(self._generic(), self.capability, says_reads=WAITS_FOR_READING)
        self._take(text)
        return found or None

    def read_buffers(self) -> int | None:
        if not self.has_buffers:
            return None
        text = self._text_behind()
        self.buffers, self.has_mbarriers = read_buffers(text.splitlines()), holds_mbarriers(text)
        return 1

    def _text_behind(self) -> str:
        """The module's text once Triton's stage is done, printed as most passes there need it."""
        is_edited = self.are_all_pinned and (self.has_pointers or self.waits_for_mbarriers)
        return self._generic() if is_edited else self.text()

    def check_order(self) -> int | None:
        if self.are_all_pinned:
            return None
        self.module = self._parsed()
        self.lines = self.text().splitlines()
        check_order(self.lines, self.regions, self.compiled)
        return 1

    def insert_barriers(self) -> int | None:
        if self.are_all_pinned:
            return None
        promised, before = has_notes(self.lines), self.text()
        self._take(insert_barriers(self.lines, SPELLING))
        changed = self.module != before
        self.module = self._parsed()
        return int(changed) if promised else None

    def order_pointers(self) -> int | None:
        if not self.has_pointers:
            return None
        text, self.accesses = order_pointers(self._generic(), SPELLING, self.capability)
        self._take(text)
        return self.accesses

    def order_copies(self) -> int | None:
        if not self.has_mbarriers or self.options.num_ctas > 1:
            return None
        self.module = self._parsed() if self.has_pointers else self.module  # barriers are in Triton's own form there
        text, self.marked = order_copies(self._generic(), SPELLING)
        self._take(text)
        return self.marked

    def read_back(self) -> int | None:
        if not isinstance(self.module, str):
            return None
        self.module = parse_module(self.module, self.context)
        return 1

    # --- llir -------------------------------------------------------------------------------------------------

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
        passes.ttgpuir.add_allocate_warp_groups(manager, *([mode] if (MAJOR, MINOR) >= (3, 8) else []))
        manager.run(self.module, "tle_raw_warp_groups")
        self._changed()

    def leave_out_libdevice(self) -> int:
        self.without_libdevice = not may_need_libdevice(self.text())
        return 1

    def link_fragments(self) -> int:
        before = self.text()  # the stage works on the module in place
        self.has_branches = _holds_any(before, _BRANCHES)
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
        self.module, found = shared_accesses(self.module)
        return found

    def keep_scalars(self) -> int | None:
        """A kernel that always runs its regions takes the attribute over from theirs."""
        promised = not self.has_branches and any(keeps_scalars(fragment.text) for fragment in self.compiled)
        return self._edit(without_no_vectors(self.module)) or (0 if promised or keeps_scalars(self.module) else None)

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
        self._edit(dynamic_shared_alignment(read_module(self.module)).text)
        return 1

    def record_regions(self) -> int:
        self.metadata["tle_raw"] = record_regions([region.record for region in self.regions], self.compiled)
        if any(GRID_SYNC in fragment.text for fragment in self.compiled):  # all blocks must run at the same time
            self.metadata["launch_cooperative_grid"] = True
        return 1

    # --- ptx --------------------------------------------------------------------------------------------------

    def triton_ptx(self) -> int:
        self.module = self.own(self.module, self.metadata)
        return 1

    def zero_accumulators(self) -> int:
        return self._edit(zero_accumulators(self.module))

    def pair_words(self) -> int:
        return self._edit(pair_words(self.module))

    def spread_divisions(self) -> int:
        return self._edit(spread_divisions(self.module))

    def branch_back(self) -> int | None:
        return self._edit(branch_back(self.module)) if self._is_like_nvccs() else None

    def wide_local_addresses(self) -> int | None:
        return self._edit(wide_local_addresses(self.module)) if self._is_like_nvccs() else None

    def _is_like_nvccs(self) -> bool:
        return any(LIKE_NVCC in fragment.text for fragment in self.compiled)

    def refuse_indirect_calls(self) -> int:
        refuse_indirect_calls(self.module, self.regions, self.compiled)
        return 1

    def verify_kernel(self) -> int | None:
        if not knobs.verify:
            return None
        verify_kernel(self.module, None, inlined={fragment.entry: fragment.inline for fragment in self.compiled})
        return 1

    # --- cubin ------------------------------------------------------------------------------------------------

    def explain_refusals(self) -> int:
        with explained_refusals(self.module, self.regions, self.compiled):
            self.module = self.own(self.module, self.metadata)
        return 1

    # ----------------------------------------------------------------------------------------------------------

    def _take(self, text: str) -> None:
        """The whole module in place of its lines."""
        self.module, self.lines = text, []

    def _edit(self, text: str) -> int:
        """Put an edited text in the module's place: 1 where that changes it."""
        changed = text != self.module
        self.module = text
        return int(changed)

    def _places(self) -> list[RegionPlace]:
        """Whose warps run each region."""
        return self.places or [RegionPlace(-1, -1, self.options.num_warps)] * len(self.regions)

    def _check_launch(self, threads: int) -> None:
        for region, fragment, place in zip(self.regions, self.fragments, self._places()):
            try:
                check_launch(region, fragment, self.options, threads, place)
            except TLEError as e:
                e.at(fragment=region.record.bound.name, source=fragment.location, call_site=region.record.call_site)
                raise


def _holds_any(text: str, words: Iterable[str]) -> bool:
    return any(word in text for word in words)


def _pointer_types(operation: Any) -> list[str]:
    """Of a load; nothing of another operation."""
    return [str(operation.get_operand(0).get_type())] if operation.get_name() == LOAD else []
