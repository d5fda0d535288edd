"""The functions that device code of the mlir dialect calls, beside Python's own: exported as ``tle_raw.mlir``."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.mlir.edsl import mathematics, memory
from tle_raw.adapters.mlir.edsl.barriers import (
    barrier_arrive as barrier_arrive,
)
from tle_raw.adapters.mlir.edsl.barriers import (
    barrier_arrive_after_copies as barrier_arrive_after_copies,
)
from tle_raw.adapters.mlir.edsl.barriers import (
    barrier_copy as barrier_copy,
)
from tle_raw.adapters.mlir.edsl.barriers import (
    barrier_expect as barrier_expect,
)
from tle_raw.adapters.mlir.edsl.barriers import (
    barrier_wait as barrier_wait,
)
from tle_raw.adapters.mlir.edsl.barriers import (
    fence_async as fence_async,
)
from tle_raw.adapters.mlir.edsl.descriptors import (
    descriptor_load as descriptor_load,
)
from tle_raw.adapters.mlir.edsl.descriptors import (
    descriptor_store as descriptor_store,
)
from tle_raw.adapters.mlir.edsl.descriptors import (
    wait_for_stores as wait_for_stores,
)
from tle_raw.adapters.mlir.edsl.emitter import Emitter
from tle_raw.adapters.mlir.edsl.intrinsics import Function, Intrinsic, function
from tle_raw.adapters.mlir.edsl.merging import Phi, as_type, merge
from tle_raw.adapters.mlir.edsl.operators import common_type
from tle_raw.adapters.mlir.edsl.outer import as_dtype
from tle_raw.adapters.mlir.edsl.printing import check, print_formatted
from tle_raw.adapters.mlir.edsl.ranges import make_range
from tle_raw.adapters.mlir.edsl.types import BOOL, F32, I32, I64, NUMBERS, Number, PointerType, TileType, Type, Vector
from tle_raw.adapters.mlir.edsl.values import EdslValue, is_literal
from tle_raw.errors import Row

# dtypes: `f32(x)` converts.
i1, i8, i16, i32, i64 = (NUMBERS[name] for name in ("i1", "i8", "i16", "i32", "i64"))
u8, u16, u32, u64 = (NUMBERS[name] for name in ("u8", "u16", "u32", "u64"))
f8e4m3, f8e5m2, f16, bf16, f32, f64 = (NUMBERS[name] for name in ("f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64"))
index = NUMBERS["index"]

FULL_MASK = 0xFFFFFFFF
_AXES = "xyz"


# --- loops ------------------------------------------------------------------------------------------------------------


@Intrinsic
def static_range(emit: Emitter, *bounds: int) -> Any:
    """Like ``range``, of constants; the loop is unrolled, and its variable is a constant in each round."""
    return make_range(emit, bounds, unrolled=True)


# --- threads ----------------------------------------------------------------------------------------------------------


def _register(emit: Emitter, name: str) -> EdslValue:
    return emit.op(f"nvvm.read.ptx.sreg.{name}", (), I32)


def _axis(emit: Emitter, axis: Any) -> str:
    if axis in (0, 1, 2) and not isinstance(axis, bool):
        return _AXES[axis]
    if isinstance(axis, str) and axis in _AXES and len(axis) == 1:
        return axis
    return emit.mismatch("an axis is 0, 1 or 2, or its letter", '"x", "y" or "z"', axis, "axis")


@Intrinsic
def thread_id(emit: Emitter, axis: int | str = 0) -> EdslValue:
    """The thread's index in the block, as an i32."""
    return _register(emit, f"tid.{_axis(emit, axis)}")


@Intrinsic
def block_dim(emit: Emitter, axis: int | str = 0) -> EdslValue:
    """The number of threads of the block."""
    size = _register(emit, f"ntid.{_axis(emit, axis)}")
    size.positive = True
    return size


@Intrinsic
def block_id(emit: Emitter, axis: int | str = 0) -> EdslValue:
    """The block's index in the grid: the program's id."""
    return _register(emit, f"ctaid.{_axis(emit, axis)}")


@Intrinsic
def grid_dim(emit: Emitter, axis: int | str = 0) -> EdslValue:
    """The number of blocks of the grid."""
    size = _register(emit, f"nctaid.{_axis(emit, axis)}")
    size.positive = True
    return size


