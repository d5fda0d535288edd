"""What ``tle.range`` takes beside the arguments of ``tl.range``, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tle_raw.errors import ArgumentTypeError, CallError, Row, ScheduleError
from tle_raw.flir.group_markers import LoopSchedule
from tle_raw.frontends.lite.arguments import describe_value, is_integer, items, plain
from tle_raw.frontends.lite.executors import with_executors

OWN = ("reorder", "pipe_stages", "pipe_orders", "executors")
_FEWEST = 1


def read_options(given: Mapping[str, Any]) -> tuple[LoopSchedule, int | None]:
    """The schedule that the arguments ask for, and the number of stages where Triton decides about them.

    Parameters
    ----------
    given : the arguments of ``tle.range`` by their names, those that are constants for Triton too.

    Raises
    ------
    ArgumentTypeError : an argument is no constant of its kind.
    ScheduleError : arguments that contradict each other.
    """
    schedule, number = _read_stages(given)
    return with_executors(schedule, number, given), number


def _read_stages(given: Mapping[str, Any]) -> tuple[LoopSchedule, int | None]:
    reorder = plain(given.get("reorder"))
    if not isinstance(reorder, (bool, int)) and reorder is not None:
        raise _type_error("reorder", "True or False", given["reorder"])
    number = _stages_number(given)
    stages = _numbers("pipe_stages", given.get("pipe_stages")) if number is None else ()
    orders = _numbers("pipe_orders", given.get("pipe_orders"))
    if not stages:
        if orders:
            raise CallError(
                "tle.range: pipe_orders orders the groups of pipe_stages, and there is no list of stages",
                hint="pipe_stages=[0, 0, 1] gives each group its stage; without it Triton decides",
            )
        return LoopSchedule(reorder=bool(reorder)), number
    orders = orders or tuple(range(len(stages)))
    _check_stages(given, stages, orders)
    if reorder:
        raise CallError(
            "tle.range: reorder puts all loads first, and pipe_stages says when each group loads",
            hint="give one of them",
        )
    return LoopSchedule(stages, orders), None


def _stages_number(given: Mapping[str, Any]) -> int | None:
    """``pipe_stages`` as a number, which is another name of ``num_stages``."""
    number = plain(given.get("pipe_stages"))
    if items(number) is not None or number is None:
        return None
    if not is_integer(number) or number < _FEWEST:
        raise _type_error("pipe_stages", "a positive constant, or a list with the stage of each group", number)
    told = plain(given.get("num_stages"))
    if told is not None and told != number:
        raise ScheduleError(
            "tle.range: pipe_stages as a number is num_stages, and both are given",
            table=[Row("num_stages", str(number), str(told))],
        )
    return number


def _numbers(name: str, value: Any) -> tuple[int, ...]:
    if plain(value) is None:
        return ()
    listed = items(value)
    if not listed or not all(is_integer(number) and number >= 0 for number in listed):
        raise _type_error(name, "a list of constants, 0 or more, one for each group", value)
    return tuple(listed)


def _check_stages(given: Mapping[str, Any], stages: tuple[int, ...], orders: tuple[int, ...]) -> None:
    if len(orders) != len(stages):
        raise ScheduleError(
            "tle.range: one stage and one order for each group",
            table=[Row("pipe_orders", f"{len(stages)} entries", f"{len(orders)}")],
        )
    if min(stages):
        raise ScheduleError("tle.range: stages count from 0", table=[Row("the first stage", "0", str(min(stages)))])
    told = plain(given.get("num_stages"))
    if told is not None and told != max(stages) + 1:
        raise ScheduleError(
            "tle.range: num_stages is the number of the stages in pipe_stages",
            table=[Row("num_stages", str(max(stages) + 1), str(told))],
            hint="leave num_stages out: the list says it",
        )
    for name in ("flatten", "warp_specialize"):
        if plain(given.get(name)):
            raise ScheduleError(f"tle.range: {name} and stages of groups cannot be together")


def _type_error(name: str, expected: str, value: Any) -> ArgumentTypeError:
    return ArgumentTypeError(f"tle.range: {name}", table=[Row(name, expected, describe_value(value))])
