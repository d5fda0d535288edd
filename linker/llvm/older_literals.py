"""Rewrites the floating-point literals of LLVM 23 and later for an older parser.

Newer LLVM prints the shortest decimal (``float 1.000000e-01``), raw bits (``f0x3FB8AA3B``), ``+inf`` and ``+nan(0x1)``.
An older one wants decimals that are exact in their type, or its own hexadecimal forms.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from fractions import Fraction

from tle_raw.errors import LinkError

# A type, or a literal of the newer kind. The type that stands last before a literal on its line is the literal's.
# Names and strings are matched first, so that nothing inside them is taken for either.
_PIECE = re.compile(
    r"""(?P<skip>[@%$!]"[^"]*"|"[^"]*"|[@%$!\#^][-a-zA-Z$._0-9]+|;[^\n]*)
    |\b(?P<type>half|bfloat|float|double|fp128|x86_fp80|ppc_fp128)\b
    |(?<![\w.])(?P<literal>
        [-+]?f0x[0-9A-Fa-f]+
        |[-+](?:inf|qnan|s?nan\(0x[0-9A-Fa-f]+\))
        |[-+]?\d+\.\d*(?:[eE][-+]?\d+)?
    )""",
    re.VERBOSE,
)


class _Format:
    """One IEEE-like format: its bits, the older spelling of a bit pattern, and the nearest pattern to a number."""

    def __init__(self, exponent: int, mantissa: int, spell: Callable[[int], str]) -> None:
        self.exponent, self.mantissa, self.spell = exponent, mantissa, spell

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.mantissa

    def bits(self, literal: str) -> int:
        """The bit pattern that a newer literal means."""
        if "f0x" in literal:
            return int(literal.partition("f0x")[2], 16)
        negative, word = literal.startswith("-"), literal.lstrip("+-")
        return negative << (self.exponent + self.mantissa) | self._magnitude(word)

    def _magnitude(self, word: str) -> int:
        quiet = 1 << (self.mantissa - 1)
        if word == "inf":
            return self.infinity
        if word == "qnan":
            return self.infinity | quiet
        if word.startswith("nan("):
            return self.infinity | quiet | int(word[4:-1], 16)
        if word.startswith("snan("):
            return self.infinity | int(word[5:-1], 16)
        return self._nearest(Fraction(word))

    def _nearest(self, number: Fraction) -> int:
        """Round to nearest, ties to even; beyond the largest, infinity."""
        if not number:
            return 0
        bias = (1 << (self.exponent - 1)) - 1
        power = number.numerator.bit_length() - number.denominator.bit_length()
        if number < Fraction(2) ** power:
            power -= 1
        power = max(power, 1 - bias)  # subnormal numbers share the smallest exponent
        scaled = round(number / Fraction(2) ** (power - self.mantissa))
        # A mantissa that overflows carries into the exponent, which is what it should do.
        pattern = scaled + ((power + bias - 1) << self.mantissa)
        return min(pattern, self.infinity)


def _spell_float(bits: int) -> str:
    """Older LLVM writes a float as the double of the same value."""
    return f"0x{_widened(bits):016X}"


def _widened(bits: int) -> int:
    sign, exponent, mantissa = bits >> 31 << 63, bits >> 23 & 0xFF, bits & 0x7FFFFF
    if exponent == 0xFF:  # Python would make every NaN quiet
        return sign | 0x7FF << 52 | mantissa << 29
    value = struct.unpack("<f", struct.pack("<I", bits & 0x7FFFFFFF))[0]
    widened: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    return sign | widened


FORMATS = {
    "half": _Format(5, 10, lambda bits: f"0xH{bits:04X}"),
    "bfloat": _Format(8, 7, lambda bits: f"0xR{bits:04X}"),
    "float": _Format(8, 23, _spell_float),
    "double": _Format(11, 52, lambda bits: f"0x{bits:016X}"),
}


def older_literals(text: str) -> str:
    """The same module with floating-point literals that every LLVM reads.

    Raises
    ------
    LinkError : a literal of a type that no CPU target here makes.
    """
    return "\n".join(_rewritten(line) for line in text.split("\n"))


def _rewritten(line: str) -> str:
    if not any(c in line for c in ".+-x"):
        return line
    last = ""

    def replace(match: re.Match[str]) -> str:
        nonlocal last
        if match["type"]:
            last = match["type"]
        if not match["literal"] or not last:
            return match[0]
        if last not in FORMATS:
            raise LinkError(f"a literal of the type {last}, which is not known here: {line.strip()}")
        form = FORMATS[last]
        return form.spell(form.bits(match["literal"]))

    return _PIECE.sub(replace, line)
