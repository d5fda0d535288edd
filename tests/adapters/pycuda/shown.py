"""Programs in the manner of PyCUDA's examples: each as a region of a Triton kernel, and as a whole kernel.

``Program.case()`` makes random arguments and their check against NumPy in float64; both kernels take the same ones.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import triton
import triton.language as tl

from tle_raw import pycuda

RANDOM = np.random.default_rng(11)


@dataclass(frozen=True)
class Case:
    """Arguments, of which the arrays are NumPy's; ``check`` gets them all after the launch, arrays as NumPy's."""

    arguments: tuple[Any, ...]
    grid: tuple[int, ...]
    check: Callable[..., None]


@dataclass(frozen=True)
class Program:
    """``region`` is a Triton kernel that calls the fragment, and ``whole`` the fragment launched alone."""

    name: str
    region: Any
    whole: Any
    case: Callable[[], Case]
    warps: int = 4
    constants: dict[str, int] = field(default_factory=dict)
    before: Callable[[Any], None] | None = None

    def launch_region(self, arguments: tuple[Any, ...], grid: tuple[int, ...]) -> Any:
        options = {**self.constants, "num_warps": self.warps}
        if self.before:
            self.before(self.region.warmup(*arguments, grid=grid, **options))
        return self.region[grid](*arguments, **options)

    def launch_whole(self, arguments: tuple[Any, ...], grid: tuple[int, ...]) -> Any:
        if self.before:
            self.before(self.whole.warmup(*arguments, grid=grid))
        return self.whole[grid](*arguments)


def floats(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(dtype)


def close(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


# --- elementwise ------------------------------------------------------------------------------------------------------

smooth_maximum = pycuda.ElementwiseKernel(
    "float a, const float *x, float b, const float *y, float *z",
    "z[i] = smooth(a * x[i], b * y[i])",
    "smooth_maximum",
    preamble="""
    __device__ float smooth(float p, float q)
    {
      const float most = fmaxf(p, q);
      return most + log1pf(expf(fminf(p, q) - most));
    }
    """,
)


@triton.jit
def elementwise_region(a, x, b, y, z, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    inside = i < n
    tl.store(z + i, smooth_maximum(a, tl.load(x + i, inside), b, tl.load(y + i, inside)), inside)


def elementwise_case() -> Case:
    n = 1001
    x, y = floats(n), floats(n)

    def check(a, x, b, y, z, n):
        close(z, np.logaddexp(a * x.astype(np.float64), b * y.astype(np.float64)))

    return Case((1.5, x, -0.5, y, np.zeros_like(x), n), (math.ceil(n / 256),), check)


# --- reduction --------------------------------------------------------------------------------------------------------

distance = pycuda.ReductionKernel(
    np.float32, "0", "a+b", "(x[i] - y[i]) * (x[i] - y[i])", "const float *x, const float *y", "distance"
)


@triton.jit
def reduction_region(out, x, y, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + tl.program_id(0), distance(tl.load(x + i, i < n, 0.0), tl.load(y + i, i < n, 0.0)))


def reduction_case() -> Case:
    n = 2503
    x, y, blocks = floats(n), floats(n), math.ceil(n / 512)

    def check(out, x, y, n):
        close(out.sum(), ((x.astype(np.float64) - y) ** 2).sum(), 1e-4)

    return Case((np.zeros(blocks, np.float32), x, y, n), (blocks,), check)


# --- tiled matrix multiplication --------------------------------------------------------------------------------------

MATMUL = """
__global__ void multiply(const float *a, const float *b, float *c, int m, int n, int k)
{
  __shared__ float left[%(TILE)d][%(TILE)d];
  __shared__ float right[%(TILE)d][%(TILE)d];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * %(TILE)d + ty, column = blockIdx.x * %(TILE)d + tx;
  float sum = 0;
  for (int start = 0; start < k; start += %(TILE)d) {
    left[ty][tx] = row < m && start + tx < k ? a[row * k + start + tx] : 0;
    right[ty][tx] = start + ty < k && column < n ? b[(start + ty) * n + column] : 0;
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < %(TILE)d; ++i)
      sum += left[ty][i] * right[i][tx];
    __syncthreads();
  }
  if (row >= m || column >= n) return;
  c[row * n + column] = sum;
}
"""
matmul_module = pycuda.SourceModule(MATMUL % {"TILE": 16})
multiply = matmul_module.get_function("multiply", block=(16, 16, 1))


@triton.jit
def matmul_region(a, b, c, m, n, k):
    multiply(a, b, c, m, n, k)


def matmul_case() -> Case:
    m, n, k = 37, 45, 53
    a, b = floats(m, k), floats(k, n)

    def check(a, b, c, *sizes):
        close(c, a.astype(np.float64) @ b)

    return Case((a, b, np.zeros((m, n), np.float32), m, n, k), (math.ceil(n / 16), math.ceil(m / 16)), check)


# --- transpose --------------------------------------------------------------------------------------------------------

TRANSPOSE = """
#define SIDE 16

