"""Reading block tensors: whole, by rows, by pieces, or element by element through a gather."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triton.language import core

from tle_raw.adapters.common.gathers import gather
from tle_raw.adapters.tilelang.narrow import per_byte
from tle_raw.adapters.tilelang.regions import constant
from tle_raw.adapters.tilelang.tir_types import Buffer
from tle_raw.adapters.tilelang.traced.combined import reduced
from tle_raw.adapters.tilelang.traced.tracer import Tracer
from tle_raw.adapters.tilelang.traced.types import bits_of, padded
from tle_raw.regions.shapes import shape_of


def extents_of(tracer: Tracer, buffer: Buffer) -> list[int]:
    """The constant shape of a buffer that is a block tensor; a caller's tile has the shape of its piece."""
    for tile in tracer.named.values():
        if tile.buffer.data.same_as(buffer.data):
            return [tile.extents[d] for d in tile.kept]
    return [tracer.size(e, f"`{buffer.name}`") for e in buffer.shape]


def block_shape(extents: Sequence[int]) -> tuple[int, ...]:
    """The block tensor that holds a buffer; a buffer of one element is a scalar."""
    return () if all(e == 1 for e in extents) else tuple(map(padded, extents))


def current(tracer: Tracer, buffer: Buffer) -> core.tensor:
    """The value of a buffer, or of a view of one; zeros before the first write."""
    memory, extents = buffer.data, extents_of(tracer, buffer)
    shape, dtype = block_shape(extents), tracer.storage(buffer.dtype)
    tracer.needs(memory)
    found = tracer.tiles.get(memory)
    if memory in tracer.shared:
        found = tracer.shared[memory].load()
    if found is None:
        return tracer.full(shape, 0, dtype)
    if memory in tracer.of_lanes:
        return found
    check_packing(tracer, buffer)
    if found.type.scalar != dtype:
        if found.type.scalar.primitive_bitwidth != dtype.primitive_bitwidth:
            raise tracer.fail(f"a view of `{buffer.name}` with elements of another width")
        found = tracer.semantic.bitcast(found, dtype)
    if shape_of(found) != shape:
        _check_whole(tracer, buffer, extents)
        found = tracer.reshape(found, shape)
    return found


def check_packing(tracer: Tracer, buffer: Buffer) -> None:
    """Elements of four bits are a byte each here: a view that counts the bytes of memory sees others."""
    home = tracer.homes.get(buffer.data)
    if home is not None and per_byte(home.dtype) != per_byte(buffer.dtype):
        raise tracer.fail(f"a view of `{home.name}` with elements of another width")


def _check_whole(tracer: Tracer, buffer: Buffer, extents: Sequence[int]) -> None:
    """A view of another shape: row-major order means the same only where nothing is padded."""
    home = tracer.homes.get(buffer.data)
    shapes = [extents] + ([] if home is None else [extents_of(tracer, home)])
    if any(e != padded(e) for shape in shapes for e in shape):
        raise tracer.fail(f"a view of `{buffer.name}` in another shape, when a dim is no power of two")


def read(tracer: Tracer, buffer: Buffer, indices: Sequence[Any]) -> core.tensor:
    """The elements at ``indices`` in each lane; axes along which nothing varies have size 1."""
    value = current(tracer, buffer)
    if buffer.data in tracer.of_lanes or not shape_of(value):
        return value
    indices = [tracer.simplify(i) for i in indices]
    plan = _plan(tracer, indices, shape_of(value))
    if plan is None:
        return _gather(tracer, value, indices)
    axes: list[int] = []
    for dim in reversed(range(len(indices))):
        axis, rest = plan[dim]
        if axis is None:
            value = select(tracer, value, dim, rest)
        else:
            value = window(tracer, value, dim, rest, tracer.lanes.extents[axis])
            axes.insert(0, axis)
    return _into_lanes(tracer, value, axes)


def _plan(tracer: Tracer, indices: Sequence[Any], shape: Sequence[int]) -> list[tuple[int | None, Any]] | None:
    """For each dim the lanes' axis that walks it and where that starts; None where an index is more than that."""
    plan: list[tuple[int | None, Any]] = []
    for index in indices:
        form = tracer.form(index)
        if form is None or len(form[0]) > 1 or any(constant(f) != 1 for f in form[0].values()):
            return None
        axis = next((tracer.lanes.axis(v) for v in form[0]), None)
        plan.append((axis, form[1]))
    walked = [axis for axis, _ in plan if axis is not None]
    return None if len(walked) != len(set(walked)) else plan


