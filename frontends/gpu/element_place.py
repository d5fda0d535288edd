"""Where the elements of a shared buffer lie: arithmetic on indices of a kernel, in elements from the first one.

The formulas are those of ``<tle_raw/buffer.h>``. They are written so that Triton's analysis of addresses sees what lies
side by side: ``x % 8`` beside a multiple of 8 is a run of eight.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from triton.language import core

from tle_raw.errors import LayoutError, Row
from tle_raw.frontends.gpu.buffered_tensor import BufferType
from tle_raw.frontends.gpu.layouts.nv_mma import nv_mma_shared_layout
from tle_raw.frontends.gpu.layouts.padded import padded_shared_layout
from tle_raw.frontends.gpu.layouts.shared_layout import memory_bits
from tle_raw.frontends.gpu.layouts.swizzled import swizzled_shared_layout
from tle_raw.triton_types import Semantic

_RUN = 16  # bytes that change places together in what tensor cores read
_SWIZZLE_ROWS = 128  # rows of fewer bytes than this share an order


class Arithmetic:
    """Of indices: block tensors and scalars without signs, and constants, of which nothing is left in the kernel."""

    def __init__(self, semantic: Semantic) -> None:
        self.semantic = semantic

    def index(self, value: Any) -> Any:
        """An index of the kernel's. It counts from zero: without its sign a division by a power of two is a shift."""
        return value if isinstance(value, int) else self.semantic.cast(value, core.uint32)

    def offset(self, value: Any) -> core.tensor:
        """As Triton adds it to a pointer."""
        return self.semantic.cast(self.semantic.to_tensor(value), core.int32)

    def add(self, a: Any, b: Any) -> Any:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if isinstance(a, int) and a == 0:
            return b
        return a if isinstance(b, int) and b == 0 else self.semantic.add(self._of(a), self._of(b), False)

    def multiply(self, a: Any, factor: int) -> Any:
        if isinstance(a, int) or factor == 1:
            return a if factor == 1 else a * factor
        return self.semantic.mul(a, self._of(factor), False)

    def divide(self, a: Any, divisor: int) -> Any:
        if isinstance(a, int) or divisor == 1:
            return a if divisor == 1 else a // divisor
        return self.semantic.floordiv(a, self._of(divisor))

    def rest(self, a: Any, divisor: int) -> Any:
        if isinstance(a, int) or divisor == 1:
            return 0 if divisor == 1 else a % divisor
        return self.semantic.mod(a, self._of(divisor))

    def either(self, a: Any, b: Any) -> Any:
        """The bits that are in one of the two alone."""
        if isinstance(a, int) and isinstance(b, int):
            return a ^ b
        return self.semantic.xor_(self._of(a), self._of(b))

    def _of(self, value: Any) -> Any:
        return self.semantic.full((), value, core.uint32) if isinstance(value, int) else value


def place_in_rows(strides: Sequence[int | core.tensor], indices: Sequence[Any], semantic: Semantic) -> core.tensor:
    """Of a buffer whose elements lie so many elements apart along each axis: on CPUs, where layouts mean nothing."""
    a = Arithmetic(semantic)
    total: Any = 0
    for index, stride in zip(indices, strides):
        if isinstance(stride, int):
            total = a.add(total, a.multiply(a.index(index), stride))
        else:
            factors = (semantic.cast(semantic.to_tensor(factor), core.uint32) for factor in (index, stride))
            total = a.add(total, semantic.mul(*factors, False))
    return a.offset(total)


def place_in_layout(type_: BufferType, indices: Sequence[Any], semantic: Semantic) -> core.tensor:
    """On GPUs.

    Raises
    ------
    LayoutError : a layout whose formula is not known here.
    """
    a = Arithmetic(semantic)
    values = [a.index(index) for index in indices]
    place = _in_layout(type_, values, a)
    return a.offset(a.add(a.multiply(values[0], slot_elements(type_)), place) if type_.has_slots else place)


