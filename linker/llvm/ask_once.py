"""A question that all threads answer alike, and that a stretch of code asks again and again, is asked once.

An unrolled loop that asks in each turn what no turn changes becomes two stretches of code, one for each answer, and the
question stands in front of them::

    ask:                                        ask:
      br i1 %first, label %body, label %load      br i1 %first, label %yes, label %no
    load:                                       yes:  the stretch, with true for %first
      …                                         no:   the stretch, with false for %first
    body:
      br i1 %first, label %add, label %else

What was computed where the question was asked first is then known where it is asked again: MarlinMoE, whose blocks add
their sums up one after the other, divides sixteen times for a row's place before it reads, and does not divide and look
the row up sixteen times more before it writes. LLVM divides loops, too, but before it unrolls, and each by itself. Only
stretches are meant that begin and end in one place, in which no thread waits for another, and which divide again and
again: a division takes twenty instructions, most others are not worth a second copy of the code.

It is for kernels. What it pays says samples/benchmarks/RESULTS.md.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from tle_raw.linker.llvm.control_flow import (
    NAME,
    Block,
    blocks_of,
    names_in,
    renamed,
    result_of,
    text_of,
    type_of,
    with_functions,
)
from tle_raw.linker.llvm.divergence import divergent_values
from tle_raw.linker.llvm.dominance import Dominators, reversed_edges
from tle_raw.linker.llvm.thread_assembly import TOGETHER

_QUESTION = re.compile(rf"^  br i1 ({NAME}), label", re.MULTILINE)
_TOGETHER = re.compile(
    r"@llvm\.nvvm\.(?:shfl|vote|match|redux|bar|w?g?mma|tcgen05|[ls][dt]matrix|activemask|elect|cluster|setmaxnreg|exit)|"
    rf"\basm\b[^\n]*(?:{TOGETHER.pattern})|"
    r" = alloca |\bcall (?!.*(?:@llvm\.|\basm\b))"
)
_DIVISION = re.compile(r"  \S+ = [us](?:div|rem) (?:exact )?i(?:32|64) ")
_SUM = re.compile(rf"  ({NAME}) = add (?:nuw |nsw )*(i32|i64) ({NAME}), ({NAME})(?=,|$)")
_STEP = re.compile(rf"  ({NAME}) = add (?:nuw |nsw )*i(?:32|64) ({NAME}), (-?\d+)(?=,|$)")
_INCOMING = re.compile(rf"\[ (.+?), ({NAME}) \]")
# LLVM puts what two ways end with behind the place where they meet: of a wide store it leaves pieces.
_APART = '  call void asm sideeffect "// end {}", ""() nounwind memory(none)'
_OFTEN = 5  # questions of a stretch
_MOST = 3000  # instructions of it
_END = "the end of all"  # no block's name


@dataclass
class _Stretch:
    """``blocks`` stand between ``begin``, whose branch asks first, and ``end``, where all ways meet."""

    begin: Block
    end: Block
    blocks: list[Block]
    outside: dict[str, str]  # what others use of it, and its types


def ask_once(text: str) -> str:
    """The module with such stretches of its kernels twice."""
    return with_functions(text, lambda head, body: _asked_once(body) if " ptx_kernel " in head else body)


def _asked_once(body: str) -> str:
    questions = [name for name, times in Counter(_QUESTION.findall(body)).items() if times >= _OFTEN]
    if not questions:
        return body
    blocks = blocks_of(body)
    own = divergent_values(blocks)
    alike = [name for name in questions if name not in own]
    taken = set[str]()
    for name in alike:
        stretch = _stretch(blocks, name)
        if stretch is None or taken & {block.name for block in stretch.blocks}:
            continue
        taken |= {stretch.begin.name, *(block.name for block in stretch.blocks)}
        blocks, copied = _divided(blocks, stretch, name)
        taken |= copied
    return text_of(blocks).rstrip("\n") + "\n" if taken else body


def _stretch(blocks: list[Block], question: str) -> _Stretch | None:
    """The stretch of the first of these questions that asks it often."""
    known = {block.name: block for block in blocks}
    following = {block.name: list(dict.fromkeys(block.targets)) for block in blocks}
    before = Dominators(blocks[0].name, following)
    after = Dominators(_END, reversed_edges(following, _END))
    asking = [block.name for block in blocks if block.lines and _asks(block.lines[-1], question)]
    reached = before.place.keys() & after.place.keys()
    asking = sorted(reached.intersection(asking), key=lambda name: before.place[name])
    for begin in asking:
        held = [name for name in asking if before.dominates(begin, name)]
        if len(held) < _OFTEN or not begin:  # phis know the first block by a name that the text does not give
            continue
        end = held[0]
        for name in held:
            end = after.common(end, name)
        end = after.parent[end] if end in held else end
        inside = _between(begin, end, following)
        if end == _END or inside is None or begin in following[end]:
            continue
        found = _Stretch(known[begin], known[end], [block for block in blocks if block.name in inside], {})
        if _is_plain(found, blocks, following) and _sees_outside(found, blocks, following):
            return found
    return None


def _asks(line: str, question: str) -> bool:
    match = _QUESTION.match(line)
    return match is not None and match[1] == question


def _between(begin: str, end: str, following: dict[str, list[str]]) -> set[str] | None:
    """The blocks behind ``begin`` up to ``end``; None where control flow goes back to ``begin``."""
    found, open_ = set[str](), [*following[begin]]
    while open_:
        name = open_.pop()
        if name == begin:
            return None
        if name != end and name not in found:
            found.add(name)
            open_ += following[name]
    return found


def _is_plain(stretch: _Stretch, blocks: list[Block], following: dict[str, list[str]]) -> bool:
    """Whether it divides often, nothing else leads into it, and no thread waits for another."""
    own = {block.name for block in stretch.blocks}
    lines = [line for block in stretch.blocks for line in block.lines]
    if sum(map(bool, map(_DIVISION.match, lines))) < _OFTEN:
        return False
    if len(lines) > _MOST or any(map(_TOGETHER.search, lines)) or any(" switch " in line for line in lines):
        return False
    others = (block.name for block in blocks if block.name not in own and block is not stretch.begin)
    return not any(target in own for name in others for target in following[name])


def _sees_outside(stretch: _Stretch, blocks: list[Block], following: dict[str, list[str]]) -> bool:
    """Whether what others use of it can come together at its end: note it."""
    own = {block.name for block in stretch.blocks}
    defined = {name: line for block in stretch.blocks for line in block.lines if (name := result_of(line))}
    used = set[str]()
    for block in blocks:
        if block.name not in own:
            for line in block.rest if block is stretch.end else block.lines:
                used |= {name for name in names_in(line) if name in defined}
    stretch.outside = {name: type_of(defined[name]) for name in sorted(used)}
    leads = {block.name for block in blocks if stretch.end.name in following[block.name]}
    return all(stretch.outside.values()) and (not used or leads <= {*own, stretch.begin.name})


def _divided(blocks: list[Block], stretch: _Stretch, question: str) -> tuple[list[Block], set[str]]:
    """The function's blocks with the stretch once for each answer; and the names of the copies."""
    begin, end = stretch.begin, stretch.end
    own = {block.name for block in stretch.blocks}
    mark = question[1:].strip('"')
    yes, no = (_with_end(begin.name, f"{answer}.{mark}") for answer in ("yes", "no"))
    joined = {name: _with_end(name, f"both.{mark}") for name in stretch.outside}

    def in_yes(name: str) -> str:
        return "true" if name == question else yes if name == begin.name else name

    def in_no(name: str) -> str:
        if name == question:
            return "false"
        return no if name == begin.name else _with_end(name, f"no.{mark}") if name in names else name

    def outside(line: str) -> str:
        return renamed(line, lambda name: joined.get(name, name))

    def both(incoming: re.Match[str]) -> str:
        if incoming[2] != begin.name and incoming[2] not in own:
            return incoming[0]
        return f"{renamed(incoming[0], in_yes)}, {renamed(incoming[0], in_no)}"

    blocks = _constants_last(blocks, own)
    names = own | {name for block in blocks if block.name in own for line in block.lines if (name := result_of(line))}
    leads = [block.name for block in (begin, *stretch.blocks) for target in block.targets if target == end.name]
    meets = [
        f"  {joined[name]} = phi {type_} " + ", ".join(both(found) for found in map(_INCOMING.match, (
            f"[ {name}, {lead} ]" for lead in leads
        )) if found)
        for name, type_ in stretch.outside.items()
    ]  # fmt: skip
    made = list[Block]()
    for block in blocks:
        if block.name == begin.name:
            first = map(outside, block.lines[:-1])  # a loop's phis take what the turn before has made
            made.append(Block(block.name, block.label, [*first, f"  br i1 {question}, label {yes}, label {no}"]))
            made += (_block(new(begin.name), [renamed(block.lines[-1], new)]) for new in (in_yes, in_no))
        elif block.name in own:
            made.append(Block(block.name, block.label, [renamed(line, in_yes) for line in block.lines]))
            copy = [renamed(line, in_no) for line in block.lines]
            apart = [_APART.format(leads.index(block.name))] if block.name in leads else []
            made.append(_block(in_no(block.name), [*copy[:-1], *apart, copy[-1]]))
        elif block.name == end.name:
            met = [_INCOMING.sub(both, line) for line in block.phis]
            made.append(Block(block.name, block.label, [*met, *meets, *map(outside, block.rest)]))
        else:
            made.append(Block(block.name, block.label, [*map(outside, block.lines)]))
    return made, {yes, no, *map(in_no, own)}


