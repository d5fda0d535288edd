"""Kernels of test_partitions and test_partition_errors: partitions of specialised warps on the CPU."""

import triton
import triton.language as tl

import tle_raw.language as tle

# What a launch is given may be 0, 1, or 16 times anything: the kernel is compiled once for all of that.
NUMBERS = ("rows", "size", "wanted", "n", "m", "k", "times", "rounds")
of_any_numbers = triton.jit(do_not_specialize=NUMBERS)


@triton.jit
def produce(x, ring, full, empty, rows, size, B: tl.constexpr, S: tl.constexpr, FROM: tl.constexpr, BY: tl.constexpr):
    """Every BY-th row from the FROM-th on; the elements from `size` on are 0."""
    i = tl.arange(0, B)
    for row in range(FROM, rows, BY):
        tle.gpu.barrier_wait(empty[row % S], row // S)
        ring[row % S].store(tl.load(x + row * B + i, mask=row * B + i < size, other=0))
        tle.gpu.barrier_arrive(full[row % S], 1, row // S)


@triton.jit
def consume(o, ring, full, empty, rows, number, B: tl.constexpr, S: tl.constexpr):
    """Each row, and its sum taken away so often; how many rows there were, and what the last one began with."""
    i, count, last = tl.arange(0, B), 0, tl.zeros([B], tl.float32)
    for row in range(rows):
        tle.gpu.barrier_wait(full[row % S], row // S)
        last = ring[row % S].load()
        tle.gpu.barrier_arrive(empty[row % S], 1, row // S)
        tl.store(o + row * B + i, last - number * tl.sum(last, 0))
        count += 1
    return count, last


@triton.jit
def drain(o, ring, full, empty, rows, number, B: tl.constexpr, S: tl.constexpr):
    consume(o, ring, full, empty, rows, number, B, S)


@of_any_numbers
def rings(x, o, counts, lasts, rows, size, B: tl.constexpr, S: tl.constexpr, CONSUMERS: tl.constexpr):
    """Two producers, which take turns at the rows, and one to three consumers of every row; each program its own x."""
    program = tl.program_id(0)
    ring = tle.gpu.alloc([S, B], tl.float32, nv_mma_shared_layout=False)
    full = tle.gpu.alloc_barriers(S)
    empty = tle.gpu.alloc_barriers(S, arrive_count=CONSUMERS, init=tle.gpu.READY)
    x, o = x + program * rows * B, o + program * CONSUMERS * rows * B
    if CONSUMERS == 1:
        count, last = tle.gpu.warp_specialize(
            [
                (consume, (o, ring, full, empty, rows, 0.0, B, S)),
                (produce, (x, ring, full, empty, rows, size, B, S, 0, 2)),
                (produce, (x, ring, full, empty, rows, size, B, S, 1, 2)),
            ],
            [1, 2],
        )
    elif CONSUMERS == 2:
        count, last = tle.gpu.warp_specialize(
            [
                (consume, (o, ring, full, empty, rows, 0.0, B, S)),
                (produce, (x, ring, full, empty, rows, size, B, S, 0, 2)),
                (drain, (o + rows * B, ring, full, empty, rows, 1.0, B, S)),
                (produce, (x, ring, full, empty, rows, size, B, S, 1, 2)),
            ],
            [1, 4, 2],
            [24, 64, 32],
        )
    else:
        count, last = tle.gpu.warp_specialize(
            [
                (consume, (o, ring, full, empty, rows, 0.0, B, S)),
                (drain, (o + 2 * rows * B, ring, full, empty, rows, 2.0, B, S)),
                (produce, (x, ring, full, empty, rows, size, B, S, 0, 2)),
                (drain, (o + rows * B, ring, full, empty, rows, 1.0, B, S)),
                (produce, (x, ring, full, empty, rows, size, B, S, 1, 2)),
            ],
            [1, 1, 4, 2],
        )
    tl.store(counts + program, count)
    tl.store(lasts + program * B + tl.arange(0, B), last)


@triton.jit
def fetch_tiles(
    a_desc, b_desc, a, b, full, empty, steps, tiles, tiles_n,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, S: tl.constexpr,
):  # fmt: skip
    step = 0
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        for k in range(steps):
            slot = step % S
            tle.gpu.barrier_wait(empty[slot], step // S)
            tle.gpu.copy(a_desc, a[slot], [M, K], offsets=[tile // tiles_n * M, k * K], barrier=full[slot])
            tle.gpu.copy(b_desc, b[slot], [N, K], offsets=[tile % tiles_n * N, k * K], barrier=full[slot])
            step += 1


@triton.jit
def multiply_tiles(
    a, b, full, empty, c_desc, steps, tiles, tiles_n,
    M: tl.constexpr, N: tl.constexpr, S: tl.constexpr,
):  # fmt: skip
    step = 0
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        c = tl.zeros([M, N], tl.float32)
        for _ in range(steps):
            slot = step % S
            tle.gpu.barrier_wait(full[slot], step // S)
            c = tle.gpu.wgmma(a[slot], b[slot], c, trans_b=True)
            c = tle.gpu.wgmma_wait(0, c)
            tle.gpu.barrier_arrive(empty[slot], 1, step // S)
            step += 1
        c_desc.store([tile // tiles_n * M, tile % tiles_n * N], c)
    return step


@of_any_numbers
def persistent_product(
    a_desc, b_desc, c_desc, steps_of_programs, m, n, k,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, S: tl.constexpr,
):  # fmt: skip
    """``c = a @ b.T`` by fewer programs than tiles; each says how many steps it took."""
    a, b = tle.gpu.alloc([S, M, K], a_desc.dtype), tle.gpu.alloc([S, N, K], b_desc.dtype)
    full = tle.gpu.alloc_barriers(S, expect_bytes=(M + N) * K * 2)
    empty = tle.gpu.alloc_barriers(S, init=tle.gpu.READY)
    tiles_n, steps = tl.cdiv(n, N), tl.cdiv(k, K)
    tiles = tl.cdiv(m, M) * tiles_n
    taken = tle.gpu.warp_specialize(
        [
            (multiply_tiles, (a, b, full, empty, c_desc, steps, tiles, tiles_n, M, N, S)),
            (fetch_tiles, (a_desc, b_desc, a, b, full, empty, steps, tiles, tiles_n, M, N, K, S)),
        ],
        [1],
        [24],
    )
    tl.store(steps_of_programs + tl.program_id(0), taken)


@triton.jit
def point_into(x, ring, full, empty, rows, B: tl.constexpr, S: tl.constexpr):
    """Rows turned round by pointers into the slots, and then by pointers doubled in place."""
    i = tl.arange(0, B)
    for row in range(rows):
        tle.gpu.barrier_wait(empty[row % S], row // S)
        places = tle.gpu.local_ptr(ring[row % S], (B - 1 - i,))
        tl.store(places, tl.load(x + row * B + i))
        tl.store(places, 2 * tl.load(places))
        tle.gpu.barrier_arrive(full[row % S], 1, row // S)


@triton.jit
def count_into(histogram, full, bins, x, rows, B: tl.constexpr):
    """Atomics by pointers into a buffer that another partition reads."""
    i = tl.arange(0, B)
    for row in range(rows):
        value = tl.load(x + row * B + i)
        tl.atomic_add(tle.gpu.local_ptr(histogram, (value.to(tl.int32) % bins,)), 1)
    tle.gpu.barrier_arrive(full, 1, 0)


@triton.jit
def show_counts(o, histogram, full, BINS: tl.constexpr):
    tle.gpu.barrier_wait(full, 0)
    tl.store(o + tl.arange(0, BINS), histogram.load())


@of_any_numbers
def pointers(x, o, histogram_of, rows, B: tl.constexpr, S: tl.constexpr, BINS: tl.constexpr):
    ring = tle.gpu.alloc([S, B], tl.float32, nv_mma_shared_layout=False)
    histogram = tle.gpu.alloc([BINS], tl.int32, nv_mma_shared_layout=False)
    histogram.store(tl.zeros([BINS], tl.int32))
    full, empty = tle.gpu.alloc_barriers(S), tle.gpu.alloc_barriers(S, init=tle.gpu.READY)
    counted = tle.gpu.alloc_barrier()
    tle.gpu.warp_specialize(
        [
            (consume, (o, ring, full, empty, rows, 0.0, B, S)),
            (show_counts, (histogram_of, histogram, counted, BINS)),
            (point_into, (x, ring, full, empty, rows, B, S)),
            (count_into, (histogram, counted, BINS, x, rows, B)),
        ],
        [1, 1, 1],
    )


@triton.jit
def copy_rows(x, ring, full, empty, rows, size, B: tl.constexpr, S: tl.constexpr):
    """By asynchronous copies, one group ahead."""
    i = tl.arange(0, B)
    for row in range(rows):
        tle.gpu.barrier_wait(empty[row % S], row // S)
        tle.gpu.copy(x + row * B + i, ring[row % S], [B], mask=row * B + i < size, is_async=True)
        tle.gpu.async_commit_group()
        if row > 0:
            tle.gpu.async_wait_group(1)
            tle.gpu.barrier_arrive(full[(row - 1) % S], 1, (row - 1) // S)
    if rows > 0:
        tle.gpu.async_wait_group(0)
        tle.gpu.barrier_arrive(full[(rows - 1) % S], 1, (rows - 1) // S)


@of_any_numbers
def copies(x, o, rows, size, B: tl.constexpr, S: tl.constexpr):
    ring = tle.gpu.alloc([S, B], tl.float32, nv_mma_shared_layout=False)
    full, empty = tle.gpu.alloc_barriers(S), tle.gpu.alloc_barriers(S, init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        [
            (consume, (o, ring, full, empty, rows, 0.0, B, S)),
            (copy_rows, (x, ring, full, empty, rows, size, B, S)),
        ],
        [1],
    )


@triton.jit
def accumulate(x, o, number, rows, B: tl.constexpr):
    """Products of B by B, by themselves: tiles of a worker, kept from row to row."""
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    acc = tl.zeros([B, B], tl.float32)
    for row in range(rows):
        tile = tl.load(x + row * B * B + at)
        acc += tl.dot(tile, tl.trans(tile), input_precision="ieee") * number
    tl.store(o + at, acc)


@triton.jit
def follow(x, o, number, rows, gate, B: tl.constexpr):
    tle.gpu.barrier_wait(gate, 0)
    accumulate(x, o, number, rows, B)


@of_any_numbers
def several_times(x, o, times, rows, B: tl.constexpr):
    """Partitions with large tiles, twice in the text, and in a loop; the worker's begin before the kernel's."""
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    for time in range(times):
        gate = tle.gpu.alloc_barrier()
        kept = tl.load(x + at) + time  # lies in memory meanwhile
        out = o + time * 5 * B * B
        tle.gpu.warp_specialize(
            [(follow, (x, out, 1.0, rows, gate, B)), (opened, (x, out + B * B, 2.0, rows, gate, B))], [1]
        )
        tl.store(out + 2 * B * B + at, kept)
    out = o + times * 5 * B * B
    tle.gpu.warp_specialize([(accumulate, (x, out, 3.0, rows, B)), (accumulate, (x, out + B * B, 4.0, rows, B))], [4])


@triton.jit
def opened(x, o, number, rows, gate, B: tl.constexpr):
    accumulate(x, o, number, rows, B)
    tle.gpu.barrier_arrive(gate, 1, 0)


@triton.jit
def returns_early(x, o, n):
    if n == 0:
        return
    tl.store(o, tl.load(x) + n)


@triton.jit(noinline=True)
def apart(x, n):
    total = 0.0
    for i in range(n):
        total += tl.load(x + i)
    return total


@triton.jit
def calls(x, o, n):
    tl.store(o, apart(x, n))


@of_any_numbers
def functions(x, o, n):
    tle.gpu.warp_specialize(
        [
            (returns_early, (x, o, n)),
            (returns_early, (x, o + 1, n - 1)),
            (calls, (x, o + 2, n)),
            (calls, (x, o + 3, 2)),
        ],
        [1, 1, 1],
    )


@triton.jit
def spin(flag, value):
    while tl.atomic_add(flag, 0) < value:
        pass


@triton.jit
def pass_on(flags, o, number, rounds):
    """Waits in memory for the partition before, and tells the next one."""
    for turn in range(rounds):
        spin(flags + number, turn + 1)
        tl.store(o, tl.load(o) * 2 + number)
        tl.atomic_add(flags + number + 1, 1)


@triton.jit
def begin_rounds(flags, rounds, last):
    for turn in range(rounds):
        tl.atomic_add(flags, 1)
        spin(flags + last, turn + 1)


@of_any_numbers
def rounds_by_flags(flags, o, rounds):
    """Three partitions that wait for each other in memory."""
    tle.gpu.warp_specialize(
        [(begin_rounds, (flags, rounds, 2)), (pass_on, (flags, o, 0, rounds)), (pass_on, (flags, o, 1, rounds))], [1, 1]
    )


@triton.jit
def nothing(flags):
    pass


@triton.jit
def await_program(flags, number, bar):
    """A worker waits for the next program, its default partition for the worker."""
    spin(flags + number + 1, 1)
    tle.gpu.barrier_arrive(bar, 1, 0)


@triton.jit
def tell_program(flags, number, bar, last):
    if number < last:
        tle.gpu.barrier_wait(bar, 0)
    tl.atomic_add(flags + number, 1)


@triton.jit
def chain_of_programs(flags):
    """Each program waits for the one after it, which has not begun yet."""
    number, last = tl.program_id(0), tl.num_programs(0) - 1
    bar = tle.gpu.alloc_barrier()
    if number < last:
        tle.gpu.warp_specialize(
            [(tell_program, (flags, number, bar, last)), (await_program, (flags, number, bar))], [1]
        )
    else:
        tle.gpu.warp_specialize([(tell_program, (flags, number, bar, last)), (nothing, (flags,))], [1])


@triton.jit
def sort_rows(x, o, rows, B: tl.constexpr):
    """By a buffer and barriers of the partition's own, in a loop that ends when it likes."""
    i, row = tl.arange(0, B), 0
    buffer, stored = tle.gpu.alloc([2, B], tl.float32, nv_mma_shared_layout=False), tle.gpu.alloc_barriers(2)
    while row < rows:
        buffer[row % 2].store(tl.load(x + row * B + i))
        tle.gpu.barrier_arrive(stored[row % 2], 1, row // 2)
        tle.gpu.barrier_wait(stored[row % 2], row // 2)
        tl.store(o + row * B + i, tl.sort(buffer[row % 2].load()))
        row += 1


@triton.jit
def double_rows(x, o, rows, B: tl.constexpr):
    """By descriptors that the partition makes."""
    source = tl.make_tensor_descriptor(x, [rows, B], [B, 1], [1, B])
    target = tl.make_tensor_descriptor(o, [rows, B], [B, 1], [1, B])
    for row in range(rows):
        target.store([row, 0], source.load([row, 0]) * 2)


@triton.jit
def increase_rows(x, o, rows, B: tl.constexpr):
    """In a loop with groups."""
    i = tl.arange(0, B)
    for row in tle.range(rows, pipe_stages=(0, 1)):
        with tle.pipeline_group(0):
            value = tl.load(x + row * B + i)
        with tle.pipeline_group(1):
            tl.store(o + row * B + i, value + 1)


@of_any_numbers
def all_of_the_language(x, o, rows, wanted, B: tl.constexpr):
    if wanted:
        tle.gpu.warp_specialize(
            [
                (sort_rows, (x, o, rows, B)),
                (double_rows, (x, o + rows * B, rows, B)),
                (sort_rows, (x, o + 2 * rows * B, rows, B)),
                (increase_rows, (x, o + 3 * rows * B, rows, B)),
            ],
            [1, 2, 4],
        )
