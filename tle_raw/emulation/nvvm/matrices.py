"""NVVM's matrices of a warp, to which CUDA's ``mma.h`` (``nvcuda::wmma``) compiles: ``team/warp_matrix.h``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from tle_raw.emulation.instructions import FunctionBody
from tle_raw.emulation.numbers import ELEMENTS
from tle_raw.emulation.nvvm.table import intrinsic

_BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "f32": 4, "f64": 8, "s8": 1, "u8": 1, "s32": 4}
_REGISTER_BYTES = {"<2 x half>": 4, "i32": 4, "float": 4, "double": 8}
_SUMS = {"f64": "f64", "s8": "s32", "u8": "s32", "bf16": "f32", "tf32": "f32"}
_SHAPE = r"m(\d+)n(\d+)k(\d+)"


@intrinsic(rf"wmma\.{_SHAPE}\.load\.([abc])\.(row|col)(\.stride)?\.(\w+)(?:\.p\d+)?")
def _load(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str | None:
    if match[7] not in _BYTES:
        return None
    form = _form(body, match, match[4], match[5], match[6], match[7], types)
    registers = body.value(f"alloca {result}, align 8")
    body.do(f"call void @tle_team_load_warp_matrix(ptr {registers}, {types[0]} %a0, {form}, i32 %site)")
    return body.value(f"load {result}, ptr {registers}, align 8")


@intrinsic(rf"wmma\.{_SHAPE}\.store\.d\.(row|col)(\.stride)?\.(\w+)(?:\.p\d+)?")
def _store(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> None:
    form = _form(body, match, "d", match[4], match[5], match[6], types)
    held = types[1:-1] if match[5] else types[1:]
    registers = _filled(body, held, 1)
    body.do(f"call void @tle_team_store_warp_matrix(ptr {registers}, {types[0]} %a0, {form}, i32 %site)")


@intrinsic(rf"wmma\.{_SHAPE}\.mma\.(row|col)\.(row|col)((?:\.[a-z]+\d+)+)(\.satfinite)?")
def _multiply(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str | None:
    """d = a * b + c. How the operands lay in memory, their lanes no longer know."""
    rows, columns, depth = (int(match[i]) for i in (1, 2, 3))
    words = match[6].strip(".").split(".")
    a, c, d = _operands(words)
    if a not in _BYTES:
        return None
    counts = [16 if a == "f16" else size // 32 for size in (rows * depth, depth * columns)]
    first, second = (count * _BYTES[a] // _REGISTER_BYTES[types[0]] for count in counts)
    registers = body.value(f"alloca {result}, align 8")
    ends = (0, first, first + second, len(types))
    given = [_filled(body, types[start:end], start) for start, end in itertools.pairwise(ends)]
    shape = rows | columns << 6 | depth << 12 | bool(match[7]) << 18
    kinds = sum(ELEMENTS.index(kind) << 4 * place for place, kind in enumerate((a, a, c, d)))
    pointers = ", ".join(f"ptr {pointer}" for pointer in (registers, *given))
    body.do(f"call void @tle_team_multiply_warp_matrices({pointers}, i32 {shape}, i32 {kinds}, i32 %site)")
    return body.value(f"load {result}, ptr {registers}, align 8")


def _operands(words: Sequence[str]) -> tuple[str, str, str]:
    """The types of A and B, C and D: of halves the name has those of D and C, of all others that of A."""
    if len(words) == 2:
        return "f16", words[1], words[0]
    return words[0], _SUMS.get(words[0], ""), _SUMS.get(words[0], "")


def _form(
    body: FunctionBody, match: re.Match[str], which: str, order: str, strided: str, kind: str, types: Sequence[str]
) -> str:
    """The stride, and what ``unpacked_form`` reads."""
    m, n, k = (int(match[i]) for i in (1, 2, 3))
    rows, columns = {"a": (m, k), "b": (k, n)}.get(which, (m, n))
    count = 16 if kind == "f16" and which in "ab" else rows * columns // 32
    by_columns = order == "col"
    how = rows | columns << 6 | _BYTES[kind] << 12 | count << 16 | by_columns << 21
    return f"i32 {f'%a{len(types) - 1}' if strided else rows if by_columns else columns}, i32 {how}"


def _filled(body: FunctionBody, types: Sequence[str], first: int) -> str:
    """Memory that holds the parameters from ``first`` on."""
    size = sum(_REGISTER_BYTES[kind] for kind in types)
    memory, at = body.value(f"alloca [{size} x i8], align 8"), 0
    for index, kind in enumerate(types, first):
        place = body.value(f"getelementptr i8, ptr {memory}, i64 {at}")
        body.do(f"store {kind} %a{index}, ptr {place}, align 4")
        at += _REGISTER_BYTES[kind]
    return memory
