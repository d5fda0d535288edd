"""Keeps LLVM from packing equal operations of scalars into vectors, which a GPU does not have.

nvcc leaves them scalars. Packed by Triton's optimiser, the comparisons of a mask all stand in one place, and ptxas
keeps their results bit by bit in a register. LLVM's vectoriser leaves functions with the attribute
``noimplicitfloat`` alone, and a kernel takes it over from what is inlined into it; but code generation would make
no wide stores under it, so it is taken away again in between.

What it pays was not measured alone. ``samples/benchmarks/tilelang_regions.py`` measures TileLang's kernels, for which
it was written, with all passes: of TileLang's own time on an H200, GEMM takes 0.998, attention 0.967 and MLA decode
0.946 (RESULTS.md, Triton 3.6.0).
``TLE_RAW_DISABLE_PASSES=keep-scalars`` takes the attribute away before Triton's optimiser runs, which then may pack.
"""

from __future__ import annotations

import re

from tle_raw.linker.llvm.text import Edit, Module

UNPACKED = "noimplicitfloat"
NO_VECTORS = ("-Xclang", "-no-implicit-float")
_GROUP = "attributes #"
_ATTRIBUTE = re.compile(rf"^(attributes #\d+ = \{{.*?) {UNPACKED}\b", re.MULTILINE)
_OF_FUNCTION = re.compile(rf"^((?:define|declare) .*?) {UNPACKED}\b", re.MULTILINE)


def without_no_vectors(text: str) -> str:
    """The optimised module, for code generation: without the attribute, and else as it was."""
    if UNPACKED not in text:
        return text
    begin = 0 if text.startswith(_GROUP) else text.find(f"\n{_GROUP}") + 1  # they stand last
    return text[:begin] + _ATTRIBUTE.sub(r"\1", text[begin:])


def allow_vectors(module: Module) -> Module:
    """A fragment's module without the request; a definition may carry it itself, which is not how LLVM prints it."""
    found = (match for form in (_ATTRIBUTE, _OF_FUNCTION) for match in form.finditer(module.text))
    return module.edited(Edit(match.end(1), match.end(), "") for match in found)


def keeps_scalars(text: str) -> bool:
    """Whether any function of a module has the attribute, wherever it stands."""
    place = text.find(UNPACKED)
    while place >= 0:
        if text.startswith((_GROUP, "define ", "declare "), text.rfind("\n", 0, place) + 1):
            return True
        place = text.find(UNPACKED, place + 1)
    return False
