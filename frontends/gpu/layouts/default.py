"""The layout that a buffer has where the kernel gives none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.frontends.gpu.layouts.nv_mma import ELEMENT_BITS, nv_mma_shared_layout
from tle_raw.frontends.gpu.layouts.shared_layout import memory_bits, shared_layout
from tle_raw.frontends.gpu.layouts.swizzled import swizzled_shared_layout
from tle_raw.regions.swizzles import widest_swizzle


def default_layout(shape: Sequence[int], dtype: Any, nv_mma: bool) -> shared_layout:
    """Of a slot: what TMA and tensor cores take, where they take its shape and dtype; else rows without gaps."""
    bits = memory_bits(dtype)
    if nv_mma and len(shape) == 2 and bits in ELEMENT_BITS and widest_swizzle(shape, bits):
        return nv_mma_shared_layout.make_default(list(shape), dtype)
    return swizzled_shared_layout.make_default(len(shape))
