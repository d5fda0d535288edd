"""Programs with local memories, in the manner of TLE's cookbook: the names and the forms of calls are its own."""

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def chain(x_ptr, y_ptr, out_ptr, m, n, stride, XB: tl.constexpr, YB: tl.constexpr):
    """(x + y) * y - x, then divided by y: a chain of arithmetic in UB, whose results are operands too."""
    xoffs = tl.program_id(0) * XB + tl.arange(0, XB)
    yoffs = tl.program_id(1) * YB + tl.arange(0, YB)
    offs = xoffs[:, None] * stride + yoffs[None, :]
    a = tle.dsa.alloc([XB, YB], dtype=x_ptr.dtype.element_ty, mem_addr_space=tle.dsa.ascend.UB)
    b = tle.dsa.alloc([XB, YB], dtype=x_ptr.dtype.element_ty, mem_addr_space=tle.dsa.ascend.UB)
    t = tle.dsa.alloc([XB, YB], dtype=x_ptr.dtype.element_ty, mem_addr_space=tle.dsa.ascend.UB)
    tail_m = tl.minimum(m - tl.program_id(0) * XB, XB)
    tail_n = tl.minimum(n - tl.program_id(1) * YB, YB)
    tle.dsa.copy(x_ptr + offs, a, [tail_m, tail_n])
    tle.dsa.copy(y_ptr + offs, b, [tail_m, tail_n])
    tle.dsa.add(a, b, t)
    tle.dsa.mul(t, b, t)
    tle.dsa.sub(t, a, t)
    tle.dsa.div(t, b, t)
    tle.dsa.copy(t, out_ptr + offs, [tail_m, tail_n])


@triton.jit
def clamp(x_ptr, low_ptr, high_ptr, out_ptr, n, B: tl.constexpr):
    """The bounds differ from element to element."""
    offs = tl.program_id(0) * B + tl.arange(0, B)
    x = tle.dsa.alloc([B], dtype=x_ptr.dtype.element_ty, mem_addr_space=tle.dsa.ascend.UB)
    low = tle.dsa.alloc([B], dtype=x_ptr.dtype.element_ty, mem_addr_space=tle.dsa.ascend.UB)
    high = tle.dsa.alloc([B], dtype=x_ptr.dtype.element_ty, mem_addr_space=tle.dsa.ascend.UB)
    tail = tl.minimum(n - tl.program_id(0) * B, B)
    with tle.dsa.hint(inter_no_alias=True):
        tle.dsa.copy(x_ptr + offs, x, [tail])
        tle.dsa.copy(low_ptr + offs, low, [tail])
        tle.dsa.copy(high_ptr + offs, high, [tail])
    tle.dsa.max(x, low, x)
    tle.dsa.min(x, high, x)
    tle.dsa.copy(x, out_ptr + offs, [tail])


@triton.jit
def flow(x_ptr, out_ptr, n, B: tl.constexpr):
    """From a buffer to a tensor, through Triton's own functions, and back."""
    offs = tl.program_id(0) * B + tl.arange(0, B)
    u = tle.dsa.alloc([B], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.UB)
    tail = tl.minimum(n - tl.program_id(0) * B, B)
    tle.dsa.copy(x_ptr + offs, u, [tail])
    v = tle.dsa.to_tensor(u, writable=True)
    v = tl.exp(v) * 0.5 + v
    w = tle.dsa.to_buffer(v, tle.dsa.ascend.UB)
    tle.dsa.copy(w, out_ptr + offs, [tail])


@triton.jit
def rows(x_ptr, out_ptr, m, n, stride, KIND: tl.constexpr, B: tl.constexpr):
    """The sum of each column, a row at a time, in the three loops; the sum stays in one buffer."""
    offs = tl.arange(0, B)
    total = tle.dsa.to_buffer(tl.zeros([B], tl.float32), tle.dsa.ascend.UB)
    row = tle.dsa.alloc([B], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.UB)
    if KIND == "pipeline":
        for i in tle.dsa.pipeline(0, m, 1, num_stages=2):
            tle.dsa.copy(x_ptr + i * stride + offs, row, [n])
            tle.dsa.add(total, row, total)
    elif KIND == "parallel":
        for i in tle.dsa.parallel(0, m, bind_sub_block=True):
            tle.dsa.copy(x_ptr + i * stride + offs, row, [n], inter_no_alias=True)
            tle.dsa.add(total, row, total)
    else:
        for i in tle.dsa.range(m):
            tle.dsa.copy(x_ptr + i * stride + offs, row, [n])
            tle.dsa.add(total, row, total)
    tle.dsa.copy(total, out_ptr + offs, [n])


