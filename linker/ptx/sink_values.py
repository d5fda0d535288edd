"""What is one instruction stands where its result is asked for, in PTX, as nvcc writes it.

LLVM computes once, before a loop, what the loop does not change: comparisons, and values that differ from another one
by a constant (``i | 32``, ``i | 64``, ...). All of them wait in registers, where the value that they are made of would
do. A GPU has seven registers for results of comparisons; ptxas packs more of them into a register of 32 bits. A
selection of experts takes 32 registers with comparisons in their places, 40 without, and two blocks of eight do not
fit. Nothing is put into short innermost loops, where it would count.

What it pays says samples/benchmarks/RESULTS.md; ``TLE_RAW_DISABLE_PASSES=sink-values`` compiles without it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from tle_raw.linker.ptx.code_lines import LABEL, REGISTER, TARGETS, has_one_function, instructions, without_debug_info

_COMPARISON = re.compile(r"\s*setp\.\w+\.[bsuf]\d+\s+(%p\d+), ([^;|]*);\s*(?://.*)?$")
_STEP = re.compile(r"\s*(?:or|xor|and|add|sub|shl)\.[bsu]32\s+(%r\d+), (%r\d+), (?:-?\d+|0x[0-9A-Fa-f]+);\s*(?://.*)?$")
_BRANCH = re.compile(r"\s*(?:@!?%\w+\s+)?(?:bra|brx|ret|exit|trap)\b")
_BRANCHES = ("@", "bra", "brx", "ret", "exit", "trap")
_TARGET = re.compile(r"\$L__BB\w+")
_SEVERAL = 4  # values that are made of one
_LONG = 128  # lines of a loop


@dataclass
class _Line:
    """One line: the block that it stands in, and whether it is LLVM's own instruction, one and no more."""

    text: str
    block: int
    is_plain: bool


def sink_values(text: str) -> str:
    """The PTX with comparisons, and values a constant away from another one, before what uses them in other blocks."""
    if not has_one_function(text):
        return text
    code, debug_info = without_debug_info(text)
    lines = list(_read(code))
    may_move = list(_comparisons_and_steps(lines))
    named = {name for _, found in may_move for name in (found[1], *REGISTER.findall(found[2]))}
    written, uses = _registers(lines, named)
    short = _short_loops(lines)
    before: dict[int, list[str]] = defaultdict(list)
    gone = set[int]()
    for number, result in _candidates(may_move, written):
        line = lines[number]
        first = {lines[use].block: use for use in reversed(uses[result])}  # of each block
        is_used_here = first.pop(line.block, None) is not None
        if not first or not all(lines[use].is_plain and lines[use].block not in short for use in first.values()):
            continue
        if is_used_here and not _COMPARISON.match(line.text):
            continue
        for use in first.values():
            before[use].append(line.text)
        if not is_used_here:
            gone.add(number)
    if not before:
        return text
    changed = "\n".join(
        part
        for number, line in enumerate(lines)
        for part in (*before[number], *([] if number in gone else [line.text]))
    )
    return changed + debug_info


def _comparisons_and_steps(lines: list[_Line]) -> Iterator[tuple[int, re.Match[str]]]:
    """The lines of comparisons, and of values that differ from another one by a constant."""
    for number, line in enumerate(lines):
        if line.is_plain and (found := _COMPARISON.match(line.text) or _STEP.match(line.text)):
            yield number, found


def _candidates(may_move: list[tuple[int, re.Match[str]]], written: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """What may be computed elsewhere: the line and the register."""
    steps: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for number, found in may_move:
        if any(written[name] != 1 for name in (found[1], *REGISTER.findall(found[2]))):
            continue
        if found.re is _COMPARISON:
            yield number, found[1]
        else:
            steps[found[2]].append((number, found[1]))
    for several in steps.values():
        if len(several) >= _SEVERAL:
            yield from several


def _read(lines: list[str]) -> Iterator[_Line]:
    """Blocks begin at labels and behind branches."""
    block = 0
    for text, (stripped, is_plain) in zip(lines, instructions(lines), strict=True):
        if text[:1] == "$" and LABEL.match(text):
            block += 1
        yield _Line(text, block, is_plain)
        if stripped.startswith(_BRANCHES) and _BRANCH.match(text):
            block += 1


def _registers(lines: list[_Line], named: Set[str]) -> tuple[Mapping[str, int], dict[str, list[int]]]:
    """How often each of these registers is written, more than once where it is not known; the lines that use it."""
    written: dict[str, int] = defaultdict(int)
    uses: dict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        names = REGISTER.findall(line.text) if "%" in line.text and not line.text.lstrip().startswith("//") else []
        if named.isdisjoint(names):
            continue
        if not line.is_plain:
            for name in names:
                written[name] += 2
                uses[name].append(number)
            continue
        found = TARGETS.match(line.text)
        targets = REGISTER.findall(found[1]) if found else []
        for name in targets:
            written[name] += 1
        for name in set(names):
            if name not in targets or names.count(name) > 1:
                uses[name].append(number)
    return written, uses


def _short_loops(lines: list[_Line]) -> set[int]:
    """The blocks of short loops without loops in them, as the text orders them: from a label to a branch back to it."""
    labels = {found[1]: line.block for line in lines if line.text[:1] == "$" and (found := LABEL.match(line.text))}
    ends: dict[int, int] = {}
    for line in lines:
        for target in _TARGET.findall(line.text) if "$L__BB" in line.text and _BRANCH.match(line.text) else ():
            if (begin := labels.get(target, line.block + 1)) <= line.block:
                ends[begin] = max(ends.get(begin, 0), line.block)
    sizes = Counter(line.block for line in lines if line.is_plain)
    return {
        block
        for begin, end in ends.items()
        if not any(begin < other <= end for other in ends)
        and sum(sizes[block] for block in range(begin, end + 1)) < _LONG
        for block in range(begin, end + 1)
    }
