"""Finds the functions of a module's text, in custom or generic form, with their types and their nesting."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tle_raw.linker.mlir.tokens import Token, closing, line_of, spelling, split, tokenize, unquoted

FUNCTIONS = frozenset(("func.func", "llvm.func", "gpu.func"))
MODULES = frozenset(("builtin.module", "module", "gpu.module"))


@dataclass(frozen=True)
class MlirFunction:
    """One function. ``modules`` names what it stands in, outermost first; ``start`` to ``end`` is its text."""

    container: str
    name: str
    parameters: tuple[str, ...]
    results: tuple[str, ...]
    names: tuple[str, ...]
    is_private: bool
    is_kernel: bool
    is_declaration: bool
    modules: tuple[str, ...]
    start: int
    end: int
    line: int

    @property
    def path(self) -> str:
        return "::".join((*filter(None, self.modules), self.name))

    @property
    def type(self) -> str:
        results = ", ".join(self.results)
        arrow = "" if not results else f" -> {results}" if len(self.results) == 1 else f" -> ({results})"
        return f"({', '.join(self.parameters)}){arrow}"

    def __str__(self) -> str:
        return f"{self.container} @{self.name}{self.type}"


def functions(text: str) -> tuple[MlirFunction, ...]:
    """All functions, nested modules' too, in the order of the text."""
    tokens = tokenize(text)
    aliases = dict(_aliases(text, tokens))
    nesting = scopes(tokens)
    found = []
    for index, token in enumerate(tokens):
        if token.kind == "word" and token.text in FUNCTIONS and _begins(tokens, index):
            function = _custom(text, tokens, index, _modules(nesting, token.start))
        elif token.kind == "string" and token.text[1:-1] in FUNCTIONS and _next(tokens, index) == "(":
            function = _generic(text, tokens, index, _modules(nesting, token.start))
        else:
            continue
        if function is not None:
            found.append(_without_aliases(function, aliases))
    return tuple(found)


def _next(tokens: Sequence[Token], index: int, step: int = 1) -> str:
    return tokens[index + step].text if index + step < len(tokens) else ""


def _begins(tokens: Sequence[Token], index: int) -> bool:
    return index == 0 or tokens[index - 1].text not in ("=", ",", "<")


