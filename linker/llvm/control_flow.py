"""A function's body in LLVM textual IR as basic blocks, and those of its loops that have one way out, at their end."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

NAME = r'%(?:[-\w$.]+|"[^"]*")'
ELEMENT = r"(?:%?[\w.$]+|\[\d+ x i8\])"  # whose size an address counts in: newer LLVM spells the size alone
_FUNCTION = re.compile(r"^(define [^\n]*\{\n)(.*?)^\}", re.MULTILINE | re.DOTALL)
_NUMBERED = re.compile(r"^(?:(\d+):|  %(\d+) = )", re.MULTILINE)
_WORD = re.compile(rf'{NAME}|"[^"]*"')
_LABEL = re.compile(r'([-\w$.]+|"[^"]*"):')
_RESULT = re.compile(rf"  ({NAME}) = ")
_TYPE = r"(i\d+|half|bfloat|float|double|ptr(?: addrspace\(\d+\))?)"
_CAST = re.compile(rf"  \S+ = \w+ (?:\w+ )*\S+ \S+ to {_TYPE}(?=,|$)")
_TYPED = re.compile(
    rf"  \S+ = (?:phi|load|select [^,]*,|[us]?(?:add|sub|mul|div|rem)|f(?:add|sub|mul|div|rem|neg)|"
    rf"shl|[la]shr|and|or|xor|freeze|(?:tail )?call)(?: \w+)*? {_TYPE}(?=[ ,])"
)
_TARGET = re.compile(rf"label ({NAME})")


def with_bodies(text: str, edit: Callable[[str], str]) -> str:
    """A module in which the lines of each function are what ``edit`` makes of them."""
    return with_functions(text, lambda head, body: edit(body))


def with_functions(text: str, edit: Callable[[str, str], str]) -> str:
    """A module in which the lines of each function are what ``edit`` makes of its first line and of these lines."""

    def edited(match: re.Match[str]) -> str:
        body = edit(match[1], match[2])
        return f"{match[1]}{body if body == match[2] else numbers_that_rise(body)}}}"

    return _FUNCTION.sub(edited, text)


def numbers_that_rise(body: str) -> str:
    """The body in which what was moved in front of values of lesser numbers has a name.

    LLVM reads numbers of values and labels only in rising order.
    """
    numbers = [int(found[1] or found[2]) for found in _NUMBERED.finditer(body)]
    early, least = set[str](), sys.maxsize
    for number in reversed(numbers):
        if number > least:
            early.add(f"%{number}")
        least = min(least, number)
    if not early:
        return body

    def new(name: str) -> str:
        return f'%"tle.early.{name[1:]}"' if name in early else name

    lines = (
        f"{new(f'%{label[1]}')[1:]}{line[label.end(1) :]}" if (label := _LABEL.match(line)) else renamed(line, new)
        for line in body.split("\n")
    )
    return "\n".join(lines)


@dataclass
class Block:
    """``name`` is as a branch spells it, "" for the first block of a function that gives it no name."""

    name: str
    label: str
    lines: list[str] = field(default_factory=list)

    @property
    def phis(self) -> list[str]:
        return [line for line in self.lines if " = phi " in line]

    @property
    def rest(self) -> list[str]:
        return [line for line in self.lines if " = phi " not in line]

    @property
    def targets(self) -> list[str]:
        """The blocks that may follow: a switch has them on lines of their own."""
        return [target for line in self.lines for target in _TARGET.findall(line)]


@dataclass
class Loop:
    """Blocks in the text's order: ``first`` is where it begins, ``last`` leaves it for ``out`` or goes back."""

    blocks: list[Block]
    first: Block
    last: Block
    out: str
    condition: str
    goes_on: bool  # the condition's value with which it goes back


def blocks_of(body: str) -> list[Block]:
    """The blocks of what stands between a definition's braces."""
    blocks = [Block("", "")]
    for line in body.split("\n"):
        if label := _LABEL.match(line):
            if len(blocks) == 1 and not any(map(str.strip, blocks[0].lines)):
                blocks.clear()  # the first block has a name
            blocks.append(Block(f"%{label[1]}", line))
        elif line.strip() or not blocks[-1].lines:
            blocks[-1].lines.append(line)
    return blocks


def text_of(blocks: list[Block]) -> str:
    """The body of these blocks."""
    return "\n\n".join("\n".join(filter(None, (block.label, *block.lines))) for block in blocks)


def result_of(line: str) -> str | None:
    """The name that an instruction gives to its result."""
    found = _RESULT.match(line)
    return found[1] if found else None


def type_of(line: str) -> str:
    """The type of a result, as far as instructions spell it; "" for others."""
    if " = icmp " in line or " = fcmp " in line:
        return "i1" if "<" not in line else ""
    if " = getelementptr " in line:
        return "ptr" if "addrspace" not in line and "<" not in line.partition(", ptr ")[0] else ""
    found = _CAST.match(line) or _TYPED.match(line)
    return found[1] if found else ""


def names_in(line: str) -> list[str]:
    """The values and labels that a line names, what stands in strings left out."""
    return [word for word in _WORD.findall(line) if word[0] == "%"]


def renamed(line: str, new: Callable[[str], str]) -> str:
    """The line with other names."""
    return _WORD.sub(lambda word: new(word[0]) if word[0][0] == "%" else word[0], line)


def innermost_loops(blocks: list[Block]) -> Iterator[Loop]:
    """The loops without loops in them that begin in one place and leave only where they go back."""
    known = {block.name: block for block in blocks if block.name}
    before: dict[str, list[str]] = {name: [] for name in known}
    for block in blocks:
        for target in block.targets:
            before.get(target, []).append(block.name)
    for last in known.values():
        end = _END.fullmatch(last.lines[-1]) if last.lines else None
        for begin, out, goes_on in ((end[2], end[3], True), (end[3], end[2], False)) if end else ():
            held = _held(begin, last.name, before)
            own = [block for block in known.values() if block.name in held]
            if begin in known and out in known and _is_plain(own, begin, last, out, before):
                yield Loop(own, known[begin], last, out, str(end and end[1]), goes_on)


_END = re.compile(rf"  br i1 ({NAME}), label ({NAME}), label ({NAME})(?:, ![^\n]*)?")


def _held(begin: str, last: str, before: dict[str, list[str]]) -> set[str]:
    """The blocks from which ``last`` is reached without ``begin``, and ``begin``."""
    held, open_ = {begin}, [last]
    while open_:
        name = open_.pop()
        if name not in held:
            held.add(name)
            open_ += before.get(name, ())
    return held


def _is_plain(own: list[Block], begin: str, last: Block, out: str, before: dict[str, list[str]]) -> bool:
    """No other begin, no other way out, and no loop within."""
    held = {block.name for block in own}
    if out in held or any(not set(before[block.name]) <= held for block in own if block.name != begin):
        return False
    if any(not set(block.targets) <= held for block in own if block is not last):
        return False
    waits = {block.name: len(before[block.name]) for block in own} | {begin: 0}
    ready, done = [begin], 0
    following = {block.name: block.targets for block in own}
    while ready:  # all are reached with the ways back left out, or there is a loop within
        done += 1
        for target in following[ready.pop()]:
            if target in waits and target != begin:
                waits[target] -= 1
                if waits[target] == 0:
                    ready.append(target)
    return done == len(own)
