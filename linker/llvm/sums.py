"""Sums of 32 bits in LLVM IR, and what is left of one without the constants that were added anywhere in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tle_raw.linker.llvm.control_flow import NAME

_SUM = re.compile(rf"  ({NAME}) = (add(?: nuw)?(?: nsw)?|or disjoint) i32 ({NAME}|-?\d+), ({NAME}|-?\d+)(?:, ![^\n]*)?")
_DEEPEST = 8  # sums within sums


@dataclass(frozen=True)
class Terms:
    """What is left of a sum without its constants: a value of the module, or a sum of two."""

    name: str = ""
    parts: tuple[Terms, ...] = ()

    def __str__(self) -> str:
        return self.name or f"({' + '.join(sorted(map(str, self.parts)))})"

    def written(self, own: str, made: list[str], place: str, flags: str = "") -> str:
        """The value's name; the lines that make it, and names that begin with ``own``, are added to ``made``."""
        if self.name:
            return self.name
        one, other = (part.written(own, made, place, flags) for part in self.parts)
        name = f'%"{own}.{len(made)}"'
        made.append(f"  {name} = add{flags} i32 {one}, {other}{place}")
        return name


@dataclass(frozen=True)
class Sums:
    """A function's sums by their names: how each adds, and what."""

    found: dict[str, tuple[str, str, str]]

    def __bool__(self) -> bool:
        return bool(self.found)

    def without_constants(self, name: str, may_wrap: bool = True, depth: int = 0) -> tuple[Terms, int]:
        """The terms of a sum and its constant. A sum that has none, or may wrap where it must not, stays one value."""
        how, left, right = self.found.get(name, ("", "", ""))
        if not how or depth > _DEEPEST or not (may_wrap or " nuw" in how or how.startswith("or")):
            return Terms(name), 0
        if right[0] != "%":
            terms, constant = self.without_constants(left, may_wrap, depth + 1) if left[0] == "%" else (Terms(), 0)
            own = int(right)
            return (terms, constant + own) if terms.name or terms.parts else (Terms(name), 0)
        if left[0] != "%":
            return Terms(name), 0  # LLVM writes constants behind
        (one, first), (other, second) = (self.without_constants(part, may_wrap, depth + 1) for part in (left, right))
        if not first and not second:
            return Terms(name), 0
        return Terms(parts=(one, other)), first + second

    def one_sum(self, name: str) -> Terms:
        """The two terms of a sum of two values; of anything else its name."""
        _, left, right = self.found.get(name, ("", "", ""))
        is_sum = left[:1] == "%" and right[:1] == "%"
        return Terms(parts=(Terms(left), Terms(right))) if is_sum else Terms(name)


def sums_of(lines: Sequence[str]) -> Sums:
    """The sums among a function's lines."""
    return Sums({found[1]: (found[2], found[3], found[4]) for found in map(_SUM.fullmatch, lines) if found})
