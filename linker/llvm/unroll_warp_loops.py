"""Loops with shuffles or votes take two turns at once, where all threads take the same number of turns.

LLVM unrolls no loop whose turns are counted at run time when warps run part of it together: the threads of a warp might
not agree on the turn that is left over. Where what is compared at the loop's end is the same for all threads, they do:
it is computed from the kernel's parameters, sizes and places of blocks, and constants. A turn asks at its begin whether
another one follows, and both run without a question between them; a third copy is for the turn that is the last::

    loop:                                          loop:
      …                                              br i1 %again, label %loop.two, label %loop.one
      br i1 %again, label %loop, label %out        loop.two:   two turns
                                                     br i1 %again.2, label %loop, label %loop.out
                                                   loop.one:   one turn
                                                     br label %loop.out

So the loads of the second turn do not wait for the shuffles of the first. It is for kernels: the parameters of other
functions may differ from thread to thread. What it pays says samples/benchmarks/RESULTS.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from tle_raw.linker.llvm.control_flow import (
    NAME,
    Block,
    Loop,
    blocks_of,
    innermost_loops,
    names_in,
    renamed,
    result_of,
    text_of,
    type_of,
    with_functions,
)
from tle_raw.linker.llvm.uniform import is_uniform

_KERNEL = re.compile(r"\bptx_kernel\b[^@\n]*(@(?:[-\w$.]+|\"[^\"]*\"))\(")
_WARP = re.compile(r"@llvm\.nvvm\.(?:shfl|vote|match|redux)\b")
_BLOCK = re.compile(r"@llvm\.nvvm\.(?:bar\.sync|bar\.red|barrier)|\basm\b[^\n]*\b(?:bar|barrier)\b")
_LOAD = re.compile(r" = load (?!.*ptr addrspace\([35]\))")
_INCOMING = re.compile(rf"\[ (.+?), ({NAME}) \]")
# What a function knows of its restrict parameters holds for one turn that it is called in, and not between two turns.
_NO_ALIAS = re.compile(r", !(?:alias\.scope|noalias) !\d+")
_SCOPE = "@llvm.experimental.noalias.scope.decl("
_MOST = 130  # instructions of a turn

Name = Callable[[str], str]


def unroll_warp_loops(text: str) -> str:
    """The module with such loops of its kernels unrolled."""
    if not _WARP.search(text):
        return text
    return with_functions(text, lambda head, body: _unrolled(head, body, text))


def _unrolled(header: str, body: str, text: str) -> str:
    kernel = _KERNEL.search(header)
    if kernel is None or not _WARP.search(body) or re.search(rf"\bcall\b[^\n]* {re.escape(kernel[1])}\(", text):
        return body
    blocks, found = blocks_of(body), True
    while found:
        found = False
        for loop in innermost_loops(blocks):
            turns = _Turns(blocks, loop)
            if turns.are_wanted():
                blocks, found = turns.unrolled(), True
                break
    return text_of(blocks).rstrip("\n") + "\n"


class _Turns:
    """One loop of a kernel."""

    def __init__(self, blocks: list[Block], loop: Loop) -> None:
        self.blocks, self.loop = blocks, loop
        self.defined = {name: line for block in blocks for line in block.lines if (name := result_of(line))}
        self.lines = [line for block in loop.blocks for line in block.lines]
        self.names = {name for line in self.lines if (name := result_of(line))}
        self.labels = {block.name for block in loop.blocks}
        self.phis = {str(result_of(line)): _incoming(line) for line in loop.first.phis}
        self.outside = self._used_outside()

    def are_wanted(self) -> bool:
        """Whether the loop is one of those that this is for, and all threads agree on its turns."""
        lines, phis = self.lines, self.phis.values()
        has_work = (
            any(map(_WARP.search, lines)) and any(map(_LOAD.search, lines)) and not any(map(_BLOCK.search, lines))
        )
        is_read = all(self.loop.last.name in incoming for incoming in phis) and all(self.outside.values())
        return has_work and len(lines) <= _MOST and is_read and bool(self._question())

    def _used_outside(self) -> dict[str, str]:
        """What other blocks use of the loop, and its types, "" where that cannot be told."""
        others = (line for block in self.blocks if block.name not in self.labels for line in block.lines)
        used = {name for line in others for name in names_in(line) if name in self.names}
        return {name: type_of(self.defined[name]) for name in sorted(used)}

    def _question(self) -> list[str]:
        """The instructions by which a turn's end is decided, from what its phis hold; none where threads differ."""
        phis = {name: incoming.values() for name, incoming in self.phis.items()}
        # threads that come from different blocks with different numbers differ, too
        begins = (incoming.items() for incoming in self.phis.values())
        if any(len({value for origin, value in begin if origin != self.loop.last.name}) > 1 for begin in begins):
            return []
        if not is_uniform(self.loop.condition, self.defined, phis):
            return []
        wanted, open_ = set[str](), [self.loop.condition]
        while open_:
            name = open_.pop()
            if name in self.names and name not in self.phis and name not in wanted:
                wanted.add(name)
                open_ += names_in(self.defined[name])[1:]
        return [line for line in self.lines if result_of(line) in wanted]

    def unrolled(self) -> list[Block]:
        """The function's blocks with two turns at once."""
        first, last, out = self.loop.first, self.loop.last, self.loop.out
        start, leave = _with_end(first.name, "two"), _with_end(first.name, "out")
        second = self._copy_name("2", {name: incoming[last.name] for name, incoming in self.phis.items()})
        third = self._copy_name("1", {name: name for name in self.phis})
        left = {name: _with_end(name, "out") for name in self.outside}

        def back(name: str) -> str:
            return name if name == first.name else leave if name == out else second(name)

        more = [
            *self._copied(second, renamed(last.lines[-1], back)),
            *self._copied(third, f"  br label {leave}"),
            _block(leave, [
                *(f"  {left[name]} = phi {type_} [ {second(name)}, {second(last.name)} ], "
                  f"[ {third(name)}, {third(last.name)} ]" for name, type_ in self.outside.items()),
                f"  br label {out}",
            ]),
        ]  # fmt: skip
        made: list[Block] = []
        for block in self.blocks:
            if block.name not in self.labels:
                lines = [renamed(line, lambda name: left.get(name, name)) for line in block.lines]
                made.append(Block(block.name, block.label, _from(lines, last.name, leave)))
                continue
            lines = block.rest if block is first else _from(block.lines, first.name, start)
            if block is last:
                lines = [*lines[:-1], f"  br label {second(first.name)}"]
            if block is first:
                made.append(Block(block.name, block.label, self._begin(second, start, third(first.name))))
            made.append(_block(start, lines) if block is first else Block(block.name, block.label, lines))
            made += more if block is last else ()
        return made

    def _begin(self, second: Name, two: str, one: str) -> list[str]:
        """The loop's phis, of which the second turn gives the next values, and the question."""
        first, last, question = self.loop.first, self.loop.last, self._question()
        asked = {str(result_of(line)) for line in question}

        def next_values(incoming: re.Match[str]) -> str:
            value, origin = incoming.groups()
            return f"[ {renamed(value, second)}, {second(origin)} ]" if origin == last.name else incoming[0]

        def ask(name: str) -> str:
            return _with_end(name, "again") if name in asked else name

        to = (two, one) if self.loop.goes_on else (one, two)
        return [
            *(_INCOMING.sub(next_values, line) for line in first.phis),
            *(renamed(line, ask) for line in question),
            f"  br i1 {ask(self.loop.condition)}, label {to[0]}, label {to[1]}",
        ]

    def _copy_name(self, end: str, phis: Mapping[str, str]) -> Name:
        own = (self.names | self.labels) - self.phis.keys()
        return lambda name: phis[name] if name in phis else _with_end(name, end) if name in own else name

    def _copied(self, new: Name, branch: str) -> Iterator[Block]:
        for block in self.loop.blocks:
            own = block.rest if block is self.loop.first else block.lines
            lines = [renamed(_NO_ALIAS.sub("", line), new) for line in own if _SCOPE not in line]
            yield _block(new(block.name), [*lines[:-1], branch] if block is self.loop.last else lines)


def _block(name: str, lines: list[str]) -> Block:
    return Block(name, f"{name[1:]}:", lines)


def _incoming(phi: str) -> dict[str, str]:
    """What comes from each block before."""
    return {origin: value for value, origin in _INCOMING.findall(phi)}


def _from(lines: list[str], before: str, now: str) -> list[str]:
    """The lines, whose phis have another block before them."""
    return [
        _INCOMING.sub(lambda found: f"[ {found[1]}, {now if found[2] == before else found[2]} ]", line)
        if " = phi " in line
        else line
        for line in lines
    ]


def _with_end(name: str, end: str) -> str:
    return f'%"{name[1:].strip(chr(34))}.tle.{end}"'
