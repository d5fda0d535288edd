"""Conversions: between dtypes, of bits, to bytes and back."""

from __future__ import annotations

import math
from typing import Any

from triton.language import core

from tle_raw.adapters.cutile.ir_types import Operation
from tle_raw.adapters.cutile.traced import libdevice
from tle_raw.adapters.cutile.traced.rounding import DIRECTIONS, narrow, nearest_away
from tle_raw.adapters.cutile.traced.small_floats import NUMBERS, four_bits_of, number_of
from tle_raw.adapters.cutile.traced.tracer import Tracer, operation
from tle_raw.adapters.cutile.traced.types import bits_of
from tle_raw.adapters.cutile.traced.values import cast, choose, constant, like, reshape, without_unit_axes
from tle_raw.regions.shapes import shape_of


@operation("tile_astype")
def as_type(tracer: Tracer, op: Operation) -> core.tensor:
    value, dtype = tracer.value(op.x), tracer.dtype(op.result_var.get_type().dtype)
    source, target = op.x.get_type().dtype.name, op.result_var.get_type().dtype.name
    mode = op.rounding_mode.name if op.rounding_mode is not None else "RN"
    if source in NUMBERS:
        value, source = number_of(tracer, value, source), "float32"
    if target in NUMBERS:
        if target != "float4_e2m1fn" or mode != "RN" or not value.type.scalar.is_floating():
            raise tracer.fail(f"a conversion from {source} to {target} rounded by {mode}")
        return four_bits_of(tracer, cast(tracer, value, core.float32) if value.type.scalar.is_fp8() else value)
    if "tfloat32" in (source, target):
        return _with_tf32(tracer, value, source, target, mode, dtype)
    if dtype.is_int1():
        return _truth(tracer, value)
    if value.type.scalar.is_floating() and dtype.is_floating():
        if not tracer.keeps_matrices:
            return _between_floats(tracer, value, dtype, mode)
        made = _between_floats(tracer, without_unit_axes(tracer, value), dtype, mode)
        return reshape(tracer, made, shape_of(value))
    if value.type.scalar.is_fp8() or dtype.is_fp8():  # Triton has no conversions between them and integers
        value = cast(tracer, value, core.float32)
    return cast(tracer, value, dtype)


def _truth(tracer: Tracer, value: core.tensor) -> core.tensor:
    element = value.type.scalar
    if element.is_fp8():
        value = cast(tracer, value, core.float32)
    kind = "create_fcmpUNE" if element.is_floating() else "create_icmpNE"
    return tracer.make(kind, like(value, core.int1), value, constant(tracer, 0, value.type))


def _between_floats(tracer: Tracer, value: core.tensor, dtype: core.dtype, mode: str) -> core.tensor:
    """A wider dtype holds every number: how to round does not matter then."""
    source = value.type.scalar
    if source.is_fp8():
        value = cast(tracer, value, core.float32)
    elif source.is_fp64() and dtype.is_fp8() and mode == "RN":
        return cast(tracer, _rounded_to_odd(tracer, value), dtype)
    if mode == "RN" or dtype.primitive_bitwidth > source.primitive_bitwidth:
        return cast(tracer, value, dtype)
    if mode == "RA" and dtype.is_fp16():
        return nearest_away(tracer, cast(tracer, value, core.float32), dtype)
    if mode == "RA" and dtype == source:
        return value
    if mode not in DIRECTIONS or dtype.is_fp8():
        raise tracer.fail(f"a conversion from {source} to {dtype} rounded by {mode}")
    if source.is_fp64():  # twice in one direction is as once
        value = libdevice.to_single(tracer, value, DIRECTIONS[mode])
    return value if dtype.is_fp32() else narrow(tracer, cast(tracer, value, core.float32), dtype, mode)


def _rounded_to_odd(tracer: Tracer, value: core.tensor) -> core.tensor:
    """f64 as an f32 whose last bit tells of what is lost: rounded once more it is as if it were rounded once."""
    if tracer.is_interpreted:
        return value
    cut = libdevice.to_single(tracer, value, "rz")
    lost = tracer.make("create_fcmpONE", like(value, core.int1), cast(tracer, cut, core.float64), value)
    bits = tracer.semantic.bitcast(cut, core.uint32)
    odd = tracer.make("create_or", bits.type, bits, cast(tracer, lost, core.uint32))
    return tracer.semantic.bitcast(odd, core.float32)


