"""A loop's turn begins with the loads of read-only memory that it does whichever way it takes, in PTX.

An unrolled body with branches loads, decides and adds for one turn after the other. ptxas makes predicates of such
branches, but leaves most loads where they stand: each is waited for before the next one starts. All of them at the
begin are under way at a time, which pays where few blocks run: sums over one tensor by a single block wait for nothing
but memory. Only loads that each turn does are meant, whichever way it takes, of memory that nobody writes
(``ld.global.nc``), whose address the turn does not change before; and no more than a few registers of them.

What it pays says samples/benchmarks/RESULTS.md; ``TLE_RAW_DISABLE_PASSES=begin-with-loads`` compiles without it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tle_raw.linker.ptx.code_lines import LABEL, REGISTER, TARGETS, has_one_function, instructions, without_debug_info

_JUMP = re.compile(r"\s*(@!?%\w+\s+)?(?:(bra)(?:\.uni)?\s+(\$L__BB\w+);|(ret|exit|trap)\b)")
_OTHER_JUMP = re.compile(r"\s*(?:@!?%\w+\s+)?brx\b")
_LOAD = re.compile(
    r"\s*ld\.global\.nc(?:\.L\S*)?(?:\.v(?P<words>[24]))?\.[bsuf](?P<bits>8|16|32|64)\s+"
    r"(?P<results>%\w+|\{[^}]*\}), \[(?P<address>%rd\d+)[^\]]*\];"
)
_ANY_LOAD = re.compile(r"\s*ld\.global\b")
_STOP = re.compile(
    r"\s*(?:\{|// begin inline asm|(?:@!?%\w+\s+)?(?:bar|barrier|call|membar|fence|mbarrier|nanosleep)\b)"
)
_WORDS = 8  # registers that wait, at most


@dataclass
class _Block:
    begin: int
    end: int = 0
    successors: list[int] = field(default_factory=list)
    leaves: bool = False
    stops: bool = False  # others' writes may become visible in it


def begin_with_loads(text: str) -> str:
    """The PTX with such loads at the begin of the innermost loop around them."""
    if "ld.global.nc" not in text or not has_one_function(text):
        return text
    lines, debug_info = without_debug_info(text)
    if any(map(_OTHER_JUMP.match, lines)):
        return text
    blocks = _read(lines)
    written: dict[str, list[int]] = {}
    moves: dict[int, list[int]] = defaultdict(list)
    for header in _headers(blocks):
        always = list(_in_each(lines, blocks, header))
        written = written or (_written(lines) if always else {})
        words, first = 0, _first_place(lines, blocks[header])
        for place in _movable(lines, blocks, header, always, first, written):
            found = _LOAD.match(lines[place])
            words += int(found["words"] or 1) * (2 if found["bits"] == "64" else 1) if found else 0
            if words > _WORDS:
                break
            moves[first].append(place)
    if not moves:
        return text
    gone = {place for places in moves.values() for place in places}
    changed = [
        part
        for place, line in enumerate(lines)
        for part in (*(lines[moved] for moved in moves[place]), *([] if place in gone else [line]))
    ]
    return "\n".join(changed) + debug_info


def _read(lines: list[str]) -> list[_Block]:
    """The blocks in the text's order, from labels and to branches."""
    blocks, labels, jumps = [_Block(0)], dict[str, int](), list[tuple[int, str]]()
    falls = [True]
    for place, line in enumerate(lines):
        if label := LABEL.match(line):
            blocks[-1].end = place
            blocks.append(_Block(place))
            falls.append(True)
            labels[label[1]] = len(blocks) - 1
        blocks[-1].stops |= bool(_STOP.match(line))
        if jump := _JUMP.match(line):
            if jump[2]:
                jumps.append((len(blocks) - 1, jump[3]))
            else:
                blocks[-1].leaves = True
            falls[-1] = bool(jump[1])
            blocks[-1].end = place + 1
            blocks.append(_Block(place + 1))
            falls.append(True)
    blocks[-1].end = len(lines)
    for number, target in jumps:
        blocks[number].successors.append(labels[target])
    for number in range(len(blocks) - 1):
        if falls[number]:
            blocks[number].successors.append(number + 1)
    return blocks


def _headers(blocks: list[_Block]) -> Iterator[int]:
    """Where innermost loops begin: a block goes back to one that every way to it leads through."""
    backward = defaultdict[int, list[int]](list)  # a header: what goes back to it
    for number, block in enumerate(blocks):
        for target in block.successors:
            if target <= number and number not in _reached(blocks, 0, target):
                backward[target].append(number)
    before = defaultdict[int, list[int]](list)
    for number, block in enumerate(blocks):
        for target in block.successors:
            before[target].append(number)
    for header, ends in backward.items():
        inside, todo = {header, *ends}, [end for end in ends if end != header]
        while todo:
            new = set(before[todo.pop()]) - inside
            inside |= new
            todo += new
        if not inside & set(backward) - {header}:
            yield header


def _in_each(lines: list[str], blocks: list[_Block], header: int) -> Iterator[tuple[int, set[int]]]:
    """The blocks with loads, but a loop's first one, that each turn passes; and those that may come before each."""
    for number in sorted(_reached(blocks, header, None) - {header}):
        block = blocks[number]
        if block.stops or not any(map(_LOAD.match, lines[block.begin : block.end])):
            continue
        before = _reached(blocks, header, number)
        passed = [blocks[one] for one in before]
        # a way around the block: to the next turn, or out of the kernel
        if not any(one.leaves or one.stops or header in one.successors for one in passed):
            yield number, before


def _movable(
    lines: list[str],
    blocks: list[_Block],
    header: int,
    always: list[tuple[int, set[int]]],
    first: int,
    written: dict[str, list[int]],
) -> Iterator[int]:
    """The loads of such blocks whose addresses are known where the loop begins."""
    for number, blocks_before in always:
        before = {place for one in blocks_before for place in range(blocks[one].begin, blocks[one].end)}
        before -= set(range(blocks[header].begin, first))
        for place in range(blocks[number].begin, blocks[number].end):
            load = _LOAD.match(lines[place])
            if load is None or any(len(written[name]) != 1 for name in REGISTER.findall(load["results"])):
                continue
            if not before.union(range(blocks[number].begin, place)).intersection(written[load["address"]]):
                yield place


def _reached(blocks: list[_Block], begin: int, without: int | None) -> set[int]:
    """The blocks that control flow reaches from one on, without passing another one, or the first once more."""
    found, todo = {begin}, [begin]
    while todo:
        for target in blocks[todo.pop()].successors:
            if target not in found and target != without:
                found.add(target)
                todo.append(target)
    return found


def _first_place(lines: list[str], block: _Block) -> int:
    """Where loads are put: behind the block's first own one, or at its begin."""
    for place in range(block.begin, block.end):
        if _ANY_LOAD.match(lines[place]):
            return place + 1
    return block.begin + 1 if LABEL.match(lines[block.begin]) else block.begin


def _written(lines: list[str]) -> dict[str, list[int]]:
    """The lines that write each register, or may."""
    written: dict[str, list[int]] = defaultdict(list)
    for place, (line, (_, is_plain)) in enumerate(zip(lines, instructions(lines), strict=True)):
        targets = TARGETS.match(line) if is_plain else None
        for name in REGISTER.findall(targets[1] if targets else line):
            written[name].append(place)
    return written
