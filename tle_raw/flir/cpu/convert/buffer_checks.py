"""Under ``knobs.debug``: a stamp for each byte of a shared buffer, which tells who wrote it last and if that is over.

Copies are done when they are issued. That they were under way on a GPU is seen by their stamps, i64:

============== =======================================================================================================
0              not written
1              written
2 + n          a copy of group n writes it; over when the program has waited for the group
2^31 + n       the n-th copy out of the buffer reads it; over when the program has waited for that
above 2^32     a copy writes it that a barrier counts: the address of the barrier's stamps, then 16 bits, the number of
               its phase; over when the program has waited for that phase
============== =======================================================================================================
"""

from __future__ import annotations

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.convert import build, tiles
from tle_raw.flir.cpu.convert.kernel import Kernel
from tle_raw.flir.cpu.convert.shared_buffers import SharedBuffer
from tle_raw.flir.cpu.convert.tiles import Index
from tle_raw.flir.cpu.mlir_values import Operation, Value

WRITTEN, FIRST_GROUP, FIRST_READER = 1, 2, 1 << 31
GROUPS, LANDED_GROUPS, READERS, DONE_READERS = range(4)  # of the program, counted since it began
_PHASES = 6  # the stamp of a barrier's byte that holds how many of its phases were completed


def forget(kernel: Kernel, buffer: SharedBuffer) -> None:
    """Nothing of the buffer is written any more."""
    if buffer.stamps is not None:
        _stamp_all(kernel, buffer, build.constant(0, "i64"))


def made_barrier(kernel: Kernel, barrier: SharedBuffer) -> None:
    """The buffer is a barrier from now on."""
    _stamp_barrier(barrier, WRITTEN)


def unmade_barrier(kernel: Kernel, barrier: SharedBuffer) -> None:
    """It is none any more. Its phases stay counted: buffers hold what copies brought that it counted."""
    _stamp_barrier(barrier, 0)


def element_stamps(buffer: SharedBuffer, index: Index) -> tuple[Value, Value]:
    """Where an element's stamps are, and its number in the buffer."""
    offset, place = tiles.as_values((buffer.offset(index), tiles.position(index, buffer.shape)))
    form = f"!llvm.array<{buffer.item_bytes} x i64>"
    assert buffer.stamps is not None
    return build.address(buffer.stamps, build.cast_integer(offset, "i64"), form), build.cast_integer(place, "i64")


def _stamp_barrier(barrier: SharedBuffer, stamp: int) -> None:
    if barrier.stamps is not None:
        for byte in range(_PHASES):
            build.store(build.constant(stamp, "i64"), build.address(barrier.stamps, byte, "i64"))


def barrier_stamps(kernel: Kernel, op: Operation, barrier: SharedBuffer) -> Value:
    """The stamps of a barrier that is used, or a null pointer; it must have been initialised."""
    if barrier.stamps is None:
        return build.value("llvm.mlir.zero", [], "!llvm.ptr")
    code = kernel.check("buffer", f"{barrier.title} is used as a barrier before it was made one", op.location)
    kernel.helpers.add(FUNCTIONS)
    numbers = [build.constant(number, "i64") for number in (4, 0, code, code)]
    build.call("tle.stamps_read", [barrier.stamps, *numbers, *_places(kernel)])
    return barrier.stamps


def waited_in_region(kernel: Kernel, barrier: SharedBuffer) -> None:
    """A region gets the barrier. What it does there is not known: it is taken to wait for all copies so far."""
    if barrier.stamps is None:
        return
    completed, seen = (build.address(barrier.stamps, byte, "i64") for byte in (_PHASES, _PHASES + 1))
    more = build.binary("addi", build.load(completed, "i64"), build.constant(1, "i64"))
    build.store(more, completed)
    build.store(more, seen)


def given_to_region(kernel: Kernel, buffer: SharedBuffer) -> None:
    """A region gets the buffer itself: it is taken to write all of it."""
    if buffer.stamps is not None:
        _stamp_all(kernel, buffer, build.constant(WRITTEN, "i64"))


def read(kernel: Kernel, op: Operation, buffer: SharedBuffer, index: Index) -> None:
    """An element is read: it was written, and no copy into it is under way."""
    if buffer.stamps is not None:
        read_at(kernel, op, buffer, *element_stamps(buffer, index))


def read_at(kernel: Kernel, op: Operation, buffer: SharedBuffer, at: Value, place: Value) -> None:
    """The same by its stamps and its number in the buffer."""
    details = {"details": ("element",)}
    unwritten = kernel.check("buffer", f"{buffer.title} is read before it was written", op.location, **details)
    copied = kernel.check("buffer", f"{buffer.title} is read while a copy into it is under way", op.location, **details)
    kernel.helpers.add(FUNCTIONS)
    numbers = [build.constant(buffer.item_bytes, "i64"), place, *_codes(unwritten, copied)]
    build.call("tle.stamps_read", [at, *numbers, *_places(kernel)])


