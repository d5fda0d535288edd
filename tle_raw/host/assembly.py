"""Reads the assembly of a kernel for the CPU: its functions, how long they are, what they call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TYPE = re.compile(r'\s*\.type\s+("[^"]+"|[^\s,]+),\s*@function')
# A jump to a function's name is a call, too: the last one before a return. Labels within functions begin with `.L`.
_CALL = re.compile(r'\s+(?:callq?|jmp)\s+("[^"]+"|[^\s*.%][^\s]*)')
_THROUGH_TABLE = "@PLT"


@dataclass(frozen=True)
class HostFunction:
    """A function, its lines counted from 1. ``calls`` are the names that it calls directly."""

    name: str
    first_line: int
    last_line: int
    instructions: int
    calls: tuple[str, ...]


@dataclass(frozen=True)
class HostAsm:
    """What an assembly text holds."""

    functions: tuple[HostFunction, ...]

    def function(self, name: str) -> HostFunction | None:
        """The function of that name, or None."""
        return next((function for function in self.functions if function.name == name), None)


def read_host_asm(text: str) -> HostAsm:
    """Read assembly as LLVM prints it for x86-64."""
    return HostAsm(tuple(_functions(text.splitlines())))


def _functions(lines: list[str]) -> Iterator[HostFunction]:
    announced, name, first = "", "", 0
    for number, line in enumerate(lines, 1):
        match = _TYPE.match(line)
        if match:
            announced = match[1]
        elif announced and line.startswith(f"{announced}:"):
            name, first, announced = announced, number, ""
        elif name and line.lstrip().startswith(f".size\t{name},"):
            yield _function(name, first, number - 1, lines)
            name = ""


def _function(name: str, first: int, last: int, lines: list[str]) -> HostFunction:
    body = [line for line in lines[first:last] if _is_instruction(line)]
    calls = (match[1] for match in map(_CALL.match, body) if match)
    targets = tuple(call.removesuffix(_THROUGH_TABLE).strip('"') for call in calls)
    return HostFunction(name.strip('"'), first, last, len(body), targets)


def _is_instruction(line: str) -> bool:
    """Instructions are indented; so are directives, which begin with a dot, and marks of inline assembly."""
    return line[:1].isspace() and line.lstrip()[:1] not in ("", ".", "#")
