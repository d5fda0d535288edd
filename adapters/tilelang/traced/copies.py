"""``T.copy``, ``T.transpose``, ``T.fill`` and ``T.clear``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triton.language import core

from tle_raw.adapters.tilelang.narrow import is_narrow
from tle_raw.adapters.tilelang.regions import BufferRegion, is_global, nearness, region_of
from tle_raw.adapters.tilelang.tir_types import Call
from tle_raw.adapters.tilelang.traced import access, boxes
from tle_raw.adapters.tilelang.traced.block_reads import extents_of
from tle_raw.adapters.tilelang.traced.narrow_values import convert
from tle_raw.adapters.tilelang.traced.tracer import Tracer
from tle_raw.regions.shapes import shape_of


def copy(tracer: Tracer, call: Call) -> None:
    """Box to box, between any two kinds of memory; dims of size 1 do not count.

    Boxes of other sizes are copied as TileLang does: the box that lies nearer to the registers says how far the loops
    go, zeros are read beyond a buffer's end, and nothing is written there.
    """
    if tracer.specialised is not None and tracer.specialised.copies(call):
        return
    source, target = region_of(call.args[0]), region_of(call.args[1])
    dims = [_walked(tracer, box) for box in (source, target)]
    extents = [[boxes.sizes(tracer, box)[d] for d in walked] for box, walked in zip((source, target), dims)]
    walked = extents[0]
    if extents[0] != extents[1]:
        walked = _loops(tracer, source, target, extents)
    with boxes.walking(tracer, walked) as variables:
        value = _read(tracer, source, boxes.indices(source, variables, dims[0]))
        if is_narrow(source.buffer.dtype) or is_narrow(target.buffer.dtype):
            value = convert(tracer, value, source.buffer.dtype, target.buffer.dtype)
        access.store(tracer, target.buffer, boxes.indices(target, variables, dims[1]), value)


def _loops(tracer: Tracer, source: BufferRegion, target: BufferRegion, extents: list[list[int]]) -> list[int]:
    """How far the loops go over boxes of other sizes: over the whole source at the least."""
    base = extents[0] if nearness(source.buffer) >= nearness(target.buffer) else extents[1]
    if len(extents[0]) != len(extents[1]) or any(n < size for n, size in zip(base, extents[0])):
        raise tracer.fail(
            f"a copy between boxes of the shapes {extents[0]} and {extents[1]}",
            hint="TileLang walks the box that is nearer to the registers, which must hold the source's",
        )
    return base


def _read(tracer: Tracer, source: BufferRegion, indices: Sequence[Any]) -> core.tensor:
    """The elements of a box in each lane, zeros beyond the end of a block tensor, as beyond that of an array."""
    value = access.load(tracer, source.buffer, indices)
    if is_global(source.buffer) and not access.named(tracer, source.buffer):
        return value
    ends = [tracer.simplify(extent) for extent in source.buffer.shape]
    if access.named(tracer, source.buffer):
        indices, ends = access.inside_tile(tracer, source.buffer, indices), list(extents_of(tracer, source.buffer))
    inside = None
    for index, end in zip(indices, ends):
        index = tracer.simplify(index)
        if not tracer.proves(index < end):
            inside = tracer.both(inside, tracer.semantic.less_than(tracer.integer(index), tracer.integer(end)))
    if inside is None:
        return value
    if not shape_of(value):
        value = tracer.reshape(value, [1] * len(tracer.lanes.extents))
    return tracer.choose(inside, value, tracer.number(0, value.type.scalar))


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
        value = convert(tracer, tracer.evaluate(call.args[1]), _dtype(call.args[1]), target.buffer.dtype)
        access.store(tracer, target.buffer, boxes.indices(target, variables, dims), value)


def _dtype(value: Any) -> str:
    return str(getattr(value, "dtype", "int32" if isinstance(value, int) else "float32"))
