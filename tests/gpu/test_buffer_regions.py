"""Regions in the kernel's own shared buffers, in every layout: what the region writes is what the kernel loads."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.gpu.device import COMPILE_ONLY, DEVICE
from tle_raw import AnyLayout, Buffer, In, InOut, Out
from tle_raw.triton_version import VERSION

pytestmark = pytest.mark.gpu

SOURCE = r"""
#include <tle_raw/buffer.h>
template <class T, int M, int N, class A, class B>
__device__ void reversed(tle::buffer<const T, A, M, N> x, tle::buffer<T, B, M, N> y) {
  for (int i : y.indices()) y(i / N, i % N) = x[M * N - 1 - i];
}
template <class T, int M, int N, class A>
__device__ void swap_rows(tle::buffer<T, A, M, N> x) {
  for (int i : x.indices()) {
    const int row = i / N, column = i % N;
    if (row % 2 == 0) {
      const T upper = x(row, column);
      x(row, column) = x(row + 1, column);
      x(row + 1, column) = upper;
    }
  }
}
"""


@tle_raw.dialect("cuda", source=SOURCE)
def reversed(x: In[Buffer["T", "M", "N", AnyLayout]], y: Out[Buffer["T", "M", "N", AnyLayout]]): ...


@tle_raw.dialect("cuda", source=SOURCE)
def swap_rows(x: InOut[Buffer["T", "M", "N", AnyLayout]]): ...


@triton.jit
def kernel(x, y, A: tl.constexpr, B: tl.constexpr, TRANSPOSED: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    if TRANSPOSED:
        a = tle.gpu.alloc([N, M], dtype=x.dtype.element_ty, layout=A).trans()
        b = tle.gpu.alloc([2, N, M], dtype=x.dtype.element_ty, layout=B).slot(1).trans()
    else:
        a = tle.gpu.alloc([M, N], dtype=x.dtype.element_ty, layout=A)
        b = tle.gpu.alloc([2, M, N], dtype=x.dtype.element_ty, layout=B).slot(1)
    a.store(tl.load(x + at))
    for _ in range(3):
        swap_rows(a)
    reversed(a, b)
    tl.store(y + at, b.load())


DTYPES = {
    torch.int8: tl.int8,
    torch.float16: tl.float16,
    torch.bfloat16: tl.bfloat16,
    torch.float32: tl.float32,
    torch.int32: tl.int32,
    torch.int64: tl.int64,
    torch.float64: tl.float64,
}


def layouts(shape, dtype, transposed):
    """Pairs of layouts for a slot of this shape."""
    plain = tle.gpu.swizzled_shared_layout(1, 1, 1, [1, 0])
    yield "rows", plain
    yield "columns", tle.gpu.swizzled_shared_layout(1, 1, 1, [0, 1])
    for vector, per_phase, phases in ((4, 1, 4), (2, 2, 8), (1, 4, 4)):
        if vector * phases <= min(shape):
            yield (
                f"swizzled {vector}, {per_phase}, {phases}",
                tle.gpu.swizzled_shared_layout(vector, per_phase, phases, [1, 0]),
            )
    if dtype.primitive_bitwidth <= 32 and shape[1] * dtype.primitive_bitwidth // 8 >= 32:
        yield "mma", tle.gpu.nv_mma_shared_layout(shape, None, dtype)
        if not transposed or VERSION >= (3, 8):  # older ones cannot transpose it
            yield "mma, not swizzled", tle.gpu.nv_mma_shared_layout(shape, None, dtype, swizzled=False)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(16, 32), (64, 64), (32, 128), (128, 16)])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_layout(dtype, shape, transposed):
    own = shape[::-1] if transposed else shape
    x = torch.randint(-100, 100, shape, device=DEVICE).to(dtype)
    pairs = dict(layouts(own, DTYPES[dtype], transposed))
    want = x.view(shape[0] // 2, 2, shape[1]).flip(1).reshape(shape).flip(0, 1)
    for name, layout in pairs.items():
        y = torch.zeros_like(x)
        found = kernel[(1,)](x, y, A=layout, B=layout, TRANSPOSED=transposed, M=shape[0], N=shape[1])
        assert tle_raw.report(found).one_kernel
        if not COMPILE_ONLY:
            assert torch.equal(y, want), name