@triton.jit
def parts(x_ptr, out_ptr, at, B: tl.constexpr):
    """Of a square tile: every other row times a part of the columns, by views, the rest as it was."""
    r, c = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    tile = tle.dsa.alloc([B, B], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.UB)
    tle.dsa.copy(x_ptr + r * B + c, tile, [B, B])
    even = tle.dsa.subview(tile, [0, 0], [B // 2, B // 2], [2, 1])
    odd = tle.dsa.subview(tile, [1, at], [B // 2, B // 2], [2, 1])
    tle.dsa.mul(even, odd, even)
    inner = tle.dsa.subview(odd, [0, 1], [B // 2, B // 4], [1, 2])
    tle.dsa.sub(inner, inner, inner)
    tle.dsa.copy(tile, out_ptr + r * B + c, [B, B])


@triton.jit
def slices(x_ptr, out_ptr, element_ptr, row, column, B: tl.constexpr):
    """A part of a tensor moves to another place of it."""
    r, c = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    x = tl.load(x_ptr + r * B + c)
    part = tle.dsa.extract_slice(x, [row, 1], [B // 4, B // 2], [2, 1])
    x = tle.dsa.insert_slice(x, part, [0, column], [B // 4, B // 2], [1, 2])
    tl.store(out_ptr + r * B + c, x)
    tl.store(element_ptr, tle.dsa.extract_element(x, [row, column]))


@triton.jit
def product(a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, ON_GPU: tl.constexpr):
    """One tile of a product, through the memories of the matrix unit; GPUs multiply what lies in L1."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a1 = tle.dsa.alloc([M, K], dtype=tl.float16, mem_addr_space=tle.dsa.ascend.L1)
    b1 = tle.dsa.alloc([K, N], dtype=tl.float16, mem_addr_space=tle.dsa.ascend.L1)
    tle.dsa.copy(a_ptr + m[:, None] * K + k[None, :], a1, [M, K])
    tle.dsa.copy(b_ptr + k[:, None] * N + n[None, :], b1, [K, N])
    out = out_ptr + m[:, None] * N + n[None, :]
    if ON_GPU:
        c = tle.dsa.to_buffer(tl.dot(tle.dsa.to_tensor(a1), tle.dsa.to_tensor(b1)), tle.dsa.ascend.UB)
        tle.dsa.copy(c, out, [M, N])
    else:
        a0 = tle.dsa.alloc([M, K], dtype=tl.float16, mem_addr_space=tle.dsa.ascend.L0A)
        b0 = tle.dsa.alloc([K, N], dtype=tl.float16, mem_addr_space=tle.dsa.ascend.L0B)
        tle.dsa.copy(a1, a0, [M, K])
        tle.dsa.copy(b1, b0, [K, N])
        tle.dsa.ascend.sync_block_set("cube", "vector", 3, tle.dsa.ascend.PIPE.PIPE_FIX, tle.dsa.ascend.PIPE.PIPE_MTE2)
        tle.dsa.ascend.sync_block_wait("cube", "vector", 3)
        c0 = tle.dsa.to_buffer(tl.dot(tle.dsa.to_tensor(a0), tle.dsa.to_tensor(b0)), tle.dsa.ascend.L0C)
        tle.dsa.copy(c0, out, [M, N])


@triton.jit
def _scaled(buffer, factor):
    value = tle.dsa.to_tensor(buffer)
    tle.dsa.ascend.compile_hint(value, "disable_bubble_up")
    return tle.dsa.to_buffer(value * factor, bind_buffer=buffer)


@triton.jit
def carried(x_ptr, out_ptr, n, steps, B: tl.constexpr):
    """Two buffers that a loop exchanges, in a function; a vector unit's share of the rows."""
    offs = tl.arange(0, B)
    one = tle.dsa.alloc([B], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.UB)
    two = tle.dsa.to_buffer(tl.full([B], 1.0, tl.float32), tle.dsa.ascend.UB)
    tle.dsa.ascend.multibuffer(one, 2)
    tle.dsa.copy(x_ptr + offs + tle.dsa.ascend.sub_vec_id(), one, [n])
    for _ in range(steps):
        tle.dsa.add(one, two, two)
        one = _scaled(one, 2.0 * tle.dsa.ascend.sub_vec_num())
        one, two = two, one
    tle.dsa.ascend.sync_block_all("all_sub_vector", 0)
    tle.dsa.copy(one, out_ptr + offs, [n])
