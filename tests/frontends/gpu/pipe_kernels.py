"""Kernels with pipes: what compiles, what is computed, and what GPUs run."""

import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tle_raw import Buffer, Out, Pointer

# How many rows there are is no constant of the kernel: it is compiled once for 0, 1, 16 and 50 of them.
of_any_count = triton.jit(do_not_specialize=("n", "size"))

# --- in one partition ---------------------------------------------------------------------------------------------


@triton.jit
def fill_row(x_ptr, slot, row, size, B: tl.constexpr, HOW: tl.constexpr):
    """A row of B elements, the last of which end at `size`, by one of the ways to fill a field."""
    i = tl.arange(0, B)
    inside = row * B + i < size
    if HOW == "copy":
        tle.gpu.copy(x_ptr + row * B + i, slot.x, [B], mask=inside)
    elif HOW == "store":
        slot.x.store(tl.load(x_ptr + row * B + i, mask=inside, other=0))
    else:
        tl.store(tle.gpu.local_ptr(slot.x), tl.load(x_ptr + row * B + i, mask=inside, other=0))


@of_any_count
def one_loop(x_ptr, o_ptr, n, size, B: tl.constexpr, S: tl.constexpr, HOW: tl.constexpr):
    """Rows come S - 1 ahead of their use. A slot that is passed to a function may be filled there."""
    i = tl.arange(0, B)
    ring = tle.gpu.alloc([S, B], tl.float32, nv_mma_shared_layout=False)
    p = tle.pipe(capacity=S, x=ring)
    writer, reader = p.writer(), p.reader()
    for k in tl.static_range(S - 1):
        if k < n:
            slot = writer.acquire(k)
            if HOW == "copy":
                tle.gpu.copy(x_ptr + k * B + i, slot.x, [B], mask=k * B + i < size)
            else:
                fill_row(x_ptr, slot, k, size, B, HOW)
            writer.commit(k)
    for k in range(n):
        ready = reader.wait(k)
        x = ready.slot.x.load()
        reader.release(k)
        tl.store(o_ptr + k * B + i, x - tl.max(x, 0))
        ahead = k + S - 1
        if ahead < n:
            slot = writer.acquire(ahead)
            if HOW == "copy":
                tle.gpu.copy(x_ptr + ahead * B + i, slot.x, [B], mask=ahead * B + i < size)
            else:
                fill_row(x_ptr, slot, ahead, size, B, HOW)
            writer.commit(ahead)


@of_any_count
def by_pointers(x_ptr, o_ptr, n, B: tl.constexpr, S: tl.constexpr):
    """Names of slots and of pointers into them that were given on get others in a loop."""
    i = tl.arange(0, B)
    p = tle.pipe(capacity=S, x=tle.gpu.alloc([S, B], tl.float32, nv_mma_shared_layout=False))
    writer, reader = p.writer(), p.reader()
    slot = writer.acquire(0)
    pointers = tle.gpu.local_ptr(slot.x)
    tl.store(pointers, tl.load(x_ptr + i))
    writer.commit(0)
    ready = reader.wait(0)
    for k in range(1, n):
        slot = writer.acquire(k)
        pointers = tle.gpu.local_ptr(slot.x, (B - 1 - i,))
        tl.store(pointers, tl.load(x_ptr + k * B + i))
        writer.commit(k)
        tl.store(o_ptr + (k - 1) * B + i, ready.slot.x.load())
        reader.release(k - 1)
        ready = reader.wait(k)
    tl.store(o_ptr + (n - 1) * B + i, ready.slot.x.load())


@of_any_count
def by_cursor(x_ptr, o_ptr, n, B: tl.constexpr, S: tl.constexpr):
    """Each row through a slot of its own in turn, with cursors that loops carry."""
    i = tl.arange(0, B)
    ring = tle.gpu.alloc([S, B], tl.float32, nv_mma_shared_layout=False)
    p = tle.pipe(capacity=S, x=ring)
    writer, reader = p.writer(), p.reader()
    into, out = writer.cursor(0), reader.cursor()
    for k in range(n):
        slot = writer.acquire(into)
        tle.gpu.copy(x_ptr + k * B + i, slot.x, [B])
        writer.commit(into)
        into = into.advance()
        ready = reader.wait(out)
        tl.store(o_ptr + k * B + i, 2 * ready.slot.fields["x"].load() + out.stage)
        reader.release(out)
        out = out.advance()


