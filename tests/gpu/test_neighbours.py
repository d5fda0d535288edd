"""Regions next to what else uses shared memory: reductions, sorts, histograms, atomics, products, TMA."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.gpu.device import check_close, check_integers, check_norm, integers, numbers, poisoned, random
from tle_raw import InOut, Tile

pytestmark = pytest.mark.gpu


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int M, int N> __device__ void bend(tle::tile<float, M, N> t) {
  for (int i = threadIdx.x; i < M; i += blockDim.x)
    for (int j = 0; j < N / 2; ++j) {
      const float left = t(i, j), right = t(i, N - 1 - j);
      t(i, j) = left + right;
      t(i, N - 1 - j) = left - (i % 2 ? right : 2 * right);
    }
}
""",
)
def bend(t: InOut[Tile["f32", "M", "N"]]): ...


def bent(x: np.ndarray) -> np.ndarray:
    half = x.shape[1] // 2
    left, right = x[:, :half], x[:, half:][:, ::-1]
    factor = np.where(np.arange(x.shape[0]) % 2 == 1, 1.0, 2.0)[:, None]
    return np.concatenate([left + right, (left - factor * right)[:, ::-1]], axis=1)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
def test_between_reductions(num_warps):
    @triton.jit
    def kernel(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
        offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
        x = tl.load(x_ptr + offsets)
        x = bend(x - tl.max(x, axis=0)[None, :])
        x = bend(x / (1 + tl.sum(tl.abs(x), axis=1)[:, None]))
        tl.store(y_ptr + offsets, x + tl.sum(x))

    x = random("f32", (64, 32))
    y = poisoned(x)
    kernel[(1,)](x, y, 64, 32, num_warps=num_warps)
    e = numbers(x)
    e = bent(e - e.max(axis=0))
    e = bent(e / (1 + np.abs(e).sum(axis=1, keepdims=True)))
    check_close(y, e + e.sum(), 1e-4, 1e-3)


def test_between_scans_and_sorts():
    @triton.jit
    def kernel(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
        offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
        x = bend(tl.sort(tl.load(x_ptr + offsets)))
        x = bend(tl.cumsum(x, axis=1))
        tl.store(y_ptr + offsets, tl.sort(x, descending=True))

    x = random("f32", (16, 64))
    y = poisoned(x)
    kernel[(1,)](x, y, 16, 64)
    e = bent(np.sort(numbers(x), axis=1))
    e = -np.sort(-bent(np.cumsum(e, axis=1)), axis=1)
    check_close(y, e, 1e-4, 1e-3)


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int N> __device__ void shuffle_bits(tle::tile<int, N> t) {
  for (int i : t.indices()) t[i] = (t[i] ^ (i * 2654435761u)) & 31;
}
""",
)
def shuffle_bits(t: InOut[Tile["i32", "N"]]): ...


def shuffled(x: np.ndarray) -> np.ndarray:
    position = (np.arange(x.size, dtype=np.uint64) * 2654435761).astype(np.uint32).view(np.int32)
    return (x ^ position) & 31


def test_beside_a_histogram_and_atomics():
    @triton.jit
    def kernel(x_ptr, counts_ptr, sums_ptr, N: tl.constexpr):
        x = shuffle_bits(tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N)))
        counts = shuffle_bits(tl.histogram(x, 32) + 0)
        tl.atomic_add(counts_ptr + tl.arange(0, 32), counts)
        tl.atomic_add(sums_ptr + shuffle_bits(x), 1)

    x = random("i32", (20, 512))
    counts, sums = random("i32", (32,)).zero_(), random("i32", (32,)).zero_()
    kernel[(20,)](x, counts, sums, 512)
    expected_counts, expected_sums = np.zeros(32, np.int32), np.zeros(32, np.int32)
    for row in integers(x):
        once = shuffled(row)
        expected_counts += shuffled(np.bincount(once, minlength=32).astype(np.int32))
        expected_sums += np.bincount(shuffled(once), minlength=32).astype(np.int32)
    check_integers(counts, expected_counts)
    check_integers(sums, expected_sums)


# 1004 bytes: what stands behind it in shared memory is not aligned unless somebody sees to it.
@tle_raw.dialect(
    "cuda",
    source=r"""
__shared__ float odd[251];
template <int M, int N> __device__ void center(tle::tile<float, M, N> t) {
  float sum = 0;
  for (int i : t.indices()) sum += t[i];
  for (int i = threadIdx.x; i < 251; i += blockDim.x) odd[i] = 0;
  __syncthreads();
  atomicAdd(&odd[threadIdx.x % 251], sum);
  __syncthreads();
  float total = 0;
  for (int i = 0; i < 251; ++i) total += odd[i];
  for (int i : t.indices()) t[i] -= total / (M * N);
}
""",
)
def center(t: InOut[Tile["f32", "M", "N"]]): ...


@pytest.mark.parametrize("num_warps", [4, 8])
@pytest.mark.parametrize("dtype", ["f16", "f32", "f8e4m3"])
def test_static_shared_memory_of_odd_size_beside_a_matrix_product(dtype, num_warps):
    @triton.jit
    def kernel(a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr):
        m, n, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, BLOCK_K)
        c = tl.zeros((M, N), tl.float32)
        for start in range(0, K, BLOCK_K):
            a = tl.load(a_ptr + m * K + (start + k)[None, :])
            b = tl.load(b_ptr + n * K + (start + k)[:, None])
            c = tl.dot(a, b, c, input_precision="ieee" if a.dtype == tl.float32 else None)
        c = center(c)
        tl.store(c_ptr + m * N + n, c)

    a, b = random(dtype, (64, 256)), random(dtype, (128, 256), seed=1)
    c = poisoned(random("f32", (64, 128)))
    kernel[(1,)](a, b, c, 256, 64, 128, 64, num_warps=num_warps)
    e = numbers(a) @ numbers(b).T
    # Hopper adds fp8 products with fewer bits than float32 has
    check_norm(c, e - e.mean(), 5e-3 if dtype == "f8e4m3" else 1e-3)


@pytest.mark.parametrize("swizzled_bytes", [32, 64, 128])
def test_static_shared_memory_of_odd_size_beside_tma(swizzled_bytes, device_allocator):
    @triton.jit
    def kernel(x_ptr, y_ptr, ROWS, M: tl.constexpr, N: tl.constexpr):
        x = tl.make_tensor_descriptor(x_ptr, [ROWS, N], [N, 1], [M, N])
        y = tl.make_tensor_descriptor(y_ptr, [ROWS, N], [N, 1], [M, N])
        first = tl.program_id(0) * M
        y.store([first, 0], bend(center(x.load([first, 0]))))

    n = swizzled_bytes // 4
    x = random("f32", (5 * 64, n))
    y = poisoned(x)
    kernel[(5,)](x, y, 5 * 64, 64, n)
    tiles = numbers(x).reshape(5, 64, n)
    tiles = tiles - tiles.mean(axis=(1, 2), keepdims=True)
    check_close(y, np.concatenate([bent(tile) for tile in tiles]), 1e-4, 1e-4)


@pytest.mark.parametrize("num_stages", [1, 3])
def test_tma_loads_pipelined_into_wgmma_beside_a_region(num_stages, device_allocator):
    @triton.jit
    def kernel(a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr):
        a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [M, BLOCK_K])
        b_desc = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [N, BLOCK_K])
        c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [M, N])
        c = tl.zeros((M, N), tl.float32)
        for start in range(0, K, BLOCK_K):
            c = tl.dot(a_desc.load([0, start]), b_desc.load([0, start]).T, c)
        c_desc.store([0, 0], center(c))

    a, b = random("f16", (128, 512)), random("f16", (64, 512), seed=1)
    c = poisoned(random("f32", (128, 64)))
    kernel[(1,)](a, b, c, 512, 128, 64, 64, num_stages=num_stages)
    e = numbers(a) @ numbers(b).T
    check_norm(c, e - e.mean(), 1e-3)
