"""Writing to memory, for all lanes at once: elements and boxes, where masks allow it and buffers have a place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tle_raw.adapters.tilelang.port.reference.expressions import Expressions
from tle_raw.adapters.tilelang.port.reference.numbers import Unevaluated, converted
from tle_raw.adapters.tilelang.regions import is_global


class Memory(Expressions):
    """What statements and tile operations read and write."""

    def read(self, box: Any) -> Any:
        """A box, with zeros for what lies outside of the buffer."""
        index, inside = self._box(box)
        value = self.array(box.buffer)[index]
        return np.where(inside, value, np.zeros((), value.dtype))

    def write(self, box: Any, value: Any, squeezed: bool = True) -> None:
        if squeezed:
            self._grid_of(box, value, None)
            return
        index, inside = self._box(box)
        self._set(box.buffer, index, value, inside, None)

    def _grid_of(self, box: Any, value: Any, combine: Any) -> None:
        """Dims of one element do not count."""
        index, inside = self._box(box)
        if value.size != inside.size:
            raise Unevaluated("a copy between boxes of different sizes")
        self._set(box.buffer, index, value.reshape(inside.shape), inside, combine)

    def _box(self, box: Any) -> tuple[tuple[Any, ...], Any]:
        sizes, index, inside = self.array(box.buffer).shape, [], np.ones((), bool)
        for axis, (origin, extent) in enumerate(zip(box.origin, box.extents)):
            shape = [1] * len(box.origin)
            shape[axis] = -1
            place = (int(self.scalar(origin)) + np.arange(int(self.scalar(extent)))).reshape(shape)
            held = (place >= 0) & (place < sizes[axis])
            inside = inside & held
            index.append(np.where(held, place, 0))
        return tuple(index), inside

    def put(self, buffer: Any, indices: Sequence[Any], value: Any) -> None:
        index, inside = self._places(buffer, indices)
        self._set(buffer, index, value, self._masked(inside), None)

    def update(self, buffer: Any, indices: Sequence[Any], value: Any, combine: Any) -> None:
        """Every lane counts, also where several meet in one element."""
        index, inside = self._places(buffer, indices)
        shape = tuple(extent for _, extent in self.lanes)
        inside = np.broadcast_to(self._masked(inside), np.broadcast_shapes(np.shape(inside), shape))
        self._set(buffer, index, value, inside, combine)

    def _masked(self, inside: Any) -> Any:
        for mask in self.masks:
            inside = inside & mask
        return inside

    def _set(self, buffer: Any, index: tuple[Any, ...], value: Any, inside: Any, combine: Any) -> None:
        array = self.array(buffer)
        shape = np.broadcast_shapes(np.shape(value), np.shape(inside), *(np.shape(i) for i in index))
        where = np.broadcast_to(inside, shape)
        index = tuple(np.broadcast_to(i, shape)[where] for i in index)
        value = np.broadcast_to(converted(value, str(buffer.dtype), ""), shape)[where]
        if combine is None:
            array[index] = value
        else:
            combine.at(array, index, value)
            self.updates = self.updates or is_global(buffer)
        marks = self.marks.get(buffer.data)
        if marks is not None:
            marks.reshape(array.shape)[index] = True
