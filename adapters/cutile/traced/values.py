"""Constants, casts and shapes of block tensors; a tile of no dims is a scalar."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from triton.language import core

from tle_raw.adapters.cutile.traced.tracer import Tracer
from tle_raw.adapters.cutile.traced.types import block_type
from tle_raw.regions.shapes import shape_of, shape_of_type

# Bits of the significand, and the exponent of the smallest normal number.
_FORMATS = {"fp16": (11, -14), "bf16": (8, -126), "fp8e4nv": (4, -6), "fp8e5": (3, -14)}


def constant(tracer: Tracer, value: bool | int | float, type_: core.dtype) -> core.tensor:
    """A number, rounded once to the dtype; in all elements of a block type."""
    scalar = type_.scalar
    made = _integer(tracer, value, scalar) if scalar.is_int() else _floating(tracer, float(value), scalar)
    return spread(tracer, made, shape_of_type(type_))


def _integer(tracer: Tracer, value: bool | int | float, dtype: core.dtype) -> core.tensor:
    bits, number = dtype.primitive_bitwidth, int(value)
    if bits == 1:
        return tracer.semantic.scalar_constant(bool(number), dtype)
    number &= (1 << bits) - 1
    if dtype.is_int_signed() and number >> (bits - 1):
        number -= 1 << bits
    return tracer.semantic.scalar_constant(number, dtype)


def _floating(tracer: Tracer, value: float, dtype: core.dtype) -> core.tensor:
    """Triton makes f32 and f64; the small ones are cast from an f32 that is theirs already."""
    if dtype.name in _FORMATS:
        wide = constant(tracer, rounded(value, dtype.name), core.float32)
        return tracer.semantic.cast(wide, dtype)
    create = tracer.builder.get_fp64 if dtype.is_fp64() else tracer.builder.get_fp32
    return core.tensor(create(value), dtype)


def rounded(value: float, dtype: str) -> float:
    """The nearest number of a small dtype, ties to even."""
    if not math.isfinite(value) or value == 0:
        return value
    precision, smallest = _FORMATS[dtype]
    quantum = 2.0 ** (max(math.frexp(value)[1] - 1, smallest) - precision + 1)
    return math.copysign(round(value / quantum) * quantum, value)


def like(value: core.tensor, element: core.dtype) -> core.dtype:
    """The type of such a block with other elements."""
    return block_type(element, shape_of(value))


def cast(tracer: Tracer, value: core.tensor, dtype: core.dtype) -> core.tensor:
    return value if value.type.scalar == dtype else tracer.semantic.cast(value, dtype)


def retag(value: core.tensor, element: core.dtype) -> core.tensor:
    """The same bits under a dtype of the same width that differs in its sign only."""
    return core.tensor(value.handle, like(value, element))


def spread(tracer: Tracer, value: core.tensor, shape: Sequence[int]) -> core.tensor:
    """Broadcast to a shape; the ranks are equal, or the value is a scalar."""
    if shape_of(value) == tuple(shape):
        return value
    if not shape_of(value):
        return tracer.semantic.splat(value, list(shape))
    return tracer.semantic.broadcast_impl_shape(value, list(shape))


def reshape(tracer: Tracer, value: core.tensor, shape: Sequence[int]) -> core.tensor:
    """In row-major order; also from a scalar to a block of one element, and back."""
    value, after = without_unit_axes(tracer, value), tuple(shape)
    before = shape_of(value)
    if before == after:
        return value
    if not before:
        return tracer.semantic.splat(value, list(after))
    if not after:
        flat = value if before == (1,) else tracer.semantic.reshape(value, [1], False)
        return tracer.semantic.unsplat(flat)
    if len(after) > len(before) and tuple(d for d in after if d != 1) == before:
        return _with_unit_axes(tracer, value, after)
    return tracer.semantic.reshape(value, list(after), False)


def _with_unit_axes(tracer: Tracer, value: core.tensor, shape: tuple[int, ...]) -> core.tensor:
    """Axes of size 1 are put in without moving anything. A later reshape starts at what they were put into: a tile
    that is loaded for a product goes the same way as Triton's own.
    """
    made = value
    for axis, size in enumerate(shape):
        if size == 1:
            made = tracer.semantic.expand_dims(made, axis)
    if not tracer.is_interpreted:
        tracer.expanded[id(made)] = made, value
    return made


def without_unit_axes(tracer: Tracer, value: core.tensor) -> core.tensor:
    """What axes of size 1 were put into, where that was done here; else the value."""
    _, inner = tracer.expanded.get(id(value), (value, value))
    return inner


def positions(tracer: Tracer, extent: int, dtype: core.dtype = core.int32) -> core.tensor:
    """0, 1, 2, …"""
    if extent == 1:
        return constant(tracer, 0, block_type(dtype, (1,)))
    return cast(tracer, tracer.semantic.arange(0, extent), dtype)


def along(tracer: Tracer, value: core.tensor, axis: int, rank: int) -> core.tensor:
    """A block of one dim, laid along one axis of a block of ``rank`` dims."""
    return reshape(tracer, value, [shape_of(value)[0] if a == axis else 1 for a in range(rank)])


def join_conditions(tracer: Tracer, *conditions: core.tensor | None) -> core.tensor | None:
    """All of the conditions, broadcast against each other; None stands for one that always holds."""
    found = None
    for condition in conditions:
        if condition is not None:
            found = condition if found is None else tracer.semantic.and_(found, condition)
    return found


def in_float32(tracer: Tracer, compute: Callable[..., core.tensor], *operands: core.tensor) -> core.tensor:
    """Small floats are computed with in f32 and rounded back, as cuTile does."""
    element = operands[0].type.scalar
    if element.primitive_bitwidth >= 32:
        return compute(*operands)
    return cast(tracer, compute(*(cast(tracer, o, core.float32) for o in operands)), element)


def choose(tracer: Tracer, condition: core.tensor, yes: core.tensor, no: core.tensor) -> core.tensor:
    """Elementwise, of blocks of one shape."""
    return tracer.make("create_select", yes.type, condition, yes, no)


def absent(tracer: Tracer, type_: core.dtype) -> core.tensor:
    """A value that nobody reads."""
    if tracer.is_interpreted:
        return constant(tracer, 0, type_)
    return core.tensor(tracer.builder.create_poison(type_.to_ir(tracer.builder)), type_)


Values = list[Any]
