"""C++ values in the registers of an inline PTX text: pointers as addresses, narrow and wide integers, packed floats."""

from __future__ import annotations

from tle_raw.emulation.instructions import FunctionBody
from tle_raw.linker.llvm.text import tokenize
from tle_raw.linker.llvm.types import Cursor

SHARED = "ptr addrspace(3)"
_FLOATS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}


class OperandError(Exception):
    """A C++ value and a register that do not fit."""


def into_register(head: FunctionBody, value: str, kind: str, register: str) -> tuple[str, str]:
    """An argument as what a register of this type holds: the value and its type, which has the register's size.

    Raises
    ------
    OperandError : the argument does not fit: half of an address, say, is none.
    """
    if is_pointer(kind):
        return _address(head, value, kind, register)
    given, wanted = _bits(kind), _bits(register)
    if given == wanted:
        return value, kind
    if not kind.startswith("i") or not register.startswith("i"):
        raise OperandError(f"an operand of {given} bits in a register of {wanted}")
    word = "trunc" if given > wanted else "zext"  # as LLVM does for a GPU
    return _named(head, f"{word} {kind} {value} to {register}", value), register


def out_of_register(body: FunctionBody, value: str, register: str, kind: str) -> str:
    """What a register holds as a C++ value of this type."""
    if is_pointer(kind):
        return _pointer(body, value, register, kind)
    given, wanted = _bits(register), _bits(kind)
    if given != wanted:
        if not kind.startswith("i") or not register.startswith("i"):
            raise OperandError(f"a result of {wanted} bits in a register of {given}")
        return body.value(f"{'trunc' if given > wanted else 'zext'} {register} {value} to {kind}")
    return value if register == kind else body.value(f"bitcast {register} {value} to {kind}")


def result_types(result: str) -> list[str]:
    """The types of an asm statement's outputs."""
    if not result.startswith("{"):
        return [] if result == "void" else [result]
    cursor = Cursor(result, list(tokenize(result)))
    cursor.take("{")
    found = [str(cursor.read_type())]
    while cursor.sees(","):
        cursor.take()
        found.append(str(cursor.read_type()))
    return found


def is_pointer(kind: str) -> bool:
    return kind == "ptr" or kind.startswith("ptr ")


def _address(head: FunctionBody, value: str, kind: str, register: str) -> tuple[str, str]:
    """Of shared memory 32 bits are the whole address; of all other memory they are half of it."""
    if register not in ("i32", "i64"):
        raise OperandError(f"an address in a register of {_bits(register)} bits")
    wide = _named(head, f"ptrtoint {kind} {value} to i64", value)
    if register == "i64":
        return wide, register
    if kind != SHARED:
        raise OperandError("the address of memory that is not shared, in a register of 32 bits")
    return _named(head, f"trunc i64 {wide} to i32", wide), register


def _pointer(body: FunctionBody, value: str, register: str, kind: str) -> str:
    if register == "i64":
        return body.value(f"inttoptr i64 {value} to {kind}")
    if register != "i32" or kind != SHARED:
        raise OperandError(f"an address out of a register of {_bits(register)} bits")
    return body.value(f"inttoptr i64 {body.value(f'zext i32 {value} to i64')} to {kind}")


def _named(head: FunctionBody, instruction: str, source: str) -> str:
    """Names of the head's own: the body's are counted."""
    name = f"%h{len(head.lines)}.{source[1:]}"
    head.do(f"{name} = {instruction}")
    return name


def _bits(kind: str) -> int:
    if kind.startswith("<"):
        count, _, element = kind.strip("<>").partition(" x ")
        return int(count) * _bits(element)
    if kind in _FLOATS:
        return _FLOATS[kind]
    if kind.startswith("i") and kind[1:].isdecimal():
        return int(kind[1:])
    raise OperandError(f"an operand of type {kind}")
