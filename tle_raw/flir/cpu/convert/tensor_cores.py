"""Products of shared buffers and tensor memory: memory, and products that are done when they are issued.

Products of Hopper's kind (``wgmma``) come as ``tt.dot`` of two ``ttg.local_load``: see ``dot.py``.
"""

from __future__ import annotations

from tle_raw.flir.cpu.convert import build, mbarriers
from tle_raw.flir.cpu.convert.buffer_access import LocalLoad, write
from tle_raw.flir.cpu.convert.dot import accumulation_type, converted, matmul, operand
from tle_raw.flir.cpu.convert.kernel import Kernel, converts
from tle_raw.flir.cpu.convert.shared_buffers import buffer_of, shape_of
from tle_raw.flir.cpu.convert.tiles import Elementwise
from tle_raw.flir.cpu.mlir_values import Operation


@converts("ttng.warp_group_dot_wait")
def dot_wait(kernel: Kernel, op: Operation) -> None:
    for result, value in zip(op.results, op.operands):
        kernel.values[result] = kernel.values[value]


@converts("ttng.tmem_store")
def tmem_store(kernel: Kernel, op: Operation) -> None:
    target, *_, value, predicate = op.operands
    with build.when(kernel.scalar(predicate)):
        write(kernel, op, buffer_of(kernel, target), kernel.tile(value))
    _tokens(kernel, op)


@converts("ttng.tmem_subslice")
def tmem_subslice(kernel: Kernel, op: Operation) -> None:
    """Columns, unless Triton says which dim (3.9)."""
    source = buffer_of(kernel, op.operands[0])
    axis = int(op.attributes["dim"].value) if "dim" in op.attributes else len(source.shape) - 1
    start = int(op.attributes["offset" if "offset" in op.attributes else "N"].value)
    shape = shape_of(op.results[0].type)
    kernel.values[op.results[0]] = source.view(shape, source.strides, start * source.strides[axis])


@converts("ttng.tc_gen5_mma")
def mma(kernel: Kernel, op: Operation) -> None:
    """``d = a @ b``, plus what ``d`` held where the kernel says so; then the barriers are arrived at."""
    a, b, d, _, uses_d, predicate, barriers, predicates = build.segment_lists(op)
    buffers = [buffer_of(kernel, value[0]) for value in (a, b, d)]
    into, asked = buffers[2], kernel.scalar(predicate[0])
    element = accumulation_type(into.element)
    with build.when(asked):
        left, right, held = (LocalLoad(kernel, op, buffer) for buffer in buffers)
        accumulator = kernel.allocate(into.shape, element)
        kernel.fill(accumulator, Elementwise(into.shape, element, [], lambda: build.constant(0, element)))
        with build.when(kernel.scalar(uses_d[0])):
            kernel.fill(accumulator, converted(held, element))
        matmul(operand(kernel, left, element), operand(kernel, right, element), accumulator)
        write(kernel, op, into, converted(accumulator, into.element))
    for barrier, condition in zip(barriers, predicates):
        both = build.binary("andi", asked, kernel.scalar(condition))
        mbarriers.arrive(kernel, op, buffer_of(kernel, barrier), 1, 0, both)
    _tokens(kernel, op)


@converts("ttng.tc_gen5_commit")
def commit(kernel: Kernel, op: Operation) -> None:
    """The barrier is arrived at when all products so far are done, which they are."""
    barrier, *more = op.operands
    predicate = kernel.scalar(more[0]) if more and str(more[0].type) == "i1" else None
    mbarriers.arrive(kernel, op, buffer_of(kernel, barrier), 1, 0, predicate)


def _tokens(kernel: Kernel, op: Operation) -> None:
    for result in op.results:
        kernel.values[result] = build.constant(False, "i1")
