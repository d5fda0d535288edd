"""``executors`` of ``tle.range``: which groups of a loop run on warps of their own."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tle_raw.errors import ArgumentTypeError, RegionError, Row, ScheduleError
from tle_raw.flir.group_markers import LoopSchedule
from tle_raw.frontends.gpu.capability import check_has_barriers
from tle_raw.frontends.lite.arguments import describe_value, is_integer, items, plain
from tle_raw.regions.partitions import current_partition
from tle_raw.regions.stages import compiled_target

_GROUP = 4  # of warps, by which Triton starts them


def read_executors(generator: Any, node: ast.expr) -> Any:
    """The value of ``executors=`` where it is written. An entry may be ``range(1, 9)``, which elsewhere is a loop."""
    if isinstance(node, ast.IfExp):
        return read_executors(generator, node.body if plain(generator.visit(node.test)) else node.orelse)
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_entry(generator, each) for each in node.elts]
    return generator.visit(node)


def _entry(generator: Any, node: ast.expr) -> Any:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"):
        return generator.visit(node)
    bounds = [plain(generator.visit(each)) for each in node.args]
    if node.keywords or len(bounds) not in (1, 2) or not all(map(is_integer, bounds)):
        raise _wrong(ast.unparse(node))
    return builtins.range(*bounds)


def with_executors(schedule: LoopSchedule, number: int | None, given: Mapping[str, Any]) -> LoopSchedule:
    """A schedule with the executors that the arguments of ``tle.range`` give to its groups.

    Parameters
    ----------
    number : of stages, where ``pipe_stages`` is one.

    Raises
    ------
    ArgumentTypeError : ``executors`` is no list of constants.
    ScheduleError : executors that share some of their warps, or contradict another argument.
    """
    value = given.get("executors")
    if plain(value) is None:
        return schedule
    entries = [_members(entry, value) for entry in items(value) or ()]
    if not entries:
        raise _wrong(describe_value(value))
    known = list(dict.fromkeys(entries))
    if len(known) == 1:
        return schedule
    _check_apart(known)
    if schedule.stages and len(entries) != len(schedule.stages):
        raise ScheduleError(
            "tle.range: one stage and one executor for each group",
            table=[Row("executors", f"{len(schedule.stages)} entries", str(len(entries)))],
        )
    for name in ("reorder", "flatten", "warp_specialize"):
        if plain(given.get(name)):
            raise ScheduleError(f"tle.range: {name} and several executors cannot be together")
    slots = max(schedule.stages) + 1 if schedule.stages else number or plain(given.get("num_stages")) or 0
    executors = tuple(map(known.index, entries))
    _check_order(schedule, executors)
    return replace(
        schedule,
        executors=executors,
        names=tuple(map(_name, known)),
        warps=tuple(len(members) if len(members) > 1 else 0 for members in known),
        slots=slots,
    )


def check_kernel(semantic: Any) -> None:
    """Check that the kernel which is traced has warps to divide.

    Raises
    ------
    RegionError : the loop stands in a partition, or the target's programs have no warps.
    ArgumentTypeError : a number of warps that Triton does not divide.
    """
    around = current_partition()
    if around is not None:
        raise RegionError(
            f"tle.range: a loop with several executors stands in a partition, {around.name}: partitions are not "
            "divided again",
            hint="leave executors out there, or give its groups functions of their own in warp_specialize",
        )
    target = compiled_target()
    if target not in ("cuda", "cpu"):
        raise RegionError(f"tle.range: programs of the target `{target}` have no warps to divide among executors")
    check_has_barriers("tle.range: several executors hand values over by barriers", semantic, True)
    own = semantic.builder.options.num_warps
    if target == "cuda" and own % _GROUP:
        raise ArgumentTypeError(
            "tle.range: Triton divides the warps of kernels with four of them or a multiple among executors",
            table=[Row("num_warps", "4, 8, 16", str(own))],
            hint="of the launch: it counts the warps of the executor that makes what is used behind the loop",
        )


def _members(entry: Any, value: Any) -> tuple[int, ...]:
    if is_integer(entry) and entry >= 0:
        return (entry,)
    if isinstance(entry, builtins.range) and entry.step == 1 and len(entry) and entry.start >= 0:
        return tuple(entry)
    raise _wrong(describe_value(value))


def _name(members: Sequence[int]) -> str:
    return str(members[0]) if len(members) == 1 else f"range({members[0]}, {members[-1] + 1})"


def _check_apart(known: Sequence[tuple[int, ...]]) -> None:
    for number, one in enumerate(known):
        other = next((each for each in known[:number] if set(each) & set(one)), None)
        if other is not None:
            raise ScheduleError(
                "tle.range: two executors share some of their warps",
                table=[Row("executors", "the same ones, or others", f"{_name(other)} and {_name(one)}")],
            )


def _check_order(schedule: LoopSchedule, executors: Sequence[int]) -> None:
    """Each executor runs its groups as the kernel has them: there is no other order to ask for."""
    for executor in set(executors):
        own = [schedule.orders[group] for group, its in enumerate(executors) if schedule.orders and its == executor]
        if own != sorted(own):
            raise ScheduleError(
                "tle.range: an executor runs its groups in the order of their numbers",
                table=[Row("pipe_orders of its groups", str(sorted(own)), str(own))],
            )


def _wrong(got: str) -> ArgumentTypeError:
    expected = "a list of constants, 0 or more, or like range(4, 8), one for each group"
    return ArgumentTypeError("tle.range: executors", table=[Row("executors", expected, got)])
