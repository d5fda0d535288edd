"""``tle.pipeline_group``: what stands in it runs together, in one stage of the loop."""

from __future__ import annotations

from typing import Any

from tle_raw.errors import ArgumentTypeError, RegionError, Row
from tle_raw.flir import group_markers
from tle_raw.frontends.lite.arguments import describe_value, is_integer, plain
from tle_raw.frontends.lite.code_generator import is_in_branch
from tle_raw.frontends.lite.open_loops import OpenLoop, innermost_interpreted
from tle_raw.frontends.lite.range import LOOP, write_marker
from tle_raw.frontends.lite.with_function import with_function


class Group:
    """A group while its statement is traced or interpreted."""

    def __init__(self, loop: OpenLoop, number: int, semantic: Any) -> None:
        self.loop, self.number, self.semantic = loop, number, semantic

    def __enter__(self) -> None:
        self._mark(group_markers.BEGIN)

    def __exit__(self, *raised: object) -> None:
        self._mark(group_markers.END)
        self.loop.leave()

    def _mark(self, symbol: str) -> None:
        if self.loop.schedule.is_marked and self.semantic is not None:
            write_marker(symbol, str(self.number), self.semantic)


def _pipeline_group(group: Any, _semantic: Any = None, _generator: Any = None) -> Group:
    """A group of a loop: ``with tle.pipeline_group(0):``, directly in the body of a ``for ... in tle.range(...)``.

    ``pipe_stages`` of the loop gives each group its stage, ``pipe_orders`` its place among the groups of that stage,
    ``executors`` the warps that run it. Where Triton decides about the stages, and on CPUs and in Triton's interpreter,
    a group is what stands in it.

    Parameters
    ----------
    group : its number, a constant: its place in ``pipe_stages`` and ``executors``. The same group may stand there
        again.

    Raises
    ------
    ArgumentTypeError : it is no constant, or no group of the loop.
    RegionError : it stands in no such loop, in a branch or another loop within it, or in another group.
    """
    number = plain(group)
    if not is_integer(number):
        raise ArgumentTypeError(
            "tle.pipeline_group: a group is numbered at compile time",
            table=[Row("group", "a constant", describe_value(group))],
        )
    loop = innermost_interpreted() if _generator is None else _traced_loop(_generator)
    if loop is None:
        raise RegionError(
            "tle.pipeline_group stands directly in the body of a `for ... in tle.range(...)`",
            hint="not in a branch or another loop within it, nor in a function that it calls",
        )
    loop.enter(number)
    return Group(loop, number, _semantic if _generator is not None else None)


def _traced_loop(generator: Any) -> OpenLoop | None:
    inner = generator.scf_stack[-1] if generator.scf_stack else None
    return None if is_in_branch() else getattr(inner, LOOP, None)


pipeline_group = with_function(_pipeline_group, "pipeline_group")
