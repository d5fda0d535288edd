"""Boxes of buffers as block tensors: what tile operations read and write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from triton.language import core

from tle_raw.adapters.tilelang.regions import BufferRegion
from tle_raw.adapters.tilelang.traced import access
from tle_raw.adapters.tilelang.traced.tracer import Tracer
from tle_raw.adapters.tilelang.traced.types import padded


def sizes(tracer: Tracer, box: BufferRegion) -> list[int]:
    return [tracer.size(e, f"the piece of `{box.buffer.name}`") for e in box.extents]


@contextmanager
def walking(tracer: Tracer, extents: Sequence[int]) -> Iterator[list[Any]]:
    """Parallel loops over a box; gives their variables."""
    from tvm.tirx import Var

    if tracer.lanes.extents:
        raise tracer.fail("a tile operation inside a parallel loop")
    variables = [Var(f"at_{dim}", "int32") for dim in range(len(extents))]
    with tracer.parallel(variables, extents):
        yield variables


def indices(box: BufferRegion, variables: Sequence[Any], dims: Sequence[int]) -> list[Any]:
    """The box's indices when ``variables`` walk its ``dims``."""
    steps = dict(zip(dims, variables))
    return [origin + steps[d] if d in steps else origin for d, origin in enumerate(box.origin)]


def read(tracer: Tracer, box: BufferRegion) -> core.tensor:
    """The whole box, with all of its dims, those of size 1 too, to compute with it."""
    tracer.dtype(box.buffer.dtype)  # or there is no arithmetic of it
    extents = sizes(tracer, box)
    with walking(tracer, extents) as variables:
        value = access.load(tracer, box.buffer, indices(box, variables, range(len(extents))))
        if not value.type.is_block():
            value = tracer.reshape(value, [1] * len(extents))
        return tracer.spread(value, [padded(e) for e in extents])


def write(tracer: Tracer, box: BufferRegion, value: core.tensor) -> None:
    """Put a block tensor of the box's shape into it."""
    tracer.dtype(box.buffer.dtype)
    extents = sizes(tracer, box)
    with walking(tracer, extents) as variables:
        value = tracer.reshape(value, [padded(e) for e in extents])
        access.store(tracer, box.buffer, indices(box, variables, range(len(extents))), value)


def mask_padding(tracer: Tracer, value: core.tensor, extents: Sequence[int], dims: Sequence[int], fill: Any) -> Any:
    """Put a neutral element where a block tensor is wider than what it holds."""
    where = None
    for dim in dims:
        if padded(extents[dim]) != extents[dim]:
            at = tracer.positions(extents[dim], dim, len(extents))
            where = tracer.both(where, tracer.semantic.less_than(at, tracer.number(extents[dim], core.int32)))
    if where is None:
        return value
    shape = [padded(e) for e in extents]
    neutral = tracer.full(shape, fill, value.type.scalar)
    return tracer.choose(tracer.spread(where, shape), value, neutral)