@Intrinsic
def lane_id(emit: Emitter) -> EdslValue:
    """The thread's index in its warp, 0 to 31."""
    tid = _register(emit, "tid.x")
    return emit.op("arith.andi", (tid, emit.constant(31, I32)), I32)


@Intrinsic
def warp_id(emit: Emitter) -> EdslValue:
    """The warp's index in the block."""
    tid = _register(emit, "tid.x")
    return emit.op("arith.shrui", (tid, emit.constant(5, I32)), I32)


@Intrinsic
def barrier(emit: Emitter) -> None:
    """Wait until all threads of the block are here; what they wrote to memory before is seen afterwards."""
    emit.do("nvvm.barrier", ())  # how many segments its operands have differs from one MLIR to the next


@Intrinsic
def warp_sync(emit: Emitter, mask: int = FULL_MASK) -> None:
    """Wait for the lanes of ``mask``."""
    emit.do("nvvm.bar.warp.sync", (_mask(emit, mask),))


def _mask(emit: Emitter, mask: Any) -> EdslValue:
    if isinstance(mask, int) and not 0 <= mask <= FULL_MASK:
        emit.mismatch("a mask has one bit for each lane", "0 to 0xffffffff", hex(mask), "mask")
    if isinstance(mask, int):
        mask = mask - (1 << 32) if mask >= 1 << 31 else mask
        return emit.constant(mask, I32)
    return EdslValue(emit.convert(emit.integer(mask, "the mask"), NUMBERS["u32"]).handle, I32)


# --- shuffles ---------------------------------------------------------------------------------------------------------


def _shuffle(emit: Emitter, kind: str, value: Any, lane: Any, width: Any, mask: Any) -> Any:
    if isinstance(value, tuple):
        return type(value)(_shuffle(emit, kind, item, lane, width, mask) for item in value)
    if width not in (1, 2, 4, 8, 16, 32) or isinstance(width, bool):
        emit.mismatch("the width of a shuffle is a constant power of two", "1, 2, 4, 8, 16 or 32", width, "width")
    given = emit.number(value, "what is shuffled")
    type_ = given.type
    assert isinstance(type_, Number)
    clamp = (32 - width) << 8 | (0 if kind == "up" else 31)
    others = _mask(emit, mask), emit.convert(emit.integer(lane, "the lane"), I32), emit.constant(clamp, I32)
    words = _words(emit, given, type_)
    moved = [
        emit.op("nvvm.shfl.sync", (others[0], word, *others[1:]), word.type, {"kind": f"#nvvm<shfl_kind {kind}>"})
        for word in words
    ]
    return _from_words(emit, moved, type_)


def _words(emit: Emitter, value: EdslValue, type_: Number) -> list[EdslValue]:
    """A number as the 32-bit words that a shuffle moves."""
    if type_ is F32 or type_.mlir == "i32":
        return [value]
    if type_.name == "index":
        return _words(emit, emit.convert(value, I64), I64)
    bits = _bits(emit, value, type_)
    if type_.bits < 32:
        return [emit.op("arith.extui", (bits,), I32)]
    low = emit.op("arith.trunci", (bits,), I32)
    high = emit.op("arith.trunci", (emit.op("arith.shrui", (bits, emit.constant(32, I64)), I64),), I32)
    return [low, high]


def _bits(emit: Emitter, value: EdslValue, type_: Number) -> EdslValue:
    """The number as a plain integer of its size."""
    plain = next(t for t in (BOOL, NUMBERS["i8"], NUMBERS["i16"], I32, I64) if t.bits == type_.bits)
    if type_.is_float and not type_.is_fp8:
        return emit.op("arith.bitcast", (value,), plain)
    return EdslValue(value.handle, plain)


def _from_words(emit: Emitter, words: list[EdslValue], type_: Number) -> EdslValue:
    if type_ is F32 or type_.mlir == "i32":
        return EdslValue(words[0].handle, type_)
    if type_.name == "index":
        return emit.convert(_from_words(emit, words, I64), type_)
    plain = next(t for t in (BOOL, NUMBERS["i8"], NUMBERS["i16"], I32, I64) if t.bits == type_.bits)
    if len(words) == 1:
        bits = emit.op("arith.trunci", (words[0],), plain)
    else:
        low, high = (emit.op("arith.extui", (word,), I64) for word in words)
        bits = emit.op("arith.ori", (low, emit.op("arith.shli", (high, emit.constant(32, I64)), I64)), I64)
    if type_.is_float and not type_.is_fp8:
        return emit.op("arith.bitcast", (bits,), type_)
    return EdslValue(bits.handle, type_)


