"""Under ``knobs.debug``: reading a local buffer of a DSA as a whole, of which a part alone may have been written.

A copy of run-time sizes writes the first rows and columns of a buffer, arithmetic takes all of it, and a copy back
leaves the rest out. What nobody wrote is read as poison: NaN of floats, of integers the smallest. Only a buffer of
which nobody wrote anything is an error, as is the read of one element that nobody wrote.
"""

from __future__ import annotations

from typing import Any

from tle_raw.flir.cpu.convert import buffer_checks, build, types
from tle_raw.flir.cpu.convert.kernel import Kernel
from tle_raw.flir.cpu.convert.memory import Load
from tle_raw.flir.cpu.convert.shared_buffers import SharedBuffer
from tle_raw.flir.cpu.convert.tiles import Index, ScalarBody
from tle_raw.flir.cpu.mlir_values import Operation, Type, Value

POISON = "tle.poison"  # the attribute of a load that says so
_SMALL_NAN = -1  # all bits, in every format of eight


class PoisonedLoad(Load):
    """The elements of a buffer, and poison where nobody wrote."""

    from_user = False

    def __init__(self, kernel: Kernel, op: Operation, buffer: SharedBuffer) -> None:
        super().__init__(kernel, op, buffer.shape, buffer.element, buffer.pointers(), None, None)
        self.buffer = buffer
        with op.location:
            _check_any(kernel, op, buffer)

    def compute(self, body: ScalarBody, index: Index) -> Any:
        address, stored = body.element(self.pointer, index), types.in_memory(self.element)
        with self.op.location:
            stamp = build.load(buffer_checks.element_stamps(self.buffer, index)[0], "i64")
            unwritten = build.compare("eq", stamp, build.constant(0, "i64"))
            choice = build.create("scf.if", [unwritten], [stored], regions=2)
            with build.block(choice.regions[0]):
                build.create("scf.yield", [_poison(self.element, stored)])
            with build.block(choice.regions[1]):
                buffer_checks.read(self.kernel, self.op, self.buffer, index)
                build.create("scf.yield", [build.load(address.pointer(), stored)])
            return types.from_memory(choice.results[0], self.element)


def _poison(element: Type, stored: Type) -> Value:
    if build.is_float(stored):
        return build.constant(float("nan"), stored)
    is_small = types.is_small_float(element)
    return build.constant(_SMALL_NAN if is_small else -(1 << (build.bits(stored) - 1)), stored)


def _check_any(kernel: Kernel, op: Operation, buffer: SharedBuffer) -> None:
    """Somebody wrote something of the buffer, whose elements lie behind each other."""
    code = kernel.check("buffer", f"{buffer.title} is read before any of it was written", op.location)
    kernel.helpers.add(_FUNCTION)
    numbers = [build.constant(buffer.bytes, "i64"), build.constant(code, "i64")]
    build.call("tle.stamps_any", [buffer.stamps, *numbers, *kernel.program, kernel.context])


_FUNCTION = """
func.func private @tle.stamps_any(%stamps: !llvm.ptr, %size: i64, %code: i64, %x: i32, %y: i32, %z: i32,
                                  %context: !llvm.ptr) attributes {llvm.no_inline} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %all = scf.for %byte = %zero to %size step %one iter_args(%sum = %zero) -> i64 : i64 {
    %at = llvm.getelementptr %stamps[%byte] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %stamp = llvm.load %at : !llvm.ptr -> i64
    %next = arith.ori %sum, %stamp : i64
    scf.yield %next : i64
  }
  %nobody = arith.cmpi eq, %all, %zero : i64
  scf.if %nobody {
    func.call @tle.fail(%code, %x, %y, %z, %zero, %zero, %zero, %zero, %context)
      : (i64, i32, i32, i32, i64, i64, i64, i64, !llvm.ptr) -> ()
  }
  return
}
"""
