"""The part of a kernel that some values at one of its lines are computed by.

A module that is only asked about these values need not hold more. Operations with regions stay around what is needed,
with their terminators. What a loop yields for an iteration argument that nothing needed reads is left out, too: the
argument itself stands there instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tle_raw.linker.mlir.structure import Nest, Path, label_of, nests, paths, read_structure
from tle_raw.linker.mlir.text import matching_bracket, value_names

_CALL, _FOR = "tt.call", '"scf.for"'
_LOCATION = " loc("
_YIELDED = re.compile(r'(?<="scf\.yield"\()[^()]*(?=\))')


@dataclass
class _Frame:
    """Of an operation with regions: its own lines and labels, and the last operation of each block.

    Of a loop, its iteration arguments, and the line that yields the next ones, one for each.
    """

    lines: set[int] = field(default_factory=set)
    last: list[int] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    yields: int = -1
    yielded: list[str] = field(default_factory=list)


class KernelLines:
    """Lines of a module in generic form; those of operations without regions may be in Triton's own."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self._frames: dict[int, _Frame] = {}
        self._texts: dict[int, str] = {}

    def slice(self, number: int, names: Iterable[str]) -> Iterator[tuple[int, str]]:
        """The lines, without locations, that values which are used at a line are computed by, and those around it."""
        found = _Slice(self)
        found.keep_around(number)
        found.follow((name.partition("#")[0], number) for name in names)
        if found.calls:  # the functions, too, and what they read
            yield from enumerate(self.lines)
            return
        yields = {frame.yields: frame for frame in found.frames if frame.yields >= 0}
        for kept in sorted(found.kept.union(self._aliases)):
            text = self._text(kept)
            yield kept, found.yielding(yields[kept], text) if kept in yields else text

    @cached_property
    def names(self) -> list[list[str]]:
        """The values that each line names."""
        return [value_names(line) if "%" in line else [] for line in self.lines]

    @cached_property
    def places(self) -> dict[int, Path]:
        """Where lines stand."""
        return paths(self._structure)

    @cached_property
    def nests(self) -> dict[int, Nest]:
        """Operations with regions, by their first lines."""
        return {nest.begin: nest for nest in nests(self._structure)}

    @cached_property
    def _structure(self) -> list[int | Nest]:
        return read_structure(list(self.lines))

    @cached_property
    def _aliases(self) -> list[int]:
        return [n for n, line in enumerate(self.lines) if line.startswith("#") and not line.startswith("#loc")]

    @cached_property
    def _definitions(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, line in enumerate(self.lines):
            if line.lstrip().startswith("%"):
                found.setdefault(self.names[number][0], []).append(number)
        return found

    def definition(self, name: str, before: int) -> int:
        """The line that defines a value which is used in line ``before``; -1 of an argument of a block."""
        found = [number for number in self._definitions.get(name, ()) if number < before]
        return found[-1] if found else -1

    def frame(self, begin: int) -> _Frame:
        """Of the operation with regions that begins at a line."""
        if begin not in self._frames:
            self._frames[begin] = self._read_frame(self.nests[begin])
        return self._frames[begin]

    def _read_frame(self, nest: Nest) -> _Frame:
        frame, inside = _Frame(), set[int]()
        for body in nest.bodies:
            for item, following in zip(body, [*body[1:], None]):
                begin = item if isinstance(item, int) else item.begin
                inside.update(range(begin, begin + 1 if isinstance(item, int) else item.end + 1))
                if isinstance(item, int) and label_of(self.lines[item]):
                    frame.lines.add(item)
                elif following is None or (isinstance(following, int) and label_of(self.lines[following])):
                    frame.last.append(begin)
        frame.lines.update(set(range(nest.begin, nest.end + 1)) - inside)
        if _FOR in nest.text and (found := _YIELDED.search(self.lines[frame.last[0]])):
            frame.yields = frame.last.pop()
            frame.lines.add(frame.yields)
            frame.arguments = self.names[min(inside)][1:]  # behind the one that counts
            frame.yielded = [name.strip() for name in found[0].split(",") if name]
        return frame

    def _text(self, number: int) -> str:
        if number not in self._texts:
            self._texts[number] = _without_locations(self.lines[number])
        return self._texts[number]


class _Slice:
    def __init__(self, kernel: KernelLines) -> None:
        self.kernel = kernel
        self.kept: set[int] = set()
        self.wanted: set[str] = set()
        self.frames: list[_Frame] = []
        self.calls = False
        self._around: set[Path] = set()  # places whose operations are kept
        self._waiting: list[tuple[str, int]] = []  # names, and the lines that use them

    def keep_around(self, number: int) -> None:
        """Keep the operations that a line stands in."""
        place = self.kernel.places[number]
        if place not in self._around:
            self._around.add(place)
            for begin, _ in place:
                self._keep(begin)

    def follow(self, uses: Iterable[tuple[str, int]]) -> None:
        """Keep what values are computed by, as lines use them."""
        self._waiting += uses
        followed = set[tuple[str, int]]()
        while self._waiting:
            while self._waiting:
                use = self._waiting.pop()
                if use not in followed:
                    followed.add(use)
                    self._follow(*use)
            carried = (
                (name.partition("#")[0], frame.yields)
                for frame in self.frames
                for argument, name in zip(frame.arguments, frame.yielded)
                if argument in self.wanted
            )
            self._waiting = [use for use in carried if use not in followed]

    def yielding(self, frame: _Frame, line: str) -> str:
        """The line that yields, with arguments in place of what nothing reads."""
        pairs = zip(frame.arguments, frame.yielded)
        given = ", ".join(name if argument in self.wanted else argument for argument, name in pairs)
        return _YIELDED.sub(given, line, count=1)

    def _follow(self, name: str, number: int) -> None:
        self.wanted.add(name)
        defined = self.kernel.definition(name, number)
        if defined < 0:
            return
        self.keep_around(defined)
        self._keep(defined)
        if defined in self.kernel.nests:
            self.wanted.update(self.kernel.frame(defined).arguments)

    def _keep(self, number: int) -> None:
        """A line, or an operation with regions that begins there."""
        if number in self.kept:
            return
        self.kept.add(number)
        self.calls |= _CALL in self.kernel.lines[number]
        self._waiting += ((name, number) for name in self.kernel.names[number])
        if number in self.kernel.nests:
            frame = self.kernel.frame(number)
            self.frames.append(frame)
            self.kept |= frame.lines
            for last in frame.last:
                self._keep(last)


def _without_locations(line: str) -> str:
    while (start := line.find(_LOCATION)) >= 0:
        line = line[:start] + line[matching_bracket(line, start + len(_LOCATION) - 1) + 1 :]
    return line
