"""On the CPU a loop with groups is an ordinary loop: its groups are checked as elsewhere, and the markers go."""

from __future__ import annotations

from typing import Any

from triton._C.libtriton import ir

from tle_raw.flir.check_groups import check_groups, without_markers
from tle_raw.flir.group_markers import holds_groups
from tle_raw.flir.parse_module import parse_module
from tle_raw.flir.split_executors import split_executors
from tle_raw.linker.mlir.generic_form import generic_text


def leave_out_groups(module: Any) -> Any | None:
    """A module of Triton's without markers; None where it holds none.

    Raises
    ------
    ScheduleError : as ``split_executors`` and ``check_groups``.
    """
    if not holds_groups(module.str()):
        return None
    lines = generic_text(module, ir).splitlines()
    split_executors(lines)
    check_groups(lines)
    return parse_module("\n".join(without_markers(lines)), module.context)
