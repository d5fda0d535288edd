"""How the passes up to layouts for all tensors are called, and those on buffers up to Triton's own stage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from triton._C.libtriton import ir, passes

from tle_raw.flir.early_loads import EARLY
from tle_raw.flir.nvidia.arrive_by_warps import arrive_by_warps
from tle_raw.flir.nvidia.calls.state import State
from tle_raw.flir.nvidia.calls.triton_version import ENDS_AT_ARGUMENTS, IS_NEWEST, SPELLING, WAITS_FOR_READING
from tle_raw.flir.nvidia.check_partitions import check_partitions
from tle_raw.flir.nvidia.check_phases import WAITS, check_phases
from tle_raw.flir.nvidia.check_regions import WARP
from tle_raw.flir.nvidia.close_crossings import close_crossings
from tle_raw.flir.nvidia.close_in_place import close_in_place, only_stores_cross, with_pure_markers
from tle_raw.flir.nvidia.convert_to_ttgpuir import convert_partitions, convert_to_ttgpuir
from tle_raw.flir.nvidia.explicit_ttgir import BLACKWELL, uses_tensor_memory
from tle_raw.flir.nvidia.fence_partitions import fence_partitions, find_handover
from tle_raw.flir.nvidia.join_tma_copies import join_tma_copies
from tle_raw.flir.nvidia.keep_operands import keep_operands
from tle_raw.flir.nvidia.keep_waits import NOTE, note_waits
from tle_raw.flir.nvidia.lay_out_descriptors import lay_out_descriptors
from tle_raw.flir.nvidia.leave_loops import leave_loops
from tle_raw.flir.nvidia.lower_async_load import LOAD, lower_async_load
from tle_raw.flir.nvidia.multiply_in_place import HOPPER, multiply_in_place
from tle_raw.flir.nvidia.open_crossings import open_crossings
from tle_raw.flir.nvidia.passes import NVIDIA, NVIDIA_BUFFERS
from tle_raw.flir.nvidia.place_named_barriers import holds_named, place_named_barriers
from tle_raw.flir.nvidia.read_buffers import read_buffers
from tle_raw.flir.nvidia.shared_pointers import SharedPointers, follow_buffers
from tle_raw.flir.nvidia.store_in_place import store_in_place
from tle_raw.flir.nvidia.take_addresses import take_addresses
from tle_raw.flir.nvidia.yield_products import yield_products
from tle_raw.flir.parse_module import parse_module
from tle_raw.knobs import knobs
from tle_raw.regions.clusters import arrives_elsewhere
from tle_raw.regions.ports import LAYOUT, NAMED
from tle_raw.triton_version import VERSION

# What the passes between the conversion and Triton's stage look for, beside the markers of what crosses. A kernel that
# holds none of it, as one that clears buffers and reaches them by pointers, is not printed and read again there.
_EDITED = (
    *(f'symbol = "{marker}' for marker in (LAYOUT, NAMED)),
    *("tt.dot", "ttng.", "tt.descriptor_", "ttg.async_", EARLY),
)


class Layouts(State):
    """A method for each pass: see ``run_stage``."""

    def take_addresses(self) -> int | None:
        if not self.has_pointers:
            return None
        self.given = self._generic()
        # Nothing that passes make of something else touches a buffer.
        is_alone = self.pipeline is NVIDIA_BUFFERS and EARLY not in self.given
        is_alone = is_alone and not (self.has_clusters or self.has_partitions or self.has_groups or self.has_borders)
        taken = take_addresses(
            self.given,
            SPELLING,
            self.capability,
            hide_used=self.hide_used,
            in_front=is_alone and not self.waits_for_mbarriers,
        )
        self._take(taken.text)
        self.is_ordered = taken.ordered is not None
        if taken.ordered is not None:
            self.accesses, self.buffers = taken.ordered, read_buffers(self.text().splitlines())
        return taken.found

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

    def store_in_place(self) -> int | None:
        if not self.has_edits:
            return None
        self.module, found = store_in_place(self.text(), self.capability, read_only=WAITS_FOR_READING)
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
            self.text(), self.options.num_warps, self.capability, fences=not IS_NEWEST, from_arguments=ENDS_AT_ARGUMENTS
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
        if not self.has_edits and not self.has_clusters:
            return None
        is_new = self.capability >= BLACKWELL
        text = self.text() if self.has_edits else self._generic()
        self.module, found = leave_loops(text, with_buffers=is_new and self.has_edits)
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

    def check_phases(self) -> int | None:
        if not self.has_edits or self.has_partitions or WAITS not in self._any_text():
            return None
        if arrives_elsewhere(self._any_text()):  # other blocks complete phases, too
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
        located = VERSION != (3, 7)
        self.module, found = place_named_barriers(text.splitlines(), self.compiled, threads, located=located)
        if not self.regions:
            self.module = self._parsed()
        return found


def _holds_any(text: str, words: Iterable[str]) -> bool:
    return any(word in text for word in words)


def _pointer_types(operation: Any) -> list[str]:
    """Of a load; nothing of another operation."""
    return [str(operation.get_operand(0).get_type())] if operation.get_name() == LOAD else []
