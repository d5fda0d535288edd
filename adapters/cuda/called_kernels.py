"""A kernel that is called like a function, which CUDA does not allow: by a wrapper that makes its structs, for example.

Where a source does so, all its kernels are compiled as device functions: a kernel is one in the end anyway.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence

from tle_raw.adapters.cpp.declarations import functions
from tle_raw.adapters.cpp.tokens import Token, tokenize

AS_FUNCTIONS = ("#undef __global__", "#define __global__ __attribute__((device))")


@functools.lru_cache(maxsize=64)
def calls_kernels(text: str) -> bool:
    """Whether a device function or a kernel of the text calls one of its kernels, without a launch."""
    if "__global__" not in text:
        return False
    found = functions(text)
    kernels = {f.name for f in found if f.is_kernel}
    tokens = tokenize(text)
    bodies = [f.extent for f in found if (f.is_kernel or f.is_device) and f.extent]
    return any(_calls(_body(tokens, *extent), kernels) for extent in bodies)


def _body(tokens: Sequence[Token], first: tuple[int, int], last: tuple[int, int]) -> list[Token]:
    inside = [t for t in tokens if first <= (t.line, t.column) <= last]
    start = next((i for i, t in enumerate(inside) if t.text == "{"), len(inside))
    return inside[start:]


def _calls(tokens: Sequence[Token], kernels: Collection[str]) -> bool:
    for index, token in enumerate(tokens):
        if token.text in kernels and tokens[index - 1].text not in (".", "->", "&"):
            after = _behind_arguments(tokens, index + 1)
            if after < len(tokens) and tokens[after].text == "(":
                return True
    return False


def _behind_arguments(tokens: Sequence[Token], index: int) -> int:
    """The place behind template arguments; the end where it is a launch, ``<<<``."""
    if tokens[index].text != "<":
        return index
    depth = 0
    for place in range(index, len(tokens)):
        text = tokens[place].text
        if text == "<" and tokens[place + 1].text == "<":
            return len(tokens)
        depth += (text == "<") - (text == ">")
        if depth == 0:
            return place + 1
        if text in (";", "{", "}"):
            break
    return len(tokens)
