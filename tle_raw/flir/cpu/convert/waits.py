"""Loops that may wait for another program: each turn says whether memory had news, and asks whether to go on.

A loop waits when what it reads with atomics, or with volatile loads, decides how long it runs. Such a loop counts its
turns; now and then it asks the launch, which lets other programs begin, or ends the launch when nobody can go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tle_raw.flir.cpu.convert import build, turns, types
from tle_raw.flir.cpu.convert.kernel import Kernel
from tle_raw.flir.cpu.convert.memory_of_assembly import stores, uses_memory
from tle_raw.flir.cpu.mlir_values import Operation, Value
from tle_raw.regions import ports

_MESSAGE = "a loop waits for memory that no program of the launch changes"
_ATOMICS = ("tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_load", "tt.atomic_poll")


class Turns:
    """The turns of one loop. ``works`` says of a loop that it stores: each of its turns is news."""

    def __init__(self, kernel: Kernel, location: Any, works: bool) -> None:
        self.kernel, self.works = kernel, works
        self.code = kernel.check("standstill", _MESSAGE, location)
        # Turns, what is seen in this one, in the last one, news; the last place that was looked at, and what it held.
        self.record = kernel.stack("!llvm.array<6 x i64>")
        for field, value in enumerate((0, 0, 0, 1, 0, 0)):
            build.store(build.constant(value, "i64"), build.address(self.record, field, "i64"))
        kernel.may_wait = True

    def see(self, value: Value, address: Value | None) -> None:
        """A value that memory had: when none differs from the last turn's, the loop gets nowhere."""
        at, number = build.address(self.record, 1, "i64"), _as_number(value)
        seen = build.binary("muli", build.load(at, "i64"), build.constant(31, "i64"))
        build.store(build.binary("addi", seen, number), at)
        if address is not None:
            build.store(address, build.address(self.record, 4, "i64"))
            build.store(number, build.address(self.record, 5, "i64"))

    def are_over(self) -> Value:
        """At the end of a turn: whether the launch wants the loop to be left."""
        if self.kernel.partitions is not None:
            turns.let_others_run(self.kernel)
        numbers = [build.constant(self.works, "i1"), build.constant(self.code, "i64")]
        operands = [self.record, *numbers, *self.kernel.program, self.kernel.context]
        return build.call("tle.wait", operands, ["i1"])[0]


@contextmanager
def turns_of(kernel: Kernel, op: Operation) -> Iterator[Turns | None]:
    """The turns of a loop that may wait; None of another one."""
    inside = list(_inside(kernel, op))
    if not any(map(is_awaited, inside)):
        yield None
        return
    found = Turns(kernel, op.location, works=any(map(_is_work, inside)))
    kernel.turns.append(found)
    try:
        yield found
    finally:
        kernel.turns.pop()


def see(kernel: Kernel, value: Any, address: types.Address | None = None) -> None:
    """Tell every loop around what was found in memory, and where, unless a fragment has looked."""
    if kernel.turns and value is not None:
        at = address.integer() if address is not None else None
        for loop in kernel.turns:
            loop.see(types.plain(value), at)


def _inside(kernel: Kernel, op: Operation) -> Iterator[Any]:
    """The operations of a loop, with those of the functions that it calls."""
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                yield from _inside(kernel, view.operation)
    if op.name == "tt.call":
        yield from _inside(kernel, kernel.callee(op).owner)


def is_awaited(op: Operation) -> bool:
    """Whether an operation may find in memory what others have written in the meantime."""
    if op.name == "tt.load":
        return "isVolatile" in op.attributes and bool(op.attributes["isVolatile"].value)
    if op.name == "tt.elementwise_inline_asm":
        return uses_memory(op)
    return op.name in _ATOMICS or _is_region(op)


def _is_work(op: Operation) -> bool:
    """Whether an operation changes memory other than by an atomic, whose result tells."""
    if op.name == "tt.elementwise_inline_asm":
        return stores(op)
    return op.name == "tt.store" or (_is_region(op) and not any(True for _ in op.results[0].uses))


def _is_region(op: Operation) -> bool:
    if op.name != "tt.extern_elementwise":
        return False
    symbol = str(op.attributes["symbol"].value)
    return symbol == ports.CALL or (symbol == ports.ELEMENT and not op.attributes["pure"].value)


