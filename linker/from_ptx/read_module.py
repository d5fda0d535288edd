"""Reads a PTX module's functions and variables, as far as they are needed to write them anew."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tle_raw.errors import LinkError, SourceLocation
from tle_raw.linker.ptx.statements import PtxStatement, statements

SPACES = ("global", "shared", "const", "local")
_TYPE = re.compile(r"(?:[bsuf](?:8|16|32|64|128)|pred|f16x2|bf16|bf16x2)")
_VERSION = re.compile(r"^\s*\.version\s+(\d+)\.(\d+)", re.MULTILINE)
_TARGET = re.compile(r"^\s*\.target\s+(sm_\d+[af]?)", re.MULTILINE)


class UnreadablePtxError(LinkError):
    """PTX that this reader does not understand; nothing is guessed."""


@dataclass(frozen=True)
class PtxParameter:
    """A parameter or a result: its name, its bytes, and whether it is an array of bytes (an aggregate)."""

    name: str
    bytes: int
    align: int
    is_array: bool


@dataclass(frozen=True)
class PtxVariable:
    """A variable of the module or of a function. ``values`` are its initialiser's words, or None."""

    name: str
    space: str
    type: str
    count: int
    align: int
    values: tuple[str, ...] | None
    is_extern: bool
    is_visible: bool


@dataclass(frozen=True)
class PtxFunctionText:
    """A function: ``body`` are the statements between its braces, or None where it is only declared."""

    name: str
    is_entry: bool
    parameters: tuple[PtxParameter, ...]
    result: PtxParameter | None
    body: tuple[PtxStatement, ...] | None
    line: int


@dataclass(frozen=True)
class PtxModule:
    """All of a module. ``version`` is the PTX version, ``target`` the architecture that it names."""

    version: tuple[int, int]
    target: str
    functions: dict[str, PtxFunctionText] = field(default_factory=dict)
    variables: dict[str, PtxVariable] = field(default_factory=dict)


def is_ptx(text: str) -> bool:
    """Whether the text begins as PTX does."""
    return _VERSION.search(text[:4000]) is not None and _TARGET.search(text[:8000]) is not None


def read_ptx_module(text: str) -> PtxModule:
    """The functions and variables of a PTX module.

    Raises
    ------
    UnreadablePtxError : the text is no PTX, or ends within a function.
    """
    version, target = _VERSION.search(text), _TARGET.search(text)
    if version is None or target is None:
        raise UnreadablePtxError("the PTX names no .version and no .target", hint="it is damaged, or no PTX at all")
    module = PtxModule((int(version[1]), int(version[2])), target[1])
    left = iter(statements(text))
    for statement in left:
        body = tuple(_body(left, statement)) if statement.closing == "{" else None
        with understood(statement):
            _add(module, statement, body)
    return module


@contextmanager
def understood(statement: PtxStatement) -> Iterator[None]:
    """What a statement lacks is told as such: a name, a type, a number, an operand.

    Raises
    ------
    UnreadablePtxError : something is missing, or is no number.
    """
    try:
        yield
    except (LookupError, ValueError, StopIteration):
        shown = " ".join(statement.tokens)[:80]
        raise unreadable(statement.line, f"`{shown}` is not understood") from None


def _add(module: PtxModule, statement: PtxStatement, body: tuple[PtxStatement, ...] | None) -> None:
    """A function or a variable; other sections hold debug information."""
    tokens = statement.tokens
    if ".func" in tokens or ".entry" in tokens:
        _add_function(module, _function(statement, body))
    elif body is None and any(f".{space}" in tokens for space in SPACES):
        variable = read_variable(statement)
        module.variables[variable.name] = variable


def _add_function(module: PtxModule, function: PtxFunctionText) -> None:
    before = module.functions.get(function.name)
    if before is not None and before.body is not None:
        if function.body is not None:
            raise unreadable(function.line, f"`{function.name}` is defined in line {before.line} already")
        return
    module.functions[function.name] = function


def _body(left: Iterator[PtxStatement], opened: PtxStatement) -> Iterator[PtxStatement]:
    depth = 1
    for statement in left:
        depth += (statement.closing == "{") - (statement.closing == "}")
        if depth == 0:
            if statement.tokens:
                raise unreadable(statement.line, "a statement without its semicolon")
            return
        yield statement
    raise unreadable(opened.line, "a brace that is never closed: the file was cut")


