"""Kernels whose warps are specialised."""

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def load_tiles(a_desc, b_desc, a, b, full, empty, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, S: tl.constexpr):
    """The producer of a product: tiles of both operands into a ring of slots."""
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    for i in range(k):
        slot = i % S
        tle.gpu.barrier_wait(empty[slot], i // S)
        tle.gpu.copy(a_desc, a[slot], [M, K], offsets=[row, i * K], barrier=full[slot])
        tle.gpu.copy(b_desc, b[slot], [N, K], offsets=[column, i * K], barrier=full[slot])


@triton.jit
def multiply_tiles(a, b, full, empty, c_ptr, k, M: tl.constexpr, N: tl.constexpr, S: tl.constexpr, AHEAD: tl.constexpr):
    """The consumer, with AHEAD products under way."""
    acc = tl.zeros([M, N], tl.float32)
    for i in range(k):
        slot = i % S
        tle.gpu.barrier_wait(full[slot], i // S)
        acc = tle.gpu.wgmma(a[slot], b[slot], acc, trans_b=True)
        acc = tle.gpu.wgmma_wait(AHEAD, acc)
        if i >= AHEAD:
            tle.gpu.barrier_arrive(empty[(i - AHEAD) % S], 1, (i - AHEAD) // S)
    acc = tle.gpu.wgmma_wait(0, acc)
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    tl.store(c_ptr + rows[:, None] * (tl.num_programs(1) * N) + columns[None, :], acc)


@triton.jit
def gemm(
    a_desc, b_desc, c_ptr, k,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, S: tl.constexpr, AHEAD: tl.constexpr, WARPS: tl.constexpr,
):  # fmt: skip
    """One tile of a product: WARPS warps copy, the kernel's own multiply."""
    a = tle.gpu.alloc([S, M, K], a_desc.dtype)
    b = tle.gpu.alloc([S, N, K], b_desc.dtype)
    full = tle.gpu.alloc_barriers(S, expect_bytes=(M + N) * K * 2)
    empty = tle.gpu.alloc_barriers(S, init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        [
            (multiply_tiles, (a, b, full, empty, c_ptr, k, M, N, S, AHEAD)),
            (load_tiles, (a_desc, b_desc, a, b, full, empty, k, M, N, K, S)),
        ],
        [WARPS],
        [24],
    )
