"""Arrays of one launch that overlap in memory: cuTile forbids it, and here their accesses are ordered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any


def overlapping(arrays: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Pairs of names whose arrays have an address in common; of arrays whose address is not told, none."""
    extents = {name: found for name, value in arrays.items() if (found := _extent(value)) is not None}
    return tuple(_pairs(extents))


def _pairs(extents: Mapping[str, tuple[int, int]]) -> Iterator[tuple[str, str]]:
    for (a, (low_a, high_a)), (b, (low_b, high_b)) in combinations(extents.items(), 2):
        if low_a < high_b and low_b < high_a:
            yield a, b


def _extent(value: Any) -> tuple[int, int] | None:
    """From the first byte to behind the last one."""
    shape = tuple(int(n) for n in value.shape)
    if 0 in shape:
        return None
    size = int(value.dtype.itemsize)
    if hasattr(value, "data_ptr"):
        start, steps = int(value.data_ptr()), [int(s) * size for s in value.stride()]
    elif hasattr(value, "__array_interface__"):
        start, steps = int(value.__array_interface__["data"][0]), [int(s) for s in value.strides]
    else:
        return None
    reach = [(n - 1) * step for n, step in zip(shape, steps)]
    return start + sum(r for r in reach if r < 0), start + sum(r for r in reach if r > 0) + size
