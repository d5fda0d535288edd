"""Writing block tensors: a new value takes the place of the old one, in part where only a part is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triton.language import core

from tle_raw.adapters.tilelang.regions import constant
from tle_raw.adapters.tilelang.tir_types import Buffer
from tle_raw.adapters.tilelang.traced import composed_writes
from tle_raw.adapters.tilelang.traced.block_reads import block_shape, check_packing, current, extents_of, take
from tle_raw.adapters.tilelang.traced.tracer import Tracer
from tle_raw.adapters.tilelang.traced.types import padded
from tle_raw.regions.shapes import shape_of


def write(tracer: Tracer, buffer: Buffer, indices: Sequence[Any], value: core.tensor) -> None:
    """Put ``value`` at ``indices`` in each lane, where the guards hold."""
    shape = block_shape(extents_of(tracer, buffer))
    guard = tracer.guard()
    if not shape:
        _write_one(tracer, buffer, value, guard)
        return
    indices = [tracer.simplify(i) for i in indices]
    if any(_step(tracer, index) is None for index in indices):
        inverse = composed_writes.turn_round(tracer, indices)
        if inverse is not None:
            extents = extents_of(tracer, buffer)
            set_value(tracer, buffer, *composed_writes.write(tracer, inverse, indices, extents, value, guard))
            return
    steps = [step(tracer, buffer, index) for index in indices]
    walked = [axis for axis, _, _ in steps if axis is not None]
    if len(walked) != len(set(walked)):
        raise tracer.fail(f"`{buffer.name}` is written along its diagonal")
    new = _into_dims(tracer, buffer, value, walked)
    held = None if guard is None else _into_dims(tracer, buffer, guard, walked)
    hits = None
    extents = extents_of(tracer, buffer)
    for dim, (axis, start, factor) in enumerate(steps):
        new, held, hit = _along(tracer, dim, len(steps), extents[dim], axis, start, factor, new, held)
        hits = tracer.both(hits, hit)
    hits = tracer.both(hits, held)
    set_value(tracer, buffer, new, hits)


def set_value(tracer: Tracer, buffer: Buffer, new: core.tensor, where: core.tensor | None) -> None:
    """Replace a buffer's block tensor, or the elements of it that ``where`` names."""
    shape, dtype = block_shape(extents_of(tracer, buffer)), tracer.storage(buffer.dtype)
    new = tracer.cast(tracer.spread(new, shape), dtype)
    if where is not None:
        new = tracer.choose(tracer.spread(where, shape), new, current(tracer, buffer))
    home = tracer.homes.get(buffer.data)
    if home is not None and not home.same_as(buffer):
        check_packing(tracer, buffer)
        new = _as_home(tracer, buffer, home, new)
    _keep(tracer, buffer, new)


def _keep(tracer: Tracer, buffer: Buffer, new: core.tensor) -> None:
    """A tile in a buffer of the kernel is written there and then: an arrival may follow."""
    shared = tracer.shared.get(buffer.data)
    tracer.replaces(buffer.data, new)
    if shared is None:
        tracer.tiles[buffer.data] = new
    else:
        shared.store(tracer.reshape(new, next(t.dims for t in tracer.named.values() if t.buffer.same_as(buffer))))


def _as_home(tracer: Tracer, buffer: Buffer, home: Any, new: core.tensor) -> core.tensor:
    """A view was written: the memory keeps the shape and the dtype of the buffer that allocated it."""
    shape, dtype = block_shape(extents_of(tracer, home)), tracer.storage(home.dtype)
    if new.type.scalar != dtype:
        if new.type.scalar.primitive_bitwidth != dtype.primitive_bitwidth:
            raise tracer.fail(f"a view of `{home.name}` with elements of another width")
        new = tracer.semantic.bitcast(new, dtype)
    if shape_of(new) != shape:
        for extent in (*extents_of(tracer, home), *extents_of(tracer, buffer)):
            if extent != padded(extent):
                raise tracer.fail(f"a view of `{home.name}` in another shape, when a dim is no power of two")
        new = tracer.reshape(new, shape)
    return new


def _write_one(tracer: Tracer, buffer: Buffer, value: core.tensor, guard: core.tensor | None) -> None:
    """A buffer of one element: a scalar, or inside parallel loops a value for each lane."""
    varies = any(s != 1 for v in (value, guard) if v is not None for s in shape_of(v))
    scope = str(buffer.scope())
    if varies and scope not in ("local", "local.var"):
        raise tracer.fail(f"several lanes write the one element of `{buffer.name}`")
    old = current(tracer, buffer)
    if guard is not None:
        value, guard = _alike(tracer, value, guard)
        old, value = _alike(tracer, old, value)
        value = tracer.choose(tracer.spread(guard, shape_of(value)), value, tracer.spread(old, shape_of(value)))
    if varies:
        tracer.of_lanes.add(buffer.data)
    elif shape_of(value):
        value = tracer.reshape(value, ())
    if not varies:
        tracer.of_lanes.discard(buffer.data)
    _keep(tracer, buffer, value)