@Intrinsic
def shuffle_xor(emit: Emitter, value: Any, lane_mask: Any, width: int = 32, mask: Any = FULL_MASK) -> Any:
    """The value of the lane whose number differs in the bits of ``lane_mask``."""
    return _shuffle(emit, "bfly", value, lane_mask, width, mask)


@Intrinsic
def shuffle_up(emit: Emitter, value: Any, distance: Any, width: int = 32, mask: Any = FULL_MASK) -> Any:
    """The value of the lane ``distance`` below; the lowest lanes keep theirs."""
    return _shuffle(emit, "up", value, distance, width, mask)


@Intrinsic
def shuffle_down(emit: Emitter, value: Any, distance: Any, width: int = 32, mask: Any = FULL_MASK) -> Any:
    """The value of the lane ``distance`` above; the highest lanes keep theirs."""
    return _shuffle(emit, "down", value, distance, width, mask)


@Intrinsic
def shuffle(emit: Emitter, value: Any, lane: Any, width: int = 32, mask: Any = FULL_MASK) -> Any:
    """The value of the lane ``lane``."""
    return _shuffle(emit, "idx", value, lane, width, mask)


def _vote(emit: Emitter, kind: str, predicate: Any, mask: Any, result: Number) -> EdslValue:
    operands = _mask(emit, mask), emit.truth(predicate)
    return emit.op("nvvm.vote.sync", operands, result, {"kind": f"#nvvm<vote_sync_kind {kind}>"})


@Intrinsic
def ballot(emit: Emitter, predicate: Any, mask: Any = FULL_MASK) -> EdslValue:
    """A u32 with the bit of each lane for which the predicate holds."""
    return _vote(emit, "ballot", predicate, mask, NUMBERS["u32"])


@Intrinsic
def any_sync(emit: Emitter, predicate: Any, mask: Any = FULL_MASK) -> EdslValue:
    """Whether the predicate holds for one lane of the warp."""
    return _vote(emit, "any", predicate, mask, BOOL)


@Intrinsic
def all_sync(emit: Emitter, predicate: Any, mask: Any = FULL_MASK) -> EdslValue:
    """Whether the predicate holds for all lanes of the warp."""
    return _vote(emit, "all", predicate, mask, BOOL)


# --- memory -----------------------------------------------------------------------------------------------------------


@Intrinsic
def shared(emit: Emitter, dtype: Any, *dims: int) -> EdslValue:
    """Static shared memory of the block, one tile for each place in the source that asks for it."""
    element = as_dtype(dtype)
    if element is None:
        emit.mismatch("the first argument of shared is a dtype", 'a dtype, for example "f32"', dtype)
    if not dims or not all(isinstance(d, int) and not isinstance(d, bool) and d > 0 for d in dims):
        emit.mismatch("the dims of shared memory are positive constants", "integers", str(dims), "dims")
    tile = TileType(element, dims)
    return emit.static_shared(tile)


@Intrinsic
def pointer_to(emit: Emitter, pointer: EdslValue, dtype: Any) -> EdslValue:
    """The same address, as a pointer to elements of ``dtype``."""
    element = as_dtype(dtype)
    if element is None:
        emit.mismatch("this is no dtype", "a dtype, for example f32", dtype)
    if not isinstance(pointer, EdslValue) or not isinstance(pointer.type, (PointerType, TileType)):
        emit.mismatch("this is no pointer", "a pointer or a tile", pointer)
    space = pointer.type.space if isinstance(pointer.type, PointerType) else 3
    return EdslValue(pointer.handle, PointerType(element, space, pointer.type.writable))


@Intrinsic
def load_vector(emit: Emitter, source: EdslValue, index: Any, length: int) -> EdslValue:
    """``length`` elements from ``source[index]`` on, in one access: the address must be a multiple of its size."""
    pointer, vector = _vector_access(emit, source, index, length)
    attributes = {"alignment": f"{vector.length * vector.element.itemsize} : i64"}
    return emit.op("llvm.load", (pointer,), vector, attributes)


