"""Block ids: a program's, or what the call passes."""

from __future__ import annotations

from triton.language import core

from tle_raw.adapters.cutile.ir_types import Operation
from tle_raw.adapters.cutile.traced.tracer import Tracer, operation


@operation("tile_bid")
def block_id(tracer: Tracer, op: Operation) -> core.tensor:
    place = tracer.grid.ids[op.axis]
    return tracer.semantic.program_id(place) if isinstance(place, int) else place


@operation("tile_num_blocks")
def number_of_blocks(tracer: Tracer, op: Operation) -> core.tensor:
    place = tracer.grid.counts[op.axis]
    if place is None:
        raise tracer.fail(
            f"ct.num_blocks({op.axis}), of which the call says nothing",
            hint=f"name it beside the block id: grid={{{op.axis}: ('row', 'rows')}}",
        )
    return tracer.semantic.num_programs(place) if isinstance(place, int) else place
