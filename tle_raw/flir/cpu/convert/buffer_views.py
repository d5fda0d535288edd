"""Views of shared buffers: the same memory under other indices. They cost no memory access."""

from __future__ import annotations

from tle_raw.errors import LoweringError
from tle_raw.flir.cpu.convert import build, types
from tle_raw.flir.cpu.convert.kernel import Kernel, converts
from tle_raw.flir.cpu.convert.shared_buffers import SharedBuffer, buffer_of, element_of, row_major, shape_of
from tle_raw.flir.cpu.convert.told import TOLD, is_asked
from tle_raw.flir.cpu.mlir_values import Operation


@converts("ttg.memdesc_index")
def index(kernel: Kernel, op: Operation) -> None:
    buffer, number = op.operands
    source = buffer_of(kernel, buffer)
    if TOLD in op.attributes:  # the first word of all
        kernel.values[op.results[0]] = source
        return
    wide = build.cast_integer(kernel.scalar(number), "i64")
    offset = build.binary("muli", wide, build.constant(source.strides[0], "i64"))
    kernel.values[op.results[0]] = source.view(source.shape[1:], source.strides[1:], offset)


@converts("ttg.memdesc_subslice")
def subslice(kernel: Kernel, op: Operation) -> None:
    source = buffer_of(kernel, op.operands[0])
    offset = sum(int(at) * stride for at, stride in zip(op.attributes["offsets"], source.strides))
    kernel.values[op.results[0]] = source.view(shape_of(op.results[0].type), source.strides, offset)


@converts("ttg.memdesc_trans")
def trans(kernel: Kernel, op: Operation) -> None:
    source = buffer_of(kernel, op.operands[0])
    order = [int(axis) for axis in op.attributes["order"]]
    shape, strides = ([of[axis] for axis in order] for of in (source.shape, source.strides))
    kernel.values[op.results[0]] = source.view(shape, strides)


@converts("ttg.memdesc_reshape")
def reshape(kernel: Kernel, op: Operation) -> None:
    source, shape = buffer_of(kernel, op.operands[0]), shape_of(op.results[0].type)
    strides = _reshaped(source, shape)
    if strides is None:
        raise LoweringError(
            f"a buffer of shape {list(source.shape)} whose elements lie {list(source.strides)} elements apart "
            f"has no view of shape {list(shape)}"
        )
    kernel.values[op.results[0]] = source.view(shape, strides)


def _reshaped(source: SharedBuffer, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides under another shape; None where rows that would be joined do not lie behind each other."""
    old = [(size, stride) for size, stride in zip(source.shape, source.strides) if size > 1]
    strides: list[int] = []
    for size in reversed(shape):
        if size == 1:
            strides.append(strides[-1] if strides else 1)
            continue
        if not old:
            return None
        have, stride = old.pop()
        strides.append(stride)
        while have % size and old and old[-1][1] == have * stride:
            have *= old.pop()[0]
        while have < size and old and old[-1][1] == have * stride:
            have *= old.pop()[0]
        if have % size:
            return None
        if have > size:
            old.append((have // size, stride * size))
    return tuple(reversed(strides))


@converts("ttg.memdesc_reinterpret")
def reinterpret(kernel: Kernel, op: Operation) -> None:
    """The same bytes as elements of another type or shape: of rows that lie behind each other."""
    source, type_ = buffer_of(kernel, op.operands[0]), op.results[0].type
    if TOLD in op.attributes or is_asked(op):
        kernel.values[op.results[0]] = source
        return
    shape, element = shape_of(type_), element_of(type_)
    target = SharedBuffer(shape, row_major(shape), element, source.pointer, source.stamps, source.name)
    if not source.is_whole or target.bytes > source.bytes:
        raise LoweringError(
            f"a buffer of {source.bytes} bytes of {types.in_memory(source.element)}, shape {list(source.shape)}, "
            f"strides {list(source.strides)}, cannot be seen as {list(shape)} of {types.in_memory(element)}",
            hint="on CPUs a buffer lies in memory row by row: what is seen anew must be whole rows",
        )
    kernel.values[op.results[0]] = target
