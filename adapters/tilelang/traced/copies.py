"""``T.copy``, ``T.transpose``, ``T.fill`` and ``T.clear``."""

from __future__ import annotations

from tle_raw.adapters.tilelang.regions import BufferRegion, region_of
from tle_raw.adapters.tilelang.tir_types import Call
from tle_raw.adapters.tilelang.traced import access, boxes
from tle_raw.adapters.tilelang.traced.tracer import Tracer


def copy(tracer: Tracer, call: Call) -> None:
    """Box to box, between any two kinds of memory; dims of size 1 do not count."""
    if tracer.specialised is not None and tracer.specialised.copies(call):
        return
    source, target = region_of(call.args[0]), region_of(call.args[1])
    dims = [_walked(tracer, box) for box in (source, target)]
    extents = [[boxes.sizes(tracer, box)[d] for d in walked] for box, walked in zip((source, target), dims)]
    if extents[0] != extents[1]:
        raise tracer.fail(f"a copy between boxes of the shapes {extents[0]} and {extents[1]}")
    with boxes.walking(tracer, extents[0]) as variables:
        value = access.load(tracer, source.buffer, boxes.indices(source, variables, dims[0]))
        access.store(tracer, target.buffer, boxes.indices(target, variables, dims[1]), value)


def _walked(tracer: Tracer, box: BufferRegion) -> list[int]:
    return [dim for dim, extent in enumerate(boxes.sizes(tracer, box)) if extent != 1]


def transpose(tracer: Tracer, call: Call) -> None:
    source, target = region_of(call.args[0]), region_of(call.args[1])
    rank = len(source.origin)
    with boxes.walking(tracer, boxes.sizes(tracer, source)) as variables:
        value = access.load(tracer, source.buffer, boxes.indices(source, variables, range(rank)))
        turned = [*range(rank - 2), rank - 1, rank - 2]
        access.store(tracer, target.buffer, boxes.indices(target, variables, turned), value)


def fill(tracer: Tracer, call: Call) -> None:
    target = region_of(call.args[0])
    dims = _walked(tracer, target)
    extents = [boxes.sizes(tracer, target)[d] for d in dims]
    with boxes.walking(tracer, extents) as variables:
        value = tracer.cast(tracer.evaluate(call.args[1]), tracer.dtype(target.buffer.dtype))
        access.store(tracer, target.buffer, boxes.indices(target, variables, dims), value)
