"""Tensor descriptors of the arrays whose tiles a warp of a traced kernel copies: each array as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tle_raw.adapters.tilelang.program import Program

HOPPER = 90  # the GPU whose tensor cores read such tiles in the background
_BYTES = 16  # multiples of which the copy engine takes
_LONGEST = 2**31 - 1  # rows or columns


def fit_tiles(loads: Sequence[Any], program: Program, arguments: Sequence[Any]) -> bool:
    """Whether the copy engine takes the arrays, which were not held against the PrimFunc yet."""
    given = dict(zip(program.order, arguments))
    return all(_fits(given.get(load.array), load) for load in loads)


def _fits(array: Any, load: Any) -> bool:
    if not hasattr(array, "data_ptr") or len(array.shape) != len(load.source.buffer.shape):
        return False
    rows, columns = _matrix(array, load)
    starts_well = array.data_ptr() % _BYTES == 0 and columns * array.dtype.itemsize % _BYTES == 0
    return starts_well and 0 < rows <= _LONGEST and 0 < columns <= _LONGEST


def describe_tiles(loads: Sequence[Any], program: Program, arguments: Sequence[Any]) -> list[Any]:
    """A descriptor for each copy, of arrays that fit."""
    from triton.tools.tensor_descriptor import TensorDescriptor  # adapters load without Triton

    given = dict(zip(program.order, arguments))
    found = []
    for load in loads:
        rows, columns = _matrix(given[load.array], load)
        found.append(TensorDescriptor(given[load.array], [rows, columns], [columns, 1], list(load.tile)))
    return found


def _matrix(array: Any, load: Any) -> tuple[int, int]:
    shape = [int(n) for n in array.shape]
    return prod(shape[: load.split]), prod(shape[load.split :])
