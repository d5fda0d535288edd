"""Reads the calls in a function's text: of inline assembly, and of the functions that are asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from tle_raw.linker.llvm.text import Entity, Module, UnreadableIRError, tokenize
from tle_raw.linker.llvm.types import Cursor, Type


@dataclass(frozen=True)
class CallInstruction:
    """One call instruction of a definition. ``arguments`` are texts without type and attributes."""

    start: int
    end: int  # of the call itself, its metadata left out
    assigned: str  # "%x", or "" for a call whose result nobody takes
    result: Type
    callee: str  # text of the callee: "@f", or "" for inline asm
    assembly: str  # the asm string as it is written, with its constraints in ``constraints``
    constraints: str
    types: tuple[Type, ...]
    arguments: tuple[str, ...]
    location: str = ""  # "!12"

    def text(self, callee: str, extra: str = "") -> str:
        """The same call of another function; ``extra`` are more arguments."""
        passed = ", ".join(f"{kind} {value}" for kind, value in zip(self.types, self.arguments))
        passed = ", ".join(part for part in (passed, extra) if part)
        given = f"{self.assigned} = " if self.assigned else ""
        return f"{given}call {self.result} {callee}({passed})"


_ANY = re.compile("")
_ASSEMBLY = " asm "
_LOCATION = re.compile(r", !dbg (![\w.]+)")


def calls(module: Module, entity: Entity, *callees: str, assembly: re.Pattern[str] = _ANY) -> Iterator[CallInstruction]:
    """The calls of a definition that are inline asm or name one of the callees (prefixes of ``@name``).

    Parameters
    ----------
    assembly : what the string of inline asm holds, as far as the caller wants to see it.
    """
    for start, end in sorted(_lines(module, entity, callees, assembly)):
        yield from _call_of_line(module.text, start, end, callees)


def _lines(module: Module, entity: Entity, callees: tuple[str, ...], assembly: re.Pattern[str]) -> set[tuple[int, int]]:
    """Where the lines begin and end that may hold a call which is wanted. Most hold none, and some are long."""
    text = module.text
    places = module.once(_assemblies)[entity]
    found = {_line_around(text, start, entity) for start, end in places if assembly.search(text, start, end)}
    for callee in callees:
        end = entity.body
        while (at := text.find(callee, end + 1, entity.end)) >= 0:
            start, end = _line_around(text, at, entity)
            if text.find(_ASSEMBLY, start, end) < 0:
                found.add((start, end))
    return found


def _assemblies(module: Module) -> dict[Entity, list[tuple[int, int]]]:
    """For each definition, where the strings of inline assembly stand."""
    text, found = module.text, dict[Entity, list[tuple[int, int]]]()
    for entity in module.of_kind("define"):
        found[entity], at = [], entity.body
        while (at := text.find(_ASSEMBLY, at + 1, entity.end)) >= 0:
            start = text.find('"', at, entity.end) + 1
            if start:
                found[entity].append((start, text.find('"', start, entity.end)))
    return found


def _line_around(text: str, at: int, entity: Entity) -> tuple[int, int]:
    start, end = text.rfind("\n", entity.body, at), text.find("\n", at, entity.end)
    return max(start, entity.body) + 1, entity.end if end < 0 else end


def _call_of_line(text: str, start: int, end: int, callees: tuple[str, ...]) -> Iterator[CallInstruction]:
    line = text[start:end]
    location = _LOCATION.search(line, line.rfind(")"))
    try:
        found = _read_call(line[: location.start()] if location else line, callees)
    except UnreadableIRError:
        _read_call.__wrapped__(text, callees, start, end)  # which says where in the module
        raise
    if found is not None:
        known = location[1] if location else found.location
        yield replace(found, start=start + found.start, end=start + found.end, location=known)


@lru_cache(maxsize=256)  # a barrier is written many times
def _read_call(text: str, callees: tuple[str, ...], start: int = 0, end: int | None = None) -> CallInstruction | None:
    """The call that a line holds, or a range of a text; None where it holds none that is wanted."""
    tokens = list(tokenize(text, start, end))
    words = [token.text for token in tokens[:4]]
    if "call" not in words:
        return None
    index = words.index("call")
    assigned = tokens[0].text if len(tokens) > 1 and tokens[1].text == "=" else ""
    cursor = Cursor(text, tokens)
    cursor.index = index + 1
    cursor.skip_attributes()
    result = cursor.read_type()
    code = constraints = callee = ""
    if cursor.sees("asm"):
        cursor.take()
        while not cursor.sees("(") and cursor.current and cursor.current.kind == "word":
            cursor.take()
        code = cursor.take().text
        cursor.take(",")
        constraints = cursor.take().text
    elif cursor.current is not None and cursor.current.kind == "@":
        callee = cursor.take().text
        if not any(callee.startswith(prefix) for prefix in callees):
            return None
    else:
        return None
    types, arguments = _arguments(cursor)
    closed = cursor.tokens[cursor.index - 1].end
    end_of_call = _end_of_attributes(cursor, closed)
    location = next((b.text for a, b in pairwise(tokens) if a.text == "!dbg"), "")
    return CallInstruction(
        tokens[0].start, end_of_call, assigned, result, callee, code[1:-1], constraints[1:-1], types, arguments,
        location,
    )  # fmt: skip


def _arguments(cursor: Cursor) -> tuple[tuple[Type, ...], tuple[str, ...]]:
    types: list[Type] = []
    values: list[str] = []
    cursor.take("(")
    while not cursor.sees(")"):
        types.append(cursor.read_type())
        _skip_parameter_attributes(cursor)
        first = cursor.tokens[cursor.index]
        while not cursor.sees(",", ")"):
            cursor.skip_group()
        values.append(cursor.text[first.start : cursor.tokens[cursor.index - 1].end])
        if cursor.sees(","):
            cursor.take()
    cursor.take(")")
    return tuple(types), tuple(values)


_CONSTANTS = "true false null undef poison zeroinitializer none splat blockaddress"
_CONSTANT_EXPRESSIONS = "getelementptr addrspacecast inttoptr ptrtoint bitcast trunc add sub xor"
_CONSTANT_WORDS = frozenset((*_CONSTANTS.split(), *_CONSTANT_EXPRESSIONS.split()))


def _skip_parameter_attributes(cursor: Cursor) -> None:
    """Skip ``noundef``, ``align 8``, ``range(i32 0, 5)`` before an argument."""
    while cursor.current is not None and cursor.current.kind in ("word", "string"):
        text = cursor.current.text
        if text in _CONSTANT_WORDS or text[0] in "-+0123456789" or text == "c":
            return
        cursor.take()
        if cursor.sees("("):
            cursor.skip_group()
        elif text == "align":
            cursor.take()


def _end_of_attributes(cursor: Cursor, closed: int) -> int:
    """Where a call ends: after its attribute groups and bundles, before ``, !dbg``."""
    end = closed
    while cursor.current is not None and not cursor.sees(","):
        cursor.skip_group()
        end = cursor.tokens[cursor.index - 1].end
    return end
