"""A kernel with a CUDA fragment on a tile: the linked route."""

import triton
import triton.language as tl

import tle_raw
from tle_raw import InOut, Pointer, Tile


@tle_raw.dialect(
    "cuda",
    source="""
#include <tle_raw/tile.h>

template <int N>
__device__ void add_bias(tle::tile<float, N> x, const float* bias) {
  for (int i : x.indices()) x[i] += bias[i];
}
""",
)
def add_bias(x: InOut[Tile["f32", "N"]], bias: Pointer["f32"]): ...  # noqa: F821


@triton.jit
def kernel(x_ptr, bias_ptr, y_ptr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y_ptr + at, add_bias(tl.load(x_ptr + at), bias_ptr))


SIGNATURE = {"x_ptr": "*fp32", "bias_ptr": "*fp32", "y_ptr": "*fp32", "N": "constexpr"}
