"""``tle.gpu.pipeline`` where no loop's head is traced: an object that holds the loop's bounds, as FlagTree's does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from triton.language import core


class pipeline_loop:
    """``tle.gpu.pipeline(start, end, step, num_stages=…)``: ``tl.range``, whose loads Triton's pipeliner overlaps.

    Attributes
    ----------
    start, end, step, num_stages, loop_unroll_factor : as they were given; one number is the end.
    """

    def __init__(
        self, arg1: Any, arg2: Any = None, step: Any = None, num_stages: Any = None, loop_unroll_factor: Any = None
    ) -> None:
        self.start: Any = 0 if arg2 is None else arg1
        self.end = arg1 if arg2 is None else arg2
        self.step = 1 if step is None else step
        self.num_stages, self.loop_unroll_factor = num_stages, loop_unroll_factor

    def __iter__(self) -> Iterator[Any]:
        """For Triton's interpreter, which runs the loop as Python does."""
        bounds = (int(core._unwrap_if_constexpr(value)) for value in (self.start, self.end, self.step))
        return iter(range(*bounds))