def write(kernel: Kernel, op: Operation, buffer: SharedBuffer, index: Index, stamp: Value | None = None) -> None:
    """An element is written: no copy of it is under way. ``stamp`` is of a copy that this begins."""
    if buffer.stamps is not None:
        write_at(kernel, op, buffer, *element_stamps(buffer, index), stamp)


def write_at(
    kernel: Kernel, op: Operation, buffer: SharedBuffer, at: Value, place: Value, stamp: Value | None = None
) -> None:
    """The same by its stamps and its number in the buffer."""
    code = kernel.check(
        "buffer", f"{buffer.title} is written while a copy is under way", op.location, details=("element",)
    )
    kernel.helpers.add(FUNCTIONS)
    stamp = build.constant(WRITTEN, "i64") if stamp is None else stamp
    numbers = [build.constant(buffer.item_bytes, "i64"), place, stamp, *_codes(code)]
    build.call("tle.stamps_write", [at, *numbers, *_places(kernel)])


def group_stamp(kernel: Kernel, buffer: SharedBuffer) -> Value | None:
    """Of a copy in the group that is open."""
    if buffer.stamps is None:
        return None
    return build.binary("addi", _count(kernel, GROUPS), build.constant(FIRST_GROUP, "i64"))


def phase_stamp(kernel: Kernel, buffer: SharedBuffer, barrier: SharedBuffer) -> Value | None:
    """Of a copy that the running phase of a barrier counts."""
    if buffer.stamps is None or barrier.stamps is None:
        return None
    phase = build.load(build.address(barrier.stamps, _PHASES, "i64"), "i64")
    address = build.value("llvm.ptrtoint", [barrier.stamps], "i64")
    low = build.binary("andi", phase, build.constant(0xFFFF, "i64"))
    return build.binary("ori", build.binary("shli", address, build.constant(16, "i64")), low)


def reading_copy(kernel: Kernel, buffer: SharedBuffer) -> None:
    """A copy out of the buffer begins, which was read."""
    if buffer.stamps is None:
        return
    number = _count(kernel, READERS)
    _stamp_all(kernel, buffer, build.binary("addi", number, build.constant(FIRST_READER, "i64")))
    _set(kernel, READERS, build.binary("addi", number, build.constant(1, "i64")))


def commit_group(kernel: Kernel) -> None:
    if kernel.debug:
        _set(kernel, GROUPS, build.binary("addi", _count(kernel, GROUPS), build.constant(1, "i64")))


def wait_groups(kernel: Kernel, pending: int) -> None:
    """All groups but the last ``pending`` are done."""
    _land(kernel, GROUPS, LANDED_GROUPS, pending)


def wait_readers(kernel: Kernel, pending: int) -> None:
    """All copies out of buffers but the last ``pending`` are done."""
    _land(kernel, READERS, DONE_READERS, pending)


def _land(kernel: Kernel, begun: int, done: int, pending: int) -> None:
    if kernel.debug:
        all_but = build.binary("subi", _count(kernel, begun), build.constant(pending, "i64"))
        _set(kernel, done, build.binary("maxsi", _count(kernel, done), all_but))


def counters(kernel: Kernel) -> Value:
    """The program's counts, zero when it begins."""
    if kernel.copy_counts is None:
        counts = kernel.copy_counts = kernel.stack("!llvm.array<4 x i64>")
        with mlir().InsertionPoint.after(counts.owner):
            for number in range(4):
                build.store(build.constant(0, "i64"), build.address(counts, number, "i64"))
    counters: Value = kernel.copy_counts
    return counters


def _count(kernel: Kernel, number: int) -> Value:
    count: Value = build.load(build.address(counters(kernel), number, "i64"), "i64")
    return count


def _set(kernel: Kernel, number: int, count: Value) -> None:
    build.store(count, build.address(counters(kernel), number, "i64"))


def _stamp_all(kernel: Kernel, buffer: SharedBuffer, stamp: Value) -> None:
    def element(body: tiles.ScalarBody, index: Index) -> None:
        at, _ = element_stamps(buffer, index)
        for byte in range(buffer.item_bytes):
            build.store(stamp, build.address(at, byte, "i64"))

    kernel.for_each(buffer.shape, element)


def _codes(*codes: int) -> list[Value]:
    return [build.constant(code, "i64") for code in codes]


def _places(kernel: Kernel) -> list[Value]:
    return [counters(kernel), *kernel.program, kernel.context]


