"""Atomic updates, in eDSL code: functions of ``tle_raw.mlir``."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.mlir.edsl import memory
from tle_raw.adapters.mlir.edsl.emitter import Emitter
from tle_raw.adapters.mlir.edsl.intrinsics import Intrinsic
from tle_raw.adapters.mlir.edsl.types import Number, PointerType, TileType, same_size_integer
from tle_raw.adapters.mlir.edsl.values import EdslValue

_ADD, _SUB, _XCHG, _AND, _OR, _XOR = 1, 2, 0, 3, 5, 6
_MAX, _MIN, _UMAX, _UMIN, _FADD, _FMAX, _FMIN = 7, 8, 9, 10, 11, 13, 14


def _place(emit: Emitter, target: Any, indices: Any, what: str) -> tuple[EdslValue, Number]:
    if not isinstance(target, EdslValue) or not isinstance(target.type, (PointerType, TileType)):
        emit.mismatch(f"{what} works on an element of a tile or behind a pointer", "a tile or a pointer", target)
    memory.check_writable(emit, target)
    pointer = memory.address(emit, target, indices if isinstance(indices, tuple) else (indices,))
    element = memory.pointer_element(emit, target)
    return pointer, element


def _check_atomic(emit: Emitter, element: Number, what: str, allowed: tuple[str, ...]) -> None:
    if element.name not in allowed:
        emit.mismatch(f"{what} is not for {element}", ", ".join(allowed), str(element), "element")


_INTEGERS = ("i32", "u32", "i64", "u64")
_WORDS = (*_INTEGERS, "f32", "f64")


def _update(
    emit: Emitter, operation: int, target: Any, indices: Any, value: Any, what: str, allowed: Any = _INTEGERS
) -> EdslValue:
    pointer, element = _place(emit, target, indices, what)
    _check_atomic(emit, element, what, allowed)
    given = memory.stored_value(emit, value, element)
    attributes = {"bin_op": f"{operation} : i64", "ordering": "2 : i64", "syncscope": '"device"'}
    return emit.op("llvm.atomicrmw", (pointer, given), element, attributes)


def _element(target: Any) -> Number | None:
    return (
        target.type.element
        if isinstance(target, EdslValue) and isinstance(target.type, (PointerType, TileType))
        else None
    )


@Intrinsic
def atomic_add(emit: Emitter, target: EdslValue, index: Any, value: Any) -> EdslValue:
    """``target[index] += value`` as one step, for all threads of the grid; what stood there before."""
    element = _element(target)
    operation = _FADD if element is not None and element.is_float else _ADD
    return _update(emit, operation, target, index, value, "atomic_add", (*_WORDS, "f16"))


def _extreme(emit: Emitter, target: Any, index: Any, value: Any, largest: bool, what: str) -> EdslValue:
    element = _element(target)
    if element is not None and element.is_float:
        operation = _FMAX if largest else _FMIN
    elif element is not None and not element.is_signed:
        operation = _UMAX if largest else _UMIN
    else:
        operation = _MAX if largest else _MIN
    return _update(emit, operation, target, index, value, what, _WORDS)


@Intrinsic
def atomic_max(emit: Emitter, target: EdslValue, index: Any, value: Any) -> EdslValue:
    """``target[index] = max(target[index], value)`` as one step; what stood there before."""
    return _extreme(emit, target, index, value, True, "atomic_max")


@Intrinsic
def atomic_min(emit: Emitter, target: EdslValue, index: Any, value: Any) -> EdslValue:
    """``target[index] = min(target[index], value)`` as one step; what stood there before."""
    return _extreme(emit, target, index, value, False, "atomic_min")


@Intrinsic
def atomic_and(emit: Emitter, target: EdslValue, index: Any, value: Any) -> EdslValue:
    """``target[index] &= value`` as one step; what stood there before."""
    return _update(emit, _AND, target, index, value, "atomic_and")


@Intrinsic
def atomic_or(emit: Emitter, target: EdslValue, index: Any, value: Any) -> EdslValue:
    """``target[index] |= value`` as one step; what stood there before."""
    return _update(emit, _OR, target, index, value, "atomic_or")


@Intrinsic
def atomic_xor(emit: Emitter, target: EdslValue, index: Any, value: Any) -> EdslValue:
    """``target[index] ^= value`` as one step; what stood there before."""
    return _update(emit, _XOR, target, index, value, "atomic_xor")


def _stored_bits(emit: Emitter, value: Any, element: Number) -> EdslValue:
    return emit.reinterpret(memory.stored_value(emit, value, element), same_size_integer(element))


@Intrinsic
def atomic_exchange(emit: Emitter, target: EdslValue, index: Any, value: Any) -> EdslValue:
    """``target[index] = value`` as one step; what stood there before."""
    pointer, element = _place(emit, target, index, "atomic_exchange")
    _check_atomic(emit, element, "atomic_exchange", _WORDS)
    bits = _stored_bits(emit, value, element)
    attributes = {"bin_op": f"{_XCHG} : i64", "ordering": "2 : i64", "syncscope": '"device"'}
    old = emit.op("llvm.atomicrmw", (pointer, bits), bits.type, attributes)
    return emit.reinterpret(old, element)


@Intrinsic
def atomic_cas(emit: Emitter, target: EdslValue, index: Any, expected: Any, value: Any) -> EdslValue:
    """``if target[index] == expected: target[index] = value`` as one step; what stood there before."""
    pointer, element = _place(emit, target, index, "atomic_cas")
    _check_atomic(emit, element, "atomic_cas", _WORDS)
    old, new = (_stored_bits(emit, v, element) for v in (expected, value))
    attributes = {"success_ordering": "2 : i64", "failure_ordering": "2 : i64", "syncscope": '"device"'}
    struct = f"!llvm.struct<({old.type.mlir}, i1)>"
    pair = emit.raw("llvm.cmpxchg", (pointer, old, new), struct, old.type, attributes)
    found = emit.op("llvm.extractvalue", (pair,), old.type, {"position": "array<i64: 0>"})
    return emit.reinterpret(found, element)
