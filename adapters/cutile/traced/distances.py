"""How far away the tiles lie that a loop counts, so that the loop advances one number for all of a tile's addresses.

LLVM's loop strength reduction would advance the address of every copy of a thread by itself, less what these have in
common, and add that to each in every round. A number from an assembly instruction, an empty one, it leaves as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from triton.language import core

from tle_raw.adapters.cutile.ir_types import Operation
from tle_raw.adapters.cutile.traced import limits
from tle_raw.adapters.cutile.traced.tracer import Tracer
from tle_raw.adapters.cutile.traced.values import constant

ALIGNED = 16  # bytes of the widest copy


def counts_wide(tracer: Tracer, op: Operation, bounds: Sequence[core.tensor]) -> bool:
    """Whether a loop is to count in 64 bits: what a widened index is multiplied by is not added up."""
    return tracer.is_for_nvidia and limits.goes_up(op) and bounds[0].type == core.int32


def note_count(tracer: Tracer, index: core.tensor, count: core.tensor) -> None:
    """``count`` is a loop's index in 64 bits."""
    tracer.counts[index.handle.id()] = count


def counted(tracer: Tracer, index: core.tensor, step: int, stride: core.tensor, size: int) -> core.tensor | None:
    """How many elements of ``size`` bytes lie before the tile of that number; None where no loop counts it.

    Tiles are ``step`` rows apart. Triton no longer sees what the stride is a multiple of, so the step has to be enough
    for the widest copies.
    """
    count = tracer.counts.get(index.handle.id()) if tracer.is_for_nvidia else None
    if count is None or step * size % ALIGNED:
        return None
    rows = tracer.make("create_mul", core.int64, count, stride)
    return tracer.make("create_mul", core.int64, _unknown(tracer, rows), constant(tracer, step, core.int64))


def _unknown(tracer: Tracer, number: core.tensor) -> core.tensor:
    """The same number, of which LLVM knows nothing."""
    type_ = number.type.to_ir(tracer.builder)
    made = tracer.builder.create_inline_asm("", "=l,0", [number.handle], [type_], True, 1)
    return core.tensor(made.get_result(0), number.type)
