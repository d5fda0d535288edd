"""Constants of the 8-bit floats, which Triton's builder has none of: their bits, under another type."""

from __future__ import annotations

import math

from triton.language import core

from tle_raw.triton_types import Semantic

# Bits of the mantissa, the exponent of the smallest normal number, and the largest number.
_FORMATS = {"fp8e4nv": (3, -6, 448.0), "fp8e5": (2, -14, 57344.0)}


def number(semantic: Semantic, value: bool | int | float, dtype: core.dtype) -> core.tensor:
    """A scalar of any dtype. One of eight bits is rounded as a GPU converts: to even, and saturated."""
    if dtype.name not in _FORMATS:
        return semantic.scalar_constant(value, dtype)
    bits = encode(float(value), dtype.name)
    return semantic.bitcast(semantic.scalar_constant(bits - (bits >> 7 << 8), core.int8), dtype)


def full(semantic: Semantic, shape: list[int], value: int | float, dtype: core.dtype) -> core.tensor:
    """A block tensor of one number."""
    if dtype.name in _FORMATS:
        return semantic.splat(number(semantic, value, dtype), shape)
    return semantic.full(shape, value, dtype)


def is_small(dtype: core.dtype) -> bool:
    """Whether it is a float of eight bits."""
    return dtype.name in _FORMATS


def encode(value: float, name: str) -> int:
    """The byte of the nearest number of that format.

    Examples
    --------
    >>> encode(1.0, "fp8e4nv"), encode(-2.5, "fp8e5"), encode(1e9, "fp8e4nv")
    (56, 193, 126)
    """
    mantissa, smallest, largest = _FORMATS[name]
    sign = 0x80 if math.copysign(1.0, value) < 0 else 0
    if math.isnan(value):
        return sign | 0x7F
    size = min(abs(value), largest)
    exponent = max(math.frexp(size)[1] - 1, smallest) if size else smallest
    steps = round(size / 2.0 ** (exponent - mantissa))
    # Below the smallest normal number the steps are the code; a round to the next power of two carries by itself.
    return sign | (((exponent - smallest) << mantissa) + steps)
