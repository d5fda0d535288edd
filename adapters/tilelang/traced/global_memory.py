"""Elements of global memory: addresses, bounds on both sides, loads and stores.

TileLang reads zero beyond a tensor's bounds and writes nothing there. What lies inside for certain is not checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from triton.language import core

from tle_raw.adapters.tilelang.regions import constant, strides_of
from tle_raw.adapters.tilelang.tir_types import Buffer, Variable
from tle_raw.adapters.tilelang.traced.tracer import Tracer
from tle_raw.adapters.tilelang.traced.types import padded
from tle_raw.regions.shapes import shape_of

WIDE = 2**31


@dataclass
class _Offset:
    """Where an element stands: a part that all lanes share, in 64 bits, and a part for each lane."""

    shared: core.tensor | None = None
    lanes: core.tensor | None = None


def load(tracer: Tracer, buffer: Buffer, indices: Sequence[Any]) -> core.tensor:
    pointer, inside = address(tracer, buffer, indices)
    other = None
    if inside is not None:
        pointer, inside = _alike(tracer, pointer, inside)
        other = _beyond(tracer, buffer, pointer.type.scalar.element_ty)
    value = core.load(pointer, mask=inside, other=other, _semantic=tracer.semantic)
    return _as_bool(tracer, buffer, value)


def store(tracer: Tracer, buffer: Buffer, indices: Sequence[Any], value: core.tensor) -> None:
    pointer, inside = address(tracer, buffer, indices)
    inside = tracer.both(inside, tracer.lanes_that_exist())
    if shape_of(value) and not shape_of(pointer) and any(d != 1 for d in shape_of(value)):
        raise tracer.fail(f"all lanes write one element of `{buffer.name}`, each another value")
    _check_one_writer(tracer, buffer, pointer, value)
    pointer, value = tracer.semantic.broadcast_impl_value(pointer, value) if shape_of(pointer) else (pointer, value)
    if shape_of(value) and not shape_of(pointer):
        value = tracer.reshape(value, ())
    if inside is not None:
        pointer, inside = _alike(tracer, pointer, inside)
        value = tracer.spread(value, shape_of(pointer))
    core.store(pointer, value, mask=inside, _semantic=tracer.semantic)


def address(tracer: Tracer, buffer: Buffer, indices: Sequence[Any]) -> tuple[core.tensor, core.tensor | None]:
    """The pointers, and where they lie inside the buffer and may be followed; None for everywhere."""
    base = tracer.memory.get(buffer.data)
    if base is None:
        raise tracer.fail(f"global memory that is no parameter: `{buffer.name}`")
    base = _pointer_to(tracer, base, tracer.storage(buffer.dtype))
    offset, inside = _Offset(), None
    for index, stride, extent in zip(indices, strides_of(buffer), buffer.shape):
        index = tracer.simplify(index)
        value = _add(tracer, offset, index, stride, _is_large(buffer))
        inside = tracer.both(inside, _bounds(tracer, index, value, tracer.simplify(extent)))
    pointer = base
    if offset.shared is not None:
        pointer = tracer.semantic.add(pointer, offset.shared, False)
    if offset.lanes is not None:
        pointer = tracer.semantic.add(tracer.spread(pointer, shape_of(offset.lanes)), offset.lanes, False)
        inside = tracer.both(inside, tracer.lanes_that_exist())
    return pointer, tracer.both(inside, tracer.guard())


def _pointer_to(tracer: Tracer, base: core.tensor, element: core.dtype) -> core.tensor:
    """A view of a buffer may have elements of another dtype."""
    if base.type.element_ty == element:
        return base
    return tracer.semantic.cast(base, core.pointer_type(element, base.type.address_space))


def _is_large(buffer: Buffer) -> bool:
    total = 1
    for extent in buffer.shape:
        total *= constant(extent) or 1
    return total >= WIDE


def _add(tracer: Tracer, offset: _Offset, index: Any, stride: Any, large: bool) -> core.tensor:
    """Add one dim's index to the offset; gives the index itself."""
    form = tracer.form(index)
    if form is None:
        value = tracer.integer(index)
        wide = large or constant(tracer.simplify(stride)) is None
        _add_lanes(tracer, offset, _times(tracer, value, stride, core.int64 if wide else value.type.scalar))
        return value
    factors, rest = form
    shared = tracer.integer(rest)
    if constant(tracer.simplify(rest)) != 0:
        part = _times(tracer, shared, stride, core.int64)
        offset.shared = part if offset.shared is None else tracer.semantic.add(offset.shared, part, False)
    value = shared
    for variable, factor in factors.items():
        lane = tracer.cast(tracer.lane(variable), core.int32)
        if constant(factor) != 1:
            lane = tracer.semantic.mul(lane, tracer.cast(tracer.integer(factor), core.int32), False)
        value = tracer.semantic.add(tracer.cast(lane, value.type.scalar), value, False)
        wide = large and not _bounds_check(tracer, variable, factor, stride)
        _add_lanes(tracer, offset, _times(tracer, lane, stride, core.int64 if wide else core.int32))
    return value


