"""Short branches within branches that only choose between values are selections.

The larger of two pairs, in threads that have a neighbour, is a branch by the thread's place and another one by the
value; the index decides where values are equal. LLVM leaves such a nest: it makes a selection of one branch, and what
stands in it is then too much for the next. ptxas gives both branches an instruction each for where threads part and
meet again, and a warp whose last thread has no neighbour goes both ways: a step of a reduction takes fourteen
instructions, and eight where it is a condition and two selections, as ptxas makes of what nvcc writes. Only nests of
at least two branches are meant that come together in one place, with a few instructions that may be done in any case.

It is for kernels that are one region alone. What it pays says samples/benchmarks/RESULTS.md;
``TLE_RAW_DISABLE_PASSES=choose-values`` compiles without it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tle_raw.linker.llvm.control_flow import NAME, Block, blocks_of, result_of, text_of, with_bodies

_PHI = re.compile(r"  (\S+) = phi (?:(?:nnan|ninf|nsz|arcp|contract|afn|reassoc|fast) )*([^\[]+?) \[")
_INCOMING = re.compile(rf"\[ (.+?), ({NAME}) \]")
_FORK = re.compile(rf"  br i1 ({NAME}), label ({NAME}), label ({NAME})(?:, !dbg !\d+)?")
_ON = re.compile(rf"  br label ({NAME})(?:, !dbg !\d+)?")
_FREE = re.compile(r"  \S+ = (?:bitcast|freeze|trunc|zext)\b")
_CHEAP = re.compile(r"  \S+ = (?:[if]cmp|select|bitcast|freeze|trunc|[sz]ext|add|sub|and|or|xor|shl|[la]shr|fneg)\b")
# A constant that is an expression is no word behind a type.
_TYPED = r"(?:[^,()]|addrspace\(\d+\))*? ([^\s()<>{}\[\]]+)"
_SELECT = re.compile(rf"  (\S+) = select i1 ({NAME}), {_TYPED}, {_TYPED}(?:, !.*)?")
_MOST = 10  # instructions of a nest
_WIDEST = 3  # values that are chosen


@dataclass(frozen=True)
class _Condition:
    """A value of one bit, or what is made of two: the first decides whether the second one counts."""

    name: str = ""
    kind: str = ""  # "and" or "or"
    parts: tuple[_Condition, ...] = ()
    is_negated: bool = False  # of a value

    def opposite(self) -> _Condition:
        if not self.kind:
            return _Condition(self.name, is_negated=not self.is_negated)
        return _Condition("", "or" if self.kind == "and" else "and", tuple(part.opposite() for part in self.parts))


@dataclass(frozen=True)
class _Choice:
    """``one`` where the condition holds, or else ``other``."""

    condition: _Condition
    one: str
    other: str


Chosen = str | _Choice


def choose_values(text: str) -> str:
    """The module with such branches as selections."""
    return with_bodies(text, _chosen)


def _chosen(body: str) -> str:
    if body.count("  br i1 ") < 2 or " = phi " not in body:
        return body
    blocks = {block.name: block for block in blocks_of(body)}
    before, changed = _before(blocks), False
    for meeting in list(blocks.values()):
        if meeting.name in blocks and (nest := _nest(blocks, meeting, before)):
            nest.replace(blocks)
            before, changed = _before(blocks), True
    return text_of(list(blocks.values())).rstrip("\n") + "\n" if changed else body


@dataclass
class _Nest:
    """Blocks between ``begin`` and ``meeting``; what comes there, by phi."""

    begin: Block
    meeting: Block
    inside: list[Block]
    values: list[tuple[str, str, Chosen]]  # the phi's result, its type, what it is

    def replace(self, blocks: dict[str, Block]) -> None:
        """Move what stands in the nest in front of it, and let its beginning go on to its end."""
        moved = [line for block in self.inside for line in block.lines[:-1]]
        made = _Writer(self.meeting.name)
        phis = dict[str, str]()
        for name, type_, value in self.values:
            phis[name] = made.value(name, type_, value)
        self.begin.lines = [*self.begin.lines[:-1], *moved, *made.lines, f"  br label {self.meeting.name}"]
        gone = {block.name for block in self.inside}
        lines = list[str]()
        for line in self.meeting.lines:
            result = result_of(line)
            lines.append(_with_value(line, gone, self.begin.name, phis[result]) if result in phis else line)
        self.meeting.lines = lines
        for name in gone:
            del blocks[name]


def _with_value(phi: str, gone: set[str], begin: str, value: str) -> str:
    """The phi with one value from the nest's beginning, in place of all that came from the nest."""
    head = phi[: phi.index("[")]
    tail = phi[phi.rindex("]") + 1 :]
    others = [f"[ {what}, {origin} ]" for what, origin in _INCOMING.findall(phi) if origin not in gone | {begin}]
    return head + ", ".join([f"[ {value}, {begin} ]", *others]) + tail


