"""The kernels of the rows, what they compute, and the functions that launch them."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tle_raw import Element, InOut, Pointer, Scalar, Tile
from tle_raw.language import cumsum as running_sum
from tle_raw.language import gpu

ROWS, B = 3, 64
SCALE: tl.constexpr = tl.constexpr(2.0)


@tle_raw.dialect(
    "cuda",
    source="""
extern "C" __device__ void axpy(float* t, const float* s, float* copy, int n) {
  for (int i = threadIdx.x; i < TLE_N; i += blockDim.x) copy[i] = t[i] += s[i] * n;
}
""",
)
def axpy(t: InOut[Tile["f32", "N"]], s: Pointer["f32"], copy: Pointer["f32"], n: Scalar["i32"]): ...


@tle_raw.dialect("cuda", source="__device__ float half_of(float x) { return x / 2; }")
def half_of(x: Element["f32"]) -> Element["f32"]: ...


@triton.jit
def two_regions(x_ptr, s_ptr, copy_ptr, o_ptr, n, B: tl.constexpr):
    start = tl.program_id(0) * B
    at = start + tl.arange(0, B)
    y = axpy(tl.load(x_ptr + at), s_ptr + start, copy_ptr + start, n)
    tl.store(o_ptr + at, half_of(y) * SCALE)


@triton.jit
def halve(x_ptr, o_ptr, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o_ptr + at, tle_raw.call(half_of, [tl.load(x_ptr + at)]))


@triton.jit
def fetch(writer, x_ptr, rows, B: tl.constexpr):
    for row in range(rows):
        slot = writer.acquire(row)
        tle.gpu.copy(x_ptr + row * B + tl.arange(0, B), slot.x, [B])
        writer.commit(row)


@triton.jit
def divide(reader, o_ptr, rows, B: tl.constexpr):
    for row in range(rows):
        x = reader.wait(row).slot.x.load()
        reader.release(row)
        tl.store(o_ptr + row * B + tl.arange(0, B), x / tl.sum(x, 0))


@triton.jit
def shares(x_ptr, o_ptr, rows, B: tl.constexpr):
    """Each row divided by its sum: a warp of its own copies rows ahead."""
    p = tle.pipe(capacity=2, x=tle.gpu.alloc([2, B], tl.float32))
    tle.gpu.warp_specialize(
        [(divide, (p.reader(), o_ptr, rows, B)), (fetch, (p.writer(), x_ptr, rows, B))], worker_num_warps=[1]
    )


@triton.jit
def add_tiles(x_ptr, o_ptr, rows, ROWS: tl.constexpr, B: tl.constexpr):
    """``o += 2 * x``, a tile at once, by descriptors that the kernel makes."""
    x = tl.make_tensor_descriptor(x_ptr, [rows, B], [B, 1], [ROWS, B])
    o = tl.make_tensor_descriptor(o_ptr, [rows, B], [B, 1], [ROWS, B])
    tile = gpu.alloc([ROWS, B], tl.float32)
    gpu.copy(x, tile, [ROWS, B], [0, 0])
    tile.store(tile.load() * 2)
    gpu.copy(tile, o, [ROWS, B], [0, 0], reduce="add")


@triton.jit
def sums(x_ptr, o_ptr, B: tl.constexpr):
    at = tl.arange(0, B)
    before, _ = running_sum(tl.load(x_ptr + at), 0)
    tl.store(o_ptr + at, before)


@triton.autotune([triton.Config({"B": 32}), triton.Config({"B": 64}, num_warps=8)], key=["n"])
@triton.jit
def tuned(x_ptr, o_ptr, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    buffer = tle.gpu.alloc([B], tl.float32)
    buffer.store(half_of(tl.load(x_ptr + at, mask=at < n)))
    tl.store(o_ptr + at, buffer.load(), mask=at < n)


@triton.heuristics({"B": lambda arguments: 32 if arguments["n"] < 100 else 64})
@triton.jit
def chosen(x_ptr, o_ptr, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o_ptr + at, half_of(tl.load(x_ptr + at, mask=at < n)), mask=at < n)


# --- functions of torch --------------------------------------------------------------------------------------------


def numbers(device, rows=ROWS):
    return torch.rand(rows, B, device=device) + 0.5, torch.rand(rows, B, device=device)


def launched(x, s, copy):
    """One kernel with two regions, and one with specialised warps."""
    y, out = torch.empty_like(x), torch.empty_like(x)
    two_regions[(x.shape[0],)](x, s, copy, y, 3, B=B)
    shares[(1,)](y, out, x.shape[0], B=B)
    return out


def among_others(x, s, copy):
    """With Inductor's own kernels before and after, which on CPUs a C++ compiler takes long for."""
    return launched(x.sqrt().square(), s, copy) * 2 - 1


def check_launched(function, device, sizes=(ROWS,), scale=1.0, shift=0.0):
    """That a function gives what ``launched`` has to, scaled and shifted, writes ``copy`` and nothing else."""
    for rows in sizes:
        x, s = numbers(device, rows)
        copy, kept = torch.zeros_like(x), s.clone()
        got = function(x, s, copy)
        written = x.double() + 3 * kept.double()
        expected = written / written.sum(1, keepdim=True) * scale + shift
        torch.testing.assert_close(copy.double(), written, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(got.double(), expected, rtol=1e-5, atol=1e-6)
        assert torch.equal(s, kept)


def halved(x):
    out = torch.empty_like(x)
    halve[(x.numel() // B,)](x, out, B=B)
    return out


def check_halved(function, device):
    x, _ = numbers(device)
    torch.testing.assert_close(function(x).double(), x.double() / 2)
