"""Kernels for TRITON_INTERPRET=1, run by test_interpreter in a process of their own: Triton decides at import."""

from __future__ import annotations

import sys

import numpy as np
import torch
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tle_raw import AnyLayout, Buffer, Const, Element, InOut, Out, Pointer, Scalar, Tile
from tle_raw.errors import ArgumentTypeError, KernelFailed, ShapeError


@tle_raw.dialect(
    "cuda",
    source="""
#include <tle_raw/tile.h>
template <typename T, int M, int N>
__device__ float work(tle::tile<T, M, N> t, tle::tile<T, N> sums, const float* s, int n, float f) {
  __shared__ float total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  for (int j = threadIdx.x; j < N; j += blockDim.x) {
    float sum = 0;
    for (int i = 0; i < M; ++i) sum += float(t(i, j) = T(float(t(i, j)) * s[j] + n + blockIdx.x));
    sums[j] = T(sum);
    atomicAdd(&total, f);
  }
  __syncthreads();
  return total;
}
""",
)
def work(
    t: InOut[Tile["T", "M", "N"]], sums: Out[Tile["T", "N"]], s: Pointer["f32"], n: Scalar["i32"], f: Scalar["f32"]
) -> Scalar["f32"]: ...


@triton.jit
def regions(x_ptr, s_ptr, sums_ptr, total_ptr, n, M: tl.constexpr, N: tl.constexpr):
    pid = tl.program_id(0)
    offs = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    t, sums, total = work(tl.load(x_ptr + pid * M * N + offs), s_ptr, n, 0.5)
    tl.store(x_ptr + pid * M * N + offs, t)
    tl.store(sums_ptr + pid * N + tl.arange(0, N), sums)
    tl.store(total_ptr + pid, total)


def test_tiles_pointers_scalars_and_results():
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, s = torch.randint(0, 9, (2, 4, 16)).to(dtype), torch.randint(0, 4, (16,)).float()
        before, sums, total = x.clone(), torch.zeros(2, 16, dtype=dtype), torch.zeros(2)
        regions[(2,)](x, s, sums, total, 3, M=4, N=16)
        expected = before.float() * s + 3 + torch.arange(2)[:, None, None]
        assert torch.equal(x.float(), expected)
        assert torch.equal(sums.float(), expected.sum(1))
        assert total.tolist() == [8, 8]


@tle_raw.dialect("cuda", source="__device__ int size(int* out) { out[threadIdx.x] = 1; return blockDim.x; }")
def size(out: Pointer["i32"]) -> Scalar["i32"]: ...


@triton.jit
def sizes(out_ptr, warps_ptr):
    tl.store(warps_ptr, size(out_ptr))


def test_the_launch_s_warps_are_known():
    for given, warps in (({}, 4), ({"num_warps": 2}, 2), ({"num_warps": 32}, 32)):
        out, threads = torch.zeros(2000, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
        sizes[(1,)](out, threads, **given)
        assert threads[0] == out.sum() == 32 * warps


@tle_raw.dialect("cuda", source="__device__ float mix(float x, bool b, int k) { return b ? x + k : -x; }")
def mix(x: Element["f32"], b: Element["i1"], k: Scalar["i32"]) -> Element["f32"]: ...


@triton.jit
def elements(x_ptr, y_ptr, k, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(y_ptr + tl.arange(0, N), mix(x, x > 0, k))


def test_elements():
    x, y = torch.randn(64), torch.zeros(64)
    elements[(1,)](x, y, 7, N=64)
    assert torch.equal(y, torch.where(x > 0, x + 7, -x))


@tle_raw.dialect(
    "cuda",
    source="""
template <int K, int N> __device__ void filled(int* out, bool* flags) {
  for (int i = threadIdx.x; i < N; i += blockDim.x) out[i] = K * i, flags[i] = i % 2;
}
""",
)
def filled(k: Const["K"], out: Out[Tile["i32", "N"]], flags: Out[Tile["i1", "N"]]): ...


@triton.jit
def constants(out_ptr, N: tl.constexpr):
    out, flags = filled(3, N=N)
    tl.store(out_ptr + tl.arange(0, N), tl.where(flags, out, -1))


def test_constants_and_bools():
    out = torch.zeros(32, dtype=torch.int32)
    constants[(1,)](out, N=32)
    index = torch.arange(32)
    assert torch.equal(out.long(), torch.where(index % 2 == 1, 3 * index, -1))


@triton.jit
def flagtree(x_ptr, s_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 4)[:, None] * N + tl.arange(0, N)[None, :])
    _t, sums, _total = tle_raw.call(work, [x, s_ptr, 1, 2.0])
    tl.store(s_ptr + tl.arange(0, N), sums)


def test_flagtree_s_call():
    x, s = torch.ones(4, 16), torch.ones(16)
    flagtree[(1,)](x, s, N=16)
    assert s.tolist() == [8] * 16


@triton.jit
def wrong_dtype(x_ptr, s_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 4)[:, None] * N + tl.arange(0, N)[None, :])
    work(x, s_ptr, 1.5, 2.0)