@of_any_count
def one_behind(x_ptr, o_ptr, n, B: tl.constexpr, S: tl.constexpr):
    """A slot is given back an iteration after its wait; two variables are one value in front of the loop."""
    i = tl.arange(0, B)
    p = tle.pipe(capacity=S, x=tle.gpu.alloc([S, B], tl.float32, nv_mma_shared_layout=False))
    writer, reader = p.writer(), p.reader()
    into, before = writer.cursor(0), reader.cursor(0)
    at = into
    for k in range(n):
        slot = writer.acquire(into)
        tle.gpu.copy(x_ptr + k * B + i, slot.x, [B])
        writer.commit(into)
        into = into.advance()
        ready = reader.wait(at)
        if k > 0:
            reader.release(before)
        tl.store(o_ptr + k * B + i, ready.slot.x.load() + 1)
        before = at
        at = at.advance()


@of_any_count
def two_readers_in_turn(x_ptr, o_ptr, n, B: tl.constexpr, S: tl.constexpr):
    """Two readers of one partition; one sees one field."""
    i = tl.arange(0, B)
    x, y = tle.gpu.alloc([S, B], tl.float32, nv_mma_shared_layout=False), tle.gpu.alloc([S, B], tl.float32)
    p = tle.pipe(capacity=S, name="rows", readers=("sums", "products"), x=x, y=y)  # y's rows may lie in each other yet
    writer, sums, products = p.writer(), p.reader("sums"), p.reader(name="products", fields=("x",))
    for k in range(n):
        slot = writer.acquire(k)
        tle.gpu.copy(x_ptr + k * B + i, slot.x, [B])
        slot.y.store(k * 1.0)
        writer.commit(k)
        first = sums.wait(k).slot
        total = first.x.load() + first.y.load()
        sums.release(k)
        second = products.wait(k).slot.x.load()
        products.release(k)
        tl.store(o_ptr + k * B + i, total * second)


@triton.jit
def once(x_ptr, o_ptr, B: tl.constexpr, S: tl.constexpr):
    """Each slot is filled once."""
    i = tl.arange(0, B)
    p = tle.pipe(capacity=S, one_shot=True, x=tle.gpu.alloc([S, B], tl.float32, nv_mma_shared_layout=False))
    writer, reader = p.writer(), p.reader()
    for k in tl.static_range(S):
        slot = writer.acquire(k)
        tle.gpu.copy(x_ptr + k * B + i, slot.x, [B])
        writer.commit(k)
    for k in tl.static_range(S):
        ready = reader.wait(k)
        tl.store(o_ptr + k * B + i, ready.slot.x.load() * 3)
        reader.release(k)


@of_any_count
def tiles_by_descriptor(x_ptr, o_ptr, n, R: tl.constexpr, C: tl.constexpr, S: tl.constexpr):
    """Tiles that the copy engine brings, beside a number that threads store: sums over the tiles."""
    x_desc = tl.make_tensor_descriptor(x_ptr, [n * R, C], [C, 1], [R, C])
    tiles, scales = tle.gpu.alloc([S, R, C], tl.float32), tle.gpu.alloc([S, 16], tl.float32)
    p = tle.pipe(capacity=S, tile=tiles, scale=scales)
    writer, reader = p.writer(), p.reader()
    total = tl.zeros((R, C), tl.float32)
    for k in range(n):
        slot = writer.acquire(k)
        tle.gpu.copy(x_desc, slot.tile, [R, C], [k * R, 0])
        slot.scale.store(k + 1.0)
        writer.commit(k)
        ready = reader.wait(k).slot
        total += ready.tile.load() * tl.max(ready.scale.load(), 0)
        reader.release(k)
    tl.store(o_ptr + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :], total)


@tle_raw.dialect(
    "cuda",
    source="""
template <int M, int N>
__device__ void fetch_tile(float* to, const float* from) {
  for (int i = threadIdx.x; i < M * N; i += blockDim.x) to[i] = 2 * from[i];
}
""",
)
def fetch_tile(to: Out[Buffer["f32", "M", "N"]], x: Pointer["f32"]): ...


