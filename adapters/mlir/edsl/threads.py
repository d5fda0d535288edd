"""Who a thread is, in eDSL code, and the barrier of its block: functions of ``tle_raw.mlir``."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.mlir.edsl.emitter import Emitter
from tle_raw.adapters.mlir.edsl.intrinsics import Intrinsic
from tle_raw.adapters.mlir.edsl.types import I32
from tle_raw.adapters.mlir.edsl.values import EdslValue

_AXES = "xyz"


def _register(emit: Emitter, name: str) -> EdslValue:
    return emit.op(f"nvvm.read.ptx.sreg.{name}", (), I32)


def _size(emit: Emitter, name: str) -> EdslValue:
    size = _register(emit, name)
    size.positive = True
    return size


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
    return _size(emit, f"ntid.{_axis(emit, axis)}")


@Intrinsic
def block_id(emit: Emitter, axis: int | str = 0) -> EdslValue:
    """The block's index in the grid: the program's id."""
    return _register(emit, f"ctaid.{_axis(emit, axis)}")


@Intrinsic
def grid_dim(emit: Emitter, axis: int | str = 0) -> EdslValue:
    """The number of blocks of the grid."""
    return _size(emit, f"nctaid.{_axis(emit, axis)}")


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