__global__ void transpose(double *target, double *source, int height, int width)
{
  __shared__ double tile[SIDE * (SIDE + 1)];
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height)
    tile[threadIdx.y * (SIDE + 1) + threadIdx.x] = source[y * width + x];
  __syncthreads();
  x = blockIdx.y * SIDE + threadIdx.x;
  y = blockIdx.x * SIDE + threadIdx.y;
  if (x < height && y < width)
    target[y * height + x] = tile[threadIdx.x * (SIDE + 1) + threadIdx.y];
}
"""
transpose = pycuda.SourceModule(TRANSPOSE).get_function("transpose", block=(16, 16, 1))


@triton.jit
def transpose_region(target, source, height, width):
    transpose(target, source, height, width)


def transpose_case() -> Case:
    height, width = 51, 35
    source = floats(height, width, dtype=np.float64)

    def check(target, source, *sizes):
        np.testing.assert_array_equal(target, source.T)

    return Case((np.zeros((width, height)), source, height, width), (3, 4), check)


# --- convolution ------------------------------------------------------------------------------------------------------

CONVOLUTION = """
#define RADIUS 4
__constant__ float weights[2 * RADIUS + 1];

__global__ void convolve_rows(float *result, const float *image, int width, int height)
{
  __shared__ float row[128 + 2 * RADIUS];
  const int start = blockIdx.x * blockDim.x - RADIUS, y = blockIdx.y;
  for (int i = threadIdx.x; i < blockDim.x + 2 * RADIUS; i += blockDim.x) {
    const int x = start + i;
    row[i] = x >= 0 && x < width ? image[y * width + x] : 0;
  }
  __syncthreads();
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= width) return;
  float sum = 0;
  for (int k = -RADIUS; k <= RADIUS; ++k)
    sum += row[threadIdx.x + RADIUS + k] * weights[RADIUS - k];
  result[y * width + x] = sum;
}
"""
WEIGHTS = np.array([0.5, -1, 2, 0.25, 3, -2, 1, 0.75, -0.125], np.float32)
convolution_module = pycuda.SourceModule(CONVOLUTION)
convolve_rows = convolution_module.get_function("convolve_rows", block=(128, 1, 1))


@triton.jit
def convolution_region(result, image, width, height):
    convolve_rows(result, image, width, height)


def set_weights(compiled: Any) -> None:
    convolution_module.get_global("weights", compiled).set(WEIGHTS)


def convolution_case() -> Case:
    height, width = 5, 203
    image = floats(height, width)

    def check(result, image, *sizes):
        close(result, np.stack([np.convolve(row.astype(np.float64), WEIGHTS, "same") for row in image]))

    return Case((np.zeros_like(image), image, width, height), (2, height), check)


# --- templates --------------------------------------------------------------------------------------------------------

TEMPLATES = """
template <class T> struct Maximum { static __device__ T of(T a, T b) { return a > b ? a : b; } };
template <class T> struct Sum { static __device__ T of(T a, T b) { return a + b; } };

template <class T, template <class> class Join, int WINDOW>
__global__ void windows(T *out, const T *x, int n)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + WINDOW > n) return;
  T joined = x[i];
  #pragma unroll
  for (int k = 1; k < WINDOW; ++k) joined = Join<T>::of(joined, x[i + k]);
  out[i] = joined;
}
"""
templates_module = pycuda.SourceModule(TEMPLATES, no_extern_c=True)
largest_of_5 = templates_module.get_function("windows<int, Maximum, 5>")


@triton.jit
def templates_region(out, x, n):
    largest_of_5(out, x, n)


def templates_case() -> Case:
    n = 333
    x = RANDOM.integers(-1000, 1000, n).astype(np.int32)

    def check(out, x, n):
        np.testing.assert_array_equal(out[: n - 4], np.lib.stride_tricks.sliding_window_view(x, 5).max(1))
        assert not out[n - 4 :].any()

    return Case((np.zeros_like(x), x, n), (3,), check)


# --- FFT: passes of radix 4 and one of radix 2 ------------------------------------------------------------------------

FFT = """
#define POINTS 128