def _function(statement: PtxStatement, body: tuple[PtxStatement, ...] | None) -> PtxFunctionText:
    tokens = statement.tokens
    index = next(i for i, token in enumerate(tokens) if token in (".func", ".entry"))
    is_entry, index = tokens[index] == ".entry", index + 1
    result: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    name = ""
    while index < len(tokens):
        if tokens[index] == "(":
            end = tokens.index(")", index) if ")" in tokens[index:] else len(tokens)
            if name:
                parameters = tokens[index + 1 : end]
                break
            result, index = tokens[index + 1 : end], end
        elif not tokens[index].startswith(".") and not name:
            name = tokens[index]
        index += 1
    if not name:
        raise unreadable(statement.line, "a function without a name")
    results = _parameters(result, statement.line)
    if len(results) > 1:
        raise unreadable(statement.line, f"`{name}` has {len(results)} results")
    return PtxFunctionText(
        name,
        is_entry,
        _parameters(parameters, statement.line),
        results[0] if results else None,
        body,
        statement.line,
    )


def _parameters(tokens: Sequence[str], line: int) -> tuple[PtxParameter, ...]:
    return tuple(read_parameter(part, line) for part in split(tokens))


def read_parameter(tokens: Sequence[str], line: int) -> PtxParameter:
    """``.param .align 16 .b8 name[16]``"""
    words = [token for token in tokens if token not in ("[", "]")]
    align = int(words[words.index(".align") + 1]) if ".align" in words else 0
    type_ = next((t[1:] for t in words if t.startswith(".") and _TYPE.fullmatch(t[1:])), "")
    if not type_:
        raise unreadable(line, f"a parameter without a type: {' '.join(tokens)}")
    is_array = "[" in tokens
    count = int(tokens[tokens.index("[") + 1]) if is_array else 1
    name = tokens[tokens.index("[") - 1] if is_array else words[-1]
    size = bits_of(type_) // 8 * count
    return PtxParameter(name, size, align or bits_of(type_) // 8, is_array)


def read_variable(statement: PtxStatement) -> PtxVariable:
    """``.visible .global .align 4 .b8 table[16] = {1, 2};``"""
    tokens, line = statement.tokens, statement.line
    equals = tokens.index("=") if "=" in tokens else len(tokens)
    head = tokens[:equals]
    space = next(s for s in SPACES if f".{s}" in head)
    align = int(head[head.index(".align") + 1]) if ".align" in head else 0
    places = [i for i, t in enumerate(head) if t.startswith(".") and _TYPE.fullmatch(t[1:])]
    if not places or places[-1] + 1 >= len(head):
        raise unreadable(line, f"a variable that is not understood: {' '.join(head[:8])}")
    type_, name = head[places[-1]][1:], head[places[-1] + 1]
    vector = next((int(t[2:]) for t in head if t in (".v2", ".v4")), 1)
    counts = [int(t, 0) for t in head[places[-1] + 2 :] if t.isdecimal()]
    is_array = "[" in head
    count = vector
    for each in counts:
        count *= each
    if is_array and not counts:
        count = 0
    values = tuple(t for t in tokens[equals + 1 :] if t not in "{},") if equals < len(tokens) else None
    return PtxVariable(
        name, space, type_, count, align or vector * bits_of(type_) // 8, values,
        ".extern" in head, ".visible" in head or ".weak" in head,
    )  # fmt: skip


def split(tokens: Sequence[str]) -> list[tuple[str, ...]]:
    """The parts between the commas that stand outside brackets."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token in "([{") - (token in ")]}")
        if token == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [tuple(part) for part in parts if part]


def bits_of(type_: str) -> int:
    """The bits of a PTX type."""
    if type_ == "pred":
        return 1
    return 32 if type_.endswith("x2") else int(re.sub(r"\D", "", type_))


def unreadable(line: int, what: str) -> UnreadablePtxError:
    """The error for PTX that is not understood."""
    error = UnreadablePtxError(f"cannot read the PTX at line {line}: {what}")
    error.at(source=SourceLocation("<PTX>", line))
    return error
