"""Spells 16-bit halves that are shifted into a wider integer as a vector, which NVPTX packs by one ``mov``.

Clang writes a ``half2`` that is filled element by element as zext, shl and or. ptxas does not look through these: each
half is converted alone, by the slow conversion unit, and two more instructions put the halves together. From
``mov.b32 %r, {%lo, %hi}`` it makes one packed conversion, as it does from nvcc's text.

What it pays was not measured alone. ``samples/benchmarks/tilelang_regions.py`` measures TileLang's kernels, for which
it was written, with all passes: of TileLang's own time on an H200, GEMM takes 0.998, attention 0.967 and MLA decode
0.946 (RESULTS.md, Triton 3.6.0).
``TLE_RAW_DISABLE_PASSES=pack-halves`` compiles fragments without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tle_raw.linker.llvm.text import Edit, Module

_HALF = 16
_NAME = r'%(?:[-a-zA-Z$._0-9]+|"[^"]*")'
_LINE = re.compile(
    rf"""^[ \t]*(?P<result>{_NAME})\ =\ (?:
        zext\ (?:nneg\ )?i16\ (?P<half>{_NAME})\ to\ i(?P<wide>\d+)
        |shl\ (?:nuw\ |nsw\ )*i(?P<shifted>\d+)\ (?P<base>{_NAME}),\ (?P<count>\d+)
        |or\ (?:disjoint\ )?i(?P<joined>\d+)\ (?P<left>{_NAME}),\ (?P<right>{_NAME})
    )(?P<place>,\ !dbg\ !\d+)?[ \t]*$""",
    re.VERBOSE | re.MULTILINE,
)


@dataclass(frozen=True)
class _Piece:
    """A half at a bit position of an integer."""

    half: str
    position: int


def pack_halves(module: Module) -> Module:
    """The module with every integer that is two, four or eight halves side by side built from a vector of them."""
    if "zext" not in module.text:
        return module
    return module.edited(
        edit for entity in module.of_kind("define") for edit in _edits(module, entity.body, entity.end)
    )


def _edits(module: Module, start: int, end: int) -> Iterator[Edit]:
    lines = {match["result"]: match for match in _LINE.finditer(module.text, start, end)}
    for result, line in lines.items():
        if line["joined"] is None:
            continue
        bits = int(line["joined"])
        pieces = _pieces(result, lines, bits)
        if pieces and sorted(p.position for p in pieces) == list(range(0, bits, _HALF)):
            halves = [p.half for p in sorted(pieces, key=lambda p: p.position)]
            yield Edit(line.start(), line.end(), _vector(result, halves, bits, line["place"] or ""))


def _pieces(name: str, lines: Mapping[str, re.Match[str]], bits: int) -> list[_Piece] | None:
    """The halves that a value is made of; None where it is made of anything else."""
    line = lines.get(name)
    if line is None:
        return None
    if line["half"]:
        return [_Piece(line["half"], 0)] if int(line["wide"]) == bits else None
    if line["base"]:
        inner, count = _pieces(line["base"], lines, bits), int(line["count"])
        fits = inner and all(p.position + count + _HALF <= bits for p in inner)
        return [_Piece(p.half, p.position + count) for p in inner or ()] if fits else None
    left, right = _pieces(line["left"], lines, bits), _pieces(line["right"], lines, bits)
    return [*left, *right] if left and right else None


def _vector(result: str, halves: list[str], bits: int, place: str) -> str:
    kind = f"<{len(halves)} x i16>"
    stem = result.removeprefix("%").strip('"')
    value, lines = "poison", []
    for number, half in enumerate(halves):
        name = f'%"{stem}.halves{number}"'
        lines.append(f"  {name} = insertelement {kind} {value}, i16 {half}, i64 {number}{place}")
        value = name
    return "\n".join([*lines, f"  {result} = bitcast {kind} {value} to i{bits}{place}"])