@triton.jit
def wrong_shape(x_ptr, s_ptr, N: tl.constexpr):
    work(tl.load(x_ptr + tl.arange(0, N)), s_ptr, 1, 2.0)


def cause_of(kernel, *args, **keywords):
    try:
        kernel[(1,)](*args, **keywords)
    except Exception as error:
        while error.__cause__ is not None:
            error = error.__cause__
        return error
    raise AssertionError("nothing was raised")


def test_calls_that_do_not_fit_are_the_same_errors():
    x = torch.ones(64)
    error = cause_of(wrong_dtype, x, x, N=16)
    assert isinstance(error, ArgumentTypeError), repr(error)
    assert error.context.call_site.text.strip() == "work(x, s_ptr, 1.5, 2.0)"
    error = cause_of(wrong_shape, x, x, N=16)
    assert isinstance(error, ShapeError), repr(error)


@tle_raw.dialect("cuda", source="#include <cassert>\n__device__ void checked(int n) { assert(threadIdx.x < n); }")
def checked(n: Scalar["i32"]): ...


@triton.jit
def failing(n):
    checked(n + tl.program_id(0))


def test_a_region_that_fails():
    error = cause_of(failing, 100)
    assert isinstance(error, KernelFailed) and "thread 100" in str(error)


def test_a_fragment_is_no_host_function():
    try:
        checked(3)
    except tle_raw.errors.RegionError as error:
        assert "device code" in str(error)
    else:
        raise AssertionError("it ran")


@tle_raw.dialect(
    "cuda",
    source="""
#include <tle_raw/buffer.h>
template <int M, int N, class L> __device__ void add_row(tle::buffer<float, L, M, N> b, float* twice) {
  for (int i : b.indices()) twice[i] = 2 * (b[i] += i / N);
}
""",
)
def add_row(b: InOut[Buffer["f32", "M", "N", AnyLayout]], twice: Out[Buffer["f32", "M", "N"]]): ...


@triton.jit
def in_buffers(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    both = tle.gpu.alloc([2, M, N], dtype=tl.float32)
    out = tle.gpu.alloc([M, N], dtype=tl.float32, nv_mma_shared_layout=False)
    both.slot(1).store(tl.load(x_ptr + at))
    add_row(both.slot(1), out)
    tl.store(x_ptr + at, both.slot(1).load())
    tl.store(y_ptr + at, out.load())


def test_regions_in_shared_buffers():
    x, y = torch.randn(16, 32), torch.zeros(16, 32)
    want = x + torch.arange(16)[:, None]
    in_buffers[(1,)](x, y, M=16, N=32)
    assert torch.equal(x, want) and torch.equal(y, 2 * want)


if __name__ == "__main__":
    np.random.seed(0)
    for name in sys.argv[1:]:
        globals()[name]()
        print("passed", name)
