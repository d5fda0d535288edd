"""PTX's loads, stores, atomics and fences."""

from __future__ import annotations

import re

from tle_raw.emulation.ptx.function import (
    PtxFunction,
    UnknownInstruction,
    bits_of,
    instruction,
    llvm_type,
    value_type,
    vector,
)
from tle_raw.emulation.ptx.parse import InlineStatement

_ORDERS = {"relaxed": "monotonic", "acquire": "acquire", "release": "release", "volatile": "monotonic"}
_SPACES = ("global", "shared", "local", "const", "param")


def space_of(parts: list[str]) -> str:
    """The state space of an opcode, or "" for generic addresses."""
    return next((part.split("::")[0] for part in parts if part.split("::")[0] in _SPACES), "")


def address(f: PtxFunction, operand: str, space: str) -> str:
    """A pointer of ``[%a+16]``."""
    match = re.fullmatch(r"\[\s*([^\s+\]]+)\s*(?:\+\s*(-?\w+))?\s*\]", operand)
    if match is None or space == "param":
        raise UnknownInstruction(operand)
    if space != "shared" and f.variables.get(match[1], ("", ""))[1] == "i32":
        raise UnknownInstruction("an address of 32 bits, of memory that is not shared")
    wide = f.get(match[1], "i64")
    if match[2]:
        wide = f.body.value(f"add i64 {wide}, {int(match[2], 0)}")
    if space == "shared":
        return f.body.call("ptr", "tle_team_shared_pointer", f"i64 {wide}", "i32 %site")
    return f.body.value(f"inttoptr i64 {wide} to ptr")


def _width(parts: list[str]) -> int:
    return next((int(part[1:]) for part in parts if re.fullmatch(r"v[248]", part)), 1)


def _registers(operand: str, width: int) -> list[str]:
    """As many as the opcode says; one of them may stand in braces."""
    names = vector(operand) if width > 1 or operand.startswith("{") else [operand]
    if len(names) != width:
        raise UnknownInstruction(operand)
    return names


def _order(parts: list[str]) -> str:
    return next((_ORDERS[part] for part in parts if part in _ORDERS), "")


@instruction("ld", "ldu")
def _load(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    kind, b = value_type(parts, s), f.body
    llvm, order = llvm_type(kind), _order(parts)
    pointer = address(f, s.operands[1], space_of(parts))
    size = bits_of(llvm) // 8
    if order or f.repeats:  # somebody may wait in a loop for what another thread writes
        b.do(f"call void @tle_team_spin(ptr {pointer}, i32 %site)")
    for index, name in enumerate(_registers(s.operands[0], _width(parts))):
        at = b.value(f"getelementptr i8, ptr {pointer}, i64 {index * size}") if index else pointer
        if order and size <= 8:
            value = b.value(f"load atomic {llvm}, ptr {at} {order}, align {size}")
        else:
            value = b.value(f"load {llvm}, ptr {at}, align {min(size, 16)}")
        f.set(name, value, llvm, kind[0] == "s")


@instruction("st")
def _store(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    kind, b = value_type(parts, s), f.body
    llvm, order = llvm_type(kind), _order(parts)
    if "async" in parts or "bulk" in parts:
        raise UnknownInstruction(s.opcode)
    pointer = address(f, s.operands[0], space_of(parts))
    size = bits_of(llvm) // 8
    for index, name in enumerate(_registers(s.operands[1], _width(parts))):
        at = b.value(f"getelementptr i8, ptr {pointer}, i64 {index * size}") if index else pointer
        value = f.get(name, llvm)
        if order and size <= 8:
            b.do(f"store atomic {llvm} {value}, ptr {at} {order}, align {size}")
        else:
            b.do(f"store {llvm} {value}, ptr {at}, align {min(size, 16)}")


_OPERATIONS = {"exch": "xchg", "inc": "uinc_wrap", "dec": "udec_wrap", "and": "and", "or": "or", "xor": "xor"}


@instruction("atom", "red")
def _atomic(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    if _width(parts) > 1 or "async" in parts:
        raise UnknownInstruction(s.opcode)
    kind, b = value_type(parts, s), f.body
    to, operands = ("_", list(s.operands)) if s.parts[0] == "red" else (s.operands[0], list(s.operands[1:]))
    operation = next((p for p in parts if p in (*_OPERATIONS, "add", "min", "max", "cas")), "")
    if not operation:
        raise UnknownInstruction(s.opcode)
    llvm = llvm_type(kind)
    pointer = address(f, operands[0], space_of(parts))
    value = f.get(operands[1], llvm)
    b.do(f"call void @tle_team_spin(ptr {pointer}, i32 %site)")
    if kind.startswith(("f16", "bf16")):
        return _atomic_small(f, s, to, kind, operation, pointer, value)
    if operation == "cas":
        pair = b.value(f"cmpxchg ptr {pointer}, {llvm} {value}, {llvm} {f.get(operands[2], llvm)} seq_cst seq_cst")
        old = b.value(f"extractvalue {{ {llvm}, i1 }} {pair}, 0")
    else:
        if operation in ("min", "max"):
            word = operation if kind[0] == "s" else f"{'f' if kind[0] == 'f' else 'u'}{operation}"
        elif operation == "add":
            word = "fadd" if kind[0] == "f" else "add"
        else:
            word = _OPERATIONS[operation]
        old = b.value(f"atomicrmw {word} ptr {pointer}, {llvm} {value} seq_cst")
    return f.set(to, old, llvm)


def _atomic_small(
    f: PtxFunction, s: InlineStatement, to: str, kind: str, operation: str, pointer: str, value: str
) -> None:
    if operation != "add":
        raise UnknownInstruction(s.opcode)
    pair = kind.endswith("x2")
    wide = value if pair else f.body.value(f"zext i16 {value} to i32")
    name = f"tle_team_atomic_add_{'pair' if pair else 'small'}"
    old = f.body.call("i32", name, f"ptr {pointer}", f"i32 {wide}", f"i32 {int(kind.startswith('b'))}")
    f.set(to, old if pair else f.body.value(f"trunc i32 {old} to i16"), llvm_type(kind))


@instruction("membar", "fence")
def _fence(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    f.body.do("fence seq_cst")


@instruction("prefetch", "prefetchu", "discard", "applypriority", "griddepcontrol", "pmevent", "setmaxnreg")
def _hint(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    pass


@instruction("createpolicy")
def _policy(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    f.set(s.operands[0], "0", "i64")  # caches are the host's own
