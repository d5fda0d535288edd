"""PTX's products of small matrices (``mma.sync``) and copies of them: operations of a whole warp, ``team/matrix.h``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tle_raw.emulation.numbers import ELEMENTS
from tle_raw.emulation.ptx.function import PtxFunction, UnknownInstruction, instruction, vector
from tle_raw.emulation.ptx.parse import InlineStatement

# Bits of elements in team/matrix.h.
_BITS = {
    "f16": 16,
    "bf16": 16,
    "e4m3": 8,
    "e5m2": 8,
    "tf32": 32,
    "f64": 64,
    "s8": 8,
    "u8": 8,
    "s4": 4,
    "u4": 4,
    "b1": 1,
}
# Of each kind of elements: what sums may be, and by how many rows and how deep a product is.
_SUMS = {"f16": ("f16", "f32"), "e4m3": ("f16", "f32"), "e5m2": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",)}
_SHAPES = {
    "f16": ("m16n8k8", "m16n8k16"),
    "bf16": ("m16n8k8", "m16n8k16"),
    "tf32": ("m16n8k4", "m16n8k8"),
    "e4m3": ("m16n8k16", "m16n8k32"),
    "e5m2": ("m16n8k16", "m16n8k32"),
    "f64": ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"),
    "s8": ("m8n8k16", "m16n8k16", "m16n8k32"),
    "s4": ("m8n8k32", "m16n8k32", "m16n8k64"),
    "b1": ("m8n8k128", "m16n8k128", "m16n8k256"),
}
_FORM = re.compile(
    r"mma\.sync\.aligned\.(?P<shape>m(?P<rows>\d+)n8k(?P<depth>\d+))\.row\.col(?P<saturates>\.satfinite)?"
    r"\.(?P<d>\w+)\.(?P<a>\w+)\.(?P<b>\w+)\.(?P<c>\w+)(?:\.(?P<how>and|xor)\.popc)?"
)
_COPY = re.compile(r"(?P<what>ld|st)matrix\.sync\.aligned(?P<rest>[\w.:]*)")


@instruction("mma")
def _multiply(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    """d = a * b + c. Floats are added up as f32 and rounded once; of tf32 the lowest 13 bits are not read."""
    form = _FORM.fullmatch(s.opcode)
    if form is None or not _is_known(form):
        raise UnknownInstruction(s.opcode)
    wide = form["a"] == "f64"
    d, a, b, c = (vector(operand) for operand in s.operands)
    rows, depth = int(form["rows"]), int(form["depth"])
    register = 64 if wide else 32
    sums = rows * 8 // 32 // (2 if form["c"] == "f16" else 1)
    counts = [rows * depth * _BITS[form["a"]] // 32 // register, 8 * depth * _BITS[form["b"]] // 32 // register]
    if [len(d), len(a), len(b), len(c)] != [sums, *counts, sums]:
        raise UnknownInstruction(s.opcode)
    result = _array(f, len(d), wide)
    arrays = [_filled(f, operand, wide) for operand in (a, b, c)]
    kinds = [ELEMENTS.index(form[name]) for name in "abc"]
    shape = (rows == 16) | depth << 1 | kinds[0] << 10 | kinds[1] << 14 | kinds[2] << 18
    shape |= bool(form["saturates"]) << 22 | (form["how"] == "xor") << 23
    pointers = ", ".join(f"ptr {array}" for array in (result, *arrays))
    f.body.do(f"call void @tle_team_multiply({pointers}, i32 {shape}, i32 %site)")
    _read(f, d, result, wide)


def _is_known(form: re.Match[str]) -> bool:
    """Whether a GPU has such a product; both operands may differ in their sign, or in their fp8 format."""
    kind = form["a"].replace("u", "s")
    same = form["a"] == form["b"] or kind == form["b"].replace("u", "s") or {form["a"], form["b"]} == {"e4m3", "e5m2"}
    sums = ("f64",) if kind == "f64" else _SUMS.get(kind, ("s32",))
    fits = form["shape"] in _SHAPES.get(kind, ()) and form["c"] == form["d"] and form["c"] in sums
    return same and fits and bool(form["how"]) == (kind == "b1") and (not form["saturates"] or kind in ("s8", "s4"))


@instruction("ldmatrix", "stmatrix")
def _copy(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    """Matrices of 8 x 8 elements of 16 bits, by the addresses of their rows."""
    form = _COPY.fullmatch(s.opcode)
    words = form["rest"].strip(".").split(".") if form else []
    count = next((int(word[1]) for word in words if word in ("x1", "x2", "x4")), 0)
    if form is None or not count or {*words} - {f"x{count}", "m8n8", "trans", "shared", "shared::cta", "b16"}:
        raise UnknownInstruction(s.opcode)
    stores = form["what"] == "st"
    pointer, registers = s.operands if stores else (s.operands[1], s.operands[0])
    names = vector(registers)
    if len(names) != count or "m8n8" not in words:
        raise UnknownInstruction(s.opcode)
    array = _filled(f, names, False) if stores else _array(f, count, False)
    how = ("trans" in words) | stores << 1
    numbers = f"i64 {_address(f, pointer)}, i32 {count}, i32 {how}, i32 %site"
    f.body.do(f"call void @tle_team_copy_matrices(ptr {array}, {numbers})")
    if not stores:
        _read(f, names, array, False)


@instruction("movmatrix")
def _transpose(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    if s.opcode != "movmatrix.sync.aligned.m8n8.trans.b16":
        raise UnknownInstruction(s.opcode)
    value = f.get(s.operands[1], "i32")
    f.set(s.operands[0], f.body.call("i32", "tle_team_transpose", f"i32 {value}", "i32 %site"), "i32")


def _address(f: PtxFunction, operand: str) -> str:
    """The number, and no pointer yet: of most lanes nobody reads it."""
    match = re.fullmatch(r"\[\s*([^\s+\]]+)\s*(?:\+\s*(-?\w+))?\s*\]", operand)
    if match is None:
        raise UnknownInstruction(operand)
    wide = f.get(match[1], "i64")
    return f.body.value(f"add i64 {wide}, {int(match[2], 0)}") if match[2] else wide


def _array(f: PtxFunction, count: int, wide: bool) -> str:
    """Memory for the registers of one operand: the other lanes reach them there."""
    name = f"%m{f.count}"
    f.count += 1
    f.head.do(f"{name} = alloca [{count} x {_kind(wide)}], align 8")
    return name


def _filled(f: PtxFunction, names: Sequence[str], wide: bool) -> str:
    array, kind = _array(f, len(names), wide), _kind(wide)
    for index, name in enumerate(names):
        value = f.get(name, kind)
        at = f.body.value(f"getelementptr {kind}, ptr {array}, i64 {index}")
        f.body.do(f"store {kind} {value}, ptr {at}")
    return array


def _read(f: PtxFunction, names: Sequence[str], array: str, wide: bool) -> None:
    kind = _kind(wide)
    for index, name in enumerate(names):
        at = f.body.value(f"getelementptr {kind}, ptr {array}, i64 {index}")
        f.set(name, f.body.value(f"load {kind}, ptr {at}"), kind)


def _kind(wide: bool) -> str:
    return "i64" if wide else "i32"
