"""Kernels whose loops have groups of several executors."""

import triton
import triton.language as tl

import tle_raw.language as tle

# One kernel for 0, 2 and 17 rows.
of_any_length = triton.jit(do_not_specialize=("rows", "n"))


@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
            S: tl.constexpr, SPLIT: tl.constexpr):  # fmt: skip
    """C = A @ B, as Triton's tutorial has it: block tensors of pointers that the loop carries."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + m[:, None] * sa + k[None, :]
    b_ptrs = b_ptr + k[:, None] * sb + n[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for step in tle.range(0, tl.cdiv(K, BK), pipe_stages=[0, 0, S - 1], executors=[0, 0, 1] if SPLIT else [0, 0, 0]):
        with tle.pipeline_group(0):
            a = tl.load(a_ptrs, mask=(m[:, None] < M) & (k[None, :] < K - step * BK), other=0.0)
        with tle.pipeline_group(1):
            b = tl.load(b_ptrs, mask=(k[:, None] < K - step * BK) & (n[None, :] < N), other=0.0)
        with tle.pipeline_group(2):
            acc = tl.dot(a, b, acc)
        a_ptrs += BK
        b_ptrs += BK * sb
    tl.store(c_ptr + m[:, None] * sc + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def product_of_tiles(a_desc, b_desc, c_ptr, M, N, K, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                     S: tl.constexpr, WARPS: tl.constexpr):  # fmt: skip
    """C = A @ B^T by tensor descriptors; programs take several tiles of C."""
    tiles_n = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * tiles_n, tl.num_programs(0)):
        m, n = tile // tiles_n * BM, tile % tiles_n * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tle.range(0, K, BK, pipe_stages=S, executors=[0, range(1, 1 + WARPS)]):
            with tle.pipeline_group(0):
                a = a_desc.load([m, k])
                b = b_desc.load([n, k])
            with tle.pipeline_group(1):
                acc = tl.dot(a, b.T, acc)
        i, j = m + tl.arange(0, BM), n + tl.arange(0, BN)
        tl.store(c_ptr + i[:, None] * sc + j[None, :], acc, mask=(i[:, None] < M) & (j[None, :] < N))


@of_any_length
def gathered(x_ptr, index_ptr, scale_ptr, o_ptr, sum_ptr, rows, B: tl.constexpr, S: tl.constexpr):
    """Rows are chosen by index, scaled, stored and added: three executors, scalars and blocks between them."""
    i = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for row in tle.range(rows, num_stages=S, executors=[0, range(1, 3), 9]):
        with tle.pipeline_group(0):
            at = tl.load(index_ptr + row)
            x = tl.load(x_ptr + at * B + i)
            scale = tl.load(scale_ptr + row)
        with tle.pipeline_group(1):
            scaled = x * scale
            tl.store(o_ptr + row * B + i, scaled)
        with tle.pipeline_group(2):
            total += scaled + tl.where(i == at, 1.0, 0.0)
    tl.store(sum_ptr + i, total)


@triton.jit
def dequantised(q_ptr, scale_ptr, b_ptr, c_ptr, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = (Q * scale) @ B: one executor loads bytes and makes halves of them, which go through shared memory."""
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    last = tl.zeros((BM, BK), tl.float16)
    for start in tle.range(0, K, BK, pipe_stages=[0, 1, 1], executors=[4, 4, 2]):
        with tle.pipeline_group(0):
            scale = tl.load(scale_ptr + m)
            a = (tl.load(q_ptr + m[:, None] * K + start + k[None, :]).to(tl.float32) * scale[:, None]).to(tl.float16)
        with tle.pipeline_group(1):
            b = tl.load(b_ptr + (start + k[:, None]) * BN + n[None, :])
        with tle.pipeline_group(2):
            acc = tl.dot(a, b, acc) + tl.sum((a - last).to(tl.float32), 1)[:, None]
            last = a
    tl.store(c_ptr + m[:, None] * BN + n[None, :], acc)