@Intrinsic
def store_vector(emit: Emitter, target: EdslValue, index: Any, value: EdslValue) -> None:
    """Store a vector from ``target[index]`` on, in one access: the address must be a multiple of its size."""
    if not isinstance(value, EdslValue) or not isinstance(value.type, Vector):
        emit.mismatch("store_vector stores a vector", "a vector", value)
    pointer, vector = _vector_access(emit, target, index, value.type.length)
    memory.check_writable(emit, target)
    converted = value if value.type == vector else emit.convert(value, vector.element)
    attributes = {"alignment": f"{vector.length * vector.element.itemsize} : i64"}
    emit.do("llvm.store", (converted, pointer), attributes)


def _vector_access(emit: Emitter, source: Any, index: Any, length: Any) -> tuple[EdslValue, Vector]:
    if not isinstance(source, EdslValue) or not isinstance(source.type, (PointerType, TileType)):
        emit.mismatch("this has no elements", "a tile or a pointer", source)
    element = memory.pointer_element(emit, source)
    if not isinstance(length, int) or length not in (2, 4, 8, 16) or length * element.itemsize > 16 or element.is_bool:
        emit.fail(
            "an access takes 2, 4, 8 or 16 elements, and 16 bytes at most",
            [Row("length", "a power of two", f"{length} of {element}")],
        )
    indices = index if isinstance(index, tuple) else (index,)
    return memory.address(emit, source, indices), Vector(element, length)


@Intrinsic
def vector(emit: Emitter, *elements: Any) -> EdslValue:
    """A vector of these numbers, in the type in which they meet."""
    items = elements[0] if len(elements) == 1 and isinstance(elements[0], tuple) else elements
    if not 2 <= len(items) <= 16:
        emit.mismatch("a vector has 2 to 16 elements", "2 to 16", str(len(items)), "elements")
    values = [emit.number(item, "an element of a vector") for item in items if not is_literal(item)]
    if not values:
        values = [emit.constant(items[0])]
    first = values[0]
    for item in items:
        if item is not first:
            first = EdslValue(None, common_type(first, item))
    return emit.vector([emit.convert(item, first.type) for item in items])  # type: ignore[arg-type]


# --- atomics ----------------------------------------------------------------------------------------------------------

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


def _as_bits(emit: Emitter, value: EdslValue, element: Number) -> EdslValue:
    return _bits(emit, value, element) if element.is_float else value


@Intrinsic
def atomic_exchange(emit: Emitter, target: EdslValue, index: Any, value: Any) -> EdslValue:
    """``target[index] = value`` as one step; what stood there before."""
    pointer, element = _place(emit, target, index, "atomic_exchange")
    _check_atomic(emit, element, "atomic_exchange", _WORDS)
    bits = _as_bits(emit, memory.stored_value(emit, value, element), element)
    attributes = {"bin_op": f"{_XCHG} : i64", "ordering": "2 : i64", "syncscope": '"device"'}
    old = emit.op("llvm.atomicrmw", (pointer, bits), bits.type, attributes)
    return emit.op("arith.bitcast", (old,), element) if element.is_float else old


@Intrinsic
def atomic_cas(emit: Emitter, target: EdslValue, index: Any, expected: Any, value: Any) -> EdslValue:
    """``if target[index] == expected: target[index] = value`` as one step; what stood there before."""
    pointer, element = _place(emit, target, index, "atomic_cas")
    _check_atomic(emit, element, "atomic_cas", _WORDS)
    old, new = (_as_bits(emit, memory.stored_value(emit, v, element), element) for v in (expected, value))
    attributes = {"success_ordering": "2 : i64", "failure_ordering": "2 : i64", "syncscope": '"device"'}
    struct = f"!llvm.struct<({old.type.mlir}, i1)>"
    pair = emit.raw("llvm.cmpxchg", (pointer, old, new), struct, old.type, attributes)
    found = emit.op("llvm.extractvalue", (pair,), old.type, {"position": "array<i64: 0>"})
    return emit.op("arith.bitcast", (found,), element) if element.is_float else EdslValue(found.handle, element)


