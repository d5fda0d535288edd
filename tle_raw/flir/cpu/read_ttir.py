"""Hand a module of Triton's IR over to the MLIR bindings.

The bindings do not know Triton's dialect. They read the generic form, with its operations unregistered; there
properties (``<{axis = 0 : i32}>``) are kept but invisible, so they are written as ordinary attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.linker.mlir.generic_form import generic_text

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|<\{|\}>|->|[{}()]|//[^\n]*')
_REGIONS = re.compile(r"\s+\(")  # behind properties
_OPERATIONS = ('"tt.', '"ttg.', '"ttng.')  # Triton's dialects, whose properties are looked at
# Functions become upstream ones, so that upstream passes (lift-cf-to-scf) know them. Calls stay: inside of operations
# that are not registered, like tt.scan, an upstream call does not verify.
_FUNCTIONS = {'"tt.func"': '"func.func"', '"tt.return"': '"func.return"'}


def read_ttir(module: Any) -> Any:
    """A module of Triton's as an ``ir.Module`` of the MLIR bindings, in a context of its own.

    ``tt.func`` and ``tt.return`` arrive as their ``func`` twins, all else as it is.
    """
    from triton._C.libtriton import ir as triton_ir

    ir = mlir()
    context = ir.Context()
    context.allow_unregistered_dialects = True
    return ir.Module.parse(plain_attributes(generic_text(module, triton_ir)), context)


def plain_attributes(text: str) -> str:
    """Write the properties of Triton's operations as ordinary attributes, behind the operation's regions."""
    return "".join(_plain(text))


def _plain(text: str) -> Iterator[str]:
    pending: list[tuple[int, str]] = []  # properties that wait for the `)` after their regions, at that depth
    depth, start, operation = 0, 0, ""
    tokens = list(_TOKEN.finditer(text))
    for index, match in enumerate(tokens):
        token = match.group()
        if match.start() < start:
            continue
        if token == "<{" and operation.startswith(_OPERATIONS):
            yield text[start : match.start()]
            end = _closing(tokens, index)
            properties, start = text[match.end() : tokens[end].start()], tokens[end].end()
            if _REGIONS.match(text, start):
                pending.append((depth, properties))
            else:
                others, start = _discardable(text, start)
                yield _braced(properties, others)
        elif token in _FUNCTIONS:
            yield text[start : match.start()] + _FUNCTIONS[token]
            start = match.end()
        elif token == "(":
            depth += 1
        elif token == ")":
            depth -= 1
            if pending and pending[-1][0] == depth:
                yield text[start : match.end()]
                others, start = _discardable(text, match.end())
                yield " " + _braced(pending.pop()[1], others)
        if token.startswith('"'):
            operation = token
    yield text[start:]


def _closing(tokens: Sequence[re.Match[str]], opening: int) -> int:
    """Which token ends the properties that one begins."""
    depth = 0
    for index in range(opening, len(tokens)):
        depth += {"<{": 1, "}>": -1}.get(tokens[index].group(), 0)
        if depth == 0:
            return index
    raise ValueError("properties of an operation have no end")


def _discardable(text: str, position: int) -> tuple[str, int]:
    """The attribute dictionary that follows at ``position``, without braces, and where it ends."""
    match = re.compile(r"\s*\{").match(text, position)
    if not match:
        return "", position
    depth = 0
    for token in _TOKEN.finditer(text, match.end() - 1):
        if token.group() in ("{", "<{"):
            depth += 1
        elif token.group() in ("}", "}>"):
            depth -= 1
            if depth == 0:
                return text[match.end() : token.start()], token.end()
    return "", position


def _braced(*parts: str) -> str:
    return "{" + ", ".join(part for part in parts if part.strip()) + "}"
