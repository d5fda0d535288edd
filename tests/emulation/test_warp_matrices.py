"""Matrices of ``mma.h`` on the CPU: products of a warp, loads and stores of every order, numbers against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tle_raw
from tests.emulation.tables import run
from tle_raw import Pointer, Scalar
from tle_raw.errors import KernelFailed
from tle_raw.knobs import knobs

pytestmark = pytest.mark.one_triton

RANDOM = np.random.default_rng(23)
# Of A and B, and of the sums: CUDA's types, and those of torch.
ELEMENTS = {
    "f16": ("__half", torch.float16), "bf16": ("__nv_bfloat16", torch.bfloat16), "tf32": ("float", torch.float32),
    "f64": ("double", torch.float64), "s8": ("signed char", torch.int8), "u8": ("unsigned char", torch.uint8),
    "f32": ("float", torch.float32), "s32": ("int", torch.int32),
}  # fmt: skip
# Rows, columns, depth; elements of A and B, of C and of D; orders of A, B, C and D: true where columns are whole.
FORMS = (
    (16, 16, 16, "f16", "f32", "f32", "0101"),
    (8, 32, 16, "f16", "f16", "f16", "1010"),
    (32, 8, 16, "f16", "f16", "f32", "0010"),
    (16, 16, 16, "f16", "f32", "f16", "1100"),
    (8, 32, 16, "bf16", "f32", "f32", "0100"),
    (32, 8, 16, "bf16", "f32", "f32", "1011"),
    (16, 16, 8, "tf32", "f32", "f32", "0101"),
    (8, 8, 4, "f64", "f64", "f64", "0110"),
    (16, 16, 16, "s8", "s32", "s32", "0100"),
    (32, 8, 16, "u8", "s32", "s32", "1001"),
    (8, 32, 16, "s8", "s32", "s32", "1111"),
)


def case(number: int) -> str:
    m, n, k, kind, kind_c, kind_d, orders = FORMS[number]
    (of_a, _), (of_c, _), (of_d, _) = (ELEMENTS[name] for name in (kind, kind_c, kind_d))
    layout = ["wmma::col_major" if order == "1" else "wmma::row_major" for order in orders]
    element = "wmma::precision::tf32" if kind == "tf32" else of_a
    to = [layout[i].replace("wmma::", "wmma::mem_") for i in (2, 3)]
    return f"""case {number}: {{
    wmma::fragment<wmma::matrix_a, {m}, {n}, {k}, {element}, {layout[0]}> a;
    wmma::fragment<wmma::matrix_b, {m}, {n}, {k}, {element}, {layout[1]}> b;
    wmma::fragment<wmma::accumulator, {m}, {n}, {k}, {of_c}> c;
    wmma::fragment<wmma::accumulator, {m}, {n}, {k}, {of_d}> d;
    wmma::load_matrix_sync(a, (const {of_a}*)a_, stride);
    wmma::load_matrix_sync(b, (const {of_a}*)b_, stride);
    wmma::load_matrix_sync(c, (const {of_c}*)c_, stride, {to[0]});
    for (int i = 0; i < a.num_elements; i++) a.x[i] = a.x[i] + a.x[i];
    wmma::mma_sync(d, a, b, c);
    wmma::store_matrix_sync(({of_d}*)d_, d, stride, {to[1]});
    return;
  }}"""


@pytest.fixture(scope="module")
def products(tmp_path_factory):
    """One fragment for all: ``which`` is the product that it makes, of 2 A and B."""

    def f(
        d_: Pointer["u8"], a_: Pointer["u8"], b_: Pointer["u8"], c_: Pointer["u8"],
        which: Scalar["i32"], stride: Scalar["i32"],
    ): ...  # fmt: skip

    cases = "\n  ".join(map(case, range(len(FORMS))))
    path = tmp_path_factory.mktemp("products") / "fragment.cu"
    path.write_text(f"""#include <mma.h>
