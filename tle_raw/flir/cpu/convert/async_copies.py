"""Asynchronous copies into shared buffers. They are done when they are issued; what waits for them finds them done."""

from __future__ import annotations

from tle_raw.flir.cpu.convert import buffer_checks, build
from tle_raw.flir.cpu.convert.buffer_access import write
from tle_raw.flir.cpu.convert.kernel import Kernel, converts
from tle_raw.flir.cpu.convert.memory import Load
from tle_raw.flir.cpu.convert.shared_buffers import buffer_of
from tle_raw.flir.cpu.mlir_values import Operation


@converts("ttg.async_copy_global_to_local")
def copy_in(kernel: Kernel, op: Operation) -> None:
    """What the mask leaves out becomes ``other``, or zero."""
    pointers, target, mask, other = build.segments(op, 4)
    buffer = buffer_of(kernel, target)
    mask_tile = kernel.tile(mask) if mask is not None else None
    other_tile = kernel.tile(other) if other is not None else None
    source = Load(kernel, op, buffer.shape, buffer.element, kernel.tile(pointers), mask_tile, other_tile)
    write(kernel, op, buffer, source, buffer_checks.group_stamp(kernel, buffer))
    _token(kernel, op)


@converts("ttg.async_commit_group")
def commit_group(kernel: Kernel, op: Operation) -> None:
    buffer_checks.commit_group(kernel)
    _token(kernel, op)


@converts("ttg.async_wait")
def wait_group(kernel: Kernel, op: Operation) -> None:
    buffer_checks.wait_groups(kernel, int(op.attributes["num"].value))
    _token(kernel, op)


@converts("ttng.async_tma_store_wait")
def store_wait(kernel: Kernel, op: Operation) -> None:
    """Wait for copies out of buffers."""
    buffer_checks.wait_readers(kernel, int(op.attributes["pendings"].value))


def _token(kernel: Kernel, op: Operation) -> None:
    """Triton orders copies by tokens; here the text's order holds."""
    for result in op.results:
        kernel.values[result] = build.constant(False, "i1")


@converts("ttng.fence_async_shared")
def fence(kernel: Kernel, op: Operation) -> None:
    """One thread runs a program: it sees what it wrote."""
