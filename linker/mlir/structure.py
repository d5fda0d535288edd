"""The nesting of a module's text: lines, and operations that hold blocks of lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tle_raw.linker.mlir.text import brace_depth

_LABEL = re.compile(r"\^[\w$.\-]+")
_PARTITION, _DEFAULT = re.compile(r"\s*partition\d+\("), re.compile(r"\s*default \{")
_SPECIALIZE = "ttg.warp_specialize("
_LOOPS = ("scf.for", "scf.while")


@dataclass(eq=False)
class Nest:
    """An operation with regions, each a list of line numbers and of operations inside; its first and its last line.

    ``is_partition`` marks what some of the block's warps do: a region of ``ttg.warp_specialize``, which has its own
    first line.
    """

    text: str
    begin: int
    end: int = -1
    bodies: list[list[int | Nest]] = field(default_factory=lambda: [[]])
    is_partition: bool = False

    @property
    def is_loop(self) -> bool:
        """Whether it is a loop's."""
        return is_loop(self.text)

    @property
    def is_function(self) -> bool:
        """Whether it is a function's."""
        return "tt.func" in self.text

    @property
    def is_called(self) -> bool:
        """A function of its own, which the kernel calls."""
        return "tt.func private" in self.text or 'sym_visibility = "private"' in self.text


def read_structure(lines: list[str]) -> list[int | Nest]:
    """The module as nested lists. ``} else {`` and ``} do {`` begin another body of the operation that is open."""
    found: list[int | Nest] = []
    current, opened = found, list[tuple[Nest, list[int | Nest]]]()
    for number, line in enumerate(lines):
        # Of the lines that neither end with a brace nor begin with one, no other brace opens or closes anything.
        closes = "}" in line and line.lstrip().startswith("}")
        if not closes and not line.endswith("{"):
            current.append(number)
            continue
        depth = brace_depth(line)
        if depth == 0 and opened and closes:
            opened[-1][0].bodies.append([])
            current = opened[-1][0].bodies[-1]
        elif depth == 0:
            current.append(number)
        for _ in range(depth):
            nest = Nest(line, number, is_partition=_is_partition(lines, number))
            current.append(nest)
            opened.append((nest, current))
            current = nest.bodies[0]
        for _ in range(-depth):
            if opened:
                nest, current = opened.pop()
                nest.end = number
    return found


def _is_partition(lines: list[str], number: int) -> bool:
    if _PARTITION.match(lines[number]):
        return True
    return number > 0 and _DEFAULT.match(lines[number]) is not None and _SPECIALIZE in lines[number - 1]


def lines_in_loops(lines: list[str]) -> set[int]:
    """The numbers of the lines inside of loops, a loop's last line among them."""
    if not any(map(is_loop, lines)):
        return set()
    loops = (nest for nest in nests(read_structure(lines)) if nest.is_loop)
    return {number for loop in loops for number in range(loop.begin + 1, loop.end + 1)}


def nests(found: list[int | Nest]) -> Iterator[Nest]:
    """All of them, the outer ones first."""
    for item in found:
        if isinstance(item, Nest):
            yield item
            for body in item.bodies:
                yield from nests(body)


# Where a line stands: the nests around it, by their first lines, and which of their bodies, the outermost first.
Path = tuple[tuple[int, int], ...]


def paths(found: list[int | Nest]) -> dict[int, Path]:
    """Of each line that is one of a body, or begins a nest in it, in their order."""
    known: dict[int, Path] = {}

    def note(body: list[int | Nest], around: Path) -> None:
        for item in body:
            if isinstance(item, int):
                known[item] = around
                continue
            known[item.begin] = around
            for which, inside in enumerate(item.bodies):
                note(inside, (*around, (item.begin, which)))

    note(found, ())
    return known


def is_worker(nest: Nest) -> bool:
    """Whether it is a worker's partition of ``ttg.warp_specialize``, in Triton's own form."""
    return _PARTITION.match(nest.text) is not None


def is_loop(line: str) -> bool:
    """Whether a loop begins at this line."""
    return any(f"{name} " in line or f'"{name}"' in line for name in _LOOPS)


def label_of(line: str) -> str:
    """The label that a line begins with: ``^bb1(%x: i32):``, or nothing."""
    match = _LABEL.match(line.lstrip())
    return match.group() if match else ""


def jumps_in(line: str) -> list[str]:
    """The labels that a branch goes to."""
    return _LABEL.findall(line)
