"""Kernels in which mbarriers, atomics and Triton's own memory are ordered by as few block barriers as will do."""

from __future__ import annotations

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def ring_of_copies(x_desc, y, n, M: tl.constexpr, N: tl.constexpr):
    """Twice the tiles of x, by four slots: copies run three tiles ahead."""
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    slots = tle.gpu.alloc([4, M, N], tl.float32)
    full = tle.gpu.alloc_barriers(4, expect_bytes=M * N * 4)
    for s in tl.static_range(3):
        if s < n:
            tle.gpu.copy(x_desc, slots[s], [M, N], offsets=[s * M, 0], barrier=full[s])
    for i in range(n):
        tle.gpu.barrier_wait(full[i % 4], i // 4)
        tl.store(y + i * M * N + at, slots[i % 4].load() * 2)
        if i + 3 < n:
            tle.gpu.copy(x_desc, slots[(i + 3) % 4], [M, N], offsets=[(i + 3) * M, 0], barrier=full[(i + 3) % 4])


@triton.jit
def counted(x, y, n, B: tl.constexpr):
    """How often each of 256 numbers stands in x, by its lowest byte."""
    bins = tle.gpu.alloc([256], tl.int32, init_value=0)
    for start in range(0, n, B):
        tl.atomic_add(tle.gpu.local_ptr(bins, (tl.load(x + start + tl.arange(0, B)) & 255,)), 1)
    tl.atomic_add(y + tl.arange(0, 256), tl.load(tle.gpu.local_ptr(bins)), sem="relaxed")


@triton.jit
def summed(x_desc, y, n, M: tl.constexpr, N: tl.constexpr):
    """The sum of each tile. The last steps begin no copy."""
    slots = tle.gpu.alloc([2, M, N], tl.float32)
    full = tle.gpu.alloc_barriers(2, expect_bytes=M * N * 4)
    if n > 0:
        tle.gpu.copy(x_desc, slots[0], [M, N], offsets=[0, 0], barrier=full[0])
    for i in range(n):
        if i + 1 < n:
            tle.gpu.copy(x_desc, slots[(i + 1) % 2], [M, N], offsets=[(i + 1) * M, 0], barrier=full[(i + 1) % 2])
        tle.gpu.barrier_wait(full[i % 2], i // 2)
        tl.store(y + i, tl.sum(slots[i % 2].load()))