def _alike(tracer: Tracer, a: core.tensor, b: core.tensor) -> tuple[core.tensor, core.tensor]:
    if not shape_of(a) and not shape_of(b):
        return a, b
    left, right = tracer.semantic.broadcast_impl_value(a, b)
    return left, right


def step(tracer: Tracer, buffer: Buffer, index: Any) -> tuple[int | None, Any, int]:
    """The lanes' axis that walks a dim, where it starts and by how much it goes on."""
    found = _step(tracer, index)
    if found is None:
        raise tracer.fail(
            f"`{buffer.name}` is written at the index {index}",
            hint="a dim of a block tensor is written along parallel loops, each element by one lane",
        )
    return found


def _step(tracer: Tracer, index: Any) -> tuple[int | None, Any, int] | None:
    form = tracer.form(index)
    factors = {} if form is None else form[0]
    numbers = [constant(f) for f in factors.values()]
    if form is None or len(factors) > 1 or any(n is None or n < 1 for n in numbers):
        return None
    axis = next((tracer.lanes.axis(v) for v in factors), None)
    return axis, form[1], int(numbers[0] or 1) if numbers else 1


def _into_dims(tracer: Tracer, buffer: Buffer, value: core.tensor, walked: Sequence[int]) -> core.tensor:
    """The lanes' axes that walk the buffer, in the order of its dims; others must not vary."""
    rank = len(tracer.lanes.extents)
    if not shape_of(value):
        value = tracer.reshape(value, [1] * rank) if rank else value
    sizes = shape_of(value)
    if any(size != 1 for axis, size in enumerate(sizes) if axis not in walked):
        raise tracer.fail(f"several lanes write one element of `{buffer.name}`, each another value")
    full = [padded(tracer.lanes.extents[a]) if a in walked else 1 for a in range(rank)]
    value = tracer.spread(value, full)
    order = [*walked, *(a for a in range(rank) if a not in walked)]
    value = tracer.permute(value, order)
    return tracer.reshape(value, [padded(tracer.lanes.extents[a]) for a in walked])


def _along(
    tracer: Tracer,
    dim: int,
    rank: int,
    size: int,
    axis: int | None,
    start: Any,
    factor: int,
    new: core.tensor,
    held: core.tensor | None,
) -> tuple[core.tensor, core.tensor | None, core.tensor | None]:
    """Bring one dim of a new value, and of its guard, to the buffer's own size; and say where it is new."""
    if axis is None:
        new = _insert(tracer, new, dim)
        held = None if held is None else _insert(tracer, held, dim)
        if size == 1:
            return new, held, None
        at = tracer.cast(tracer.integer(start), core.int32)
        return new, held, tracer.semantic.equal(tracer.positions(size, dim, rank), at)
    extent, first = tracer.lanes.extents[axis], constant(start)
    whole = first == 0 and factor == 1
    positions = tracer.positions(size, dim, rank)
    if whole and padded(extent) == padded(size):
        hit = None
        if extent < size:
            hit = tracer.semantic.less_than(positions, tracer.number(extent, core.int32))
        return new, held, hit
    semantic = tracer.semantic
    lane = positions if first == 0 else semantic.sub(positions, tracer.cast(tracer.integer(start), core.int32), False)
    hit = semantic.greater_equal(lane, tracer.number(0, core.int32))
    if factor != 1:
        step = tracer.number(factor, core.int32)
        even = semantic.equal(semantic.mod(lane, step), tracer.number(0, core.int32))
        lane, hit = semantic.floordiv(lane, step), tracer.both(hit, even)
    hit = tracer.both(hit, semantic.less_than(lane, tracer.number(extent, core.int32)))
    lane = _flat_positions(tracer, lane, dim, shape_of(new))
    new = take(tracer, new, dim, lane)
    held = None if held is None else take(tracer, held, dim, lane)
    return new, held, hit


def _flat_positions(tracer: Tracer, lane: core.tensor, dim: int, shape: Sequence[int]) -> core.tensor:
    """Positions along one dim, of the rank that the value has at this point."""
    size = shape_of(lane)[dim]
    return tracer.reshape(lane, [size if d == dim else 1 for d in range(len(shape))])


def _insert(tracer: Tracer, value: core.tensor, dim: int) -> core.tensor:
    shape = list(shape_of(value))
    return tracer.reshape(value, [*shape[:dim], 1, *shape[dim:]])
