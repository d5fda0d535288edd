"""The kernels of launch_overhead.py: equal arguments, with and without a region."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl


@triton.jit
def plain(x_ptr, y_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets) + n)


def with_region() -> Any:
    """Declares a fragment, from a file as most are, and a kernel that calls it."""
    import tle_raw
    from tle_raw import InOut, Scalar, Tile

    @tle_raw.dialect("cuda", file="add.cu")
    def add(t: InOut[Tile["f32", "N"]], n: Scalar["i32"]): ...

    @triton.jit
    def region(x_ptr, y_ptr, n, N: tl.constexpr):
        offsets = tl.arange(0, N)
        tl.store(y_ptr + offsets, add(tl.load(x_ptr + offsets), n))

    return region
