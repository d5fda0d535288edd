"""How Triton's own TritonGPU stage is called, and the passes behind it."""

from __future__ import annotations

from tle_raw.errors import ScheduleError
from tle_raw.flir.nvidia.calls.state import State
from tle_raw.flir.nvidia.calls.triton_version import SPELLING, WAITS_FOR_READING
from tle_raw.flir.nvidia.check_order import check_order
from tle_raw.flir.nvidia.convert_results import convert_results
from tle_raw.flir.nvidia.defer_stores import defer_stores, stores_tiles
from tle_raw.flir.nvidia.explicit_ttgir import explicit_ttgir
from tle_raw.flir.nvidia.insert_barriers import has_notes, insert_barriers
from tle_raw.flir.nvidia.insertions import insert_in_place, insert_in_text
from tle_raw.flir.nvidia.keep_waits import keep_waits
from tle_raw.flir.nvidia.label_groups import first_loop
from tle_raw.flir.nvidia.multiply_in_place import HOPPER
from tle_raw.flir.nvidia.order_copies import holds_mbarriers, order_copies
from tle_raw.flir.nvidia.order_in_front import show_in_place
from tle_raw.flir.nvidia.order_pointers import order_pointers
from tle_raw.flir.nvidia.place_clusters import describe_launch, place_clusters
from tle_raw.flir.nvidia.read_buffers import read_buffers
from tle_raw.flir.nvidia.release_layouts import release_layouts
from tle_raw.flir.parse_module import parse_module
from tle_raw.knobs import knobs


class TritonTtgir(State):
    """A method for each pass: see ``run_stage``."""

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
        text, found = defer_stores(*self._operations(), self.capability, says_reads=WAITS_FOR_READING)
        if found:
            self._take(text)
        return found or None

    def read_buffers(self) -> int | None:
        if not self.has_buffers or self.is_ordered:
            return None
        text = self._text_behind()
        self.buffers, self.has_mbarriers = read_buffers(text.splitlines()), holds_mbarriers(text)
        return 1

    def _text_behind(self) -> str:
        """The module's text once Triton's stage is done, printed as most passes there need it."""
        is_edited = self.are_all_pinned and (self.has_pointers or self.waits_for_mbarriers)
        return self._peeked() if is_edited else self.text()

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
        if self.is_ordered:
            show_in_place(self.module)
            self._changed()
            return self.accesses
        text, self.accesses = order_pointers(self._generic(), SPELLING, self.capability)
        self._take(text)
        return self.accesses

    def order_copies(self) -> int | None:
        if not self.has_mbarriers or self.options.num_ctas > 1:
            return None
        lines, operations = self._operations()
        insertions, self.marked = order_copies(lines, operations)
        if isinstance(self.module, str) or self.has_clusters:  # which are placed in the text
            self._take(insert_in_text(lines, operations, insertions, SPELLING))
        else:
            insert_in_place(self.module, operations, insertions)
            self._changed()
        return self.marked

    def place_clusters(self) -> int | None:
        if not self.has_clusters:
            return None
        by_warps = self.capability == HOPPER
        self.clusters = place_clusters(self._generic(), SPELLING, by_warps=by_warps, by_threads=knobs.racecheck)
        self._take(self.clusters.text)
        describe_launch(self.metadata, self.clusters.launch)
        return self.clusters.found

    def read_back(self) -> int | None:
        if not isinstance(self.module, str):
            return None
        self.module = parse_module(self.module, self.context)
        return 1
