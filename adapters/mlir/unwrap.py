"""Takes the module that holds a function out of the modules around it, without moving a line."""

from __future__ import annotations

import re

from tle_raw.adapters.mlir.functions import MlirFunction, functions, scopes
from tle_raw.linker.mlir.tokens import tokenize

_ALIAS = re.compile(r"^[ \t]*[!#][\w$.-]+[ \t]*=.*$", re.MULTILINE)


def unwrap(text: str, function: MlirFunction) -> str:
    """The innermost module around the function, alone and without attributes; all else becomes blank.

    A host's data layout, a GPU module's targets and other modules' functions are of no use in a kernel. What a
    function refers to stands in its own module, by MLIR's rules. Aliases of types and attributes stay.
    """
    found = scopes(tokenize(text))
    around = [scope for scope in found if scope.open < function.start < scope.close]
    holder = max(around, key=lambda scope: scope.open, default=None)
    # kernels stand in GPU modules only
    kernels = [f for f in functions(text) if f.container == "gpu.func"]
    others = [*((s.start, s.end) for s in found), *((f.start, f.end) for f in kernels)]
    spans = [span for span in others if not span[0] <= function.start < span[1]]
    if holder is None:
        return _blanked(text, spans)
    flat = _blanked(text, [span for span in spans if holder.open < span[0] < holder.close])
    before, body, after = flat[: holder.open], flat[holder.open : holder.close], flat[holder.close :]
    return _aliases_of(before) + "module " + body + _aliases_of(after)


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    for start, end in spans:
        text = text[:start] + _blank(text[start:end]) + text[end:]
    return text


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _aliases_of(text: str) -> str:
    """Blank but for the lines that define aliases."""
    parts, last = [], 0
    for match in _ALIAS.finditer(text):
        parts += [_blank(text[last : match.start()]), match[0]]
        last = match.end()
    return "".join([*parts, _blank(text[last:])])
