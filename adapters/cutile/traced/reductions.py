"""Reductions and scans, of any number of tiles together, with any function."""

from __future__ import annotations

from collections.abc import Callable

from triton.language import core

from tle_raw.adapters.cutile.ir_types import Operation
from tle_raw.adapters.cutile.traced.control import run_block
from tle_raw.adapters.cutile.traced.tracer import Tracer, operation

Values = list[core.tensor]


@operation("tile_reduce")
def reduce(tracer: Tracer, op: Operation) -> tuple[core.tensor, ...]:
    return tuple(tracer.flow.reduce(tracer, [tracer.value(x) for x in op.xs], op.axis, _function(tracer, op)))


@operation("tile_scan")
def scan(tracer: Tracer, op: Operation) -> tuple[core.tensor, ...]:
    values = [tracer.value(x) for x in op.xs]
    return tuple(tracer.flow.scan(tracer, values, op.axis, _function(tracer, op), op.reverse))


def _function(tracer: Tracer, op: Operation) -> Callable[[Values, Values], Values]:
    """cuTile's body takes left and right of the first tile, then of the second, and so on."""

    def combine(left: Values, right: Values) -> Values:
        pairs = [side for pair in zip(left, right) for side in pair]
        tracer.bind(op.body.params, pairs)
        return run_block(tracer, op.body)

    return combine
