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

from tle_raw.linker.llvm.control_flow import ELEMENT, NAME, names_in, with_bodies
from tle_raw.linker.llvm.sums import Sums, Terms, sums_of

_WIDENED = re.compile(rf"  ({NAME}) = (sext|zext nneg) i32 ({NAME}) to i64((?:, ![^\n]*)?)")
_ADDRESS = re.compile(
    rf"  {NAME} = getelementptr (?:inbounds |nuw |nusw )*{ELEMENT}, (ptr(?: addrspace\(\d\))? {NAME}), i64 ({NAME})"
    r"(?:, ![^\n]*)?"
)
_LARGEST = 1 << 20  # elements: an access has 24 bits for an offset in bytes
_FEWEST = 2  # indices that can have anything in common


@dataclass(frozen=True)
class _Index:
    """A widened index: the line that makes it, and its sum."""

    line: int
    name: str
    how: str
    place: str
    terms: Terms
    constant: int


def constant_offsets(text: str) -> str:
    """The module with what indices of one base have in common computed once, and their constants added in 64 bits."""
    return with_bodies(text, _separated)


def _separated(body: str) -> str:
    lines = body.split("\n")
    sums = sums_of(lines)
    if not sums:
        return body
    for group in _groups(lines, sums):
        for index in group:
            lines[index.line] = _written(index)
    return "\n".join(lines)


def _groups(lines: list[str], sums: Sums) -> Iterator[list[_Index]]:
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
        terms, constant = sums.without_constants(found[3], found[2] == "sext")
        if abs(constant) < _LARGEST:
            # what has no sign is widened either way, where it is the sum that the others have in common
            how, terms = found[2], terms if constant else sums.one_sum(found[3])
            index = _Index(number, found[1], "sext" if not constant and terms.parts else how, found[4], terms, constant)
            groups[index.how, bases[found[1]][0], str(terms)].append(index)
    for group in groups.values():
        if len({index.constant for index in group}) > 1:
            yield [index for index in group if index.constant or index.terms.parts]


def _written(index: _Index) -> str:
    own = index.name[1:].strip('"')
    made: list[str] = []
    value = index.terms.written(f"{own}.tle", made, index.place, "" if index.how == "sext" else " nuw nsw")
    wide = f'%"{own}.tle.wide"'
    made.append(f"  {wide} = {index.how} i32 {value} to i64{index.place}")
    made.append(f"  {index.name} = add i64 {wide}, {index.constant}{index.place}")
    return "\n".join(made)