# --- numbers ----------------------------------------------------------------------------------------------------------


def _mathematical(name: str) -> Intrinsic:
    def apply(emit: Emitter, *arguments: Any) -> Any:
        return mathematics.apply(emit, name, arguments)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"``{name}`` of floats; integers become f32, f16 and bf16 are computed in f32."
    return Intrinsic(apply)


exp, exp2, exp10, expm1, log, log2, log10, log1p = map(
    _mathematical, ("exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p")
)
sin, cos, tan, asin, acos, atan, sinh, cosh, tanh = map(
    _mathematical, ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")
)
asinh, acosh, atanh, erf, erfc, erfinv, rsqrt, cbrt = map(
    _mathematical, ("asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "rsqrt", "cbrt")
)
sqrt, fabs, floor, ceil, trunc, fma, copysign, atan2 = map(
    _mathematical, ("sqrt", "fabs", "floor", "ceil", "trunc", "fma", "copysign", "atan2")
)
fmod, hypot, tgamma, lgamma, isnan, isinf, isfinite = map(
    _mathematical, ("fmod", "hypot", "tgamma", "lgamma", "isnan", "isinf", "isfinite")
)


@Intrinsic
def where(emit: Emitter, condition: Any, one: Any, other: Any) -> Any:
    """``one if condition else other``, with both computed."""
    if not isinstance(condition, EdslValue):
        return one if condition else other
    merged = merge("", [one, other], emit.location, promoting=True)
    if not isinstance(merged, Phi):
        if merged is one:
            return one
        emit.mismatch("where takes two numbers", "a number", other)
    first, second = (as_type(emit, entry, merged.type) for entry in merged.entries)
    return emit.select(emit.truth(condition), first, second)


@Intrinsic
def bitcast(emit: Emitter, value: Any, dtype: Any) -> EdslValue:
    """The same bits, as another dtype of the same size."""
    type_ = as_dtype(dtype)
    if type_ is None:
        emit.mismatch("this is no dtype", "a dtype, for example f32", dtype)
    return emit.reinterpret(value, type_)


@Intrinsic
def popcount(emit: Emitter, value: Any) -> EdslValue:
    """The number of bits that are 1, as an i32."""
    given = emit.integer(value, "the argument of popcount")
    return emit.convert(EdslValue(emit.op("llvm.intr.ctpop", (given,), given.type).handle, _unsigned(given.type)), I32)


@Intrinsic
def count_leading_zeros(emit: Emitter, value: Any) -> EdslValue:
    """The number of zeros above the highest 1, as an i32; of 0 all bits."""
    given = emit.integer(value, "the argument of count_leading_zeros")
    zeros = emit.op("llvm.intr.ctlz", (given,), given.type, {"is_zero_poison": "false"})
    return emit.convert(EdslValue(zeros.handle, _unsigned(given.type)), I32)


def _unsigned(type_: Type) -> Number:
    assert isinstance(type_, Number)
    return NUMBERS.get(f"u{type_.bits}", type_)


# --- printing ---------------------------------------------------------------------------------------------------------


@Intrinsic
def printf(emit: Emitter, text: str, *values: Any) -> None:
    """Print from each thread that gets here. A 64-bit integer needs no ``ll``: the specifiers are widened."""
    if not isinstance(text, str):
        emit.mismatch("the format is a constant string", "a string", text)
    print_formatted(emit, text, values)


@Intrinsic
def vprintf(emit: Emitter, text: str, *values: Any) -> None:
    """FlagTree's name of ``printf``."""
    printf.emit(emit, text, *values)


@Intrinsic
def vassert(emit: Emitter, condition: Any, message: str = "assertion failed", *values: Any) -> None:
    """FlagTree's ``assert``: stops the kernel where the condition does not hold. ``values`` are printed before."""
    if not isinstance(message, str):
        emit.mismatch("the message is a constant string", "a string", message)
    if isinstance(condition, EdslValue):
        check(emit, emit.truth(condition), message, emit.code.name, values)
    elif not condition:
        emit.fail(f"the assertion can never hold: {message}")


__all__ = [name for name in dir() if isinstance(globals()[name], (Intrinsic, Number))] + [
    "FULL_MASK",
    "Function",
    "function",
]
