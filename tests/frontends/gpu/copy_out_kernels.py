"""Tiles that go from buffers to global memory by tensor descriptors."""

from __future__ import annotations

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def places(M: tl.constexpr, N: tl.constexpr):
    return tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]


@triton.jit
def written_again(x_ptr, o_desc, M: tl.constexpr, N: tl.constexpr):
    """A tile of x and its double, through one buffer, one below the other."""
    x = tl.load(x_ptr + tl.program_id(0) * M * N + places(M, N))
    row = tl.program_id(0) * 2 * M
    tile = tle.gpu.alloc([M, N], o_desc.dtype)
    tile.store(x)
    tle.gpu.copy(tile, o_desc, [M, N], offsets=[row, 0])
    tile.store(x + x)
    tle.gpu.copy(tile, o_desc, [M, N], offsets=[row + M, 0])


@triton.jit
def two_places(x_ptr, o_desc, M: tl.constexpr, N: tl.constexpr):
    """One buffer goes to two places, and what it holds is used besides."""
    row = tl.program_id(0) * 3 * M
    tile, other = tle.gpu.alloc([M, N], o_desc.dtype), tle.gpu.alloc([M, N], o_desc.dtype)
    tile.store(tl.load(x_ptr + tl.program_id(0) * M * N + places(M, N)))
    tle.gpu.copy(tile, o_desc, [M, N], offsets=[row, 0])
    tle.gpu.copy(tile, o_desc, [M, N], offsets=[row + M, 0])
    other.store(tile.load() + 1)
    tle.gpu.copy(other, o_desc, [M, N], offsets=[row + 2 * M, 0])


@triton.jit
def by_pointers(x_ptr, o_desc, count, M: tl.constexpr, N: tl.constexpr):
    """The rows from ``count`` on are 7, stored by pointers into the buffer."""
    tile = tle.gpu.alloc([M, N], o_desc.dtype)
    tile.store(tl.load(x_ptr + tl.program_id(0) * M * N + places(M, N)))
    rows = tl.arange(0, M)[:, None] + tl.zeros((M, N), tl.int32)
    tl.store(tle.gpu.local_ptr(tile), tl.full((M, N), 7, o_desc.dtype), mask=rows >= count)
    tle.gpu.copy(tile, o_desc, [M, N], offsets=[tl.program_id(0) * M, 0])


@triton.jit
def brought(x_desc, o_desc, M: tl.constexpr, N: tl.constexpr):
    """No thread touches the tiles: the copy engine brings them, and takes them away."""
    row = tl.program_id(0) * M
    tile = tle.gpu.alloc([M, N], o_desc.dtype)
    tle.gpu.copy(x_desc, tile, [M, N], offsets=[row, 0])
    tle.gpu.copy(tile, o_desc, [M, N], offsets=[row, 0])


@triton.jit
def in_a_loop(x_ptr, o_desc, count, M: tl.constexpr, N: tl.constexpr, BESIDE: tl.constexpr):
    """Tile after tile; each is added to what BESIDE buffers more hold, twice the tile before."""
    tile, kept = tle.gpu.alloc([M, N], o_desc.dtype), tle.gpu.alloc([BESIDE, M, N], o_desc.dtype)
    for slot in tl.static_range(BESIDE):
        kept[slot].store(tl.zeros((M, N), o_desc.dtype))
    for i in range(count):
        x = tl.load(x_ptr + i * M * N + places(M, N))
        tile.store(x + kept[i % BESIDE].load())
        tle.gpu.copy(tile, o_desc, [M, N], offsets=[i * M, 0])
        kept[(i + 1) % BESIDE].store(x + x)


@triton.jit
def in_partitions(x_ptr, o_desc, M: tl.constexpr, N: tl.constexpr):
    """One partition fills a buffer, another copies it out, and both once more."""
    tile = tle.gpu.alloc([M, N], o_desc.dtype)
    full, empty = tle.gpu.alloc_barrier(), tle.gpu.alloc_barrier()
    tle.gpu.warp_specialize(
        [(_fill, (x_ptr, tile, full, empty, M, N)), (_copy_out, (o_desc, tile, full, empty, M, N))], [4]
    )


@triton.jit
def _fill(x_ptr, tile, full, empty, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * M * N + places(M, N))
    tile.store(x)
    tle.gpu.barrier_arrive(full, 1, 0)
    tle.gpu.barrier_wait(empty, 0)
    tile.store(x + x)
    tle.gpu.barrier_arrive(full, 1, 1)


@triton.jit
def _copy_out(o_desc, tile, full, empty, M: tl.constexpr, N: tl.constexpr):
    row = tl.program_id(0) * 2 * M
    tle.gpu.barrier_wait(full, 0)
    tle.gpu.copy(tile, o_desc, [M, N], offsets=[row, 0])
    tle.gpu.barrier_arrive(empty, 1, 0)
    tle.gpu.barrier_wait(full, 1)
    tle.gpu.copy(tile, o_desc, [M, N], offsets=[row + M, 0])
