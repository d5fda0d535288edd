"""Barriers in shared memory: counters with phases.

One thread runs a program from its first operation to its last. So what completes a phase has happened before the wait
for it, or never will: a wait for a phase that is not complete would last for ever, and is an error. Partitions of
specialised warps take turns at waits (``turns``).

The eight bytes of a barrier (``mbarrier_word``) are those that a fragment's thread block counts in, so that a region
works on the kernel's own.
"""

from __future__ import annotations

from typing import Any

from tle_raw.errors import LoweringError
from tle_raw.flir.cpu.access_kinds import WRITE
from tle_raw.flir.cpu.convert import access_log, barrier_uses, buffer_checks, build, groups, turns
from tle_raw.flir.cpu.convert.kernel import Kernel, converts
from tle_raw.flir.cpu.convert.mbarrier_functions import ARRIVE, NEXT, WAIT
from tle_raw.flir.cpu.convert.shared_buffers import SharedBuffer, buffer_of
from tle_raw.flir.cpu.mbarrier_word import MOST_ARRIVALS, PHASE_AT, initial_word
from tle_raw.flir.cpu.mlir_values import Operation, Value

NOTE, BYTES = "tle.note", "tle.bytes"
TMA = "tma"  # how the note of an arrival begins that stands for the bytes of a copy by TMA
READY = "tle.ready"  # of an allocation: uses count from the phase before the first
BARRIER = "barrier"  # the note of a load that hands the barrier itself to a region
_WARP = 32


@converts("ttng.init_barrier")
def init(kernel: Kernel, op: Operation) -> None:
    barrier, count = buffer_of(kernel, op.operands[0]), int(op.attributes["count"].value)
    if not 0 < count <= MOST_ARRIVALS:
        raise LoweringError(f"on CPUs a barrier counts 1 to {MOST_ARRIVALS} arrivals, not {count}")
    build.store(build.constant(initial_word(count), "i64"), barrier.pointer)
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
    before = build.cast_integer(build.binary("shrui", word, build.constant(PHASE_AT, "i64")), "i32")
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
    kernel.helpers.add(WAIT)
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
        with build.when(condition):
            groups.signal(kernel, op, barrier.pointer, stamps, numbers)
        return
    kernel.helpers.update((NEXT, ARRIVE))
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
