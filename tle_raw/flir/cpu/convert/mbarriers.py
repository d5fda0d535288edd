"""Barriers in shared memory: counters with phases.

One thread runs a program from its first operation to its last. So what completes a phase has happened before the wait
for it, or never will: a wait for a phase that is not complete would last for ever, and is an error.

The eight bytes of a barrier: i32 bytes that are expected and have not come, i16 arrivals that are missing in this
phase, i16 in which bits 0 to 14 are the arrivals of a phase and bit 15 says which phase runs.
"""

from __future__ import annotations

from typing import Any

from tle_raw.errors import LoweringError
from tle_raw.flir.cpu.convert import buffer_checks, build
from tle_raw.flir.cpu.convert.kernel import Kernel, converts
from tle_raw.flir.cpu.convert.shared_buffers import SharedBuffer, buffer_of
from tle_raw.flir.cpu.mlir_values import Operation, Value

NOTE, BYTES = "tle.note", "tle.bytes"
TMA = "tma"  # how the note of an arrival begins that stands for the bytes of a copy by TMA
MOST_ARRIVALS = (1 << 15) - 1
_WARP = 32


@converts("ttng.init_barrier")
def init(kernel: Kernel, op: Operation) -> None:
    barrier, count = buffer_of(kernel, op.operands[0]), int(op.attributes["count"].value)
    if not 0 < count <= MOST_ARRIVALS:
        raise LoweringError(f"on CPUs a barrier counts 1 to {MOST_ARRIVALS} arrivals, not {count}")
    build.store(build.constant(count << 32 | count << 48, "i64"), barrier.pointer)
    buffer_checks.made_barrier(kernel, barrier)


@converts("ttng.inval_barrier")
def invalidate(kernel: Kernel, op: Operation) -> None:
    buffer_checks.forget(kernel, buffer_of(kernel, op.operands[0]))


@converts("ttng.barrier_expect")
def expect(kernel: Kernel, op: Operation) -> None:
    """One arrival, and bytes that must come before the phase is complete."""
    barrier, predicate = op.operands
    size = int(op.attributes["size"].value)
    arrive(kernel, op, buffer_of(kernel, barrier), 1, size, kernel.scalar(predicate))


@converts("ttng.arrive_barrier")
def arrive_barrier(kernel: Kernel, op: Operation) -> None:
    barrier, *predicates = op.operands
    if stands_for_copy(op):  # its predicate never holds: see `lower_tma_copy`
        arrive(kernel, op, buffer_of(kernel, barrier), 0, -_copied_bytes(kernel, op), None)
        return
    condition = kernel.scalar(predicates[0]) if predicates else None
    arrive(kernel, op, buffer_of(kernel, barrier), int(op.attributes["count"].value), 0, condition)


@converts("ttng.async_copy_mbarrier_arrive")
def arrive_after_copies(kernel: Kernel, op: Operation) -> None:
    """Each thread arrives when its copies are done, which they are; unless told so it first adds its own arrival."""
    if "noIncrement" in op.attributes:
        arrive(kernel, op, buffer_of(kernel, op.operands[0]), _WARP * kernel.num_warps, 0, None)


@converts("ttng.wait_barrier")
def wait(kernel: Kernel, op: Operation) -> None:
    (barrier,), (phase,), predicates, _ = build.segment_lists(op)
    buffer = buffer_of(kernel, barrier)
    kernel.helpers.add(FUNCTIONS)
    code = kernel.check(
        "standstill",
        "a wait for a phase of a barrier that nobody completes",
        op.location,
        details=("arrivals missing", "bytes missing"),
    )
    asked = kernel.scalar(predicates[0]) if predicates else build.constant(True, "i1")
    stamps = buffer_checks.barrier_stamps(kernel, op, buffer)
    operands = [buffer.pointer, stamps, kernel.scalar(phase), asked, build.constant(code, "i64")]
    build.call("tle.barrier_wait", [*operands, *kernel.program, kernel.context])


def arrive(
    kernel: Kernel, op: Operation, barrier: SharedBuffer, arrivals: int, size: int, condition: Value | None
) -> None:
    """Count arrivals, and bytes that are expected (or, below zero, have come), where a condition holds."""
    kernel.helpers.add(FUNCTIONS)
    condition = build.constant(True, "i1") if condition is None else condition
    stamps = buffer_checks.barrier_stamps(kernel, op, barrier)
    numbers = [build.constant(arrivals, "i32"), build.constant(size, "i32")]
    build.call("tle.barrier_arrive", [barrier.pointer, stamps, *numbers, condition])


def stands_for_copy(op: Operation) -> bool:
    """Whether an arrival is what completes a copy by TMA: the front end notes it."""
    return op.name == "ttng.arrive_barrier" and NOTE in op.attributes and str(op.attributes[NOTE].value).startswith(TMA)


def completing_barrier(op: Operation) -> Any:
    """The operation behind a store that counts its bytes, when the two are a copy by TMA; else None."""
    operations = [view.operation for view in op.block.operations]
    following = operations[operations.index(op) + 1 :]
    for other in following:
        if stands_for_copy(other):
            return other
        if other.name in ("ttg.local_store", "ttng.wait_barrier"):
            return None
    return None


