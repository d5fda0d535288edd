"""Functions whose result is exact: integers, bits, what kind of number a float is."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from tests.flir.cpu.libdevice.running import assert_same, run
from tle_raw.flir.cpu.libdevice.functions import FUNCTIONS

pytestmark = pytest.mark.one_triton
INT_MIN, INT_MAX = -(2**31), 2**31 - 1


def signed(x: int, width: int = 32) -> int:
    return (x + (1 << (width - 1))) % (1 << width) - (1 << (width - 1))


def u32(x: int) -> int:
    return x % 2**32


def u64(x: int) -> int:
    return x % 2**64


def low_24(x: int) -> int:
    return signed(x << 8) >> 8


def byte_perm(x: int, y: int, s: int) -> int:
    source = struct.pack("<II", u32(x), u32(y))
    return struct.unpack("<i", bytes(source[u32(s) >> (4 * i) & 7] for i in range(4)))[0]


def reversed_bits(x: int, width: int) -> int:
    return signed(int(f"{x % (1 << width):0{width}b}"[::-1], 2), width)


def first_set(x: int) -> int:
    return (x & -x).bit_length()


def bits_f32(x: float) -> int:
    return struct.unpack("<i", struct.pack("<f", x))[0]


def bits_f64(x: float) -> int:
    return struct.unpack("<q", struct.pack("<d", x))[0]


def ilogb(x: float) -> int:
    if math.isinf(x):
        return INT_MAX
    return INT_MIN if x == 0 or math.isnan(x) else math.frexp(x)[1] - 1


def logb(x: float) -> float:
    if not math.isfinite(x):
        return x * x
    return -math.inf if x == 0 else math.frexp(x)[1] - 1.0


def saturated(x: float) -> float:
    return 0.0 if math.isnan(x) or x <= 0 else min(x, 1.0)


def sign(x: float) -> int:
    return int(math.copysign(1, x) < 0)


def fdim(x: float, y: float) -> float:
    return 0.0 if x <= y else x - y


def next_after_f32(x: float, y: float) -> float:
    return float(numpy.nextafter(numpy.float32(x), numpy.float32(y)))


def truncated(x: float) -> float:
    return math.copysign(float(math.trunc(x)), x) if math.isfinite(x) else x


def rounded_half_away(x: float) -> float:
    return math.copysign(math.floor(abs(x) + 0.5), x) if abs(x) < 2**51 and abs(x) != 0.49999999999999994 else x


def scaled(x: float, n: int) -> float:
    try:
        return math.ldexp(x, n)
    except OverflowError:
        return math.copysign(math.inf, x)


def fmod(x: float, y: float) -> float:
    return math.nan if math.isinf(x) or y == 0 else math.fmod(x, y)


def remainder(x: float, y: float) -> float:
    return math.nan if math.isinf(x) or y == 0 else math.remainder(x, y)


EXACT: dict[str, Callable[..., Any]] = {
    "clz": lambda x: 32 - u32(x).bit_length(),
    "clzll": lambda x: 64 - u64(x).bit_length(),
    "popc": lambda x: u32(x).bit_count(),
    "popcll": lambda x: u64(x).bit_count(),
    "ffs": first_set,
    "ffsll": first_set,
    "brev": lambda x: reversed_bits(x, 32),
    "brevll": lambda x: reversed_bits(x, 64),
    "byte_perm": byte_perm,
    "abs": lambda x: signed(abs(x)),
    "llabs": lambda x: signed(abs(x), 64),
    "mulhi": lambda x, y: x * y >> 32,
    "umulhi": lambda x, y: signed(u32(x) * u32(y) >> 32),
    "mul64hi": lambda x, y: x * y >> 64,
    "umul64hi": lambda x, y: signed(u64(x) * u64(y) >> 64, 64),
    "mul24": lambda x, y: signed(low_24(x) * low_24(y)),
    "umul24": lambda x, y: signed((x & 0xFFFFFF) * (y & 0xFFFFFF)),
    "sad": lambda x, y, z: signed(abs(x - y) + z),
    "usad": lambda x, y, z: signed(abs(u32(x) - u32(y)) + z),
    "hadd": lambda x, y: (x + y) >> 1,
    "uhadd": lambda x, y: signed((u32(x) + u32(y)) >> 1),
    "rhadd": lambda x, y: (x + y + 1) >> 1,
    "urhadd": lambda x, y: signed((u32(x) + u32(y) + 1) >> 1),
    "hiloint2double": lambda high, low: struct.unpack("<d", struct.pack("<Ii", u32(low), high))[0],
    "double2loint": lambda x: signed(bits_f64(x)),
    "double2hiint": lambda x: bits_f64(x) >> 32,
    "int_as_float": lambda x: struct.unpack("<f", struct.pack("<i", x))[0],
    "uint_as_float": lambda x: struct.unpack("<f", struct.pack("<i", x))[0],
    "float_as_int": bits_f32,
    "float_as_uint": bits_f32,
    "longlong_as_double": lambda x: struct.unpack("<d", struct.pack("<q", x))[0],
    "double_as_longlong": bits_f64,
    "isnanf": lambda x: int(math.isnan(x)),
    "isnand": lambda x: int(math.isnan(x)),
    "isinff": lambda x: int(math.isinf(x)),
    "isinfd": lambda x: int(math.isinf(x)),
    "finitef": lambda x: int(math.isfinite(x)),
    "isfinited": lambda x: int(math.isfinite(x)),
    "signbitf": sign,
    "signbitd": sign,
    "saturatef": saturated,
    "ilogb": ilogb,
    "logb": logb,
    "fabs": abs,
    "fdim": fdim,
    "copysign": math.copysign,
    "fmod": fmod,
    "remainder": remainder,
    "nextafter": math.nextafter,
    "nextafterf": next_after_f32,
    "floor": lambda x: math.copysign(float(math.floor(x)), x) if math.isfinite(x) else x,
    "ceil": lambda x: math.copysign(float(math.ceil(x)), x) if math.isfinite(x) else x,
    "trunc": truncated,
    "rint": lambda x: math.copysign(float(round(x)), x) if math.isfinite(x) else x,
    "nearbyint": lambda x: math.copysign(float(round(x)), x) if math.isfinite(x) else x,
    "round": rounded_half_away,
    "ldexp": scaled,
    "scalbn": scaled,
    "fmin": lambda x, y: y if math.isnan(x) else x if math.isnan(y) else min(x, y),
    "fmax": lambda x, y: y if math.isnan(x) else x if math.isnan(y) else max(x, y),
}
SYMBOLS = [f"__nv_{name}{f}" for name in EXACT for f in ("", "f") if f"__nv_{name}{f}" in FUNCTIONS]
SPECIAL_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, math.inf, -math.inf, math.nan, 1e-40]
SPECIAL_INTEGERS = [0, 1, -1, 2, INT_MAX, INT_MIN, 0x7654, 0x3210, 0xFFFFFF, -0x800000]


def samples(kind: str, random: numpy.random.Generator, is_exponent: bool) -> Any:
    """Bits of all kinds, and numbers near those where something happens."""
    count = 400
    if kind.startswith("i"):
        width = int(kind[1:])
        low, high = (-400, 400) if is_exponent else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
        extra = [] if is_exponent else SPECIAL_INTEGERS
        return numpy.array([*random.integers(low, high, count), *random.permutation(extra * 10)], f"i{width // 8}")
    bits = random.integers(0, 2**63, count // 2).astype("u8" if kind == "f64" else "u4")
    bits = bits | random.integers(0, 2, count // 2).astype(bits.dtype) << (63 if kind == "f64" else 31)
    size = random.normal(0, 30, count // 2)
    return numpy.array([*bits.view("f8" if kind == "f64" else "f4"), *size, *random.permutation(SPECIAL_FLOATS * 10)])


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_it_is_exact(symbol: str) -> None:
    name = symbol.removeprefix("__nv_")
    reference = EXACT.get(name) or EXACT[name.removesuffix("f")]
    kinds = FUNCTIONS[symbol].operands
    random = numpy.random.default_rng(1)
    is_exponent = kinds[0][0] != kinds[-1][0]
    with numpy.errstate(all="ignore"):
        operands = [samples(kind, random, is_exponent) for kind in kinds]
        operands = [o.astype({"f32": "f4", "f64": "f8"}.get(kind, o.dtype)) for o, kind in zip(operands, kinds)]
    count = min(map(len, operands))
    operands = [o[:count] for o in operands]
    expected = [reference(*[o[i].item() for o in operands]) for i in range(count)]
    if FUNCTIONS[symbol].result == "f32":
        with numpy.errstate(all="ignore"):
            expected = list(numpy.array(expected).astype("f4"))
    assert_same(symbol, run(symbol, *operands), expected, *operands)


def test_the_high_reciprocal_has_zeros_below() -> None:
    x = numpy.array([3.0, -7.0, 1e300, 1e-310, 0.0, math.inf])
    got = run("__nv_rcp64h", x)
    assert not numpy.any(got.view("u8") & 0xFFFFFFFF)
    assert numpy.allclose(got[:3], 1 / x[:3], rtol=2**-20)
    assert list(got[3:]) == [math.inf, math.inf, 0.0]
