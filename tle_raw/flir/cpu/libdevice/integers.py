"""Integer functions. Operands are i32 or i64 without a sign; the names with a ``u`` take them as unsigned."""

from __future__ import annotations

from torch_mlir.dialects import arith

from tle_raw.flir.cpu.libdevice.operations import operation, unsigned_less
from tle_raw.flir.cpu.math_functions.lanes import Lanes, select


def count_leading_zeros(x: Lanes) -> Lanes:
    return operation("math.ctlz")(x).i32


def count_ones(x: Lanes) -> Lanes:
    return operation("math.ctpop")(x).i32


def first_set(x: Lanes) -> Lanes:
    """The place of the lowest 1, counted from 1; 0 when there is none."""
    return select(x.equals(0), 0, operation("math.cttz")(x) + 1).i32


def reverse_bits(x: Lanes) -> Lanes:
    """Neighbours change places, then pairs, then groups of four, and so on."""
    size = x.width // 2
    while size:
        mask = _stripes(x.width, size)
        x = ((x & mask) << size) | (x.logical_shift_right(size) & mask)
        size //= 2
    return x


def _stripes(width: int, size: int) -> int:
    """``size`` ones, as many zeros, and so on; ones in the lowest bits."""
    return sum(((1 << size) - 1) << start for start in range(0, width, 2 * size))


def permute_bytes(x: Lanes, y: Lanes, selector: Lanes) -> Lanes:
    """Byte i of the result is the byte of y:x that bits 4i to 4i+2 of the selector name."""
    both = (y.to_unsigned(x.i64.element) << 32) | x.to_unsigned(x.i64.element)
    selector = selector.to_unsigned(both.element)
    result = both.constant(0)
    for i in range(4):
        place = (selector.logical_shift_right(4 * i) & 7) << 3
        result = result | ((both.logical_shift_right(place) & 0xFF) << (8 * i))
    return result.i32


def absolute(x: Lanes) -> Lanes:
    """The smallest number is its own absolute value."""
    return select(x < 0, 0 - x, x)


def high_product(x: Lanes, y: Lanes) -> Lanes:
    return Lanes(arith.MulSIExtendedOp(x.value, y.value).high, x.fused)


def unsigned_high_product(x: Lanes, y: Lanes) -> Lanes:
    return Lanes(arith.MulUIExtendedOp(x.value, y.value).high, x.fused)


def product_24(x: Lanes, y: Lanes) -> Lanes:
    """The product of the low 24 bits, which have a sign."""
    return ((x << 8) >> 8) * ((y << 8) >> 8)


def unsigned_product_24(x: Lanes, y: Lanes) -> Lanes:
    return (x & 0xFFFFFF) * (y & 0xFFFFFF)


def add_difference(x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """|x - y| + z"""
    return select(x < y, y - x, x - y) + z


def unsigned_add_difference(x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    return select(unsigned_less(x, y), y - x, x - y) + z


def average(x: Lanes, y: Lanes) -> Lanes:
    """(x + y) / 2 rounded down, without overflow: the bits in common and half of those that differ."""
    return (x & y) + ((x ^ y) >> 1)


def unsigned_average(x: Lanes, y: Lanes) -> Lanes:
    return (x & y) + (x ^ y).logical_shift_right(1)


def average_up(x: Lanes, y: Lanes) -> Lanes:
    return (x | y) - ((x ^ y) >> 1)


def unsigned_average_up(x: Lanes, y: Lanes) -> Lanes:
    return (x | y) - (x ^ y).logical_shift_right(1)
