"""The numbers that ``tle.gpu.local_ptr`` asks of a buffer: its address, and how far apart its elements lie.

A noted load of a word stands for each in Triton's IR (``frontends/gpu/operations.py``). From the address on, pointers
into buffers are pointers like any other: threads do not share what a program's buffer holds.
"""

from __future__ import annotations

from tle_raw.flir.cpu.convert import build
from tle_raw.flir.cpu.convert.kernel import Kernel
from tle_raw.flir.cpu.convert.shared_buffers import buffer_of
from tle_raw.flir.cpu.convert.tiles import Splat
from tle_raw.flir.cpu.convert.told import ADDRESS, TOLD
from tle_raw.flir.cpu.mlir_values import Operation


def tell(kernel: Kernel, op: Operation) -> None:
    """The number, as a tile of one element."""
    buffer, what = buffer_of(kernel, op.operands[0]), str(op.attributes[TOLD].value)
    if what == ADDRESS:
        number = build.value("llvm.ptrtoint", [buffer.pointer], "i64")
    else:
        number = build.constant(buffer.strides[int(what)], "i64")
    kernel.values[op.results[0]] = Splat((1,), build.type_of("i64"), number)
