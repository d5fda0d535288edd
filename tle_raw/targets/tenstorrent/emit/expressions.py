"""Expressions and arguments of the final IR as C++ for unsigned numbers of 32 bits."""

from __future__ import annotations

import math
import struct

from tle_raw.errors import LoweringError
from tle_raw.targets.tenstorrent.ir import Accessor, Arg, Bits, Buffer, Int, Op, Query, Var, Word
from tle_raw.targets.tenstorrent.kernel_api import Release

_STRENGTH = {
    "||": 1,
    "&&": 2,
    "==": 3,
    "!=": 3,
    "<": 4,
    "<=": 4,
    ">": 4,
    ">=": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    "%": 6,
}
_ATOM = 9


def buffer_name(name: str) -> str:
    """The C++ constant that holds a circular buffer's number."""
    return name if name.startswith("cb_") else f"cb_{name}"


def accessor_name(tensor: str) -> str:
    """The C++ variable by which a tensor's pages are found."""
    return f"{tensor}_tensor"


def address_name(tensor: str) -> str:
    """The C++ variable of a tensor's address."""
    return f"{tensor}_address"


def float_bits(value: float) -> int:
    """The 32 bits of a float32."""
    return int.from_bytes(struct.pack("<f", value), "little")


def argument(value: Arg, release: Release, *, as_number: bool = False) -> str:
    """One argument of a call.

    Parameters
    ----------
    as_number : a ``Bits`` is the float itself, for the one operation that takes a float.
    """
    match value:
        case Buffer(name):
            return buffer_name(name)
        case Accessor(name):
            return accessor_name(name)
        case Bits(number) if as_number and math.isfinite(number):
            return f"{number!r}f"
        case Bits(number) if as_number:
            return f"__builtin_bit_cast(float, {float_bits(number):#010x}u)"
        case Bits(number):
            return f"{float_bits(number):#010x}u /* {number!r} */"
        case Word(text):
            return text
        case _:
            return expression(value, release)


def expression(value: Arg, release: Release) -> str:
    """An integer expression, with no more parentheses than it needs.

    Raises
    ------
    LoweringError : it is none, or has a sign that C++ lacks.
    """
    return _printed(value, release)[0]


def _printed(value: Arg, release: Release) -> tuple[str, int]:
    match value:
        case Int(number) if number >= 0:
            return (f"{number}u" if number > 0x7FFFFFFF else str(number)), _ATOM
        case Var(name):
            return name, _ATOM
        case Query(function, arguments):
            return release.spell(function, [argument(each, release) for each in arguments]), _ATOM
        case Op("min" | "max" as sign, a, b):
            left, right = _inside(a, 4, release), _inside(b, 4, release)
            return f"({left} {'<' if sign == 'min' else '>'} {right} ? {left} : {right})", _ATOM
        case Op(sign, a, b) if sign in _STRENGTH:
            strength = _STRENGTH[sign]
            # A comparison within another is put in parentheses on either side: a compiler warns without them.
            before, behind = (4, 4) if strength in (3, 4) else (strength - 1, strength)
            return f"{_inside(a, before, release, sign)} {sign} {_inside(b, behind, release, sign)}", strength
    raise LoweringError(f"`{value}` is no expression of unsigned numbers")


def _inside(value: Arg, weaker_than: int, release: Release, sign: str = "") -> str:
    text, strength = _printed(value, release)
    mixed = sign == "||" and isinstance(value, Op) and value.sign == "&&"  # a compiler warns without parentheses
    return f"({text})" if strength <= weaker_than or mixed else text
