"""The swizzle of shared memory that the GPU's copy engine and ``wgmma`` read rows of a tile by."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

SWIZZLE_ROWS = 8  # after so many rows a swizzle begins again
_SWIZZLES = (128, 64, 32)


def widest_swizzle(shape: Sequence[int], bits: int) -> int:
    """In bytes, that a row of the shape holds; 0 where it holds none, or where there are too few rows."""
    row = shape[-1] * bits // 8
    if len(shape) < 2 or prod(shape[:-1]) < SWIZZLE_ROWS:
        return 0
    return next((swizzle for swizzle in _SWIZZLES if row % swizzle == 0), 0)
