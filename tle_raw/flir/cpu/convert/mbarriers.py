"""Barriers in shared memory: counters with phases.

One thread runs a program from its first operation to its last. So what completes a phase has happened before the wait
for it, or never will: a wait for a phase that is not complete would last for ever, and is an error. Partitions of
specialised warps take turns at waits (``turns``).

The eight bytes of a barrier are those that a fragment's thread block counts in (``tle_raw/team/mbarrier.h``), so that
a region works on the kernel's own: from the lowest bit on 23 bits of bytes that are expected and have not come, 20 of
arrivals that are missing in this phase, 20 of the arrivals of a phase, and one that says which phase runs.
"""

from __future__ import annotations

from typing import Any

from tle_raw.errors import LoweringError
from tle_raw.flir.cpu.access_kinds import WRITE
from tle_raw.flir.cpu.convert import access_log, barrier_uses, buffer_checks, build, group_functions, groups, turns
from tle_raw.flir.cpu.convert.kernel import Kernel, converts
from tle_raw.flir.cpu.convert.shared_buffers import SharedBuffer, buffer_of
from tle_raw.flir.cpu.mlir_values import Operation, Value

NOTE, BYTES = "tle.note", "tle.bytes"
TMA = "tma"  # how the note of an arrival begins that stands for the bytes of a copy by TMA
READY = "tle.ready"  # of an allocation: uses count from the phase before the first
BARRIER = "barrier"  # the note of a load that hands the barrier itself to a region
MOST_ARRIVALS = (1 << 20) - 1
_PENDING, _COUNT = 23, 43  # where the arrivals begin: the missing ones, and all
_WARP = 32


@converts("ttng.init_barrier")
def init(kernel: Kernel, op: Operation) -> None:
    barrier, count = buffer_of(kernel, op.operands[0]), int(op.attributes["count"].value)
    if not 0 < count <= MOST_ARRIVALS:
        raise LoweringError(f"on CPUs a barrier counts 1 to {MOST_ARRIVALS} arrivals, not {count}")
    build.store(build.constant(count << _PENDING | count << _COUNT, "i64"), barrier.pointer)
    access_log.note_element(kernel, op, WRITE, barrier.pointer, 8)
    buffer_checks.made_barrier(kernel, barrier)


@converts("ttng.inval_barrier")
def invalidate(kernel: Kernel, op: Operation) -> None:
    buffer_checks.unmade_barrier(kernel, buffer_of(kernel, op.operands[0]))


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
    asked = kernel.scalar(predicates[0]) if predicates else build.constant(True, "i1")
    buffer = buffer_of(kernel, barrier)
    wanted = barrier_uses.phases_wanted(kernel, buffer, phase)
    _wait(kernel, op, buffer, kernel.scalar(phase), asked, _NOBODY, wanted)


def meet(kernel: Kernel, op: Operation, barrier: SharedBuffer, threads: int, waits: bool) -> None:
    """So many threads come to a named barrier; they wait for the others, or go on."""
    word = build.load(barrier.pointer, "i64")
    before = build.cast_integer(build.binary("shrui", word, build.constant(63, "i64")), "i32")
    arrive(kernel, op, barrier, threads, 0, None)
    if waits:
        _wait(kernel, op, barrier, before, build.constant(True, "i1"), _NO_THREADS)


_NOBODY = ("a wait for a phase of a barrier that nobody completes", ("arrivals missing", "bytes missing"))
_NO_THREADS = ("a wait for threads that never come to a barrier", ("threads missing",))


def _wait(
    kernel: Kernel,
    op: Operation,
    buffer: SharedBuffer,
    phase: Value,
    asked: Value,
    failure: tuple[str, tuple[str, ...]],
    wanted: Value | None = None,
) -> None:
    kernel.helpers.add(FUNCTIONS)
    code = kernel.check("standstill", failure[0], op.location, details=failure[1])
    if wanted is not None:
        kernel.check("phases", turns.AHEAD, op.location, details=("phases that the wait is for", "phases complete"))
    stamps = buffer_checks.barrier_stamps(kernel, op, buffer)
    if kernel.partitions is not None:
        turns.wait(kernel, buffer.pointer, stamps, phase, asked, code, wanted)
        groups.log_wait(kernel, op, buffer.pointer)
        return
    groups.wait_for_phase(kernel, buffer.pointer, phase, asked, code)
    groups.log_wait(kernel, op, buffer.pointer)
    operands = [buffer.pointer, stamps, phase, asked, build.constant(code, "i64")]
    build.call("tle.barrier_wait", [*operands, *kernel.program, kernel.context])


