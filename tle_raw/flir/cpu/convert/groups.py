"""Blocks of a cluster, and of a grid that meets as a whole: programs of one group, which run at the same time.

Each runs on a thread with scratch memory of its own, laid out alike: what a block has at an address, another one has at
the same distance from where its own memory begins. Where a program waits for others it asks its launch, which lets it
sleep (``targets/cpu/meetings``). Barriers' words are counted atomically here, for other blocks arrive at them too.

The group's record, which the context tells: word 0 counts arrivals at barriers, then the bytes of scratch memory, how
many programs the group has, how many a cluster has, and the addresses of all contexts.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import lcm
from typing import Any

from tle_raw.errors import LoweringError, MeshError, Row
from tle_raw.flir.cpu.access_kinds import ACQUIRE, ATOMIC, RELEASE
from tle_raw.flir.cpu.context_fields import ARRIVE, GRID, PART, PHASE, WAIT_IN_CLUSTER
from tle_raw.flir.cpu.convert import access_log, build
from tle_raw.flir.cpu.convert.kernel import Kernel
from tle_raw.flir.cpu.convert.plan import group_symbol
from tle_raw.flir.cpu.mlir_values import Operation, Value
from tle_raw.regions import clusters
from tle_raw.regions.clusters import MEETS


def describe(operations: Iterable[Operation]) -> dict[str, int]:
    """What a launch must know of the groups of a kernel, as ``targets/check_launch`` reads it; nothing without groups.

    ``MEETS`` says whether all of the grid runs together.

    Raises
    ------
    MeshError : the kernel's functions differ in how large a cluster is.
    """
    functions = [(op, group_symbol(op)) for op in operations if group_symbol(op)]
    if not functions:
        return {}
    found, programs = {"cluster": 0, "programs": 1, "exactly": 0, MEETS: 0}, [1]
    for op, symbol in functions:
        record = clusters.read_record(str(op.attributes["libname"].value))
        blocks = record.get("cluster", 0)
        if blocks and found["cluster"] not in (0, blocks):
            raise MeshError(
                "two meshes of a kernel say how many blocks a cluster has, and differ",
                table=[Row("blocks of the cluster", str(found["cluster"]), str(blocks))],
            )
        found["cluster"] = found["cluster"] or blocks
        programs += [record["programs"]] if symbol == clusters.PROGRAM else []
        if symbol == clusters.GRID_BARRIER:
            found |= {MEETS: 1, "exactly": record["programs"] or found["exactly"]}
    return found | {"programs": lcm(*programs)}


def convert_function(kernel: Kernel, op: Operation, symbol: str) -> None:
    """One of the functions of ``regions/clusters``."""
    kernel.helpers.add(FUNCTIONS)
    kernel.may_wait = True
    record = clusters.read_record(str(op.attributes["libname"].value))
    operands = [kernel.scalar(operand) for operand in op.operands]
    found: Value = operands[0]
    if symbol == clusters.RANK:
        found = build.binary("remui", operands[0], build.constant(record["cluster"], "i32"))
    elif symbol == clusters.MAP:
        found = _mapped(kernel, op, operands[0], operands[1], record["cluster"])
    elif symbol == clusters.SIGNAL:
        _signal(kernel, op, operands[0], record)
    elif symbol in _MEETINGS:
        what, message = _MEETINGS[symbol]
        _meet(kernel, op, what, message, record)
    elif symbol != clusters.PROGRAM:
        raise LoweringError(f"the function `{symbol}` has no lowering for CPUs")
    kernel.set(op.results[0], found)


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


def _mapped(kernel: Kernel, op: Operation, address: Value, rank: Value, blocks: int) -> Value:
    code = kernel.check("member", "a cluster has no such block", op.location, details=("block", "blocks"))
    numbers = [build.constant(blocks, "i32"), build.constant(code, "i64")]
    return build.call("tle.mapped", [address, rank, *numbers, *kernel.program, kernel.context], ["i64"])[0]


def _signal(kernel: Kernel, op: Operation, address: Value, record: dict[str, Any]) -> None:
    barrier = build.value("llvm.inttoptr", [address], "!llvm.ptr")
    log_arrival(kernel, op, barrier)
    numbers = [build.constant(record[key], "i32") for key in ("count", "bytes")]
    numbers[1] = build.binary("subi", build.constant(0, "i32"), numbers[1])  # they have come
    build.call("tle.barrier_signal", [barrier, _stamps_beside(kernel, op, address), *numbers, kernel.context])


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


def log_arrival(kernel: Kernel, op: Operation, barrier: Value) -> None:
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


_GROUP = """
    %group_at = llvm.getelementptr %context[12] : (!llvm.ptr) -> !llvm.ptr, i64
    %group = llvm.load %group_at : !llvm.ptr -> !llvm.ptr"""
# Fields of the context: 0 scratch memory, 5 the function that is asked, 8 to 10 what for, 12 the group, 13 the member.
FUNCTIONS = f"""
func.func private @tle.meet(%what: i32, %check: i64, %address: i64, %context: !llvm.ptr) -> i1
                            attributes {{llvm.no_inline}} {{
  %zero = arith.constant 0 : i64
  %over = arith.constant 0 : i32
  %check_at = llvm.getelementptr %context[8] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %check, %check_at : i64, !llvm.ptr
  %address_at = llvm.getelementptr %context[9] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %address, %address_at : i64, !llvm.ptr
  %ask_at = llvm.getelementptr %context[5] : (!llvm.ptr) -> !llvm.ptr, i64
  %ask = llvm.load %ask_at : !llvm.ptr -> !llvm.ptr
  %answer = llvm.call %ask(%context, %what) : !llvm.ptr, (!llvm.ptr, i32) -> i32
  %leave = arith.cmpi ne, %answer, %over : i32
  return %leave : i1
}}
func.func private @tle.scratch_of(%member: i64, %context: !llvm.ptr) -> i64 {{
    {_GROUP}
    %first = llvm.getelementptr %group[4] : (!llvm.ptr) -> !llvm.ptr, i64
    %other_at = llvm.getelementptr %first[%member] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %other = llvm.load %other_at : !llvm.ptr -> !llvm.ptr
    %scratch = llvm.load %other : !llvm.ptr -> i64
    return %scratch : i64
}}
func.func private @tle.mapped(%address: i64, %rank: i32, %blocks: i32, %code: i64, %x: i32, %y: i32, %z: i32,
                              %context: !llvm.ptr) -> i64 attributes {{llvm.no_inline}} {{
  %zero = arith.constant 0 : i64
  %wide = arith.extui %rank : i32 to i64
  %count = arith.extui %blocks : i32 to i64
  %wrong = arith.cmpi uge, %wide, %count : i64
  %found = scf.if %wrong -> i64 {{
    %signed = arith.extsi %rank : i32 to i64
    func.call @tle.fail(%code, %x, %y, %z, %signed, %count, %zero, %zero, %context)
      : (i64, i32, i32, i32, i64, i64, i64, i64, !llvm.ptr) -> ()
    scf.yield %address : i64
  }} else {{
    %member_at = llvm.getelementptr %context[13] : (!llvm.ptr) -> !llvm.ptr, i64
    %member = llvm.load %member_at : !llvm.ptr -> i64
    %place = arith.remui %member, %count : i64
    %first = arith.subi %member, %place : i64
    %other = arith.addi %first, %wide : i64
    %own = llvm.load %context : !llvm.ptr -> i64
    %theirs = func.call @tle.scratch_of(%other, %context) : (i64, !llvm.ptr) -> i64
    %offset = arith.subi %address, %own : i64
    %mapped = arith.addi %theirs, %offset : i64
    scf.yield %mapped : i64
  }}
  return %found : i64
}}
func.func private @tle.own_place(%address: i64, %context: !llvm.ptr) -> i64 attributes {{llvm.no_inline}} {{
    {_GROUP}
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %bytes_at = llvm.getelementptr %group[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %bytes = llvm.load %bytes_at : !llvm.ptr -> i64
    %count_at = llvm.getelementptr %group[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %count = llvm.load %count_at : !llvm.ptr -> i64
    %own = llvm.load %context : !llvm.ptr -> i64
    %found = scf.for %member = %zero to %count step %one iter_args(%so_far = %address) -> (i64) : i64 {{
      %start = func.call @tle.scratch_of(%member, %context) : (i64, !llvm.ptr) -> i64
      %offset = arith.subi %address, %start : i64
      %inside = arith.cmpi ult, %offset, %bytes : i64
      %here = arith.addi %own, %offset : i64
      %next = arith.select %inside, %here, %so_far : i64
      scf.yield %next : i64
    }}
    return %found : i64
}}
func.func private @tle.barrier_signal(%barrier: !llvm.ptr, %stamps: !llvm.ptr, %arrivals: i32, %bytes: i32,
                                      %context: !llvm.ptr) attributes {{llvm.no_inline}} {{
    {_GROUP}
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %first = llvm.load %barrier atomic acquire {{alignment = 8 : i64}} : !llvm.ptr -> i64
    %last:2 = scf.while (%word = %first) : (i64) -> (i64, i1) {{
      %next, %complete = func.call @tle.barrier_next(%word, %arrivals, %bytes) : (i64, i32, i32) -> (i64, i1)
      %pair = llvm.cmpxchg %barrier, %word, %next acq_rel acquire : !llvm.ptr, i64
      %seen = llvm.extractvalue %pair[0] : !llvm.struct<(i64, i1)>
      %done = llvm.extractvalue %pair[1] : !llvm.struct<(i64, i1)>
      %true = arith.constant true
      %again = arith.xori %done, %true : i1
      scf.condition(%again) %seen, %complete : i64, i1
    }} do {{
    ^bb0(%seen: i64, %unused: i1):
      scf.yield %seen : i64
    }}
    %number = llvm.ptrtoint %stamps : !llvm.ptr to i64
    %stamped = arith.cmpi ne, %number, %zero : i64
    %counts = arith.andi %stamped, %last#1 : i1
    scf.if %counts {{
      %completed_at = llvm.getelementptr %stamps[6] : (!llvm.ptr) -> !llvm.ptr, i64
      %before = llvm.atomicrmw add %completed_at, %one acq_rel : !llvm.ptr, i64
    }}
    %signals = llvm.atomicrmw add %group, %one acq_rel : !llvm.ptr, i64
    return
}}
func.func private @tle.barrier_next(%word: i64, %arrivals: i32, %bytes: i32) -> (i64, i1) {{
  %zero = arith.constant 0 : i64
  %all_bytes_bits = arith.constant 0x7fffff : i64
  %all_count_bits = arith.constant 0xfffff : i64
  %pending_at = arith.constant 23 : i64
  %count_at = arith.constant 43 : i64
  %top = arith.constant 0x8000000000000000 : i64
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
  %flipped = arith.xori %kept, %top : i64
  %count = arith.andi %shifted, %all_count_bits : i64
  %again = arith.shli %count, %pending_at : i64
  %next_phase = arith.ori %flipped, %again : i64
  %pending = arith.shli %left, %pending_at : i64
  %counts = arith.ori %kept, %pending : i64
  %same_phase = arith.ori %counts, %missing : i64
  %next = arith.select %complete, %next_phase, %same_phase : i64
  return %next, %complete : i64, i1
}}
func.func private @tle.phase_wait(%barrier: !llvm.ptr, %phase: i32, %asked: i1, %code: i64, %context: !llvm.ptr)
                                  attributes {{llvm.no_inline}} {{
  scf.if %asked {{
    %one = arith.constant 1 : i64
    %true = arith.constant true
    %above = arith.constant 63 : i64
    %wide = arith.extui %phase : i32 to i64
    %wanted = arith.andi %wide, %one : i64
    %number = llvm.ptrtoint %barrier : !llvm.ptr to i64
    scf.while : () -> () {{
      %word = llvm.load %barrier atomic acquire {{alignment = 8 : i64}} : !llvm.ptr -> i64
      %runs = arith.shrui %word, %above : i64
      %waits = arith.cmpi eq, %runs, %wanted : i64
      %again = scf.if %waits -> i1 {{
        %what = arith.constant {PHASE} : i32
        %over = func.call @tle.meet(%what, %code, %number, %context) : (i32, i64, i64, !llvm.ptr) -> i1
        %goes_on = arith.xori %over, %true : i1
        scf.yield %goes_on : i1
      }} else {{
        %false = arith.constant false
        scf.yield %false : i1
      }}
      scf.condition(%again)
    }} do {{
      scf.yield
    }}
  }}
  return
}}
"""