__device__ float2 times(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ float2 plus(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 minus(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }

__device__ float2 turn(int k, int n)
{
  float2 w;
  sincospif(-2.0f * k / n, &w.y, &w.x);
  return w;
}

/* Stockham: each pass reads butterflies that stand POINTS / radix apart, and writes them into longer runs. */
__device__ void radix4(float2 *from, float2 *to, int run)
{
  const int t = threadIdx.x, k = t % run, place = (t - k) * 4 + k;
  const float2 a = from[t];
  const float2 b = times(turn(k, 4 * run), from[t + POINTS / 4]);
  const float2 c = times(turn(2 * k, 4 * run), from[t + 2 * POINTS / 4]);
  const float2 d = times(turn(3 * k, 4 * run), from[t + 3 * POINTS / 4]);
  const float2 even = plus(a, c), odd = minus(a, c), sum = plus(b, d), difference = minus(b, d);
  const float2 turned = make_float2(difference.y, -difference.x);
  to[place] = plus(even, sum);
  to[place + run] = plus(odd, turned);
  to[place + 2 * run] = minus(even, sum);
  to[place + 3 * run] = minus(odd, turned);
}

__device__ void radix2(float2 *from, float2 *to, int run)
{
  for (int t = threadIdx.x; t < POINTS / 2; t += blockDim.x) {
    const int k = t % run, place = (t - k) * 2 + k;
    const float2 a = from[t], b = times(turn(k, 2 * run), from[t + POINTS / 2]);
    to[place] = plus(a, b);
    to[place + run] = minus(a, b);
  }
}

__global__ void fft(float2 *signals)
{
  __shared__ float2 now[POINTS], next[POINTS];
  float2 *signal = signals + blockIdx.x * POINTS;
  for (int i = threadIdx.x; i < POINTS; i += blockDim.x) now[i] = signal[i];
  __syncthreads();
  radix4(now, next, 1);
  __syncthreads();
  radix4(next, now, 4);
  __syncthreads();
  radix4(now, next, 16);
  __syncthreads();
  radix2(next, now, 64);
  __syncthreads();
  for (int i = threadIdx.x; i < POINTS; i += blockDim.x) signal[i] = now[i];
}
"""
fft = pycuda.SourceModule(FFT).get_function("fft", block=(32, 1, 1))


@triton.jit
def fft_region(signals):
    fft(signals)


def fft_case() -> Case:
    batch = 5
    signals = floats(batch, 256)  # 128 pairs each
    expected = np.fft.fft(signals.astype(np.float64).view(np.complex128))

    def check(signals):
        close(signals, expected.view(np.float64), 2e-5)

    return Case((signals,), (batch,), check)


# --- Mandelbrot -------------------------------------------------------------------------------------------------------

MANDELBROT = """
__global__ void mandelbrot(int *counts, int width, int height, double left, double top, double step, int most)
{
  const int column = threadIdx.x + blockDim.x * blockIdx.x, row = threadIdx.y + blockDim.y * blockIdx.y;
  if (column >= width || row >= height) return;
  const double x0 = left + column * step, y0 = top + row * step;
  double x = 0, y = 0;
  int count = 0;
  while (count < most && x * x + y * y <= 4) {
    const double next = x * x - y * y + x0;
    y = 2 * x * y + y0;
    x = next;
    ++count;
  }
  counts[row * width + column] = count;
}
"""
mandelbrot = pycuda.SourceModule(MANDELBROT).get_function("mandelbrot", block=(16, 8, 1))


@triton.jit
def mandelbrot_region(counts, width, height, left: "fp64", top: "fp64", step: "fp64", most):
    mandelbrot(counts, width, height, left, top, step, most)


def mandelbrot_case() -> Case:
    height, width, left, top, step, most = 31, 45, -2.1, -1.13, 0.0721, 60
    z, count = np.zeros((height, width), np.complex128), np.zeros((height, width), np.int32)
    c = (left + np.arange(width) * step)[None, :] + 1j * (top + np.arange(height) * step)[:, None]
    for _ in range(most):
        inside = z.real**2 + z.imag**2 <= 4
        count += inside
        z = np.where(inside, z * z + c, z)

    def check(counts, *rest):
        # Whether a product and a sum are rounded once or twice decides over a few points at the rim.
        assert (counts != count).mean() < 0.005 and counts.max() == most

    return Case((np.zeros_like(count), width, height, left, top, step, most), (3, 4), check)


PROGRAMS = [
    Program("elementwise", elementwise_region, smooth_maximum.as_kernel(block=64), elementwise_case, 2, {"N": 256}),
    Program("reduction", reduction_region, distance.as_kernel(block=128), reduction_case, 4, {"N": 512}),
    Program("matmul", matmul_region, matmul_module.get_function("multiply").as_kernel(block=(16, 16, 1)), matmul_case,
            8),
    Program("transpose", transpose_region, transpose.as_kernel(), transpose_case, 8),
    Program("convolution", convolution_region, convolve_rows.as_kernel(), convolution_case, 4, before=set_weights),
    Program("templates", templates_region, largest_of_5.as_kernel(block=(128, 1, 1)), templates_case, 4),
    Program("fft", fft_region, fft.as_kernel(), fft_case, 1),
    Program("mandelbrot", mandelbrot_region, mandelbrot.as_kernel(), mandelbrot_case, 4),
]  # fmt: skip