def _constants_last(blocks: list[Block], own: set[str]) -> list[Block]:
    """The blocks, in which the stretch adds constants last.

    LLVM adds ``%a + (%b + 16)`` where the second sum does not change in a loop, and ``(%a + %b) + 16`` where it cannot
    tell, under a condition; the same has to be spelled the same way to be known again.
    """
    others = (line for block in blocks if block.name not in own for line in block.lines)
    steps = {found[1]: (found[2], found[3]) for line in others if (found := _STEP.match(line))}

    def spelled(line: str) -> list[str]:
        found = _SUM.match(line)
        step = next((name for name in found.groups()[2:] if name in steps), None) if found else None
        if found is None or step is None:
            return [line]
        other = found[4] if step == found[3] else found[3]
        first = _with_end(found[1], "sum")
        return [
            f"  {first} = add {found[2]} {other}, {steps[step][0]}",
            f"  {found[1]} = add {found[2]} {first}, {steps[step][1]}",
        ]

    return [
        Block(block.name, block.label, [part for line in block.lines for part in spelled(line)])
        if block.name in own
        else block
        for block in blocks
    ]


def _block(name: str, lines: list[str]) -> Block:
    return Block(name, f"{name[1:]}:", lines)


def _with_end(name: str, end: str) -> str:
    return f'%"{name[1:].strip(chr(34))}.tle.{end}"'