using namespace nvcuda;
__device__ void f(unsigned char* d_, const unsigned char* a_, const unsigned char* b_, const unsigned char* c_,
                  int which, int stride) {{
  switch (which) {{
  {cases}
  }}
}}""")
    return tle_raw.fragment(path, signature=f)


def matrix(kind: str, rows: int, columns: int, by_columns: bool, stride: int) -> tuple[np.ndarray, np.ndarray]:
    """Random elements in float64, and the bytes of the matrix in memory of this stride."""
    dtype = ELEMENTS[kind][1]
    if dtype.is_floating_point:
        numbers = torch.from_numpy(RANDOM.standard_normal((rows, columns)))
    else:
        low = 0 if kind == "u8" else -60
        numbers = torch.from_numpy(RANDOM.integers(low, 61, (rows, columns)))
    numbers = numbers.to(dtype)
    if kind == "tf32":
        numbers = (numbers.view(torch.int32) & -8192).view(torch.float32)
    memory = torch.zeros((columns if by_columns else rows, stride), dtype=dtype)
    memory[:, : rows if by_columns else columns] = numbers.T if by_columns else numbers
    return numbers.double().numpy(), memory.view(torch.uint8).numpy().reshape(-1)


@pytest.mark.parametrize("which", range(len(FORMS)), ids=lambda which: "-".join(map(str, FORMS[which])))
def test_products(products, which):
    m, n, k, kind, kind_c, kind_d, orders = FORMS[which]
    by = [order == "1" for order in orders]
    stride = 48
    (a, a_), (b, b_) = matrix(kind, m, k, by[0], stride), matrix(kind, k, n, by[1], stride)
    (c, c_), (_, d_) = matrix(kind_c, m, n, by[2], stride), matrix(kind_d, m, n, by[3], stride)
    before = d_.copy()
    with knobs.scope():
        knobs.debug = which % 3 == 0
        run(products, num_warps=1, d_=d_, a_=a_, b_=b_, c_=c_, which=which, stride=stride)
    found, kept = (torch.from_numpy(x).view(ELEMENTS[kind_d][1]).double().numpy() for x in (d_, before))
    found, kept = found.reshape(-1, stride), kept.reshape(-1, stride)
    extent = m if by[3] else n
    np.testing.assert_array_equal(found[:, extent:], kept[:, extent:])
    wanted = 2 * a @ b + c
    found = found[:, :extent].T if by[3] else found[:, :extent]
    if kind_d == "s32":
        np.testing.assert_array_equal(found, wanted)
    else:
        tolerance = {"f16": 1e-3, "f32": 3e-6, "f64": 1e-14}[kind_d]
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max())


SHARED = """
#include <mma.h>
using namespace nvcuda;
__device__ void f(float* y, const __half* x, int written) {
  __shared__ __align__(32) __half tile[2][256];
  __shared__ __align__(32) float sums[2][256];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (written) for (int i = lane; i < 256; i += 32) tile[warp][i] = x[warp * 256 + i];
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 1.0f);
  wmma::load_matrix_sync(a, tile[warp], 16);
  wmma::load_matrix_sync(b, tile[warp], 16);
  for (int k = 0; k < 3; k++) wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(sums[warp], c, 16, wmma::mem_row_major);
  __syncwarp();
  for (int i = lane; i < 256; i += 32) y[warp * 256 + i] = sums[warp][i ^ 1];
}
"""


@pytest.fixture(scope="module")
def in_shared_memory(tmp_path_factory):
    def f(y: Pointer["f32"], x: Pointer["f16"], written: Scalar["i32"]): ...

    path = tmp_path_factory.mktemp("shared") / "fragment.cu"
    path.write_text(SHARED)
    return tle_raw.fragment(path, signature=f)


@pytest.mark.parametrize("debug", [False, True])
def test_each_warp_has_matrices_in_shared_memory(in_shared_memory, debug):
    x, y = RANDOM.standard_normal((2, 16, 16)).astype("f2"), np.zeros(512, "f4")
    with knobs.scope():
        knobs.debug = debug
        run(in_shared_memory, num_warps=2, y=y, x=x.reshape(-1), written=1)
    wide = x.astype("f8")
    wanted = (3 * wide @ wide + 1).reshape(2, 16, 8, 2)[..., ::-1]
    np.testing.assert_allclose(y.reshape(2, 16, 8, 2), wanted, rtol=1e-5, atol=1e-5)


def test_debug_reports_matrices_that_nobody_has_written(in_shared_memory):
    with knobs.scope(), pytest.raises(KernelFailed, match="reads shared memory that nothing has been written to"):
        knobs.debug = True
        run(in_shared_memory, num_warps=2, y=np.zeros(512, "f4"), x=np.zeros(512, "f2"), written=0)