FUNCTIONS = """
func.func private @tle.is_under_way(%stamp: i64, %counts: !llvm.ptr) -> i1 attributes {llvm.no_inline} {
  %false = arith.constant false
  %true = arith.constant true
  %two = arith.constant 2 : i64
  %sixteen = arith.constant 16 : i64
  %low16 = arith.constant 0xffff : i64
  %zero = arith.constant 0 : i64
  %first_reader = arith.constant 0x80000000 : i64
  %first_address = arith.constant 0x100000000 : i64
  %is_plain = arith.cmpi ult, %stamp, %two : i64
  %is_group = arith.cmpi ult, %stamp, %first_reader : i64
  %is_reader = arith.cmpi ult, %stamp, %first_address : i64
  %result = scf.if %is_plain -> i1 {
    scf.yield %false : i1
  } else {
    %of_copy = scf.if %is_group -> i1 {
      %group = arith.subi %stamp, %two : i64
      %landed_at = llvm.getelementptr %counts[1] : (!llvm.ptr) -> !llvm.ptr, i64
      %landed = llvm.load %landed_at : !llvm.ptr -> i64
      %late = arith.cmpi sge, %group, %landed : i64
      scf.yield %late : i1
    } else {
      %of_reader = scf.if %is_reader -> i1 {
        %reader = arith.subi %stamp, %first_reader : i64
        %done_at = llvm.getelementptr %counts[3] : (!llvm.ptr) -> !llvm.ptr, i64
        %done = llvm.load %done_at : !llvm.ptr -> i64
        %late = arith.cmpi sge, %reader, %done : i64
        scf.yield %late : i1
      } else {
        %number = arith.shrui %stamp, %sixteen : i64
        %barrier = llvm.inttoptr %number : i64 to !llvm.ptr
        %seen_at = llvm.getelementptr %barrier[7] : (!llvm.ptr) -> !llvm.ptr, i64
        %seen = llvm.load %seen_at : !llvm.ptr -> i64
        %phase = arith.andi %stamp, %low16 : i64
        %difference = arith.subi %seen, %phase : i64
        %low = arith.andi %difference, %low16 : i64
        %half = arith.constant 0x8000 : i64
        %none = arith.cmpi eq, %low, %zero : i64
        %behind = arith.cmpi uge, %low, %half : i64
        %late = arith.ori %none, %behind : i1
        scf.yield %late : i1
      }
      scf.yield %of_reader : i1
    }
    scf.yield %of_copy : i1
  }
  return %result : i1
}
func.func private @tle.stamps_read(%stamps: !llvm.ptr, %size: i64, %element: i64, %unwritten: i64, %copied: i64,
                                   %counts: !llvm.ptr, %x: i32, %y: i32, %z: i32, %context: !llvm.ptr)
                                   attributes {llvm.no_inline} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %first_reader = arith.constant 0x80000000 : i64
  %first_address = arith.constant 0x100000000 : i64
  scf.for %byte = %zero to %size step %one : i64 {
    %at = llvm.getelementptr %stamps[%byte] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %stamp = llvm.load %at : !llvm.ptr -> i64
    %nobody = arith.cmpi eq, %stamp, %zero : i64
    scf.if %nobody {
      func.call @tle.fail(%unwritten, %x, %y, %z, %element, %zero, %zero, %zero, %context)
        : (i64, i32, i32, i32, i64, i64, i64, i64, !llvm.ptr) -> ()
    }
    %under_way = func.call @tle.is_under_way(%stamp, %counts) : (i64, !llvm.ptr) -> i1
    %after = arith.cmpi uge, %stamp, %first_reader : i64
    %before = arith.cmpi ult, %stamp, %first_address : i64
    %reads = arith.andi %after, %before : i1
    %true = arith.constant true
    %writes = arith.xori %reads, %true : i1
    %bad = arith.andi %under_way, %writes : i1
    scf.if %bad {
      func.call @tle.fail(%copied, %x, %y, %z, %element, %zero, %zero, %zero, %context)
        : (i64, i32, i32, i32, i64, i64, i64, i64, !llvm.ptr) -> ()
    }
  }
  return
}
func.func private @tle.stamps_write(%stamps: !llvm.ptr, %size: i64, %element: i64, %new: i64, %code: i64,
                                    %counts: !llvm.ptr, %x: i32, %y: i32, %z: i32, %context: !llvm.ptr)
                                    attributes {llvm.no_inline} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for %byte = %zero to %size step %one : i64 {
    %at = llvm.getelementptr %stamps[%byte] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %stamp = llvm.load %at : !llvm.ptr -> i64
    %under_way = func.call @tle.is_under_way(%stamp, %counts) : (i64, !llvm.ptr) -> i1
    scf.if %under_way {
      func.call @tle.fail(%code, %x, %y, %z, %element, %zero, %zero, %zero, %context)
        : (i64, i32, i32, i32, i64, i64, i64, i64, !llvm.ptr) -> ()
    }
    llvm.store %new, %at : i64, !llvm.ptr
  }
  return
}
"""
