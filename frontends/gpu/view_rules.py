"""Which parts a layout can be cut into, and the shape of a buffer in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.errors import Row, ShapeError, SharedBufferError
from tle_raw.frontends.gpu.buffered_tensor import BufferType
from tle_raw.frontends.gpu.layouts.nv_mma import nv_mma_shared_layout
from tle_raw.frontends.gpu.layouts.padded import padded_shared_layout
from tle_raw.frontends.gpu.layouts.shared_layout import memory_bits
from tle_raw.frontends.gpu.layouts.swizzled import swizzled_shared_layout
from tle_raw.frontends.gpu.layouts.tensor_memory import tensor_memory_layout


def memory_shape(shape: Sequence[int], rank: int) -> tuple[int, ...]:
    """The next powers of two of the last ``rank`` dims, which a layout orders; slots before them may be any number."""
    slots = len(shape) - rank
    return tuple(dim if axis < slots else next_power(dim) for axis, dim in enumerate(shape))


def next_power(number: int) -> int:
    """The smallest power of two that is no smaller."""
    return 1 << (number - 1).bit_length()


def check_part(type_: BufferType, axis: int, start: int, length: int) -> None:
    """Whether the layout can be cut along an axis.

    Raises
    ------
    ShapeError : the part lies beyond the buffer, or begins where none can begin.
    SharedBufferError : the axis counts slots, or the layout cannot be cut at all.
    """
    if type_.has_slots:
        raise SharedBufferError(
            "tle.gpu.subslice: the buffer's first axis counts slots", hint="take one with .slot(i) first"
        )
    dim = type_.shape[axis]
    if length < 1 or start < 0 or start + length > dim:
        raise ShapeError(
            "tle.gpu.subslice: the part lies beyond the buffer",
            table=[Row("start, start + length", f"within 0 to {dim}", f"{start}, {start + length}")],
        )
    if length & (length - 1) or start % length:
        raise ShapeError(
            "tle.gpu.subslice: a part's length is a power of two, and it begins at a multiple of it",
            table=[Row("start, length", f"e.g. 0, {next_power(length)}", f"{start}, {length}")],
        )
    smallest = smallest_parts(type_)[axis]
    if smallest > length < type_.memory[axis]:
        raise ShapeError(
            "tle.gpu.subslice: the elements of the layout change places within a larger part",
            table=[Row("length", f"at least {smallest}", str(length))],
            hint="allocate the buffer with nv_mma_shared_layout=False",
        )


def smallest_parts(type_: BufferType) -> list[int]:
    """By axis, into which its layout can be cut. Raises SharedBufferError of a layout that cannot be cut at all."""
    layout: Any = type_.layout
    sizes = [1] * len(type_.memory)
    if isinstance(layout, nv_mma_shared_layout) and layout.swizzle:
        row, column = (1, 0) if layout.transposed else (0, 1)
        sizes[row] = 8
        sizes[column] = layout.swizzle * 8 // memory_bits(type_.dtype)
    elif isinstance(layout, nv_mma_shared_layout):
        sizes = [8] * len(sizes)
    elif isinstance(layout, swizzled_shared_layout) and layout.maxPhase > 1:
        sizes[layout.order[0]] = layout.vectorSize * layout.maxPhase
        sizes[layout.order[1]] = layout.perPhase * layout.maxPhase
    elif isinstance(layout, tensor_memory_layout):
        sizes = [layout.blockM, 8]
    elif isinstance(layout, padded_shared_layout):
        raise SharedBufferError("tle.gpu.subslice: a padded layout is not cut into parts")
    return sizes
