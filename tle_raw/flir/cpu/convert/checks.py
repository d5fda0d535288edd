"""Checks that a kernel does at run time, and reports to the launcher."""

from __future__ import annotations

from tle_raw.flir.cpu.convert import access_log, build, types
from tle_raw.flir.cpu.convert.kernel import Kernel
from tle_raw.flir.cpu.mlir_values import Operation, Value


def guarded(kernel: Kernel, op: Operation, address: types.Address, mask: Value | None, access: str) -> Value | None:
    """The mask of an access; under ``knobs.debug`` without the elements outside of every argument's memory."""
    if not kernel.debug:
        return mask
    if kernel.guard is not None:
        inside: Value = kernel.guard.mask(op, address, mask, access)
    else:
        inside = in_arguments(kernel, op, address, mask, access)
    access_log.note(kernel, op, address, inside, access)
    return inside


def in_arguments(kernel: Kernel, op: Operation, address: types.Address, mask: Value | None, access: str) -> Value:
    """The mask without the elements outside of every argument's memory."""
    size = build.bits(address.element) // 8
    code = kernel.check("memory", f"{access} outside of the memory of every argument", op.location, bytes=size)
    mask = mask if mask is not None else build.constant(True, "i1")
    arguments = [address.integer(), build.constant(size, "i64"), mask, build.constant(code, "i64")]
    return build.call("tle.inside", [*arguments, *kernel.program, kernel.context], ["i1"])[0]


def fail(kernel: Kernel, code: int, condition: Value, details: tuple[Value, ...] = ()) -> None:
    """Write the status record where ``condition`` holds and nothing was written before."""
    with build.when(condition):
        details = (*details, *(build.constant(0, "i64") for _ in range(4 - len(details))))
        build.call("tle.fail", [build.constant(code, "i64"), *kernel.program, *details, kernel.context])


# The first failure of a worker stays. `inside` walks over the ranges, of which a kernel has a handful.
_DETAILS = [("%x64", 1), ("%y64", 2), ("%z64", 3), ("%a", 4), ("%b", 5), ("%c", 6), ("%d", 7)]
_STORES = "".join(
    f"""    %p{word} = llvm.getelementptr %record[{word}] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store {value}, %p{word} : i64, !llvm.ptr
"""
    for value, word in _DETAILS
)
FUNCTIONS = f"""
func.func private @tle.fail(%code: i64, %x: i32, %y: i32, %z: i32, %a: i64, %b: i64, %c: i64, %d: i64,
                            %context: !llvm.ptr) attributes {{llvm.no_inline}} {{
  %field = llvm.getelementptr %context[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %record = llvm.load %field : !llvm.ptr -> !llvm.ptr
  %old = llvm.load %record : !llvm.ptr -> i64
  %zero = arith.constant 0 : i64
  %free = arith.cmpi eq, %old, %zero : i64
  scf.if %free {{
    llvm.store %code, %record : i64, !llvm.ptr
    %x64 = arith.extui %x : i32 to i64
    %y64 = arith.extui %y : i32 to i64
    %z64 = arith.extui %z : i32 to i64
{_STORES}  }}
  return
}}
"""
INSIDE = """
func.func private @tle.inside(%address: i64, %size: i64, %mask: i1, %code: i64, %x: i32, %y: i32, %z: i32,
                              %context: !llvm.ptr) -> i1 attributes {llvm.no_inline} {
  %false = arith.constant false
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %end = arith.addi %address, %size : i64
  %good = scf.if %mask -> i1 {
    %field = llvm.getelementptr %context[4] : (!llvm.ptr) -> !llvm.ptr, i64
    %table = llvm.load %field : !llvm.ptr -> !llvm.ptr
    %count = llvm.load %table : !llvm.ptr -> i64
    %found = scf.for %i = %zero to %count step %one iter_args(%so_far = %false) -> (i1) : i64 {
      %twice = arith.muli %i, %two : i64
      %at = arith.addi %twice, %one : i64
      %p = llvm.getelementptr %table[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %start = llvm.load %p : !llvm.ptr -> i64
      %q = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, i64
      %stop = llvm.load %q : !llvm.ptr -> i64
      %above = arith.cmpi uge, %address, %start : i64
      %below = arith.cmpi ule, %end, %stop : i64
      %in = arith.andi %above, %below : i1
      %any = arith.ori %in, %so_far : i1
      scf.yield %any : i1
    }
    %true = arith.constant true
    %outside = arith.xori %found, %true : i1
    scf.if %outside {
      func.call @tle.fail(%code, %x, %y, %z, %address, %zero, %zero, %zero, %context)
        : (i64, i32, i32, i32, i64, i64, i64, i64, !llvm.ptr) -> ()
    }
    scf.yield %found : i1
  } else {
    scf.yield %false : i1
  }
  return %good : i1
}
"""