def _as_number(value: Value) -> Value:
    type_ = value.type
    if str(type_) == "!llvm.ptr":
        return build.value("llvm.ptrtoint", [value], "i64")
    if build.is_float(type_):
        value = build.value("arith.bitcast", [value], f"i{build.bits(type_)}")
    return build.cast_integer(value, "i64", signed=False)


# Fields of the context: 1 the status record, 5 the function that is asked, from 8 on what is waited for. Its answers:
# 0 go on, 1 the launch is over, 2 nobody can go on.
FUNCTION = """
func.func private @tle.wait(%record: !llvm.ptr, %works: i1, %code: i64, %x: i32, %y: i32, %z: i32,
                            %context: !llvm.ptr) -> i1 attributes {llvm.no_inline} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %true = arith.constant true
  %seen_at = llvm.getelementptr %record[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %last_at = llvm.getelementptr %record[2] : (!llvm.ptr) -> !llvm.ptr, i64
  %news_at = llvm.getelementptr %record[3] : (!llvm.ptr) -> !llvm.ptr, i64
  %before = llvm.load %record : !llvm.ptr -> i64
  %turns = arith.addi %before, %one : i64
  llvm.store %turns, %record : i64, !llvm.ptr
  %seen = llvm.load %seen_at : !llvm.ptr -> i64
  llvm.store %zero, %seen_at : i64, !llvm.ptr
  %last = llvm.load %last_at : !llvm.ptr -> i64
  llvm.store %seen, %last_at : i64, !llvm.ptr
  %differs = arith.cmpi ne, %seen, %last : i64
  %is_news = arith.ori %differs, %works : i1
  scf.if %is_news {
    llvm.store %one, %news_at : i64, !llvm.ptr
  }
  %status_at = llvm.getelementptr %context[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %status = llvm.load %status_at : !llvm.ptr -> !llvm.ptr
  %failed = llvm.load volatile %status : !llvm.ptr -> i64
  %is_over = arith.cmpi ne, %failed, %zero : i64
  %most = arith.constant 1023 : i64
  %rest = arith.andi %turns, %most : i64
  %is_due = arith.cmpi eq, %rest, %zero : i64
  %ask_at = llvm.getelementptr %context[5] : (!llvm.ptr) -> !llvm.ptr, i64
  %ask = llvm.load %ask_at : !llvm.ptr -> !llvm.ptr
  %ask_number = llvm.ptrtoint %ask : !llvm.ptr to i64
  %can_ask = arith.cmpi ne, %ask_number, %zero : i64
  %asks = arith.andi %is_due, %can_ask : i1
  %left = scf.if %asks -> i1 {
    %news = llvm.load %news_at : !llvm.ptr -> i64
    llvm.store %zero, %news_at : i64, !llvm.ptr
    %given = arith.trunci %news : i64 to i32
    %looked_at = llvm.getelementptr %record[4] : (!llvm.ptr) -> !llvm.ptr, i64
    %looked = llvm.load %looked_at : !llvm.ptr -> i64
    %found_at = llvm.getelementptr %record[5] : (!llvm.ptr) -> !llvm.ptr, i64
    %found = llvm.load %found_at : !llvm.ptr -> i64
    %check_field = llvm.getelementptr %context[8] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %code, %check_field : i64, !llvm.ptr
    %address_field = llvm.getelementptr %context[9] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %looked, %address_field : i64, !llvm.ptr
    %value_field = llvm.getelementptr %context[10] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %found, %value_field : i64, !llvm.ptr
    %answer = llvm.call %ask(%context, %given) : !llvm.ptr, (!llvm.ptr, i32) -> i32
    %go_on = arith.constant 0 : i32
    %standstill = arith.constant 2 : i32
    %stands = arith.cmpi eq, %answer, %standstill : i32
    scf.if %stands {
      func.call @tle.fail(%code, %x, %y, %z, %zero, %zero, %zero, %zero, %context)
        : (i64, i32, i32, i32, i64, i64, i64, i64, !llvm.ptr) -> ()
    }
    %leave = arith.cmpi ne, %answer, %go_on : i32
    scf.yield %leave : i1
  } else {
    scf.yield %is_over : i1
  }
  return %left : i1
}
"""
