"""What the lanes of a warp do together, in eDSL code: functions of ``tle_raw.mlir``."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.mlir.edsl.emitter import Emitter
from tle_raw.adapters.mlir.edsl.intrinsics import Intrinsic
from tle_raw.adapters.mlir.edsl.types import BOOL, F32, I32, I64, NUMBERS, Number, same_size_integer
from tle_raw.adapters.mlir.edsl.values import EdslValue

FULL_MASK = 0xFFFFFFFF


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
    bits = emit.reinterpret(value, same_size_integer(type_))
    if type_.bits < 32:
        return [emit.op("arith.extui", (bits,), I32)]
    low = emit.op("arith.trunci", (bits,), I32)
    high = emit.op("arith.trunci", (emit.op("arith.shrui", (bits, emit.constant(32, I64)), I64),), I32)
    return [low, high]


def _from_words(emit: Emitter, words: list[EdslValue], type_: Number) -> EdslValue:
    if type_ is F32 or type_.mlir == "i32":
        return EdslValue(words[0].handle, type_)
    if type_.name == "index":
        return emit.convert(_from_words(emit, words, I64), type_)
    if len(words) == 1:
        bits = emit.op("arith.trunci", (words[0],), same_size_integer(type_))
    else:
        low, high = (emit.op("arith.extui", (word,), I64) for word in words)
        bits = emit.op("arith.ori", (low, emit.op("arith.shli", (high, emit.constant(32, I64)), I64)), I64)
    return emit.reinterpret(bits, type_)


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