def arrive(
    kernel: Kernel, op: Operation, barrier: SharedBuffer, arrivals: int, size: int, condition: Value | None
) -> None:
    """Count arrivals, and bytes that are expected (or, below zero, have come), where a condition holds."""
    condition = build.constant(True, "i1") if condition is None else condition
    stamps = buffer_checks.barrier_stamps(kernel, op, barrier)
    numbers = [build.constant(arrivals, "i32"), build.constant(size, "i32")]
    if kernel.groups:
        kernel.helpers.add(group_functions.FUNCTIONS)
        with build.when(condition):
            groups.log_arrival(kernel, op, barrier.pointer)
            build.call("tle.barrier_signal", [barrier.pointer, stamps, *numbers, kernel.context])
        return
    kernel.helpers.add(FUNCTIONS)
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
    %zero = arith.constant 0 : i64
    %all_bytes_bits = arith.constant 0x7fffff : i64
    %all_count_bits = arith.constant 0xfffff : i64
    %pending_at = arith.constant 23 : i64
    %count_at = arith.constant 43 : i64
    %word = llvm.load %barrier : !llvm.ptr -> i64
    %more_bytes = arith.extsi %bytes : i32 to i64
    %all_bytes = arith.addi %word, %more_bytes : i64
    %missing = arith.andi %all_bytes, %all_bytes_bits : i64
    %high = arith.shrui %word, %pending_at : i64
    %fewer = arith.extsi %arrivals : i32 to i64
    %all_left = arith.subi %high, %fewer : i64
    %left = arith.andi %all_left, %all_count_bits : i64
    %both = arith.ori %missing, %left : i64
    %complete = arith.cmpi eq, %both, %zero : i64
    %shifted = arith.shrui %word, %count_at : i64
    %kept = arith.shli %shifted, %count_at : i64
    %next = scf.if %complete -> i64 {
      %top = arith.constant 0x8000000000000000 : i64
      %flipped = arith.xori %kept, %top : i64
      %count = arith.andi %shifted, %all_count_bits : i64
      %again = arith.shli %count, %pending_at : i64
      %made = arith.ori %flipped, %again : i64
      %number = llvm.ptrtoint %stamps : !llvm.ptr to i64
      %stamped = arith.cmpi ne, %number, %zero : i64
      scf.if %stamped {
        %completed_at = llvm.getelementptr %stamps[6] : (!llvm.ptr) -> !llvm.ptr, i64
        %completed = llvm.load %completed_at : !llvm.ptr -> i64
        %one = arith.constant 1 : i64
        %more = arith.addi %completed, %one : i64
        llvm.store %more, %completed_at : i64, !llvm.ptr
      }
      scf.yield %made : i64
    } else {
      %pending = arith.shli %left, %pending_at : i64
      %counts = arith.ori %kept, %pending : i64
      %made = arith.ori %counts, %missing : i64
      scf.yield %made : i64
    }
    llvm.store %next, %barrier : i64, !llvm.ptr
  }
  return
}
func.func private @tle.barrier_wait(%barrier: !llvm.ptr, %stamps: !llvm.ptr, %phase: i32, %asked: i1, %code: i64,
                                    %x: i32, %y: i32, %z: i32, %context: !llvm.ptr) attributes {llvm.no_inline} {
  scf.if %asked {
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i32
    %word = llvm.load %barrier : !llvm.ptr -> i64
    %sixty_three = arith.constant 63 : i64
    %runs64 = arith.shrui %word, %sixty_three : i64
    %runs = arith.trunci %runs64 : i64 to i32
    %wanted = arith.andi %phase, %one : i32
    %waits = arith.cmpi eq, %runs, %wanted : i32
    scf.if %waits {
      %above_bytes = arith.constant 41 : i64
      %high_bytes = arith.shli %word, %above_bytes : i64
      %bytes = arith.shrsi %high_bytes, %above_bytes : i64
      %above_pending = arith.constant 21 : i64
      %below_pending = arith.constant 44 : i64
      %high_pending = arith.shli %word, %above_pending : i64
      %pending = arith.shrsi %high_pending, %below_pending : i64
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