def _into_lanes(tracer: Tracer, value: core.tensor, axes: Sequence[int]) -> core.tensor:
    """The dims of a block tensor, each at its axis among the lanes."""
    if not axes:
        return value
    value = tracer.permute(value, sorted(range(len(axes)), key=lambda d: axes[d]))
    sizes = iter(shape_of(value))
    rank = len(tracer.lanes.extents)
    return tracer.reshape(value, [next(sizes) if axis in axes else 1 for axis in range(rank)])


def select(tracer: Tracer, value: core.tensor, dim: int, index: Any) -> core.tensor:
    """One slice of a block tensor along ``dim``, which goes away."""
    shape = shape_of(value)
    rest = [s for d, s in enumerate(shape) if d != dim]
    if shape[dim] == 1:
        return tracer.reshape(value, rest)
    # All slices but one are made zero bits and joined: exact for every value, not-a-number and -0 included.
    element = value.type.scalar
    bits = value if element.is_int() else tracer.semantic.bitcast(value, bits_of(element))
    at = tracer.positions(shape[dim], dim, len(shape))
    here = tracer.semantic.equal(at, tracer.cast(tracer.integer(index), core.int32))
    zero = tracer.number(0, bits.type.scalar)
    kept = tracer.choose(tracer.spread(here, shape), bits, tracer.spread(zero, shape))
    joined = reduced(tracer, kept, dim, "bitor")
    return joined if element.is_int() else tracer.semantic.bitcast(joined, element)


def window(tracer: Tracer, value: core.tensor, dim: int, start: Any, extent: int) -> core.tensor:
    """``extent`` slices along ``dim`` from ``start`` on."""
    shape = shape_of(value)
    size, first = padded(extent), constant(start)
    if size == shape[dim] and first == 0:
        return value
    if first is not None and first % size == 0 and size < shape[dim]:
        return _aligned_piece(tracer, value, dim, first // size, size)
    at = tracer.positions(extent, dim, len(shape))
    at = tracer.semantic.add(at, tracer.cast(tracer.integer(start), core.int32), False)
    return take(tracer, value, dim, at)


def _aligned_piece(tracer: Tracer, value: core.tensor, dim: int, number: int, size: int) -> core.tensor:
    """One of the equal pieces that a dim falls into: no element moves between lanes of other pieces."""
    shape = list(shape_of(value))
    split = [*shape[:dim], shape[dim] // size, size, *shape[dim + 1 :]]
    pieces = tracer.semantic.reshape(value, split, False)
    return select(tracer, pieces, dim, number)


def take(tracer: Tracer, value: core.tensor, dim: int, at: core.tensor) -> core.tensor:
    """Slices along ``dim`` at the positions ``at``, which vary along ``dim`` only; beyond the ends the last one."""
    shape = shape_of(value)
    at = clip(tracer, at, shape[dim])
    size = shape_of(at)[dim]
    at = tracer.spread(at, [size if d == dim else s for d, s in enumerate(shape)])
    return gathered(tracer, value, at, dim)


def clip(tracer: Tracer, at: core.tensor, size: int) -> core.tensor:
    semantic, ignore = tracer.semantic, core.PropagateNan.NONE
    low = semantic.maximum(at, tracer.number(0, at.type.scalar), ignore)
    return semantic.minimum(low, tracer.number(size - 1, at.type.scalar), ignore)


def _gather(tracer: Tracer, value: core.tensor, indices: Sequence[Any]) -> core.tensor:
    """Any index in any lane: the block tensor is laid out flat and each lane picks its element."""
    shape, semantic = shape_of(value), tracer.semantic
    flat, stride = None, 1
    for dim in reversed(range(len(indices))):
        at = clip(tracer, tracer.cast(tracer.integer(indices[dim]), core.int32), shape[dim])
        part = semantic.mul(at, tracer.number(stride, core.int32), False)
        flat = part if flat is None else semantic.add(flat, part, False)
        stride *= shape[dim]
    assert flat is not None
    lanes = shape_of(flat)
    count = 1
    for size in lanes:
        count *= size
    flat = tracer.semantic.reshape(flat, [count], False) if lanes else tracer.reshape(flat, [1])
    picked = gathered(tracer, tracer.semantic.reshape(value, [stride], False), flat, 0)
    return tracer.reshape(picked, lanes)


def gathered(tracer: Tracer, value: core.tensor, at: core.tensor, dim: int) -> core.tensor:
    """The elements at the positions ``at`` along ``dim``."""
    element = value.type.scalar
    if element.is_int1():
        value = tracer.cast(value, core.int8)
    found = gather(tracer.semantic, value, at, dim)
    return tracer.cast(found, core.int1) if element.is_int1() else found
