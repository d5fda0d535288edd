"""Partitions of specialised warps take turns on one thread: the default one on the kernel's stack, workers on theirs.

A partition runs until it waits for a phase of a barrier that is not complete, or goes round in a loop that waits for
memory; then it is the next one's turn, of those that can go on. Where none can, nobody can complete anything any more:
the program fails, and the record of the launch's status says who waits where. From then on no wait waits, and the
default partition alone runs on to the kernel's end.

What is known of the partitions is a record on the kernel's own stack: ``turns_functions`` has its fields, and the
functions that work on it.

A partition's copy of the context has a function of its own to ask the launch by, which programs call that wait in
memory, and regions of fragments. It is the next partition's turn then; now and then, and where no other can go on, the
launch is asked indeed, on the kernel's stack, for Python needs more than a worker has. A region's threads keep their
stacks while others run: each worker has a workspace of its own for them, whose word is kept in the context.
"""

from __future__ import annotations

from tle_raw.flir.cpu.convert import build
from tle_raw.flir.cpu.convert.kernel import Kernel
from tle_raw.flir.cpu.convert.stacks import stack_functions
from tle_raw.flir.cpu.convert.turns_functions import ALONE, CONTEXT, FIRST, FUNCTIONS, IN_A_GROUP, SIZE
from tle_raw.flir.cpu.mlir_values import Operation, Value

_STANDSTILL = "tle.gpu.warp_specialize: all partitions wait for barriers that nobody completes"
AHEAD = "a wait for a phase of a barrier that is too far behind: the phase after it is complete too"


def record_type(count: int) -> str:
    """The record of so many partitions."""
    return f"!llvm.array<{FIRST + count * SIZE} x i64>"


def begin(kernel: Kernel, op: Operation, record: Value, count: int, given: Value) -> None:
    """All workers begin when the default partition waits."""
    code = kernel.check("standstill", _STANDSTILL, op.location, partitions=count)
    kernel.check("stack_overflow", "a worker needs more stack than it has", op.location)
    kernel.helpers.update((FUNCTIONS, IN_A_GROUP if kernel.groups else ALONE, stack_functions()))
    numbers = [build.constant(number, "i64") for number in (count, code)]
    build.call("tle.turns_begin", [record, *numbers, *kernel.program, kernel.context, given])


def add(record: Value, number: int, entry: Value, lowest: Value) -> None:
    """A worker, counted from 1, its function, and the lowest address of its stack."""
    build.call("tle.turns_add", [record, build.constant(number, "i64"), entry, lowest])


def context_of(record: Value, number: int) -> Value:
    """A partition's context."""
    return build.address(record, FIRST + number * SIZE + CONTEXT, "i64")


def end(record: Value) -> None:
    """The default partition is done, and waits for the workers."""
    build.call("tle.turns_end", [record])


def over(record: Value) -> None:
    """A worker is done; this does not return."""
    build.call("tle.turns_over", [record])


def wait(
    kernel: Kernel, barrier: Value, stamps: Value, phase: Value, asked: Value, code: int, wanted: Value | None
) -> None:
    """Let the others run until a phase is complete. ``wanted`` is how many must be, where that is known.

    The check behind ``code`` is that more are complete.
    """
    unknown = build.constant(-1, "i64") if wanted is None else wanted
    build.call(
        "tle.turns_wait", [barrier, stamps, phase, asked, build.constant(code, "i64"), unknown, kernel.partitions]
    )


def let_others_run(kernel: Kernel) -> None:
    """A turn of a loop that waits for memory."""
    build.call("tle.turns_yield", [kernel.partitions])