@of_any_length
def guarded(x_ptr, o_ptr, rows, B: tl.constexpr, S: tl.constexpr):
    """Buffers and barriers are the kernel's own: executors only run its groups."""
    i = tl.arange(0, B)
    ring = tle.gpu.alloc([S, B], tl.float32, nv_mma_shared_layout=False)
    full, empty = tle.gpu.alloc_barriers(S), tle.gpu.alloc_barriers(S, init=tle.gpu.READY)
    for row in tle.range(rows, executors=[1, 0]):
        with tle.pipeline_group(0):
            tle.gpu.barrier_wait(empty[row % S], row // S)
            ring[row % S].store(tl.load(x_ptr + row * B + i))
            tle.gpu.barrier_arrive(full[row % S], 1, row // S)
        with tle.pipeline_group(1):
            tle.gpu.barrier_wait(full[row % S], row // S)
            x = ring[row % S].load()
            tle.gpu.barrier_arrive(empty[row % S], 1, row // S)
            tl.store(o_ptr + row * B + i, x - tl.max(x, 0))


@of_any_length
def piped(x_ptr, o_ptr, rows, B: tl.constexpr, S: tl.constexpr):
    """The same by a pipe."""
    i = tl.arange(0, B)
    p = tle.pipe(capacity=S, x=tle.gpu.alloc([S, B], tl.float32, nv_mma_shared_layout=False))
    writer, reader = p.writer(), p.reader()
    for row in tle.range(rows, executors=[1, 0]):
        with tle.pipeline_group(0):
            slot = writer.acquire(row)
            tle.gpu.copy(x_ptr + row * B + i, slot.x, [B])
            writer.commit(row)
        with tle.pipeline_group(1):
            x = reader.wait(row).slot.x.load()
            reader.release(row)
            tl.store(o_ptr + row * B + i, x - tl.max(x, 0))


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, n, scale, B: tl.constexpr, D: tl.constexpr, S: tl.constexpr):
    """One head's rows of queries: keys and values are loaded by one executor, all else is the other's."""
    i, j, d = tl.arange(0, B), tl.arange(0, B), tl.arange(0, D)
    q = tl.load(q_ptr + (tl.program_id(0) * B + i[:, None]) * D + d[None, :])
    high = tl.full((B,), float("-inf"), tl.float32)
    total = tl.zeros((B,), tl.float32)
    acc = tl.zeros((B, D), tl.float32)
    for start in tle.range(0, n, B, pipe_stages=S, executors=[0, 1]):
        with tle.pipeline_group(0):
            k = tl.load(k_ptr + (start + j[:, None]) * D + d[None, :])
            v = tl.load(v_ptr + (start + j[:, None]) * D + d[None, :])
        with tle.pipeline_group(1):
            s = tl.dot(q, tl.trans(k)) * scale
            new = tl.maximum(high, tl.max(s, 1))
            p = tl.exp(s - new[:, None])
            back = tl.exp(high - new)
            total = total * back + tl.sum(p, 1)
            acc = tl.dot(p.to(v.dtype), v, acc * back[:, None])
            high = new
    tl.store(o_ptr + (tl.program_id(0) * B + i[:, None]) * D + d[None, :], acc / total[:, None])


@of_any_length
def chained(x_ptr, y_ptr, o_ptr, rows, n, B: tl.constexpr):
    """Two loops, the second of which begins with what the first has made, and has loops in its groups."""
    i = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for row in tle.range(rows, executors=[0, 1], num_stages=3, loop_unroll_factor=2):
        with tle.pipeline_group(0):
            x = tl.load(x_ptr + row * B + i, mask=i < n, other=-3.0)
        with tle.pipeline_group(1):
            total += x
    last = tl.zeros((B,), tl.float32)
    weighted = total * 2
    for row in tle.range(tl.cast(rows, tl.int64), executors=[3, 2], num_stages=2):
        with tle.pipeline_group(0):
            last = tl.load(y_ptr + row * B + i)
            for k in range(3):
                last += k
        with tle.pipeline_group(1):
            for k in range(2):
                weighted += last * total * k
    tl.store(o_ptr + i, weighted + 10 * last)