def _bounds_check(tracer: Tracer, variable: Variable, factor: Any, stride: Any) -> bool:
    """A lane's own part of the offset is no wider than 32 bits."""
    axis = tracer.lanes.axis(variable)
    assert axis is not None
    sizes = [constant(tracer.simplify(n)) for n in (factor, stride)]
    return None not in sizes and padded(tracer.lanes.extents[axis]) * abs(sizes[0] * sizes[1]) < WIDE  # type: ignore[operator]


def _times(tracer: Tracer, value: core.tensor, stride: Any, dtype: core.dtype) -> core.tensor:
    value = tracer.cast(value, dtype)
    stride = tracer.simplify(stride)
    if constant(stride) == 1:
        return value
    return tracer.semantic.mul(value, tracer.cast(tracer.integer(stride), dtype), False)


def _add_lanes(tracer: Tracer, offset: _Offset, part: core.tensor) -> None:
    if not shape_of(part):
        part = tracer.cast(part, core.int64)
        offset.shared = part if offset.shared is None else tracer.semantic.add(offset.shared, part, False)
    else:
        offset.lanes = part if offset.lanes is None else tracer.semantic.add(offset.lanes, part, False)


def _bounds(tracer: Tracer, index: Any, value: core.tensor, extent: Any) -> core.tensor | None:
    """Where ``0 <= index < extent``; None when that holds for certain."""
    semantic = tracer.semantic
    low = high = None
    if not tracer.proves(index >= 0):
        low = semantic.greater_equal(value, tracer.number(0, value.type.scalar))
    if not tracer.proves(index < extent):
        high = semantic.less_than(value, tracer.integer(extent))
    return tracer.both(low, high)


def _alike(tracer: Tracer, a: core.tensor, b: core.tensor) -> tuple[core.tensor, core.tensor]:
    if not shape_of(a) and not shape_of(b):
        return a, b
    left, right = tracer.semantic.broadcast_impl_value(a, b)
    return left, right


def _check_one_writer(tracer: Tracer, buffer: Buffer, pointer: core.tensor, value: core.tensor) -> None:
    """A value that varies along an axis must go to places that do."""
    where, what = shape_of(pointer), shape_of(value)
    if where and any(w == 1 and v != 1 for w, v in zip(where, what)):
        raise tracer.fail(f"several lanes write one element of `{buffer.name}`, each another value")


def _beyond(tracer: Tracer, buffer: Buffer, element: core.dtype) -> Any:
    """What is read beyond the bounds: zero, or what ``T.annotate_safe_value`` says."""
    safe = tracer.safe.get(buffer.data)
    if isinstance(safe, (int, float)):
        return tracer.number(safe, element)
    if safe is not None:
        return tracer.cast(tracer.evaluate(safe), element)
    return tracer.number(0, element)


def _as_bool(tracer: Tracer, buffer: Buffer, value: core.tensor) -> core.tensor:
    return tracer.cast(value, core.int1) if str(buffer.dtype) == "bool" else value
