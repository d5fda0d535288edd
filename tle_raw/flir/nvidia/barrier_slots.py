"""Which barrier a value of TritonGPU text is: the allocation that it comes from, and its slot there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from tle_raw.errors import ArgumentTypeError, Row, TLEError
from tle_raw.flir.nvidia.partitions import captured_values
from tle_raw.linker.mlir.locations import Locations
from tle_raw.linker.mlir.structure import is_worker, nests, read_structure
from tle_raw.linker.mlir.text import (
    location_of,
    matching_bracket,
    operation_name,
    split_top_level,
    value_names,
)

LOAD, CONVERT, INDEX = "ttg.local_load", "ttg.convert_layout", "ttg.memdesc_index"
ALLOC, INIT = "ttg.local_alloc", "ttng.init_barrier"
_DEFINED = re.compile(r"\s*(%[\w$.\-]+)")
_INTEGER = re.compile(r'arith\.constant(?: |"\(\) <\{value = )(-?\d+) : i32')  # as Triton prints it, in generic form
_SPECIALIZE = "ttg.warp_specialize"
_WORKERS, _GENERIC = " partition0(", f'"{_SPECIALIZE}"('  # in Triton's own form, in generic form

Slot = tuple[int, int]  # the line of the allocation, and which of it


class BarrierText:
    """Lines, by the values that they define. Branches beside each other have values of the same names."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.definitions: dict[str, list[int]] = {}
        for number, line in enumerate(lines):
            if line[:1] != "#" and (defined := _DEFINED.match(line)):  # an alias, as half of the lines are
                self.definitions.setdefault(defined[1], []).append(number)

    @cached_property
    def joined(self) -> str:
        """The whole text."""
        return "\n".join(self.lines)

    def definition(self, name: str, before: int) -> int:
        """The line that defines a value which is used in line ``before``; -1 where there is none, as for arguments."""
        return max((number for number in self.definitions.get(name, ()) if number < before), default=-1)

    def slot(self, name: str, used: int) -> Slot | None:
        """The barrier that a value is; None where that is not known at compile time."""
        alloc, number = self.parts(name, used)
        return (alloc, number) if alloc >= 0 and number is not None else None

    def parts(self, name: str, used: int) -> tuple[int, int | None]:
        """The line of the allocation that a value comes from, or -1, and its slot; None of one that runs."""
        name, used = self._outside(name, used)
        line = self.definition(name, used)
        kind = operation_name(self.lines[line]) if line >= 0 else ""
        if kind == ALLOC:
            return line, 0
        if kind != INDEX:
            return -1, None
        _, barriers, index = value_names(self.lines[line])[:3]
        barriers, before = self._outside(barriers, line)
        alloc = self.definition(barriers, before)
        is_known = alloc >= 0 and operation_name(self.lines[alloc]) == ALLOC
        return (alloc if is_known else -1), self.constant(index, line)

    def _outside(self, name: str, used: int) -> tuple[str, int]:
        """Of what a partition of specialised warps was given the value outside, and where that is given."""
        captured = self._captured.get(name, ())
        return next(((given, line) for begin, end, given, line in captured if begin < used < end), (name, used))

    @cached_property
    def _captured(self) -> dict[str, list[tuple[int, int, str, int]]]:
        """Of names in partitions: the lines of the partition, the value outside, and the line that gives it."""
        found: dict[str, list[tuple[int, int, str, int]]] = {}
        for begin, end, argument, value, given in captured_values(self.lines) if _GENERIC in self.joined else ():
            found.setdefault(argument, []).append((begin, end, value, given))
        for nest in nests(read_structure(list(self.lines))) if _WORKERS in self.joined else ():
            if not is_worker(nest):
                continue
            given = max(n for n in range(nest.begin) if operation_name(self.lines[n]) == _SPECIALIZE)
            values = _between_brackets(self.lines[given], self.lines[given].index(_SPECIALIZE))
            for argument, value in zip(split_top_level(_between_brackets(nest.text)), value_names(values)):
                found.setdefault(argument.split(":")[0].strip(), []).append((nest.begin, nest.end, value, given))
        return found

    def constant(self, name: str, used: int) -> int | None:
        """The number that a value is; None where that is not known at compile time."""
        line = self.definition(name, used)
        found = _INTEGER.search(self.lines[line]) if line >= 0 else None
        return int(found[1]) if found else None

    def failed(self, line: int, message: str, *rows: Row, hint: str = "") -> TLEError:
        """An error at the kernel's line."""
        site = Locations(list(self.lines)).source_location(location_of(self.lines[line]))
        return ArgumentTypeError(message, table=list(rows), hint=hint).at(call_site=site)


def _between_brackets(line: str, begin: int = 0) -> str:
    """What the first round brackets of a line hold, from a place on."""
    start = line.index("(", begin)
    return line[start + 1 : matching_bracket(line, start)]


def users(lines: Sequence[str], number: int) -> Iterator[int]:
    """The lines that use the value which a line defines, as far as the name is its own."""
    name = value_names(lines[number])[0]
    for user in (user for user in range(number + 1, len(lines)) if name in lines[user]):
        line = lines[user]
        if name in (names := value_names(line)):
            if names[0] == name and line.lstrip().startswith("%"):
                return
            yield user
