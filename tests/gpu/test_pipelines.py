"""Regions inside matrix loops that Triton pipelines: asynchronous copies and WGMMA run around them."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.gpu.device import check_close, check_norm, numbers, poisoned, random
from tle_raw import In, InOut, Pointer, Scalar, Tile

pytestmark = pytest.mark.gpu


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int M, int K> __device__ void add_rows(tle::tile<const __half, M, K> a, float* sums) {
  for (int i = threadIdx.x; i < M; i += blockDim.x) {
    float sum = 0;
    for (int j = 0; j < K; ++j) sum += __half2float(a(i, j));
    atomicAdd(sums + i, sum);
  }
}
""",
)
def add_rows(a: In[Tile["f16", "M", "K"]], sums: InOut[Pointer["f32"]]): ...


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int M, int K> __device__ void alternate(tle::tile<__half, M, K> a, int k) {
  for (int i : a.indices()) {
    const int row = i / K, column = k + i % K;
    if ((row + column) % 3 == 0) a[i] = __hneg(a[i]);
  }
}
""",
)
def alternate(a: InOut[Tile["f16", "M", "K"]], k: Scalar["i32"]): ...


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int M, int N> __device__ void fade(tle::tile<float, M, N> c) {
  for (int i : c.indices()) c[i] *= (i / N + i % N) % 2 ? 0.5f : 0.75f;
}
""",
)
def fade(c: InOut[Tile["f32", "M", "N"]]): ...


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, sums_ptr, K,
    MODE: tl.constexpr, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    m, n, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, BLOCK_K)
    c = tl.zeros((M, N), tl.float32)
    for start in range(0, K, BLOCK_K):
        inside = start + k < K
        a = tl.load(a_ptr + m * K + (start + k)[None, :], mask=inside[None, :], other=0.0)
        b = tl.load(b_ptr + (start + k)[:, None] * N + n, mask=inside[:, None], other=0.0)
        if MODE == "reads an operand":
            add_rows(a, sums_ptr)
        if MODE == "updates an operand":
            a = alternate(a, start)
        c = tl.dot(a, b, c)
        if MODE == "updates the accumulator":
            c = fade(c)
    if MODE == "updates the result":
        c = fade(c)
    tl.store(c_ptr + m * N + n, c)


def reference(a: np.ndarray, b: np.ndarray, mode: str, block_k: int) -> np.ndarray:
    (m, k), n = a.shape, b.shape[1]
    row, column = np.indices((m, k))
    if mode == "updates an operand":
        a = np.where((row + column) % 3 == 0, -a, a)
    row, column = np.indices((m, n))
    factor = np.where((row + column) % 2 == 1, 0.5, 0.75)
    if mode != "updates the accumulator":
        return a @ b * (factor if mode == "updates the result" else 1)
    c = np.zeros((m, n))
    for start in range(0, k, block_k):
        c = (c + a[:, start : start + block_k] @ b[start : start + block_k]) * factor
    return c


MODES = ["reads an operand", "updates an operand", "updates the accumulator", "updates the result"]


@pytest.mark.parametrize("num_stages", [1, 2, 3, 4])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("num_warps", [4, 8])
def test_a_region_in_a_pipelined_matrix_loop(mode, num_stages, num_warps):
    run_matmul(mode, 64, 64, 199, 32, num_stages, num_warps)


@pytest.mark.parametrize("mode", MODES)
def test_a_region_beside_wgmma_with_long_k(mode):
    run_matmul(mode, 128, 128, 1021, 64, 3, 4)


@pytest.mark.parametrize("k", [32, 33, 1])
def test_a_region_in_a_loop_shorter_than_the_pipeline(k):
    run_matmul("updates an operand", 64, 64, k, 32, 4, 4)


def run_matmul(mode, m, n, k, block_k, num_stages, num_warps):
    a, b = random("f16", (m, k)), random("f16", (k, n), seed=1)
    c, sums = poisoned(random("f32", (m, n))), random("f32", (m,)).zero_()
    matmul[(1,)](a, b, c, sums, k, mode, m, n, block_k, num_stages=num_stages, num_warps=num_warps)
    check_norm(c, reference(numbers(a), numbers(b), mode, block_k), 1e-3)
    if mode == "reads an operand":
        check_close(sums, numbers(a).sum(axis=1), 1e-4, 1e-3)


def test_a_region_in_an_attention_loop():
    """Two products, an online softmax, and a region on the scores between them."""

    @tle_raw.dialect(
        "cuda",
        source=r"""
    template <int M, int N> __device__ void causal(tle::tile<float, M, N> scores, int first) {
      for (int i : scores.indices()) if (first + i % N > i / N) scores[i] = -1e30f;
    }
    """,
    )
    def causal(scores: InOut[Tile["f32", "M", "N"]], first: Scalar["i32"]): ...

    @triton.jit
    def attention(q_ptr, k_ptr, v_ptr, o_ptr, L: tl.constexpr, D: tl.constexpr, B: tl.constexpr):
        row, d, column = tl.arange(0, L), tl.arange(0, D), tl.arange(0, B)
        q = tl.load(q_ptr + row[:, None] * D + d[None, :])
        top = tl.full((L,), -1e30, tl.float32)
        total = tl.zeros((L,), tl.float32)
        o = tl.zeros((L, D), tl.float32)
        for start in range(0, L, B):
            k = tl.load(k_ptr + (start + column)[None, :] * D + d[:, None])
            v = tl.load(v_ptr + (start + column)[:, None] * D + d[None, :])
            s = causal(tl.dot(q, k) * (1.0 / 8.0), start)
            new_top = tl.maximum(top, tl.max(s, axis=1))
            p = tl.exp(s - new_top[:, None])
            scale = tl.exp(top - new_top)
            total = total * scale + tl.sum(p, axis=1)
            o = tl.dot(p.to(tl.float16), v, o * scale[:, None])
            top = new_top
        tl.store(o_ptr + row[:, None] * D + d[None, :], o / total[:, None])

    q, k, v = (random("f16", (128, 64), seed=s) for s in range(3))
    o = poisoned(random("f32", (128, 64)))
    attention[(1,)](q, k, v, o, 128, 64, 32, num_stages=2)
    s = numbers(q) @ numbers(k).T / 8
    s = np.where(np.tri(128, dtype=bool), s, -np.inf)
    p = np.exp(s - s.max(axis=1, keepdims=True))
    check_norm(o, p @ numbers(v) / p.sum(axis=1, keepdims=True), 2e-3)