def _copied_bytes(kernel: Kernel, op: Operation) -> int:
    """Of the copy that an arrival stands for: noted, or those of the store in front of it."""
    if BYTES in op.attributes:
        return int(op.attributes[BYTES].value)
    operations = [view.operation for view in op.block.operations]
    for other in reversed(operations[: operations.index(op)]):
        if other.name == "ttg.local_store":
            return buffer_of(kernel, other.operands[1]).bytes
    raise LoweringError("an arrival is noted as the end of a copy by TMA, and no copy stands in front of it")


# The stamps (none without knobs.debug) of a barrier's bytes 6 and 7 hold how many phases were completed, and how many
# of those the program has waited for.
FUNCTIONS = """
func.func private @tle.barrier_arrive(%barrier: !llvm.ptr, %stamps: !llvm.ptr, %arrivals: i32, %bytes: i32,
                                      %condition: i1) attributes {llvm.no_inline} {
  scf.if %condition {
    %zero = arith.constant 0 : i32
    %pending_at = llvm.getelementptr %barrier[2] : (!llvm.ptr) -> !llvm.ptr, i16
    %phase_at = llvm.getelementptr %barrier[3] : (!llvm.ptr) -> !llvm.ptr, i16
    %expected = llvm.load %barrier : !llvm.ptr -> i32
    %pending16 = llvm.load %pending_at : !llvm.ptr -> i16
    %pending = arith.extsi %pending16 : i16 to i32
    %missing = arith.addi %expected, %bytes : i32
    %left = arith.subi %pending, %arrivals : i32
    %all_bytes = arith.cmpi eq, %missing, %zero : i32
    %all_arrivals = arith.cmpi sle, %left, %zero : i32
    %complete = arith.andi %all_bytes, %all_arrivals : i1
    llvm.store %missing, %barrier : i32, !llvm.ptr
    %left16 = arith.trunci %left : i32 to i16
    llvm.store %left16, %pending_at : i16, !llvm.ptr
    scf.if %complete {
      %phase = llvm.load %phase_at : !llvm.ptr -> i16
      %top = arith.constant 0x8000 : i16
      %rest = arith.constant 0x7fff : i16
      %next = arith.xori %phase, %top : i16
      llvm.store %next, %phase_at : i16, !llvm.ptr
      %count = arith.andi %phase, %rest : i16
      llvm.store %count, %pending_at : i16, !llvm.ptr
      %number = llvm.ptrtoint %stamps : !llvm.ptr to i64
      %none = arith.constant 0 : i64
      %stamped = arith.cmpi ne, %number, %none : i64
      scf.if %stamped {
        %completed_at = llvm.getelementptr %stamps[6] : (!llvm.ptr) -> !llvm.ptr, i64
        %completed = llvm.load %completed_at : !llvm.ptr -> i64
        %one = arith.constant 1 : i64
        %more = arith.addi %completed, %one : i64
        llvm.store %more, %completed_at : i64, !llvm.ptr
      }
    }
  }
  return
}
func.func private @tle.barrier_wait(%barrier: !llvm.ptr, %stamps: !llvm.ptr, %phase: i32, %asked: i1, %code: i64,
                                    %x: i32, %y: i32, %z: i32, %context: !llvm.ptr) attributes {llvm.no_inline} {
  scf.if %asked {
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i32
    %pending_at = llvm.getelementptr %barrier[2] : (!llvm.ptr) -> !llvm.ptr, i16
    %phase_at = llvm.getelementptr %barrier[3] : (!llvm.ptr) -> !llvm.ptr, i16
    %word = llvm.load %phase_at : !llvm.ptr -> i16
    %fifteen = arith.constant 15 : i16
    %runs16 = arith.shrui %word, %fifteen : i16
    %runs = arith.extui %runs16 : i16 to i32
    %wanted = arith.andi %phase, %one : i32
    %waits = arith.cmpi eq, %runs, %wanted : i32
    scf.if %waits {
      %bytes32 = llvm.load %barrier : !llvm.ptr -> i32
      %bytes = arith.extsi %bytes32 : i32 to i64
      %pending16 = llvm.load %pending_at : !llvm.ptr -> i16
      %pending = arith.extsi %pending16 : i16 to i64
      func.call @tle.fail(%code, %x, %y, %z, %pending, %bytes, %zero, %zero, %context)
        : (i64, i32, i32, i32, i64, i64, i64, i64, !llvm.ptr) -> ()
    }
    %number = llvm.ptrtoint %stamps : !llvm.ptr to i64
    %stamped = arith.cmpi ne, %number, %zero : i64
    scf.if %stamped {
      %completed_at = llvm.getelementptr %stamps[6] : (!llvm.ptr) -> !llvm.ptr, i64
      %seen_at = llvm.getelementptr %stamps[7] : (!llvm.ptr) -> !llvm.ptr, i64
      %completed = llvm.load %completed_at : !llvm.ptr -> i64
      llvm.store %completed, %seen_at : i64, !llvm.ptr
    }
  }
  return
}
"""
