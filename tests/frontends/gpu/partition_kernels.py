"""Kernels whose warps are specialised."""

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def load_tiles(
    a_desc, b_desc, a, b, full, empty, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, S: tl.constexpr
):
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


@triton.jit
def fill_ring(x_ptr, ring, full, empty, n, size, B: tl.constexpr, S: tl.constexpr):
    """Rows of B elements, the last of which end at `size`, into a ring of slots."""
    i = tl.arange(0, B)
    for row in range(n):
        slot = row % S
        tle.gpu.barrier_wait(empty[slot], row // S)
        ring[slot].store(tl.load(x_ptr + row * B + i, mask=row * B + i < size, other=0))
        tle.gpu.barrier_arrive(full[slot], 1, row // S)


@triton.jit
def copy_ring(x_ptr, ring, full, empty, n, size, B: tl.constexpr, S: tl.constexpr):
    """The same by asynchronous copies."""
    i = tl.arange(0, B)
    for row in range(n):
        slot = row % S
        tle.gpu.barrier_wait(empty[slot], row // S)
        tle.gpu.copy(x_ptr + row * B + i, ring[slot], [B], mask=row * B + i < size, is_async=True)
        tle.gpu.async_commit_group()
        tle.gpu.async_wait_group(0)
        tle.gpu.barrier_arrive(full[slot], 1, row // S)


@triton.jit
def point_ring(x_ptr, ring, full, empty, n, size, B: tl.constexpr, S: tl.constexpr):
    """The same, and each row the other way round, by pointers into the slot."""
    i = tl.arange(0, B)
    for row in range(n):
        slot = row % S
        tle.gpu.barrier_wait(empty[slot], row // S)
        places = tle.gpu.local_ptr(ring[slot], (B - 1 - i,))
        tl.store(places, tl.load(x_ptr + row * B + i, mask=row * B + i < size, other=0))
        turned = tl.load(tle.gpu.local_ptr(ring[slot], (i,)))
        tl.store(places, turned)
        tle.gpu.barrier_arrive(full[slot], 1, row // S)


@triton.jit
def empty_ring(o_ptr, ring, full, empty, n, B: tl.constexpr, S: tl.constexpr):
    """Each row less its largest element: the partition's warps meet for it."""
    i = tl.arange(0, B)
    for row in range(n):
        slot = row % S
        tle.gpu.barrier_wait(full[slot], row // S)
        x = ring[slot].load()
        tle.gpu.barrier_arrive(empty[slot], 1, row // S)
        tl.store(o_ptr + row * B + i, x - tl.max(x, 0))


@triton.jit
def add_up(x, n, factor):
    """What the default partition does meanwhile: a block tensor and a scalar come back."""
    total = tl.sum(x, 0)
    for _ in range(n):
        x = x + tl.sum(x, 0) * factor
    return x, total


@triton.jit
def through_ring(
    x_ptr,
    o_ptr,
    y_ptr,
    n,
    size,
    B: tl.constexpr,
    S: tl.constexpr,
    W1: tl.constexpr,
    W2: tl.constexpr,
    HOW: tl.constexpr,
):
    """Rows go through a ring between two workers, and the default partition computes with a tensor of its own."""
    ring = tle.gpu.alloc([S, B], tl.float32)
    full = tle.gpu.alloc_barriers(S)
    empty = tle.gpu.alloc_barriers(S, init=tle.gpu.READY)
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    if HOW == "store":
        y, total = tle.gpu.warp_specialize(
            [
                (add_up, (x, n, 0.00001)),
                (fill_ring, (x_ptr, ring, full, empty, n, size, B, S)),
                (empty_ring, (o_ptr, ring, full, empty, n, B, S)),
            ],
            [W1, W2],
            [64, 64],
        )
    elif HOW == "copy":
        y, total = tle.gpu.warp_specialize(
            [
                (add_up, (x, n, 0.00001)),
                (copy_ring, (x_ptr, ring, full, empty, n, size, B, S)),
                (empty_ring, (o_ptr, ring, full, empty, n, B, S)),
            ],
            [W1, W2],
        )
    else:
        y, total = tle.gpu.warp_specialize(
            [
                (add_up, (x, n, 0.00001)),
                (point_ring, (x_ptr, ring, full, empty, n, size, B, S)),
                (empty_ring, (o_ptr, ring, full, empty, n, B, S)),
            ],
            [W1, W2],
        )
    tl.store(y_ptr + i, y)
    tl.store(y_ptr + B, total)


@triton.jit
def store_tiles(a_ptr, b_ptr, a, b, full, empty, k, M: tl.constexpr, K: tl.constexpr, S: tl.constexpr):
    """Tiles of both operands by way of registers: the tensor cores of another partition read them."""
    i, j = tl.arange(0, M), tl.arange(0, K)
    at = i[:, None] * (k * K) + j[None, :]
    for step in range(k):
        slot = step % S
        tle.gpu.barrier_wait(empty[slot], step // S)
        a[slot].store(tl.load(a_ptr + at + step * K))
        b[slot].store(tl.load(b_ptr + at + step * K))
        tle.gpu.barrier_arrive(full[slot], 1, step // S)


@triton.jit
def multiply_stored(a_ptr, b_ptr, c_ptr, k, M: tl.constexpr, K: tl.constexpr, S: tl.constexpr, WARPS: tl.constexpr):
    """C = A @ B^T of one tile of M rows and columns."""
    a = tle.gpu.alloc([S, M, K], tl.float16)
    b = tle.gpu.alloc([S, M, K], tl.float16)
    full = tle.gpu.alloc_barriers(S)
    empty = tle.gpu.alloc_barriers(S, init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        [
            (multiply_tiles, (a, b, full, empty, c_ptr, k, M, M, S, 1)),
            (store_tiles, (a_ptr, b_ptr, a, b, full, empty, k, M, K, S)),
        ],
        [WARPS],
    )


@triton.jit
def copy_tiles(a_ptr, b_ptr, a, b, full, empty, k, M: tl.constexpr, K: tl.constexpr, S: tl.constexpr):
    """The same by copies that arrive when they are done, while the next ones are begun."""
    i, j = tl.arange(0, M), tl.arange(0, K)
    at = i[:, None] * (k * K) + j[None, :]
    for step in range(k):
        slot = step % S
        tle.gpu.barrier_wait(empty[slot], step // S)
        tle.gpu.copy(a_ptr + at + step * K, a[slot], [M, K], is_async=True)
        tle.gpu.copy(b_ptr + at + step * K, b[slot], [M, K], is_async=True)
        tle.gpu.barrier_arrive(full[slot], 1, step // S, after_copies=True)


@triton.jit
def multiply_copied(a_ptr, b_ptr, c_ptr, k, M: tl.constexpr, K: tl.constexpr, S: tl.constexpr, WARPS: tl.constexpr):
    """C = A @ B^T of one tile of M rows and columns."""
    a = tle.gpu.alloc([S, M, K], tl.float16)
    b = tle.gpu.alloc([S, M, K], tl.float16)
    full = tle.gpu.alloc_barriers(S)
    empty = tle.gpu.alloc_barriers(S, init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        [
            (multiply_tiles, (a, b, full, empty, c_ptr, k, M, M, S, 1)),
            (copy_tiles, (a_ptr, b_ptr, a, b, full, empty, k, M, K, S)),
        ],
        [WARPS],
    )


@triton.jit
def copied_alone(x_ptr, o_ptr, B: tl.constexpr):
    """Outside of partitions: who arrives has waited for its copies."""
    i = tl.arange(0, B)
    x, full = tle.gpu.alloc([B], tl.float32), tle.gpu.alloc_barrier()
    tle.gpu.copy(x_ptr + i, x, [B], is_async=True)
    tle.gpu.barrier_arrive(full, 1, 0, after_copies=True)
    tle.gpu.barrier_wait(full, 0)
    tl.store(o_ptr + i, x.load())


@triton.jit
def rounds(o_ptr, x, number, n):
    """So many sums over the partition's warps; what they come to is stored."""
    total = 0.0
    i = tl.arange(0, 256)
    for step in range(n):
        total += tl.sum(tl.where(i == step % 256, x, 0.0), 0)
    tl.store(o_ptr + number, total)


@triton.jit
def worker_rounds(o_ptr, x_ptr, number, n):
    rounds(o_ptr, tl.load(x_ptr + tl.arange(0, 256)), number, n)


@triton.jit
def paces(x_ptr, o_ptr, n, times):
    """Partitions of 1, 2 and 8 warps that meet among themselves at paces of their own, as often as asked."""
    x = tl.load(x_ptr + tl.arange(0, 256))
    for time in range(times):
        o = o_ptr + time * 4
        tle.gpu.warp_specialize(
            [
                (rounds, (o, x, 0, n)),
                (worker_rounds, (o, x_ptr, 1, 3 * n)),
                (worker_rounds, (o, x_ptr, 2, n + 1)),
                (worker_rounds, (o, x_ptr, 3, 2 * n)),
            ],
            [1, 2, 8],
            [24, 40, 40],
        )


@triton.jit
def laid_out(x, o, B: tl.constexpr, LAYOUT: tl.constexpr):
    """Sums of rows, in a layout of registers that the partition's warps have."""
    i = tl.arange(0, B)
    rows = tle.gpu.set_layout(tl.load(x + i[:, None] * B + i[None, :]), LAYOUT)
    tl.store(o + i, tl.sum(rows, 1))


@triton.jit
def sums_of_rows(x, o, B: tl.constexpr, FOUR: tl.constexpr, TWO: tl.constexpr):
    """Twice: by the kernel's four warps and by a worker's two."""
    tle.gpu.warp_specialize([(laid_out, (x, o, B, FOUR)), (laid_out, (x, o + B, B, TWO))], [2])


@triton.jit
def take_turns(o, mine, other, n, FIRST: tl.constexpr):
    """Count, one after the other: each step reads what the other partition has left."""
    if not FIRST:
        tle.gpu.barrier_arrive(other)
    for _ in range(n):
        tle.gpu.barrier_wait(mine)
        tl.store(o, tl.load(o, volatile=True) * 3 + (1 if FIRST else 2))
        tle.gpu.barrier_arrive(other)
    if FIRST:
        tle.gpu.barrier_wait(mine)


@triton.jit
def in_turns(o, n, WARPS: tl.constexpr):
    """Two partitions, of four warps and of WARPS, that meet at named barriers."""
    turns = tle.gpu.alloc_barriers(2, arrive_count=32 * (4 + WARPS))
    tle.gpu.warp_specialize(
        [(take_turns, (o, turns[0], turns[1], n, True)), (take_turns, (o, turns[1], turns[0], n, False))], [WARPS]
    )


@triton.jit
def waits_for_one(turns, n):
    tle.gpu.barrier_wait(turns[n])


@triton.jit
def one_of_two(o, n):
    turns = tle.gpu.alloc_barriers(2, arrive_count=256)
    tle.gpu.warp_specialize([(waits_for_one, (turns, n)), (waits_for_one, (turns, n))], [4])


@triton.jit
def come_to(bar, o, n):
    for use in range(n):
        tle.gpu.barrier_arrive(bar, 1, use)
        tle.gpu.barrier_wait(bar, use)
        tl.atomic_add(o + use, 1)


@triton.jit
def met_by_all(o, n):
    """Partitions of four, two and one warps go on when all have come."""
    bar = tle.gpu.alloc_barrier(arrive_count=3)
    tle.gpu.warp_specialize([(come_to, (bar, o, n)), (come_to, (bar, o, n)), (come_to, (bar, o, n))], [2, 1])


@triton.jit
def copy_and_store(x_desc, x, factor, full, N: tl.constexpr):
    factor.store(tl.arange(0, N) * 0.5)
    tle.gpu.copy(x_desc, x, [N, N], offsets=[0, 0], barrier=full)
    tle.gpu.barrier_arrive(full, 1, 0)


@triton.jit
def take_both(x, factor, full, o, N: tl.constexpr):
    tle.gpu.barrier_wait(full, 0)
    i = tl.arange(0, N)
    tl.store(o + i[:, None] * N + i[None, :], x.load() * factor.load()[:, None])


@triton.jit
def copied_and_stored(x_desc, o, N: tl.constexpr):
    """One barrier counts a copy and what the threads stored."""
    x, factor = tle.gpu.alloc([N, N], tl.float16), tle.gpu.alloc([N], tl.float32)
    full = tle.gpu.alloc_barrier(arrive_count=2, expect_bytes=2 * N * N)
    tle.gpu.warp_specialize([(take_both, (x, factor, full, o, N)), (copy_and_store, (x_desc, x, factor, full, N))], [2])


@triton.jit
def met_before(o, n):
    """The kernel's own warps arrive once before they are the default partition, and wait there."""
    bar = tle.gpu.alloc_barrier(arrive_count=2)
    tle.gpu.barrier_arrive(bar, 1, 0)
    tle.gpu.warp_specialize([(tell, (o, n)), (wait_and_tell, (bar, o, n))], [2])


@triton.jit
def tell(o, n):
    tl.atomic_add(o + n, 1)


@triton.jit
def wait_and_tell(bar, o, n):
    tle.gpu.barrier_arrive(bar, 1, 0)
    tle.gpu.barrier_wait(bar, 0)
    tl.atomic_add(o + n, 1)


@triton.jit
def take_half(block, both, o, HALF: tl.constexpr, N: tl.constexpr):
    other, scale = both
    tl.store(o + HALF * N + tl.arange(0, N), block * scale - tl.max(other, 0))


@triton.jit
def shared_warps(x, o, scale, N: tl.constexpr, WARPS: tl.constexpr):
    """The launch's warps are shared by two functions, which get block tensors."""
    i = tl.arange(0, N)
    first, second = tl.load(x + i), tl.load(x + N + i)
    tle.gpu.warp_specialize(
        [(take_half, (first, (second, scale), o, 0, N)), (take_half, (second, (first, scale), o, 1, N))],
        worker_num_warps=(WARPS, WARPS),
        reuse_default_warps=True,
    )
