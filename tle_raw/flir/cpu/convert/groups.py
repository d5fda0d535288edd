"""Blocks of a cluster, and of a grid that meets as a whole: programs of one group, which run at the same time.

Each runs on a thread with scratch memory of its own, laid out alike: what a block has at an address, another one has at
the same distance from where its own memory begins. Where a program waits for others it asks its launch, which lets it
sleep (``targets/cpu/meetings``). Barriers' words are counted atomically here, for other blocks arrive at them too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tle_raw.errors import LoweringError
from tle_raw.flir.cpu.access_kinds import ACQUIRE, ATOMIC, RELEASE
from tle_raw.flir.cpu.context_fields import ARRIVE, GRID, PART, WAIT_IN_CLUSTER
from tle_raw.flir.cpu.convert import access_log, build, checks, types
from tle_raw.flir.cpu.convert.group_functions import FUNCTIONS
from tle_raw.flir.cpu.convert.kernel import Kernel
from tle_raw.flir.cpu.convert.mbarrier_functions import NEXT, SIGNAL
from tle_raw.flir.cpu.convert.plan import group_symbol
from tle_raw.flir.cpu.convert.tiles import Elementwise
from tle_raw.flir.cpu.mlir_values import Operation, Value
from tle_raw.regions import clusters
from tle_raw.regions.cluster_launch import ClusterLaunch
from tle_raw.regions.clusters import MEETS


def describe(operations: Iterable[Operation]) -> dict[str, Any]:
    """What a launch must know of the groups of a kernel, as ``targets/check_launch`` reads it; nothing without groups.

    ``MEETS`` says whether all of the grid runs together.

    Raises
    ------
    MeshError : the kernel's functions differ in how large a cluster is.
    """
    functions = [(op, group_symbol(op)) for op in operations if group_symbol(op)]
    if not functions:
        return {}
    launch = ClusterLaunch()
    for op, symbol in functions:
        launch.note(symbol, clusters.read_record(str(op.attributes["libname"].value)))
    return {**launch.described(), MEETS: int(launch.meets)}


def convert_function(kernel: Kernel, op: Operation, symbol: str) -> None:
    """One of the functions of ``regions/clusters``."""
    kernel.helpers.add(FUNCTIONS)
    kernel.may_wait = True
    record = clusters.read_record(str(op.attributes["libname"].value))
    if symbol == clusters.MAP:
        _map(kernel, op, record)
        return
    operands = [kernel.scalar(operand) for operand in op.operands]
    found: Value = operands[0]
    if symbol == clusters.RANK:
        found = _rank(kernel, record)
    elif symbol == clusters.SIGNAL:
        _signal(kernel, op, operands[0], record)
    elif symbol in _MEETINGS:
        what, message = _MEETINGS[symbol]
        _meet(kernel, op, what, message, record)
    elif symbol not in (clusters.PROGRAM, clusters.LEAVE):
        raise LoweringError(f"the function `{symbol}` has no lowering for CPUs")
    kernel.set(op.results[0], found)


def _rank(kernel: Kernel, record: dict[str, Any]) -> Value:
    """Of this block in its cluster, numbered along the grid's first axis first."""
    found, step = None, 1
    for number, blocks in zip(kernel.program, record.get(clusters.COUNTED) or [record["cluster"], 1, 1]):
        if blocks > 1:
            along = build.binary("remui", number, build.constant(blocks, "i32"))
            more = build.binary("muli", along, build.constant(step, "i32")) if step > 1 else along
            found = more if found is None else build.binary("addi", found, more)
        step *= blocks
    return build.constant(0, "i32") if found is None else found


_MEETINGS = {
    clusters.ARRIVE: (ARRIVE, "an arrival at the cluster's barrier without a wait for the one before"),
    clusters.WAIT: (WAIT_IN_CLUSTER, "a wait for blocks of the cluster that never come to its barrier"),
    clusters.MEET: (PART, "a wait for blocks of a part of the cluster that never come to its barrier"),
    clusters.GRID_BARRIER: (GRID, "a wait for programs that never come to the grid's barrier"),
}


def _meet(kernel: Kernel, op: Operation, what: int, message: str, record: dict[str, Any]) -> None:
    code = kernel.check("standstill", message, op.location, members=record.get("members", []))
    meet(kernel, what, code)


def meet(kernel: Kernel, what: int, code: int) -> None:
    """Ask the launch to let this program wait."""
    numbers = [build.constant(what, "i32"), build.constant(code, "i64"), build.constant(0, "i64")]
    build.call("tle.meet", [*numbers, kernel.context], ["i1"])


