"""Spells zeros that are copied from register to register as the constant, in PTX with warpgroup products.

ptxas leaves the accumulator of a product out where it sees that it is zero. It does not look through a copy: of
``mov.b32 %r2, %r1`` behind ``mov.b32 %r1, 0`` it makes a move for every accumulator, in every round of a loop.

What it pays was not measured alone. ``samples/benchmarks/tilelang_regions.py`` measures TileLang's kernels, for which
it was written, with all passes: of TileLang's own time on an H200, GEMM takes 0.998, attention 0.967 and MLA decode
0.946 (RESULTS.md, Triton 3.6.0).
``TLE_RAW_DISABLE_PASSES=zero-accumulators`` compiles without it.
"""

from __future__ import annotations

import re

_PRODUCT = "wgmma.mma_async"
_MOVE = re.compile(r"^\s*mov\.b32\s+(?P<target>%r\d+), (?P<source>%r\d+|0|0f00000000);\s*$")
_REGISTER = re.compile(r"%r\d+")
_LABEL = re.compile(r"^\s*(?!\$L__tmp)[$\w]+:")
_SILENT = ("//", ".loc", "$L__tmp")


def zero_accumulators(text: str) -> str:
    """The PTX with such copies, as far as they follow the zero in a straight line, replaced by zeros."""
    if _PRODUCT not in text:
        return text
    pieces, kept, end = list[str](), 0, -1
    zeros: set[str] = set()
    while (start := _next(text, end + 1, zeros)) >= 0:
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start:end]
        if ":" in line and _LABEL.match(line):
            zeros.clear()  # another way may lead here
        elif "mov.b32" in line and (move := _MOVE.match(line)):
            target, source = move["target"], move["source"]
            if source in zeros:
                pieces += (text[kept:start], line.replace(f" {source};", " 0;"))
                kept = end
            is_zero = source in zeros or not source.startswith("%")
            (zeros.add if is_zero else zeros.discard)(target)
        elif "%r" in line and not line.lstrip().startswith(_SILENT):
            zeros.difference_update(_REGISTER.findall(line))  # whatever the line does with it
    return "".join((*pieces, text[kept:]))


def _next(text: str, start: int, zeros: set[str]) -> int:
    """Where the next line begins that counts: without a zero, the next move; negative behind the last one."""
    if zeros:
        return start if start <= len(text) else -1
    move = text.find("mov.b32", start)
    return text.rfind("\n", 0, move) + 1 if move >= 0 else -1
