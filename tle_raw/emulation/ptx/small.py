"""16-bit floats in PTX registers: computed in float or double, rounded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tle_raw.emulation.numbers import FORMATS, approximate, extreme, narrowed, saturated
from tle_raw.emulation.ptx.function import PtxFunction, UnknownInstruction


def is_small(kind: str) -> bool:
    return kind.startswith(("f16", "bf16"))


def per_half(f: PtxFunction, kind: str, values: Sequence[str], work: Callable[[str, list[str]], str]) -> str:
    """``work`` on one 16-bit value, or on both of a register. It takes and gives bits, as i16."""
    if not kind.endswith("x2"):
        return work(kind, list(values))
    plain, b, halves = kind.removesuffix("x2"), f.body, []
    for shift in (0, 16):
        parts = [b.value(f"trunc i32 {b.value(f'lshr i32 {v}, {shift}')} to i16") for v in values]
        halves.append(b.value(f"zext i16 {work(plain, parts)} to i32"))
    return b.value(f"or i32 {halves[0]}, {b.value(f'shl i32 {halves[1]}, 16')}")


def from_small(f: PtxFunction, kind: str, bits: str) -> str:
    """A float of an f16 or bf16."""
    if kind == "f16":
        return f.body.value(f"fpext half {f.body.value(f'bitcast i16 {bits} to half')} to float")
    wide = f.body.value(f"zext i16 {bits} to i32")
    return f.body.value(f"bitcast i32 {f.body.value(f'shl i32 {wide}, 16')} to float")


def to_small(f: PtxFunction, kind: str, value: str) -> str:
    """The bits of a float, rounded to nearest."""
    if kind == "f16":
        return f.body.value(f"bitcast half {f.body.value(f'fptrunc float {value} to half')} to i16")
    bits = f.body.call("i32", "tle_team_bfloat", f"float {value}")
    return f.body.value(f"trunc i32 {bits} to i16")


def small_result(f: PtxFunction, root: str, kind: str, halves: list[str], parts: Sequence[str]) -> str:
    """One 16-bit result of add, sub, mul, fma, min, max or a function."""
    if "ftz" not in parts:
        return _small_result(f, root, kind, halves, parts)
    result = _small_result(f, root, kind, [flushed_small(f, kind, h) for h in halves], parts)
    return flushed_small(f, kind, result)


def flushed_small(f: PtxFunction, kind: str, bits: str) -> str:
    """Subnormal values are zeros of their sign."""
    exponent = f.body.value(f"and i16 {bits}, {0x7C00 if kind == 'f16' else 0x7F80}")
    tiny = f.body.value(f"icmp eq i16 {exponent}, 0")
    return f.body.value(f"select i1 {tiny}, i16 {f.body.value(f'and i16 {bits}, -32768')}, i16 {bits}")


def _small_result(f: PtxFunction, root: str, kind: str, halves: list[str], parts: Sequence[str]) -> str:
    """Float has the bits that +, -, * need."""
    b = f.body
    if root in ("fma", "mad"):
        wide = [b.value(f"fpext float {from_small(f, kind, h)} to double") for h in halves]
        numbers = (f"i32 {FORMATS[kind]}", f"i32 {int('relu' in parts)}", f"i32 {int('sat' in parts)}")
        bits = b.call("i32", "tle_team_small_fma", *(f"double {w}" for w in wide), *numbers)
        return b.value(f"trunc i32 {bits} to i16")
    values = [from_small(f, kind, h) for h in halves]
    if root in ("min", "max"):
        return _canonical(f, kind, extreme(b, root, "float", values, parts))
    if root in ("ex2", "tanh", "rcp", "sqrt", "rsqrt", "lg2", "sin", "cos"):
        return to_small(f, kind, approximate(b, root, "float", values))
    if root not in ("add", "sub", "mul"):
        raise UnknownInstruction(root)
    value = b.value(f"f{root} float {values[0]}, {values[1]}")
    if "sat" in parts:
        value = saturated(b, value, "float")
    return to_small(f, kind, value)


def _canonical(f: PtxFunction, kind: str, value: str) -> str:
    """A NaN of PTX's min and max is 0x7fff."""
    bits = to_small(f, kind, value)
    nan = f.body.value(f"fcmp uno float {value}, {value}")
    return f.body.value(f"select i1 {nan}, i16 32767, i16 {bits}")


def narrowed_small(f: PtxFunction, kind: str, value: str, rounding: str, saturate: bool) -> str:
    """The bits of a double with any rounding, as i16."""
    return f.body.value(f"trunc i32 {narrowed(f.body, value, kind, rounding, saturate)} to i16")
