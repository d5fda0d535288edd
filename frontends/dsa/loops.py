"""Loops of ``tle.dsa``: ``range``, ``pipeline`` and ``parallel``, in the head of a ``for`` statement.

Where the head is traced they are ``tl.range``, which Triton tells by identity.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import Any

from triton.language import core

from tle_raw.frontends.lite.arguments import plain
from tle_raw.frontends.lite.code_generator import visited

NAMES = ("range", "pipeline", "parallel")
# What of a loop's arguments says on which of an Ascend core's vector units an iteration runs.
_BINDS = "bind_sub_block"


class loop:
    """``for i in tle.dsa.pipeline(start, end, step, num_stages=2)``: the numbers from ``start`` on, below ``end``.

    ``range``, ``pipeline`` and ``parallel`` give the same numbers, in order. ``pipeline`` asks that the loads of an
    iteration run ahead, ``num_stages`` deep; ``parallel`` promises that no iteration needs what another writes, and
    with ``bind_sub_block=True`` names those that an Ascend core's vector units may share.

    Attributes
    ----------
    start, end, step, num_stages, loop_unroll_factor, bind_sub_block : as they were given; one number is the end.
    """

    def __init__(
        self,
        arg1: Any,
        arg2: Any = None,
        step: Any = None,
        num_stages: Any = None,
        loop_unroll_factor: Any = None,
        bind_sub_block: Any = False,
    ) -> None:
        self.start: Any = 0 if arg2 is None else arg1
        self.end = arg1 if arg2 is None else arg2
        self.step = 1 if step is None else step
        self.num_stages, self.loop_unroll_factor, self.bind_sub_block = num_stages, loop_unroll_factor, bind_sub_block

    def __iter__(self) -> Iterator[Any]:
        """For Triton's interpreter, which runs the loop as Python does."""
        bounds = (int(_number(value)) for value in (self.start, self.end, self.step))
        return iter(builtins.range(*bounds))


def _number(value: Any) -> Any:
    value = plain(value)
    return value.handle.data.item() if isinstance(value, core.tensor) else value


def look_up_loop() -> Any:
    """What the name of a loop stands for: ``tl.range`` in the head of a loop that is being traced."""
    looping = visited("visit_For")
    if looping is None:
        return loop
    call = looping[1].iter
    if isinstance(call, ast.Call):
        call.keywords = [each for each in call.keywords if each.arg != _BINDS]
    return core.range