def _aliases(text: str, tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """``!t = memref<?xf32>``: a name for a type."""
    for index, token in enumerate(tokens):
        if token.kind == "alias" and token.text[0] == "!" and _next(tokens, index) == "=":
            end = _type_end(tokens, index + 2)
            yield token.text, spelling(text, tokens[index + 2 : end])


def _type_end(tokens: Sequence[Token], index: int) -> int:
    """One past the type that starts at ``index``: a name, and what stands in brackets right behind it."""
    if index >= len(tokens):
        return index
    if tokens[index].text == "(":  # a function's type
        end = closing(tokens, index) + 1
        return _type_end(tokens, end + 1) if end < len(tokens) and tokens[end].text == "->" else end
    return closing(tokens, index + 1) + 1 if _next(tokens, index) == "<" else index + 1


# --- nesting ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scope:
    """A module operation: where it stands, and where its body does, braces included."""

    name: str
    start: int
    end: int
    open: int
    close: int


def scopes(tokens: Sequence[Token]) -> list[Scope]:
    """All modules of a text, those inside others too."""
    found = []
    for index, token in enumerate(tokens):
        if token.kind == "word" and token.text in MODULES and _begins(tokens, index):
            body = _body(tokens, index + 1)
            if body is not None:
                end = closing(tokens, body)
                name = next_symbol(tokens, index + 1)
                found.append(Scope(name, token.start, tokens[end].end, tokens[body].start, tokens[end].end))
        elif token.kind == "string" and token.text[1:-1] in MODULES and _next(tokens, index) == "(":
            found += _generic_scope(tokens, index)
    return found


def _generic_scope(tokens: Sequence[Token], index: int) -> Iterator[Scope]:
    end = _operation_end(tokens, index)
    name = unquoted(_string(_attributes(tokens, index, end).get("sym_name", ())))
    last = _last(tokens, end)
    for at in range(index, end):
        if tokens[at].text == "(" and _next(tokens, at) == "{":
            close = closing(tokens, at + 1)
            yield Scope(name, tokens[index].start, tokens[last].end, tokens[at + 1].start, tokens[close].end)
            return


def next_symbol(tokens: Sequence[Token], index: int) -> str:
    return unquoted(tokens[index].text) if index < len(tokens) and tokens[index].kind == "symbol" else ""


def _body(tokens: Sequence[Token], index: int) -> int | None:
    """The brace that opens the region of an operation in custom form, behind its attributes."""
    while index < len(tokens):
        token = tokens[index]
        if token.text == "attributes" and _next(tokens, index) == "{":
            index = closing(tokens, index + 1) + 1
        elif token.text == "{":
            return index
        elif token.text in ("(", "[", "<"):
            index = closing(tokens, index) + 1
        elif token.text == "}":
            return None
        else:
            index += 1
    return None


def _modules(found: Sequence[Scope], position: int) -> tuple[str, ...]:
    return tuple(scope.name for scope in found if scope.open < position < scope.close)


# --- custom form ------------------------------------------------------------------------------------------------


def _custom(text: str, tokens: Sequence[Token], index: int, modules: tuple[str, ...]) -> MlirFunction | None:
    """``func.func private @f(%x: f32) -> f32 attributes {…} {``; the words before the name may be many."""
    at = index + 1
    while at < len(tokens) and tokens[at].kind == "word":
        at += 1
    if at >= len(tokens) or tokens[at].kind != "symbol" or _next(tokens, at) != "(":
        return None
    words = {token.text for token in tokens[index + 1 : at]}
    close = closing(tokens, at + 1)
    parameters = [_parameter(text, part) for part in split(tokens[at + 2 : close])]
    results, after = _results(text, tokens, close + 1)
    rest, body = _rest(tokens, after)
    last = closing(tokens, after + len(rest)) if body else after + len(rest) - 1
    return MlirFunction(
        tokens[index].text,
        unquoted(tokens[at].text),
        tuple(type_ for _, type_ in parameters),
        results,
        tuple(name for name, _ in parameters),
        bool(words & {"private", "internal"}) or _says_private(rest),
        "kernel" in {token.text for token in rest} or any("nvvm.kernel" in token.text for token in rest),
        not body,
        modules,
        tokens[index].start,
        tokens[last].end,
        line_of(text, tokens[index].start),
    )


def _says_private(tokens: Sequence[Token]) -> bool:
    """``attributes {sym_visibility = "private"}``, which the conversion to llvm.func leaves behind."""
    return any(
        token.text == "sym_visibility" and _next(tokens, index, 2) == '"private"' for index, token in enumerate(tokens)
    )


def _parameter(text: str, tokens: Sequence[Token]) -> tuple[str, str]:
    """``%x: f32 {llvm.noalias} loc("f")`` is ("x", "f32"); a declaration has types only."""
    name = ""
    if not tokens:
        return "", ""
    if tokens[0].kind == "value" and len(tokens) > 2 and tokens[1].text == ":":
        name, tokens = tokens[0].text[1:], tokens[2:]
    return name, spelling(text, tokens[: _type_end(tokens, 0)])


def _results(text: str, tokens: Sequence[Token], index: int) -> tuple[tuple[str, ...], int]:
    if index >= len(tokens) or tokens[index].text != "->":
        return (), index
    if _next(tokens, index) != "(":
        end = _type_end(tokens, index + 1)
        return (spelling(text, tokens[index + 1 : end]),), end
    end = closing(tokens, index + 1) + 1
    parts = split(tokens[index + 2 : end - 1])
    return tuple(_parameter(text, part)[1] for part in parts), end


def _rest(tokens: Sequence[Token], index: int) -> tuple[Sequence[Token], bool]:
    """What stands between the type and the body, and whether there is a body."""
    start = index
    while index < len(tokens):
        token = tokens[index]
        if token.text == "attributes" and _next(tokens, index) == "{":
            index = closing(tokens, index + 1) + 1
        elif token.text == "{":
            return tokens[start:index], True
        elif token.kind == "word" and token.text in ("kernel", "workgroup", "private", "comdat", "loc"):
            index += 1
        elif token.text == "(" and index > start:
            index = closing(tokens, index) + 1
        else:
            break
    return tokens[start:index], False


# --- generic form -----------------------------------------------------------------------------------------------


def _generic(text: str, tokens: Sequence[Token], index: int, modules: tuple[str, ...]) -> MlirFunction | None:
    """``"func.func"() <{function_type = …, sym_name = "f"}> ({…}) : () -> ()``; older text has the braces last."""
    end = _operation_end(tokens, index)
    attributes = _attributes(tokens, index, end)
    if "sym_name" not in attributes or "function_type" not in attributes:
        return None
    parameters, results = _function_type(text, attributes["function_type"])
    linkage = spelling(text, attributes.get("linkage", ()))
    return MlirFunction(
        tokens[index].text[1:-1],
        unquoted(_string(attributes["sym_name"])),
        parameters,
        results,
        _block_names(tokens, index, end, len(parameters)),
        _string(attributes.get("sym_visibility", ())) == '"private"'
        or bool(re.search(r"<\s*(internal|private)\s*>", linkage)),
        any(key in attributes for key in ("gpu.kernel", "nvvm.kernel", "kernel")),
        not _has_body(tokens, index, end),
        modules,
        tokens[index].start,
        tokens[_last(tokens, end)].end,
        line_of(text, tokens[index].start),
    )


def _last(tokens: Sequence[Token], end: int) -> int:
    """The end of a generic operation's type, `() -> ()`."""
    return min(end + 6, len(tokens) - 1) if _next(tokens, end) == ":" else end


def _string(tokens: Sequence[Token]) -> str:
    return tokens[0].text if tokens else ""


def _operation_end(tokens: Sequence[Token], index: int) -> int:
    """The last token before the type of a generic operation: behind operands, successors, regions, attributes."""
    at = index + 1
    while at < len(tokens) and tokens[at].text in ("(", "[", "{", "<"):
        at = closing(tokens, at) + 1
    return max(at - 1, index)


def _attributes(tokens: Sequence[Token], index: int, end: int) -> dict[str, Sequence[Token]]:
    """Properties and attributes of a generic operation, by name."""
    found: dict[str, Sequence[Token]] = {}
    at = index + 1
    while at <= end:
        close = closing(tokens, at)
        inside = tokens[at + 1 : close]
        if tokens[at].text == "<" and inside and inside[0].text == "{":
            inside = inside[1:-1]
        if tokens[at].text in ("<", "{"):
            for part in split(inside):
                value = part[2:] if len(part) > 2 and part[1].text == "=" else part[:0]
                found.setdefault(part[0].text.strip('"'), value)
        at = close + 1
    return found


def _function_type(text: str, tokens: Sequence[Token]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """``(f32) -> f32`` or ``!llvm.func<f32 (f32)>``."""
    if tokens[0].text.startswith("!llvm.func"):
        inner = tokens[2:-1]
        paren = next((i for i, token in enumerate(inner) if token.text == "(" and _is_last(inner, i)), len(inner))
        result = _llvm_type(spelling(text, inner[:paren]))
        parameters = [_llvm_type(spelling(text, part)) for part in split(inner[paren + 1 : -1])]
        return tuple(parameters), () if result in ("void", "!llvm.void") else (result,)
    close = closing(tokens, 0)
    results, _ = _results(text, tokens, close + 1)
    return tuple(spelling(text, part) for part in split(tokens[1:close])), results


def _is_last(tokens: Sequence[Token], index: int) -> bool:
    return closing(tokens, index) == len(tokens) - 1


def _llvm_type(text: str) -> str:
    """Inside ``!llvm.func`` the types of the dialect leave out its name."""
    return f"!llvm.{text}" if re.match(r"(ptr|struct|array|void|func|vec)\b", text) else text


def _block_names(tokens: Sequence[Token], index: int, end: int, count: int) -> tuple[str, ...]:
    """Names of the entry block's arguments: ``^bb0(%x: f32):``."""
    for at in range(index, min(end, len(tokens) - 1)):
        if tokens[at].kind == "block" and _next(tokens, at) == "(":
            parts = list(split(tokens[at + 2 : closing(tokens, at + 1)]))
            names = tuple(part[0].text[1:] if part[0].kind == "value" else "" for part in parts)
            return names if len(names) == count else ("",) * count
    return ("",) * count


def _has_body(tokens: Sequence[Token], index: int, end: int) -> bool:
    """Whether the region in ``({…})`` holds anything."""
    for at in range(index, end):
        if tokens[at].text == "(" and _next(tokens, at) == "{":
            return _next(tokens, at, 2) != "}"
    return False


def _without_aliases(function: MlirFunction, aliases: dict[str, str]) -> MlirFunction:
    if not aliases:
        return function

    def plain(type_: str) -> str:
        return aliases.get(type_, type_)

    values = {**vars(function)}
    values["parameters"] = tuple(map(plain, function.parameters))
    values["results"] = tuple(map(plain, function.results))
    return MlirFunction(**values)
