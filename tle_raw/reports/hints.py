"""Adds the hints of a kernel's source to its report, with what its machine code shows of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tle_raw.errors import SourceLocation
from tle_raw.linker.ptx.read import Instruction, read_ptx
from tle_raw.reports.values import HintReport, KernelReport

_ACCESSES = ("ld.global", "st.global", "cp.async", "red.", "atom.")


def with_hints(report: KernelReport, hints: Sequence[dict[str, Any]]) -> KernelReport:
    """The report with them, in the order of the source."""
    if not hints:
        return report
    instructions = read_ptx(report.ptx).instructions if report.ptx else ()
    has_lines = any(each.places for each in instructions)
    found = [_hint(hint, instructions if has_lines else (), report.asm) for hint in hints]
    return replace(report, hints=tuple(sorted(found, key=lambda hint: (hint.place.file, hint.place.line))))


def _hint(hint: dict[str, Any], instructions: Sequence[Instruction], asm: str) -> HintReport:
    reason, proof = hint["reason"], hint["proof"]
    if proof and instructions and not _is_proven(hint, instructions):
        reason = "the compiler made nothing of it that the PTX of its lines shows"
    elif proof and asm and not re.search(proof, asm):
        reason = "the compiler made nothing of it that the assembly shows"
    return HintReport(hint["hint"], SourceLocation(hint["file"], hint["line"], 0, hint["text"]), reason)


def _is_proven(hint: dict[str, Any], instructions: Sequence[Instruction]) -> bool:
    """By the accesses of its lines; by those of the whole kernel where Triton attributes none to them."""
    pattern, first, last = re.compile(hint["proof"]), hint["first"], hint["last"]
    accesses = [each for each in instructions if each.opcode.startswith(_ACCESSES)]
    own = [
        each
        for each in accesses
        if any(place.file == hint["file"] and first <= place.line <= last for place in each.places)
    ]
    return any(pattern.search(each.opcode) for each in own or accesses)
