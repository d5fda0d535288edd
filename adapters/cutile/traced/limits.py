"""What a loop over tiles knows of its index: that the tile begins inside the array, or lies inside wholly.

``for j in range(A.shape[1] // n)`` gives numbers of tiles of which no element lies outside, and ``range(ct.num_tiles(A,
1, shape))`` those of tiles that begin inside. Checks of what is known would stand between a loop's products.
"""

from __future__ import annotations

from typing import NamedTuple

from triton.language import core

from tle_raw.adapters.cutile.ir_types import Operation
from tle_raw.adapters.cutile.traced.tracer import Tracer


class Limit(NamedTuple):
    """A size over ``step``, rounded down where the last tile is ``whole``, else up. Sizes are known by their value."""

    size: int
    step: int
    whole: bool


def note_division(tracer: Tracer, op: Operation, size: core.tensor, quotient: core.tensor) -> None:
    """``quotient`` is ``op``, an integer division of ``size``."""
    step = op.rhs.get_constant() if op.rhs.is_constant() else 0
    if isinstance(step, int) and step > 0:
        note(tracer, quotient, size, step, whole=op.fn == "floordiv")


def note(tracer: Tracer, value: core.tensor, size: core.tensor, step: int, whole: bool) -> None:
    """The value is at most that limit."""
    if not tracer.is_interpreted:
        tracer.at_most[value.handle.id()] = frozenset({Limit(size.handle.id(), step, whole)})


def note_smaller(tracer: Tracer, a: core.tensor, b: core.tensor, smaller: core.tensor) -> None:
    """The smaller of two values keeps the limits of both."""
    if not tracer.is_interpreted:
        found = tracer.at_most.get(a.handle.id(), frozenset()) | tracer.at_most.get(b.handle.id(), frozenset())
        if found:
            tracer.at_most[smaller.handle.id()] = found


def note_index(tracer: Tracer, op: Operation, index: core.tensor, stop: core.tensor) -> None:
    """The index of a loop that begins at zero or above, and goes up, is below the loop's end."""
    if not tracer.is_interpreted and goes_up(op):
        itself = Limit(stop.handle.id(), 1, True)
        tracer.below[index.handle.id()] = tracer.at_most.get(stop.handle.id(), frozenset()) | {itself}


def goes_up(op: Operation) -> bool:
    """Whether a loop begins at zero or above."""
    known = op.start.is_constant() and op.step.is_constant()
    return bool(known and op.start.get_constant() >= 0 and op.step.get_constant() > 0)


def begins_inside(tracer: Tracer, index: core.tensor, size: core.tensor, step: int) -> bool:
    """Whether the tile of that number, ``step`` apart from the next, is known to begin inside a dim of that size."""
    return any(step <= limit.step for limit in _of(tracer, index, size))


def lies_inside(tracer: Tracer, index: core.tensor, size: core.tensor, step: int, extent: int) -> bool:
    """Whether no element of it is outside."""
    return any(limit.whole and max(step, extent) <= limit.step for limit in _of(tracer, index, size))


def _of(tracer: Tracer, index: core.tensor, size: core.tensor) -> list[Limit]:
    if tracer.is_interpreted:
        return []
    return [limit for limit in tracer.below.get(index.handle.id(), ()) if limit.size == size.handle.id()]
