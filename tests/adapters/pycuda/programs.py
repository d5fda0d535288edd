"""PyCUDA's kernels as fragments, and the Triton kernels that call them."""

import numpy as np
import triton
import triton.language as tl

from tle_raw import pycuda

axpby = pycuda.ElementwiseKernel("float a, float *x, float b, float *y, float *z", "z[i] = a*x[i] + b*y[i]", "axpby")
clamp = pycuda.ElementwiseKernel(
    "float *x, float limit",
    """
    if (x[i] > limit) x[i] = clip(x[i], limit);
    else if (x[i] < -limit)
      x[i] = -limit;
    """,
    "clamp",
    preamble="__device__ float clip(float value, float limit) { return value > limit ? limit : value; }",
)
ramp = pycuda.ElementwiseKernel("int *z, int step", "z[i] = i * step; z[i] += 1", "ramp")
halves = pycuda.ElementwiseKernel("__half *x, double *y", "y[i] = __half2float(x[i]) * 0.5", "halves")
# These use more than one element, or write more than one vector: they work on memory.
neighbours = pycuda.ElementwiseKernel(
    "const double *x, double *y", "y[i] = (i ? x[i - 1] : 0) + x[i] + (i + 1 < n ? x[i + 1] : 0)", "neighbours"
)
polar = pycuda.ElementwiseKernel(
    "const float2 *z, float *radius, float *angle",
    "radius[i] = hypotf(z[i].x, z[i].y); angle[i] = atan2f(z[i].y, z[i].x)",
)

dot = pycuda.ReductionKernel(
    np.float32, neutral="0", reduce_expr="a+b", map_expr="x[i]*y[i]", arguments="float *x, float *y"
)
largest = pycuda.ReductionKernel(np.int32, "-2147483647", "a > b ? a : b", arguments="const short *x")
row_sums = pycuda.ReductionKernel(np.float64, "0", "a+b", "x[i] + shift", "float *x, double shift", axis=1)
column_sums = pycuda.ReductionKernel(np.float32, "0", "a+b", "x[i]", "float *x", axis=0)
bits = pycuda.ReductionKernel(np.uint8, "0", "a | b", "x[i]", "unsigned char *x", "bits")
row_bits = pycuda.ReductionKernel(np.uint8, "0", "a | b", "x[i]", "unsigned char *x", "row_bits", axis=1)

running = pycuda.InclusiveScanKernel(np.float64, "a+b")
before = pycuda.ExclusiveScanKernel(np.int32, "a+b", "0")
last = pycuda.InclusiveScanKernel(np.int32, "b >= 0 ? b : a")  # associative, and not commutative

MODULE = pycuda.SourceModule(
    """
#include <stdint.h>

__device__ float twice(float x) { return 2 * x; }

__global__ void multiply(float *dest, float *a, float *b)
{
  const int i = threadIdx.x + threadIdx.y * blockDim.x;
  dest[i] = twice(a[i]) * b[i];
}

__global__ void count(int32_t *n) { atomicAdd(n, 1); }
""",
    options=["-O3", "--ptxas-options=-v", "-Xcompiler", "-fPIC", "--use_fast_math"],
)
multiply = MODULE.get_function("multiply")
shaped = MODULE.get_function("multiply", block=(16, 8))


@triton.jit
def axpby_kernel(x, y, z, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    inside = i < n
    tl.store(z + i, axpby(2.0, tl.load(x + i, inside), -0.5, tl.load(y + i, inside)), inside)


@triton.jit
def clamp_kernel(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, clamp(tl.load(x + i), 0.5))


@triton.jit
def ramp_kernel(z, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(z + i, ramp(3, i))


@triton.jit
def halves_kernel(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, halves(tl.load(x + i)))


@triton.jit
def neighbours_kernel(x, y, n):
    neighbours(x, y, n)


@triton.jit
def polar_kernel(z, radius, angle, n):
    polar(z, radius, angle, n)


@triton.jit
def dot_kernel(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out, dot(tl.load(x + i), tl.load(y + i)))


@triton.jit
def largest_kernel(x, out, N: tl.constexpr):
    tl.store(out, largest(tl.load(x + tl.arange(0, N))))


@triton.jit
def bits_kernel(x, out, rows, M: tl.constexpr, N: tl.constexpr):
    t = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out, bits(tl.reshape(t, (M * N,))))
    tl.store(rows + tl.arange(0, M), row_bits(t))


@triton.jit
def sums_kernel(x, rows, columns, M: tl.constexpr, N: tl.constexpr):
    t = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(rows + tl.arange(0, M), row_sums(t, tl.full((), 0.25, tl.float64)))
    tl.store(columns + tl.arange(0, N), column_sums(t))


@triton.jit
def running_kernel(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, running(tl.load(x + i)))


@triton.jit
def before_kernel(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, before(tl.load(x + i)))


@triton.jit
def last_kernel(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, last(tl.load(x + i)))


@triton.jit
def multiply_kernel(dest, a, b):
    multiply(dest, a, b)


@triton.jit
def shaped_kernel(dest, a, b):
    shaped(dest, a, b)


# As reductions were written before Volta: the last warp has no barriers, and its memory is volatile.
OLD_REDUCTION = pycuda.SourceModule("""
__global__ void total(float *out, const float *x, int n)
{
  extern __shared__ float sums[];
  const int t = threadIdx.x;
  sums[t] = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sums[t] += x[i];
  __syncthreads();
  for (int half = blockDim.x / 2; half > 32; half /= 2) {
    if (t < half) sums[t] += sums[t + half];
    __syncthreads();
  }
  if (t < 32) {
    volatile float *warp = sums;
    for (int half = 32; half > 0; half /= 2) warp[t] += warp[t + half];
  }
  if (t == 0) out[blockIdx.x] = sums[0];
}
""").get_function("total")