def _with_tf32(tracer: Tracer, value: core.tensor, source: str, target: str, mode: str, dtype: Any) -> core.tensor:
    """tf32 is carried by an f32 that has its bits."""
    if source == "tfloat32":
        return _between_floats(tracer, value, dtype, mode) if dtype.is_floating() else cast(tracer, value, dtype)
    if not value.type.scalar.is_floating():
        return _round_to_tf32(tracer, cast(tracer, value, dtype), mode)
    if mode != "RA" or value.type.scalar.primitive_bitwidth > 32:  # else f32 holds it
        value = _between_floats(tracer, value, dtype, mode)
    return _round_to_tf32(tracer, cast(tracer, value, dtype), mode)


def _round_to_tf32(tracer: Tracer, value: core.tensor, mode: str) -> core.tensor:
    """The last 13 bits become zeros."""
    if mode not in ("RN", "RZ", "RA"):
        raise tracer.fail(f"a conversion to tfloat32 rounded by {mode}")
    bits = tracer.semantic.bitcast(value, core.uint32)
    kept = bits
    if mode == "RN":  # half of what is lost is added, less one where the last bit that is kept is even
        one = constant(tracer, 1, bits.type)
        last = tracer.make("create_lshr", bits.type, bits, constant(tracer, 13, bits.type))
        odd = tracer.make("create_and", bits.type, last, one)
        kept = tracer.make("create_add", bits.type, bits, constant(tracer, 0xFFF, bits.type))
        kept = tracer.make("create_add", bits.type, kept, odd)
    if mode == "RA":
        kept = tracer.make("create_add", bits.type, bits, constant(tracer, 0x1000, bits.type))
    kept = tracer.make("create_and", bits.type, kept, constant(tracer, 0xFFFFE000, bits.type))
    size = tracer.make("create_fabs", value.type, value)
    finite = tracer.make("create_fcmpOLT", like(value, core.int1), size, constant(tracer, math.inf, value.type))
    return choose(tracer, finite, tracer.semantic.bitcast(kept, core.float32), value)


@operation("tile_bitcast")
def bit_cast(tracer: Tracer, op: Operation) -> core.tensor:
    return tracer.semantic.bitcast(tracer.value(op.x), tracer.dtype(op.result_var.get_type().dtype))


@operation("tile_pack")
def pack(tracer: Tracer, op: Operation) -> core.tensor:
    """The bytes of each element, the lowest first: halves of halves, side by side."""
    value = tracer.value(op.x)
    if op.x.get_type().dtype.name == "float4_e2m1fn":
        low, high = tracer.semantic.split(reshape(tracer, value, [shape_of(value)[0] // 2, 2]))
        high = tracer.make("create_shl", high.type, high, constant(tracer, 4, high.type))
        return tracer.make("create_or", low.type, low, high)
    width = value.type.scalar.primitive_bitwidth
    value = tracer.semantic.bitcast(value, bits_of(width))
    while width > 8:
        width //= 2
        high = tracer.make("create_lshr", value.type, value, constant(tracer, width, value.type))
        halves = [cast(tracer, half, bits_of(width)) for half in (value, high)]
        value = reshape(tracer, tracer.semantic.join(*halves), [2 * shape_of(value)[0]])
    return value


@operation("tile_unpack")
def unpack(tracer: Tracer, op: Operation) -> core.tensor:
    value, dtype = tracer.value(op.x), tracer.dtype(op.result_var.get_type().dtype)
    if op.result_var.get_type().dtype.name == "float4_e2m1fn":
        low = tracer.make("create_and", value.type, value, constant(tracer, 15, value.type))
        high = tracer.make("create_lshr", value.type, value, constant(tracer, 4, value.type))
        return reshape(tracer, tracer.semantic.join(low, high), [2 * shape_of(value)[0]])
    width = 8
    while width < dtype.primitive_bitwidth:
        pairs = reshape(tracer, value, [shape_of(value)[0] // 2, 2])
        low, high = (cast(tracer, half, bits_of(2 * width)) for half in tracer.semantic.split(pairs))
        high = tracer.make("create_shl", high.type, high, constant(tracer, width, high.type))
        value = tracer.make("create_or", low.type, low, high)
        width *= 2
    return tracer.semantic.bitcast(value, dtype)
