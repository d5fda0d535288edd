"""Constants that indices have in common with others are added to the address, where an access has them for nothing.

``p[a + b]`` and ``p[a + b + 512]`` are one address and an offset in an instruction, as long as nothing lies between the
sum and its constant. LLVM adds constants to what a loop does not change, out of its sight (``b + 512`` before the loop,
as often as there are constants), writes ``b | 512`` where the bits are known, and forgets that an index does not
overflow when it orders its terms: then each access computes an address of 64 bits, and where registers are few each
load waits for the one before. nvcc takes the constant out of an index of 32 bits that is widened with its sign, whether
the source says ``int`` or converts an unsigned sum to it; so does this. Of indices without a sign it is done where LLVM
knows that nothing wraps, as nvcc does it.

Only constants in which indices over the same terms differ are moved. What it pays says
samples/benchmarks/RESULTS.md; ``TLE_RAW_DISABLE_PASSES=constant-offsets`` compiles without it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from tle_raw.linker.llvm.control_flow import NAME, names_in

_FUNCTION = re.compile(r"^(define [^\n]*\{\n)(.*?)^\}", re.MULTILINE | re.DOTALL)
_SUM = re.compile(rf"  ({NAME}) = (add(?: nuw)?(?: nsw)?|or disjoint) i32 ({NAME}|-?\d+), ({NAME}|-?\d+)(?:, ![^\n]*)?")
_WIDENED = re.compile(rf"  ({NAME}) = (sext|zext nneg) i32 ({NAME}) to i64((?:, ![^\n]*)?)")
_ADDRESS = re.compile(
    rf"  {NAME} = getelementptr (?:inbounds |nuw |nusw )*\w+, (ptr(?: addrspace\(\d\))? {NAME}), i64 ({NAME})"
    r"(?:, ![^\n]*)?"
)
_LARGEST = 1 << 20  # elements: an access has 24 bits for an offset in bytes
_FEWEST = 2  # indices that can have anything in common
_DEEPEST = 8  # sums within sums


@dataclass(frozen=True)
class _Terms:
    """What is left of a sum without its constants: a value of the module, or a sum of two."""

    name: str = ""
    parts: tuple[_Terms, ...] = ()

    def __str__(self) -> str:
        return self.name or f"({' + '.join(sorted(map(str, self.parts)))})"


@dataclass(frozen=True)
class _Index:
    """A widened index: the line that makes it, and its sum."""

    line: int
    name: str
    how: str
    place: str
    terms: _Terms
    constant: int


def constant_offsets(text: str) -> str:
    """The module with what indices of one base have in common computed once, and their constants added in 64 bits."""
    return _FUNCTION.sub(lambda match: f"{match[1]}{_separated(match[2])}}}", text)


def _separated(body: str) -> str:
    lines = body.split("\n")
    sums = {found[1]: (found[2], found[3], found[4]) for found in map(_SUM.fullmatch, lines) if found}
    if not sums:
        return body
    for group in _groups(lines, sums):
        for index in group:
            lines[index.line] = _written(index)
    return "\n".join(lines)


def _groups(lines: list[str], sums: dict[str, tuple[str, str, str]]) -> Iterator[list[_Index]]:
    """Indices of the same terms and base in which only the constant differs."""
    bases: dict[str, list[str]] = defaultdict(list)
    for address in filter(None, map(_ADDRESS.fullmatch, lines)):
        bases[address[2]].append(address[1])
    widened = [(number, found) for number, line in enumerate(lines) if (found := _WIDENED.fullmatch(line))]
    if sum(found[1] in bases for _, found in widened) < _FEWEST:
        return
    uses = Counter(name for line in lines if line.startswith("  ") for name in names_in(line))
    groups: dict[tuple[str, str, str], list[_Index]] = defaultdict(list)
    for number, found in widened:
        # nothing but addresses uses it
        if found[1] not in bases or uses[found[1]] != len(bases[found[1]]) + 1:
            continue
        terms, constant = _without_constants(found[3], sums, found[2] == "sext")
        if abs(constant) < _LARGEST:
            index = _Index(number, found[1], found[2], found[4], terms, constant)
            groups[found[2], bases[found[1]][0], str(terms)].append(index)
    for group in groups.values():
        if len({index.constant for index in group}) > 1:
            yield [index for index in group if index.constant]


def _without_constants(
    name: str, sums: dict[str, tuple[str, str, str]], may_wrap: bool, depth: int = 0
) -> tuple[_Terms, int]:
    """The terms of a sum and its constant. A sum that has none, or may wrap where it must not, stays one value."""
    how, left, right = sums.get(name, ("", "", ""))
    if not how or depth > _DEEPEST or not (may_wrap or " nuw" in how or how.startswith("or")):
        return _Terms(name), 0
    if right[0] != "%":
        terms, constant = _without_constants(left, sums, may_wrap, depth + 1) if left[0] == "%" else (_Terms(), 0)
        own = int(right)
        return (terms, constant + own) if terms.name or terms.parts else (_Terms(name), 0)
    if left[0] != "%":
        return _Terms(name), 0  # LLVM writes constants behind
    (one, first), (other, second) = (
        _without_constants(part, sums, may_wrap, depth + 1) for part in (left, right)
    )  # fmt: skip
    if not first and not second:
        return _Terms(name), 0
    return _Terms(parts=(one, other)), first + second


def _written(index: _Index) -> str:
    own = index.name[1:].strip('"')
    made: list[str] = []
    value = _value(index.terms, own, made, index.place, "" if index.how == "sext" else " nuw nsw")
    wide = f'%"{own}.tle.wide"'
    made.append(f"  {wide} = {index.how} i32 {value} to i64{index.place}")
    made.append(f"  {index.name} = add i64 {wide}, {index.constant}{index.place}")
    return "\n".join(made)


def _value(terms: _Terms, own: str, made: list[str], place: str, flags: str) -> str:
    if terms.name:
        return terms.name
    one, other = (_value(part, own, made, place, flags) for part in terms.parts)
    name = f'%"{own}.tle.{len(made)}"'
    made.append(f"  {name} = add{flags} i32 {one}, {other}{place}")
    return name