@of_any_count
def by_fragment(x_ptr, o_ptr, n, R: tl.constexpr, C: tl.constexpr, S: tl.constexpr):
    """A fragment fills one field, `cp.async` the other."""
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    twice = tle.gpu.alloc([S, R, C], tl.float32, nv_mma_shared_layout=False)
    same = tle.gpu.alloc([S, R, C], tl.float32, nv_mma_shared_layout=False)
    p = tle.pipe(capacity=S, twice=twice, same=same)
    writer, reader = p.writer(), p.reader()
    for k in range(n):
        slot = writer.acquire(k)
        tle.gpu.copy(x_ptr + k * R * C + at, slot.same, [R, C])
        fetch_tile(slot.twice, x_ptr + k * R * C)
        writer.commit(k)
        ready = reader.wait(k).slot
        tl.store(o_ptr + k * R * C + at, ready.twice.load() + ready.same.load())
        reader.release(k)


# --- across partitions --------------------------------------------------------------------------------------------


@triton.jit
def write_tiles(writer, a_desc, b_desc, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """The producer of a product: tiles of both operands."""
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    for i in range(k):
        slot = writer.acquire(i)
        tle.gpu.copy(a_desc, slot.a, [M, K], [row, i * K])
        tle.gpu.copy(b_desc, slot.b, [N, K], [column, i * K])
        writer.commit(i)


@triton.jit
def multiply_tiles(reader, c_ptr, k, M: tl.constexpr, N: tl.constexpr, AHEAD: tl.constexpr):
    """The consumer, with AHEAD products under way."""
    acc = tl.zeros([M, N], tl.float32)
    for i in range(k):
        slot = reader.wait(i).slot
        acc = tle.gpu.wgmma(slot.a, slot.b, acc, trans_b=True)
        acc = tle.gpu.wgmma_wait(AHEAD, acc)
        if i >= AHEAD:
            reader.release(i - AHEAD)
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
    p = tle.pipe(capacity=S, name="operands", a=a, b=b)
    tle.gpu.warp_specialize(
        [
            (multiply_tiles, (p.reader(), c_ptr, k, M, N, AHEAD)),
            (write_tiles, (p.writer(), a_desc, b_desc, k, M, N, K)),
        ],
        [WARPS],
        [24],
    )


@triton.jit
def copy_tiles(writer, a_ptr, b_ptr, k, M: tl.constexpr, K: tl.constexpr, HOW: tl.constexpr):
    """Tiles of both operands by cp.async, or by way of registers."""
    i, j = tl.arange(0, M), tl.arange(0, K)
    at = i[:, None] * (k * K) + j[None, :]
    for step in range(k):
        slot = writer.acquire(step)
        if HOW == "copy":
            tle.gpu.copy(a_ptr + at + step * K, slot.a, [M, K])
        else:
            slot.a.store(tl.load(a_ptr + at + step * K))
        if HOW == "store":
            slot.b.store(tl.load(b_ptr + at + step * K))
        else:
            tle.gpu.copy(b_ptr + at + step * K, slot.b, [M, K])
        writer.commit(step)


@triton.jit
def dot_tiles(reader, c_ptr, k, M: tl.constexpr):
    """The consumer by tl.dot, of GPUs without wgmma too."""
    acc = tl.zeros([M, M], tl.float32)
    for i in range(k):
        slot = reader.wait(i).slot
        acc = tl.dot(slot.a.load(), slot.b.load().T, acc)
        reader.release(i)
    rows = tl.arange(0, M)
    tl.store(c_ptr + rows[:, None] * M + rows[None, :], acc)


@triton.jit
def gemm_by_pointers(
    a_ptr, b_ptr, c_ptr, k, M: tl.constexpr, K: tl.constexpr, S: tl.constexpr, WARPS: tl.constexpr, HOW: tl.constexpr
):
    """C = A @ B^T of one tile of M rows and columns."""
    a = tle.gpu.alloc([S, M, K], tl.float16)
    b = tle.gpu.alloc([S, M, K], tl.float16)
    p = tle.pipe(capacity=S, a=a, b=b)
    tle.gpu.warp_specialize(
        [(dot_tiles, (p.reader(), c_ptr, k, M)), (copy_tiles, (p.writer(), a_ptr, b_ptr, k, M, K, HOW))], [WARPS]
    )


@triton.jit
def write_rows(writer, x_ptr, n, B: tl.constexpr, HOW: tl.constexpr):
    i = tl.arange(0, B)
    at = writer.cursor(0)
    for row in range(n):
        slot = writer.acquire(at)
        if HOW == "copy":
            tle.gpu.copy(x_ptr + row * B + i, slot.x, [B])
        else:
            fill_row(x_ptr, slot, row, n * B, B, HOW)
        slot.number.store(row)
        writer.commit(at)
        at = at.advance()
    writer.close(at)


@triton.jit
def take_rows(reader, o_ptr, B: tl.constexpr, FACTOR: tl.constexpr):
    """Until the pipe is closed. How many rows there are, only the writer knows."""
    i = tl.arange(0, B)
    row = 0
    ready = reader.wait(row)
    while not ready.is_closed:
        x = ready.slot.x.load()
        number = tl.max(ready.slot.number.load(), 0)
        reader.release(row)
        tl.store(o_ptr + number * B + i, (x - tl.max(x, 0)) * FACTOR)
        row += 1
        ready = reader.wait(row)


@triton.jit
def nothing(o_ptr):
    tl.store(o_ptr, 1.0)


@of_any_count
def rows_to_two(
    x_ptr, o_ptr, p_ptr, n, B: tl.constexpr, S: tl.constexpr, W1: tl.constexpr, W2: tl.constexpr, HOW: tl.constexpr
):
    """One writer, two readers with warps of their own, and a closed end."""
    x = tle.gpu.alloc([S, B], tl.float32, nv_mma_shared_layout=False)
    number = tle.gpu.alloc([S, 32], tl.int32)
    p = tle.pipe(capacity=S, readers=("once", "twice"), x=x, number=number)
    tle.gpu.warp_specialize(
        [
            (take_rows, (p.reader("once"), o_ptr, B, 1)),
            (take_rows, (p.reader("twice"), p_ptr, B, 2)),
            (write_rows, (p.writer(), x_ptr, n, B, HOW)),
        ],
        [W1, W2],
    )


@triton.jit
def write_mixed(writer, x_desc, s_ptr, n, R: tl.constexpr, C: tl.constexpr):
    """A tile by TMA, a row of factors by cp.async, and a number by threads: one slot."""
    i = tl.arange(0, C)
    for k in range(n):
        slot = writer.acquire(k)
        tle.gpu.copy(x_desc, slot.tile, [R, C], [k * R, 0])
        tle.gpu.copy(s_ptr + k * C + i, slot.factors, [C])
        slot.number.store(k)
        writer.commit(k)


@triton.jit
def add_mixed(reader, o_ptr, n, R: tl.constexpr, C: tl.constexpr):
    total = tl.zeros((R, C), tl.float32)
    for k in range(n):
        slot = reader.wait(k).slot
        total += slot.tile.load() * slot.factors.load()[None, :] + tl.max(slot.number.load(), 0)
        reader.release(k)
    tl.store(o_ptr + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :], total)


