"""Pointers that a long loop moves by the same constant are where they began, and one offset.

LLVM's code generation gives the addresses of a loop, the thread's place included, 64 bits each that it counts up ("loop
strength reduction"), and keeps pointers in step one by one. In a turn of hundreds of instructions that saves next to
nothing, and the registers are taken all the while: the gradient of a convolution takes 47, nvcc's 38, and ten of its
blocks fit where twelve do. Its three pointers go back by 2,048 bytes a turn: one offset, which all threads share, says
where all of them are, and 40 registers do.

Only loops are meant that a C++ compiler has marked, long ones, and pointers of which there are three or more: the
offset is one more value to count. The offset goes through inline assembly without a word, so that LLVM leaves it as it
is (see ``plain_loops.py``). It is for kernels that are one region alone. What it pays says
samples/benchmarks/RESULTS.md; ``TLE_RAW_DISABLE_PASSES=join-pointers`` compiles without it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tle_raw.linker.llvm.control_flow import NAME, Block, blocks_of, text_of, with_bodies

_POINTER = re.compile(rf"  ({NAME}) = phi ptr \[ ({NAME}), ({NAME}) \], \[ ({NAME}), ({NAME}) \](?:, ![^\n]*)?")
_MOVED = re.compile(rf"  ({NAME}) = getelementptr (?:inbounds |nuw |nusw )*i8, ptr ({NAME}), i64 (-?\d+)(?:, ![^\n]*)?")
_LONG = 300  # lines of a turn
_SEVERAL = 3  # pointers


@dataclass(frozen=True)
class _Pointer:
    """``begin`` is where it is in the first turn."""

    phi: str
    name: str
    begin: str


def join_pointers(text: str) -> str:
    """The module with such pointers of its marked loops as sums."""
    if "!llvm.loop " not in text:
        return text
    return with_bodies(text, _joined)


def _joined(body: str) -> str:
    if "!llvm.loop " not in body or body.count(" = phi ptr [") < _SEVERAL:
        return body
    blocks, changed = blocks_of(body), False
    moved = {found[1]: (found[2], found[3]) for found in map(_MOVED.fullmatch, body.split("\n")) if found}
    for first, last in _long_loops(blocks):
        for (step, before), pointers in _groups(first, last, moved).items():
            if len(pointers) >= _SEVERAL:
                _replace(first, last, before, step, pointers)
                changed = True
    return text_of(blocks).rstrip("\n") + "\n" if changed else body


def _long_loops(blocks: list[Block]) -> Iterator[tuple[Block, Block]]:
    """Where such loops begin and where they go back, as the text orders their blocks."""
    place = {block.name: number for number, block in enumerate(blocks)}
    for end, last in enumerate(blocks):
        if last.lines and last.lines[-1].startswith("  br ") and "!llvm.loop " in last.lines[-1]:
            for begin in {place[name] for name in last.targets if place[name] <= end}:
                if sum(len(block.lines) for block in blocks[begin : end + 1]) >= _LONG:
                    yield blocks[begin], last


def _groups(first: Block, last: Block, moved: Mapping[str, tuple[str, str]]) -> dict[tuple[str, str], list[_Pointer]]:
    """The loop's pointers by the constant that moves them, and the block that comes before the loop."""
    found = defaultdict[tuple[str, str], list[_Pointer]](list)
    for line in first.phis:
        phi = _POINTER.fullmatch(line)
        if phi is None:
            continue
        name, *ways = phi.groups()
        begin, before, after, back = ways if ways[3] == last.name else [*ways[2:], *ways[:2]]
        base, step = moved.get(after, ("", ""))
        if back == last.name and before != last.name and base == name:
            found[step, before].append(_Pointer(line, name, begin))
    return found


def _replace(first: Block, last: Block, before: str, step: str, pointers: list[_Pointer]) -> None:
    stem = pointers[0].name[1:].strip('"')
    offset, after, kept = (f'%"{stem}.tle.{word}"' for word in ("moved", "moved.sum", "moved.next"))
    gone = {pointer.phi for pointer in pointers}
    first.lines = [
        *(line for line in first.phis if line not in gone),
        f"  {offset} = phi i64 [ 0, {before} ], [ {kept}, {last.name} ]",
        *(f"  {pointer.name} = getelementptr i8, ptr {pointer.begin}, i64 {offset}" for pointer in pointers),
        *first.rest,
    ]
    last.lines[-1:] = [
        f"  {after} = add i64 {offset}, {step}",
        f'  {kept} = call i64 asm sideeffect "", "=l,0"(i64 {after}) nounwind memory(none)',
        last.lines[-1],
    ]
