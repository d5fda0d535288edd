"""``range`` and ``static_range``: what a ``for`` counts through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tle_raw.adapters.mlir.edsl.emitter import Emitter
from tle_raw.adapters.mlir.edsl.types import Number
from tle_raw.adapters.mlir.edsl.values import EdslValue


@dataclass(frozen=True)
class Range:
    """``range(start, stop, step)``; ``unrolled`` when it is a static_range."""

    start: Any
    stop: Any
    step: Any
    unrolled: bool


def make_range(emit: Emitter, bounds: tuple[Any, ...], unrolled: bool) -> Range:
    """The range of one to three bounds; those of an unrolled one are constants.

    Raises
    ------
    CompilationFailed : a bound is no integer, or the step is 0.
    """
    if not 1 <= len(bounds) <= 3:
        emit.mismatch("range takes 1 to 3 integers", "1 to 3", str(len(bounds)), "arguments")
    for bound in bounds:
        if isinstance(bound, int) and not isinstance(bound, bool):
            continue
        if not isinstance(bound, EdslValue) or not isinstance(bound.type, Number) or not bound.type.is_integer:
            emit.mismatch("range takes integers", "an integer", bound)
        if unrolled:
            emit.mismatch("static_range takes constants", "a constant integer", bound)
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if isinstance(step, int) and step == 0:
        emit.fail("the step of a range cannot be 0")
    return Range(start, stop, step, unrolled)