def _map(kernel: Kernel, op: Operation, record: dict[str, Any]) -> None:
    """One address, or each of a tile, as another block has it."""
    code = kernel.check("member", "a cluster has no such block", op.location, details=("block", "blocks"))
    numbers = [build.constant(record["cluster"], "i32"), build.constant(code, "i64")]
    nowhere = 0
    if record.get(clusters.FAR):
        nowhere = kernel.check("remote", "tle.remote of a pointer that points into no buffer", op.location)

    def mapped(address: Any, rank: Any) -> Value:
        own = types.plain(address)
        if record.get(clusters.FAR):
            own = _checked_place(kernel, own_place(kernel, own), nowhere)
        operands = [own, types.plain(rank), *numbers, *kernel.program, kernel.context]
        return build.call("tle.mapped", operands, ["i64"])[0]

    result = op.results[0]
    if not types.is_tile(result.type):
        kernel.set(result, mapped(*(kernel.scalar(operand) for operand in op.operands)))
        return
    shape = types.shape_of(result.type)
    operands = [kernel.spread(operand, shape) for operand in op.operands]
    kernel.set(result, Elementwise(shape, types.element_of(result.type), operands, mapped))


def _checked_place(kernel: Kernel, address: Value, code: int) -> Value:
    """An address in this program's scratch memory; the kernel fails with another, and goes on with the first there."""
    inside = build.call("tle.in_scratch", [address, kernel.context], ["i1"])[0]
    checks.fail(kernel, code, build.negated(inside), ())
    first = build.value("llvm.load", [kernel.context], "i64")
    return build.value("arith.select", [inside, address, first], "i64")


def _signal(kernel: Kernel, op: Operation, address: Value, record: dict[str, Any]) -> None:
    barrier = build.value("llvm.inttoptr", [address], "!llvm.ptr")
    numbers = [build.constant(record[key], "i32") for key in ("count", "bytes")]
    numbers[1] = build.binary("subi", build.constant(0, "i32"), numbers[1])  # they have come
    signal(kernel, op, barrier, _stamps_beside(kernel, op, address), numbers)


def signal(kernel: Kernel, op: Operation, barrier: Value, stamps: Value, numbers: Sequence[Value]) -> None:
    """Count arrivals and bytes at a barrier at which other programs arrive too."""
    kernel.helpers.update((NEXT, SIGNAL))
    _log_arrival(kernel, op, barrier)
    build.call("tle.barrier_signal", [barrier, stamps, *numbers, kernel.context])


def _stamps_beside(kernel: Kernel, op: Operation, address: Value) -> Value:
    """The stamps of a mapped barrier, which lie as far away from this block's as the barrier does; null without."""
    buffer = kernel.guard.pointed_to(op.operands[0]) if kernel.guard is not None else None
    if not buffer or buffer[0].stamps is None:
        return build.value("llvm.mlir.zero", [], "!llvm.ptr")
    own = build.value("llvm.ptrtoint", [buffer[0].pointer], "i64")
    return build.address(buffer[0].stamps, build.binary("subi", address, own), "i8")


def wait_for_phase(kernel: Kernel, barrier: Value, phase: Value, asked: Value, code: int) -> None:
    """Let this program sleep until the phase of its barrier is complete, for other blocks may complete it."""
    if kernel.groups:
        kernel.helpers.add(FUNCTIONS)
        build.call("tle.phase_wait", [barrier, phase, asked, build.constant(code, "i64"), kernel.context])


def _log_arrival(kernel: Kernel, op: Operation, barrier: Value) -> None:
    """What this program did before is ordered before what follows a wait for the barrier."""
    access_log.note_element(kernel, op, ATOMIC, barrier, 8)
    access_log.order_by(kernel, op, RELEASE, build.value("llvm.ptrtoint", [barrier], "i64"))


def log_wait(kernel: Kernel, op: Operation, barrier: Value) -> None:
    """A wait for a phase is over."""
    access_log.note_element(kernel, op, ATOMIC, barrier, 8)
    access_log.order_by(kernel, op, ACQUIRE, build.value("llvm.ptrtoint", [barrier], "i64"))


def own_place(kernel: Kernel, address: Value) -> Value:
    """An address in the scratch memory of any program of the group, as this one has it; others as they are."""
    if not kernel.groups:
        return address
    kernel.helpers.add(FUNCTIONS)
    return build.call("tle.own_place", [address, kernel.context], ["i64"])[0]
