"""The functions that device code of the mlir dialect calls, beside Python's own: exported as ``tle_raw.mlir``."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.mlir.edsl.atomics import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_exchange,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_xor,
)
from tle_raw.adapters.mlir.edsl.barriers import (
    barrier_arrive,
    barrier_arrive_after_copies,
    barrier_copy,
    barrier_expect,
    barrier_wait,
    fence_async,
)
from tle_raw.adapters.mlir.edsl.descriptors import descriptor_load, descriptor_store, wait_for_stores
from tle_raw.adapters.mlir.edsl.emitter import Emitter
from tle_raw.adapters.mlir.edsl.intrinsics import Function, Intrinsic, function
from tle_raw.adapters.mlir.edsl.memory_functions import load_vector, pointer_to, shared, store_vector, vector
from tle_raw.adapters.mlir.edsl.number_functions import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitcast,
    cbrt,
    ceil,
    copysign,
    cos,
    cosh,
    count_leading_zeros,
    erf,
    erfc,
    erfinv,
    exp,
    exp2,
    exp10,
    expm1,
    fabs,
    floor,
    fma,
    fmod,
    hypot,
    isfinite,
    isinf,
    isnan,
    lgamma,
    log,
    log1p,
    log2,
    log10,
    popcount,
    rsqrt,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    tgamma,
    trunc,
    where,
)
from tle_raw.adapters.mlir.edsl.printing import check, print_formatted
from tle_raw.adapters.mlir.edsl.ranges import make_range
from tle_raw.adapters.mlir.edsl.threads import barrier, block_dim, block_id, grid_dim, lane_id, thread_id, warp_id
from tle_raw.adapters.mlir.edsl.types import NUMBERS
from tle_raw.adapters.mlir.edsl.values import EdslValue
from tle_raw.adapters.mlir.edsl.warps import (
    FULL_MASK,
    all_sync,
    any_sync,
    ballot,
    shuffle,
    shuffle_down,
    shuffle_up,
    shuffle_xor,
    warp_sync,
)

__all__ = [
    "FULL_MASK",
    "Function",
    "acos",
    "acosh",
    "all_sync",
    "any_sync",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_exchange",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xor",
    "ballot",
    "barrier",
    "barrier_arrive",
    "barrier_arrive_after_copies",
    "barrier_copy",
    "barrier_expect",
    "barrier_wait",
    "bf16",
    "bitcast",
    "block_dim",
    "block_id",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "count_leading_zeros",
    "descriptor_load",
    "descriptor_store",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "f8e4m3",
    "f8e5m2",
    "f16",
    "f32",
    "f64",
    "fabs",
    "fence_async",
    "floor",
    "fma",
    "fmod",
    "function",
    "grid_dim",
    "hypot",
    "i1",
    "i8",
    "i16",
    "i32",
    "i64",
    "index",
    "isfinite",
    "isinf",
    "isnan",
    "lane_id",
    "lgamma",
    "load_vector",
    "log",
    "log1p",
    "log2",
    "log10",
    "pointer_to",
    "popcount",
    "printf",
    "rsqrt",
    "shared",
    "shuffle",
    "shuffle_down",
    "shuffle_up",
    "shuffle_xor",
    "sin",
    "sinh",
    "sqrt",
    "static_range",
    "store_vector",
    "tan",
    "tanh",
    "tgamma",
    "thread_id",
    "trunc",
    "u8",
    "u16",
    "u32",
    "u64",
    "vassert",
    "vector",
    "vprintf",
    "wait_for_stores",
    "warp_id",
    "warp_sync",
    "where",
]

# dtypes: `f32(x)` converts.
i1, i8, i16, i32, i64 = (NUMBERS[name] for name in ("i1", "i8", "i16", "i32", "i64"))
u8, u16, u32, u64 = (NUMBERS[name] for name in ("u8", "u16", "u32", "u64"))
f8e4m3, f8e5m2, f16, bf16, f32, f64 = (NUMBERS[name] for name in ("f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64"))
index = NUMBERS["index"]


@Intrinsic
def static_range(emit: Emitter, *bounds: int) -> Any:
    """Like ``range``, of constants; the loop is unrolled, and its variable is a constant in each round."""
    return make_range(emit, bounds, unrolled=True)


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