def _nest(blocks: Mapping[str, Block], meeting: Block, before: Mapping[str, list[str]]) -> _Nest | None:
    """The largest nest whose ways meet here."""
    phis = [(found[1], found[2], {origin: what for what, origin in _INCOMING.findall(line)})
            for line in meeting.phis if (found := _PHI.match(line))]  # fmt: skip
    if not phis or len(phis) != len(meeting.phis) or len(phis) > _WIDEST or len(phis[0][2]) < 3:
        return None
    for inner in phis[0][2]:
        nest = inner in blocks and _grown(blocks, meeting, inner, phis, before)
        if nest:
            return nest
    return None


def _before(blocks: Mapping[str, Block]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: [] for name in blocks}
    for block in blocks.values():
        for target in block.targets:
            found[target].append(block.name)
    return found


def _grown(
    blocks: Mapping[str, Block],
    meeting: Block,
    inner: str,
    phis: list[tuple[str, str, dict[str, str]]],
    before: Mapping[str, list[str]],
) -> _Nest | None:
    """The nest whose innermost block is ``inner``, as far outwards as it goes."""
    values: list[Chosen] = [incoming[inner] for _, _, incoming in phis]
    inside, block, work = list[Block](), blocks[inner], 0
    selects = dict[str, _Choice]()
    found = None
    if not _ON.fullmatch(block.lines[-1]):
        return None
    while True:
        own = block.lines[:-1]
        work += sum(not _FREE.match(line) for line in own)
        if len(before[block.name]) != 1 or work > _MOST or not all(map(_CHEAP.match, own)):
            return found
        selects |= {made[1]: _Choice(_Condition(made[2]), made[3], made[4])
                    for made in map(_SELECT.fullmatch, own) if made}  # fmt: skip
        outer = blocks[before[block.name][0]]
        fork = _FORK.fullmatch(outer.lines[-1])
        if fork is None or not outer.name or {fork[2], fork[3]} != {block.name, meeting.name}:
            return found
        entered = _Condition(fork[1], is_negated=fork[3] == block.name)
        past = [incoming[outer.name] for _, _, incoming in phis]
        joined = [_joined(entered, *pair, selects) for pair in zip(values, past, strict=True)]
        values = [value for value in joined if value is not None]
        if len(values) < len(joined):
            return found
        inside.insert(0, block)
        if len(inside) > 1:
            chosen = [(name, type_, value) for (name, type_, _), value in zip(phis, values, strict=True)]
            found = _Nest(outer, meeting, [*inside], chosen)
        block = outer


def _joined(entered: _Condition, value: Chosen, past: str, selects: Mapping[str, _Choice]) -> Chosen | None:
    """What comes out of a branch that is entered under a condition, or passed with ``past``; None: a third value."""
    if value == past:
        return past
    choice = selects.get(value) if isinstance(value, str) else value
    if choice and choice.other == past:
        return _Choice(_Condition("", "and", (entered, choice.condition)), choice.one, past)
    if choice and choice.one == past:
        return _Choice(_Condition("", "and", (entered, choice.condition.opposite())), choice.other, past)
    return _Choice(entered, value, past) if isinstance(value, str) else None


class _Writer:
    """The instructions of conditions and choices, each condition once."""

    def __init__(self, meeting: str) -> None:
        self.lines = list[str]()
        self.known = dict[_Condition, str]()
        self.stem = meeting[1:].strip('"')

    def value(self, name: str, type_: str, value: Chosen) -> str:
        if isinstance(value, str):
            return value
        condition = self.condition(value.condition)
        result = f'%"{name[1:].strip(chr(34))}.tle.chosen"'
        self.lines.append(f"  {result} = select i1 {condition}, {type_} {value.one}, {type_} {value.other}")
        return result

    def condition(self, wanted: _Condition) -> str:
        if wanted not in self.known:
            self.known[wanted] = self._new(wanted)
        return self.known[wanted]

    def _new(self, wanted: _Condition) -> str:
        if not wanted.kind and not wanted.is_negated:
            return wanted.name
        if wanted.kind:
            first, second = map(self.condition, wanted.parts)
            words = f"i1 {second}, i1 false" if wanted.kind == "and" else f"i1 true, i1 {second}"
            line = f"select i1 {first}, {words}"
        else:
            line = f"xor i1 {wanted.name}, true"
        result = f'%"{self.stem}.tle.if.{len(self.lines)}"'
        self.lines.append(f"  {result} = {line}")
        return result
