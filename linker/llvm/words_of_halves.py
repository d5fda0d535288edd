"""Two halves that are read side by side come out of a branch as one word.

An array of halves that a thread loads if it has any, or else zeros, is four or eight values of 16 bits where both ways
meet. LLVM divides the word that is loaded before they meet; a GPU has registers of 32 bits, and every half takes an
instruction to be put into one, another one where the branch is not taken, and one to be put together again for a store.
The gradient of a convolution spends 45 of 458 instructions of a turn on it, and nine registers. nvcc keeps the words,
and what is computed with a half names its side of the register. A loop hands words on that branches in it have loaded:
in MarlinMoE's, 130 instructions of 4,840 put scales together for the next turn.

It is for kernels that are one region alone. What it pays says samples/benchmarks/RESULTS.md;
``TLE_RAW_DISABLE_PASSES=words-of-halves`` compiles without it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from tle_raw.linker.llvm.control_flow import NAME, Block, blocks_of, text_of, with_bodies

_PHI = re.compile(r"  (\S+) = phi (?:(?:nnan|ninf|nsz|arcp|contract|afn|reassoc|fast) )*(i16|half|bfloat) (\[.*)")
_INCOMING = re.compile(rf"\[ (.+?), ({NAME}) \]")
_LOAD = re.compile(
    rf"  ({NAME}) = load (i16|half|bfloat), ptr( addrspace\(\d\))? ({NAME}), align (\d+)((?:, ![^\n]*)?)"
)
_STEP = re.compile(
    rf"  ({NAME}) = getelementptr (?:inbounds |nuw |nusw )*(i8|i16|half|bfloat|\[2 x i8\]), "
    rf"ptr(?: addrspace\(\d\))? ({NAME}), i(?:32|64) (-?\d+)(?:, ![^\n]*)?"
)
_HALF = re.compile(rf"  ({NAME}) = extractelement <2 x (i16|half|bfloat)> ({NAME}), i(?:32|64) ([01])(?:, ![^\n]*)?")
_WRITES = re.compile(
    r"  (?:\S+ = )?(?:(?:tail |musttail )?call|load (?:atomic|volatile)|store|atomicrmw|cmpxchg|fence|invoke)\b"
)
_MEANS = re.compile(r", !(invariant\.load|alias\.scope|noalias|dbg) !\d+")
_BUILT = 1  # ways on which a word is put together


@dataclass(frozen=True)
class _Load:
    """``offset`` in bytes from ``base``."""

    name: str
    line: int
    block: int
    type: str
    space: str
    address: str
    align: int
    means: str
    base: str
    offset: int


@dataclass
class _Pair:
    """Two phis of one block; what comes there of each, by the block that it comes from."""

    block: Block
    type: str
    low: str
    high: str
    values: dict[str, tuple[str, str]]
    loads: dict[str, tuple[_Load, _Load]] = field(default_factory=dict)

    @property
    def word(self) -> str:
        return f'%"{self.low[1:].strip(chr(34))}.tle.word"'


def words_of_halves(text: str) -> str:
    """The module with a phi of a word in place of two phis of the halves of one that is loaded."""
    return with_bodies(text, _in_words)


def _in_words(body: str) -> str:
    if len(re.findall(r"= phi (?:\w+ )*?(?:i16|half|bfloat) \[", body)) < 2:
        return body
    blocks = blocks_of(body)
    loads = _loads(blocks)
    branching = {each.name for each in blocks if each.lines[-1:] and each.lines[-1].startswith("  br ")}
    pairs = [pair for block in blocks for pair in _pairs(block, loads, branching)]
    _each_in_one_word(pairs)
    words = _divided(blocks)
    others = dict((*words, *((pair.low, pair.high) for pair in pairs)))
    used = {name for pair in pairs for name in (pair.low, pair.high)}
    phis = [(block, found) for block in blocks if len(found := _phis(block)) > 1]
    while further := [pair for block, found in phis for pair in _passed_on(block, found, others, used, branching)]:
        pairs += further
        others.update((pair.low, pair.high) for pair in further)
    while True:
        known = words | {(pair.low, pair.high): pair.word for pair in pairs}
        wanted = [pair for pair in pairs if _built(pair, known) <= (_BUILT if pair.loads else 0)]
        if len(wanted) == len(pairs):
            return _written(blocks, pairs, known) if pairs else body
        pairs = wanted


def _divided(blocks: list[Block]) -> dict[tuple[str, str], str]:
    """The words that are divided already, by both of their halves."""
    halves = defaultdict[str, dict[str, str]](dict)
    for found in filter(None, (_HALF.fullmatch(line) for block in blocks for line in block.lines)):
        halves[found[3]].setdefault(found[4], found[1])
    return {(both["0"], both["1"]): word for word, both in halves.items() if len(both) == 2}


def _loads(blocks: list[Block]) -> dict[str, _Load]:
    """The loads of halves; what stands between two of them that may write gives them different blocks."""
    found, steps, number = dict[str, _Load](), dict[str, tuple[str, int]](), 0
    lines = [line for block in blocks for line in block.lines]
    for step in filter(None, map(_STEP.fullmatch, lines)):
        base, offset = steps.get(step[3], (step[3], 0))
        steps[step[1]] = (base, offset + int(step[4]) * (1 if step[2] == "i8" else 2))
    stretch = 0
    for block in blocks:
        stretch += 1
        for line in block.lines:
            stretch += bool(_WRITES.match(line))
            if load := _LOAD.fullmatch(line):
                base, offset = steps.get(load[4], (load[4], 0))
                found[load[1]] = _Load(
                    load[1], number, stretch, load[2], load[3] or "", load[4], int(load[5]), load[6], base, offset
                )
            number += 1
    return found


def _pairs(block: Block, loads: dict[str, _Load], branching: Collection[str]) -> Iterator[_Pair]:
    """The pairs of a block's phis that are loaded side by side on a way.

    Parameters
    ----------
    branching : the blocks behind which a word can be put together.
    """
    phis = _phis(block)
    at: dict[tuple[str, str, int, int], str] = {}
    for name, (_, values) in phis.items():
        for origin, value in values.items():
            if load := loads.get(value):
                at[origin, load.base, load.block, load.offset] = name
    used = set[str]()
    for low, (type_, values) in phis.items():
        for origin, value in values.items():
            load = loads.get(value)
            high = at.get((origin, load.base, load.block, load.offset + 2)) if load else None
            if load is None or high is None or load.align < 4 or {low, high} & used or phis[high][0] != type_:
                continue
            other = loads[phis[high][1][origin]]
            if other.line < load.line or not _may_be_one(values, phis[high][1], branching):
                continue
            used |= {low, high}
            pair = _Pair(block, type_, low, high, {way: (values[way], phis[high][1][way]) for way in values})
            pair.loads = {
                way: (loads[one], loads[two])
                for way, (one, two) in pair.values.items()
                if _side_by_side(one, two, loads)
            }
            yield pair


def _passed_on(
    block: Block,
    phis: dict[str, tuple[str, dict[str, str]]],
    others: dict[str, str],
    used: set[str],
    branching: Collection[str],
) -> Iterator[_Pair]:
    """The pairs of a block's phis to which words come: loops hand on what branches in them have loaded.

    Parameters
    ----------
    others : of each low half of a word the high one.
    used : the phis that are in a pair already; those of the pairs that are found are added.
    branching : as in ``_pairs``.
    """
    at = {(origin, value): name for name, (_, values) in phis.items() for origin, value in values.items()}
    for low, (type_, values) in phis.items():
        for origin, value in values.items():
            high = at.get((origin, others.get(value, "")))
            if high is None or {low, high} & used or low == high or phis[high][0] != type_:
                continue
            if _may_be_one(values, phis[high][1], branching):
                used |= {low, high}
                yield _Pair(block, type_, low, high, {way: (values[way], phis[high][1][way]) for way in values})


def _phis(block: Block) -> dict[str, tuple[str, dict[str, str]]]:
    """The type of each phi of a half, and what comes by each block; none where a switch comes by several cases."""
    found = [match for match in map(_PHI.match, block.phis) if match]
    phis = {each[1]: (each[2], {origin: value for value, origin in _INCOMING.findall(each[3])}) for each in found}
    several = any(len(each[3].split(" ], [ ")) != len(phis[each[1]][1]) for each in found)
    return {} if several else phis


def _may_be_one(low: dict[str, str], high: dict[str, str], branching: Collection[str]) -> bool:
    """Whether a word can come by all ways: behind a switch, and a first block without a name, none is put together."""
    return low.keys() == high.keys() and all(way in branching or not f"{low[way]}{high[way]}".count("%") for way in low)


def _each_in_one_word(pairs: list[_Pair]) -> None:
    """Leave out words one of whose halves is the other half of another word."""
    words = dict[int, tuple[int, int]]()  # by the lines of both loads
    for pair in pairs:
        for way, (low, high) in [*pair.loads.items()]:
            word = low.line, high.line
            if any(words.setdefault(line, word) != word for line in word):
                del pair.loads[way]


def _side_by_side(one: str, two: str, loads: dict[str, _Load]) -> bool:
    first, second = loads.get(one), loads.get(two)
    return (
        first is not None and second is not None and first.align >= 4 and first.line < second.line
        and (first.base, first.block, first.offset + 2) == (second.base, second.block, second.offset)
    )  # fmt: skip


def _built(pair: _Pair, known: Collection[tuple[str, str]]) -> int:
    """On how many ways the word would be put together from two halves."""
    return sum(
        way not in pair.loads and values not in known and any(value.startswith("%") for value in values)
        for way, values in pair.values.items()
    )


def _written(blocks: list[Block], pairs: list[_Pair], known: dict[tuple[str, str], str]) -> str:
    words = dict[int, tuple[_Load, _Load, str]]()  # by the line of the first load
    phis, ends = dict[str, list[str]](), defaultdict[str, list[str]](list)
    taken = dict[tuple[int, int], str]()
    extracts = defaultdict[str, list[str]](list)
    for pair in pairs:
        vector, ways = f"<2 x {pair.type}>", list[str]()
        for way, (low, high) in pair.values.items():
            if way in pair.loads:
                first, second = pair.loads[way]
                word = taken.setdefault((first.line, second.line), f'%"{low[1:].strip(chr(34))}.tle.word"')
                words[first.line] = (first, second, word)
            elif (low, high) in known:
                word = known[low, high]
            elif not low.startswith("%") and not high.startswith("%"):
                word = f"<{pair.type} {low}, {pair.type} {high}>"
            else:
                word = f'%"{pair.low[1:].strip(chr(34))}.tle.from.{len(ways)}"'
                half = f'{word[:-1]}.low"'
                ends[way] += (
                    f"  {half} = insertelement {vector} poison, {pair.type} {low}, i64 0",
                    f"  {word} = insertelement {vector} {half}, {pair.type} {high}, i64 1",
                )
            ways.append(f"[ {word}, {way} ]")
        phis[pair.low] = [f"  {pair.word} = phi {vector} {', '.join(ways)}"]
        phis[pair.high] = []
        extracts[pair.block.name] += _halves(pair.word, vector, pair.low, pair.high)
    number, made = 0, list[Block]()
    gone = {second.line for _, second, _ in words.values()}
    for block in blocks:
        heads, lines = list[str](), list[str]()
        for line in block.lines:
            found = _PHI.match(line)
            if " = phi " in line:
                heads += phis.get(found[1], [line]) if found else [line]
            elif number in words:
                lines += _loaded(*words[number])
            elif number not in gone:
                lines.append(line)
            number += 1
        lines = [*heads, *extracts[block.name], *lines]
        made.append(Block(block.name, block.label, [*lines[:-1], *ends[block.name], lines[-1]]))
    return text_of(made).rstrip("\n") + "\n"


def _loaded(first: _Load, second: _Load, word: str) -> list[str]:
    """The load of a word and its halves, in place of the load of the first one."""
    vector = f"<2 x {first.type}>"
    both = {mark[0] for mark in _MEANS.finditer(first.means)} & {mark[0] for mark in _MEANS.finditer(second.means)}
    means = "".join(mark[0] for mark in _MEANS.finditer(first.means) if mark[0] in both)
    return [
        f"  {word} = load {vector}, ptr{first.space} {first.address}, align {first.align}{means}",
        *_halves(word, vector, first.name, second.name),
    ]


def _halves(word: str, vector: str, low: str, high: str) -> list[str]:
    return [
        f"  {low} = extractelement {vector} {word}, i64 0",
        f"  {high} = extractelement {vector} {word}, i64 1",
    ]
