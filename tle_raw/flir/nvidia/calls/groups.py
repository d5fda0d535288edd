"""How the passes over loops with groups are called: executors, hints, stages."""

from __future__ import annotations

import warnings

from triton._C.libtriton import ir

from tle_raw.errors import PipelineHintWarning, ScheduleError
from tle_raw.flir.check_groups import check_groups
from tle_raw.flir.group_markers import holds_executors, holds_groups
from tle_raw.flir.nvidia.calls.state import State
from tle_raw.flir.nvidia.calls.triton_version import SPELLING
from tle_raw.flir.nvidia.grouped_ttgir import pipeline_groups, settle_layouts
from tle_raw.flir.nvidia.label_groups import first_loop, label_groups
from tle_raw.flir.nvidia.pipeline_hints import group_hinted_loops
from tle_raw.flir.nvidia.reorder_loads import reorder_loads
from tle_raw.flir.nvidia.schedule_groups import schedule_groups
from tle_raw.flir.nvidia.specialise_executors import Machine, specialise_executors
from tle_raw.flir.parse_module import parse_module
from tle_raw.linker.mlir.generic_form import generic_text
from tle_raw.triton_version import VERSION


class Groups(State):
    """A method for each pass: see ``run_stage``."""

    def specialise_executors(self) -> int | None:
        if not self.has_groups or not holds_executors(self._any_text()):
            return None
        machine = Machine(
            self.capability,
            self.options.num_warps,
            self.options.num_stages,
            SPELLING.memory_barrier,
            captures_inside=VERSION >= (3, 7),
            has_tma_copy=VERSION < (3, 7),
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
        masks_products = VERSION >= (3, 9)
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
