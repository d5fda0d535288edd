"""Tensor descriptors of the arrays whose tiles a warp of its own copies, and which arrays the copy engine takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tle_raw.adapters.cutile.specialise.tile_rings import ALIGNED, TileRing
from tle_raw.adapters.cutile.specialise.tile_stores import TileStore

HOPPER = 90  # the GPU whose tensor cores read such tiles in the background
_LONGEST = 2**31 - 1  # of a dim
_MOST_DIMS = 5


def adjacent_dims(arrays: Mapping[str, Any]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """For each array that the copy engine takes the dims whose elements lie side by side."""
    return tuple((path, dims) for path, array in sorted(arrays.items()) if (dims := _adjacent(array)))


def _adjacent(array: Any) -> tuple[int, ...]:
    memory, shape, strides = _parts(array)
    if memory is None or not 2 <= len(shape) <= _MOST_DIMS or memory.data_ptr() % ALIGNED:
        return ()
    if any(not 0 < n <= _LONGEST for n in shape):
        return ()
    dims = [dim for dim, stride in enumerate(strides) if stride == 1 and shape[dim] > 1]
    others = [stride for dim, stride in enumerate(strides) if dim not in dims and shape[dim] > 1]
    if len(dims) != 1 or any(stride <= 0 or stride * memory.dtype.itemsize % ALIGNED for stride in others):
        return ()
    return tuple(dims)


def _parts(array: Any) -> tuple[Any, list[int], list[int]]:
    """Memory, sizes and strides of an array of torch, or of a tensor descriptor; no memory of another one."""
    if hasattr(array, "block_shape"):
        return array.base, [int(n) for n in array.shape], [int(n) for n in array.strides]
    if not hasattr(array, "data_ptr"):
        return None, [], []
    return array, [int(n) for n in array.shape], [int(n) for n in array.stride()]


def describe_tiles(described: Sequence[TileRing | TileStore], arrays: Mapping[str, Any]) -> list[Any]:
    """A descriptor for each of these, of arrays that fit."""
    from triton.tools.tensor_descriptor import TensorDescriptor  # adapters load without Triton

    found = []
    for each in described:
        memory, shape, strides = _parts(arrays[each.array])
        # Nobody steps along a dim of one element, and the engine wants a stride that it takes.
        steps = [strides[d] if shape[d] > 1 else ALIGNED for d in each.dims[:-1]]
        found.append(TensorDescriptor(memory, [shape[d] for d in each.dims], [*steps, 1], list(each.tile)))
    return found