def _in_layout(type_: BufferType, values: Sequence[Any], a: Arithmetic) -> Any:
    """Within a slot, where there are several."""
    layout = type_.layout
    dims, within = type_.whole[-layout.rank :], values[-layout.rank :]
    if isinstance(layout, swizzled_shared_layout):
        return _swizzled(layout, dims, within, a)
    if isinstance(layout, nv_mma_shared_layout) and (layout.rank == 2 or not layout.transposed):
        return _nv_mma(layout, dims, within, memory_bits(type_.dtype) // 8, a)
    if isinstance(layout, padded_shared_layout):
        return _padded(layout, dims, within, a)
    raise LayoutError(
        "tle.gpu.local_ptr: where the elements of this layout lie is not known",
        table=[Row("layout", "swizzled, padded, or what tensor cores read", layout.text)],
    )


def places_of_bits(type_: BufferType, semantic: Semantic) -> list[list[int]] | None:
    """Of each axis the places of the indices 1, 2, 4, ...; None of layouts whose other places are not their ``xor``."""
    if type_.has_slots or type_.is_part or not isinstance(type_.layout, (swizzled_shared_layout, nv_mma_shared_layout)):
        return None
    a, rank = Arithmetic(semantic), len(type_.shape)
    units = [[1 << bit for bit in range(dim.bit_length() - 1)] for dim in type_.memory]
    return [
        [_in_layout(type_, [unit if other == axis else 0 for other in range(rank)], a) for unit in units[axis]]
        for axis in range(rank)
    ]


def slot_elements(type_: BufferType) -> int:
    """How many elements lie between the beginnings of two slots."""
    return prod(type_.slot_memory)


def _swizzled(layout: swizzled_shared_layout, dims: Sequence[int], at: Sequence[Any], a: Arithmetic) -> Any:
    first, *others = layout.order
    place = at[first]
    if layout.maxPhase > 1:
        phase = a.rest(a.divide(at[others[0]], layout.perPhase), layout.maxPhase)
        run = a.either(a.divide(place, layout.vectorSize), phase)
        place = a.add(a.multiply(run, layout.vectorSize), a.rest(place, layout.vectorSize))
    stride = dims[first]
    for axis in others:
        place = a.add(place, a.multiply(at[axis], stride))
        stride *= dims[axis]
    return place


def _nv_mma(layout: nv_mma_shared_layout, dims: Sequence[int], at: Sequence[Any], bytes_: int, a: Arithmetic) -> Any:
    """Bands of columns, ``swizzle`` bytes wide, one behind the other, in which runs of 16 bytes change places."""
    if layout.transposed:
        dims, at = dims[::-1], at[::-1]
    *leading, columns = dims
    row, column = _linear(leading, at[:-1], a), at[-1]
    if not layout.swizzle:
        return a.add(a.multiply(row, columns), column)
    width = min(layout.swizzle // bytes_, columns)
    vector, orders, same = _RUN // bytes_, layout.swizzle // _RUN, _SWIZZLE_ROWS // layout.swizzle
    band, within = a.divide(column, width), a.rest(column, width)
    run = a.either(a.divide(within, vector), a.rest(a.divide(row, same), orders))
    lines = a.add(a.multiply(band, prod(leading)), row)
    return a.add(a.add(a.multiply(lines, width), a.multiply(run, vector)), a.rest(within, vector))


def _padded(layout: padded_shared_layout, dims: Sequence[int], at: Sequence[Any], a: Arithmetic) -> Any:
    order = layout.order[::-1]
    linear = _linear([dims[axis] for axis in order], [at[axis] for axis in order], a)
    place = linear
    for interval, padding in layout.intervals:
        place = a.add(place, a.multiply(a.divide(linear, interval), padding))
    return place


def _linear(dims: Sequence[int], at: Sequence[Any], a: Arithmetic) -> Any:
    """Row by row."""
    place: Any = 0
    for dim, index in zip(dims, at):
        place = a.add(a.multiply(place, dim), index)
    return place