@of_any_count
def mixed(x_desc, s_ptr, o_ptr, n, R: tl.constexpr, C: tl.constexpr, S: tl.constexpr, W: tl.constexpr):
    """Three transports in one slot."""
    tile = tle.gpu.alloc([S, R, C], tl.float32)
    factors = tle.gpu.alloc([S, C], tl.float32, nv_mma_shared_layout=False)
    number = tle.gpu.alloc([S, 32], tl.int32)
    p = tle.pipe(capacity=S, tile=tile, factors=factors, number=number)
    tle.gpu.warp_specialize(
        [(add_mixed, (p.reader(), o_ptr, n, R, C)), (write_mixed, (p.writer(), x_desc, s_ptr, n, R, C))], [W]
    )


@triton.jit
def write_once(writer, x_ptr, B: tl.constexpr, S: tl.constexpr):
    i = tl.arange(0, B)
    for k in tl.static_range(S):
        slot = writer.acquire(k)
        tle.gpu.copy(x_ptr + k * B + i, slot.x, [B])
        writer.commit(k)


@triton.jit
def read_once(reader, o_ptr, B: tl.constexpr, S: tl.constexpr):
    i = tl.arange(0, B)
    for k in tl.static_range(S):
        tl.store(o_ptr + k * B + i, reader.wait(k).slot.x.load() * 3)
        reader.release(k)


@triton.jit
def once_across(x_ptr, o_ptr, B: tl.constexpr, S: tl.constexpr, W: tl.constexpr):
    """What is written once, for a reader with other warps."""
    p = tle.pipe(capacity=S, one_shot=True, x=tle.gpu.alloc([S, B], tl.float32, nv_mma_shared_layout=False))
    tle.gpu.warp_specialize([(read_once, (p.reader(), o_ptr, B, S)), (write_once, (p.writer(), x_ptr, B, S))], [W])
