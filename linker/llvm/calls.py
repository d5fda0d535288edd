"""Reads the calls in a function's text: of inline assembly, and of the functions that are asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from tle_raw.linker.llvm.text import Entity, Module, tokenize
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


def calls(module: Module, entity: Entity, *callees: str, assembly: re.Pattern[str] = _ANY) -> Iterator[CallInstruction]:
    """The calls of a definition that are inline asm or name one of the callees (prefixes of ``@name``).

    Parameters
    ----------
    assembly : what the line of inline asm holds, as far as the caller wants to see it.
    """
    text, position = module.text, entity.body + 1
    while (found := text.find("call ", position, entity.end)) >= 0:
        start, end = text.rfind("\n", position, found) + 1, text.find("\n", found, entity.end)
        end = entity.end if end < 0 else end
        yield from _call_of_line(text, start or position, end, callees, assembly)
        position = end + 1


def _call_of_line(
    text: str, start: int, end: int, callees: tuple[str, ...], assembly: re.Pattern[str]
) -> Iterator[CallInstruction]:
    line = text[start:end]
    is_wanted = assembly.search(line) if " asm " in line else any(callee in line for callee in callees)
    if not is_wanted:
        return
    tokens = list(tokenize(text, start, end))
    words = [token.text for token in tokens[:4]]
    if "call" not in words:
        return
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
            return
    else:
        return
    types, arguments = _arguments(cursor)
    closed = cursor.tokens[cursor.index - 1].end
    end_of_call = _end_of_attributes(cursor, closed)
    location = next((b.text for a, b in pairwise(tokens) if a.text == "!dbg"), "")
    yield CallInstruction(
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
