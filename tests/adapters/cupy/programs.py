"""CuPy's kernels as fragments, and the Triton kernels that call them."""

import cupy
import triton
import triton.language as tl

import tle_raw

RAW = cupy.RawKernel(
    r"""
    extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = a * x[i] + y[i] + BIAS;
    }
    """,
    "saxpy",
    options=("-DBIAS=2", "--std=c++17", "-lineinfo"),
)
saxpy = tle_raw.fragment(RAW)

MODULE = cupy.RawModule(
    code=r"""
    #include <cupy/complex.cuh>

    namespace scales {
    template <class T> __device__ T factor() { return T(3); }
    template <class T> __global__ void scale(T* x, int n) {
      for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] *= factor<T>();
    }
    }

    extern "C" __global__ void turn(complex<float>* x, int n) {
      if (threadIdx.x < n) x[threadIdx.x] *= complex<float>(0, 1);
    }
    """,
    options=("-std=c++17",),
    name_expressions=["scales::scale<float>", "scales::scale<int>"],
)
scale_floats = tle_raw.fragment(MODULE, symbol="scales::scale<float>")
scale_ints = tle_raw.fragment(MODULE, symbol="scales::scale<int>")
turn = tle_raw.fragment(MODULE, symbol="turn")

gathered = tle_raw.fragment(
    cupy.ElementwiseKernel("T x, T y, raw float32 w", "T z", "z = x * y + w[i % 4]", "gathered")
)
clamp = tle_raw.fragment(
    cupy.ElementwiseKernel(
        "T x, float32 limit",
        "T z",
        """
        if (x > limit) { z = clip(limit); return; }
        if (x >= -limit) continue
        """,
        "clamp",
        preamble="__device__ float clip(float limit) { return limit; }",
    )
)
place = tle_raw.fragment(cupy.ElementwiseKernel("T x", "float64 z", "z = x * 2 / _ind.size() + i", "place"))

NORM = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "euclidean_norm")
norm, row_norms, column_norms = (tle_raw.fragment(NORM, axis=axis) for axis in (None, 1, 0))
mean_of_powers = tle_raw.fragment(
    cupy.ReductionKernel("T x, T p", "float64 y", "pow(x, p)", "a + b", "y = a / _in_ind.size()", "0", "mean"),
    scalars="p",
)
PAIR = """
template <class V> struct pair {
  V value;
  int at;
  __device__ pair() : value(0), at(-1) {}
  __device__ pair(V value, int at) : value(value), at(at) {}
};
template <class V> __device__ pair<V> larger(pair<V> a, pair<V> b) { return a.value > b.value ? a : b; }
"""
largest = tle_raw.fragment(
    cupy.ReductionKernel(
        "T x, raw T w", "int32 at, T most", "pair<T>(x * w[_J], (int)_J)", "larger(a, b)", "at = a.at; most = a.value",
        "pair<T>(-1e30f, -1)", "largest", reduce_type="pair<T>", preamble=PAIR,
    ),
    axis=1,
)  # fmt: skip
place_of_largest = tle_raw.fragment(
    cupy.ReductionKernel(
        "T x", "int32 at", "pair<T>(x, (int)_J)", "larger(a, b)", "at = a.at", "pair<T>(-1e30f, -1)",
        "place_of_largest", reduce_type="pair<T>", preamble=PAIR,
    )
)  # fmt: skip


@triton.jit
def saxpy_kernel(a, x, y, n):
    saxpy(a, x, y, n)


@triton.jit
def scale_kernel(x, k, n):
    scale_floats(x, n)
    scale_ints(k, n)


@triton.jit
def gathered_kernel(x, y, w, z, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(z + i, gathered(tl.load(x + i), tl.load(y + i), w, i))


@triton.jit
def clamp_kernel(x, limit, N: tl.constexpr):
    i = tl.arange(0, N)
    old = tl.load(x + i)
    tl.store(x + i, clamp(old, limit, old))


@triton.jit
def place_kernel(x, z, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(z + i, place(tl.load(x + i), N, i))


@triton.jit
def norms_kernel(x, whole, rows, columns, M: tl.constexpr, N: tl.constexpr):
    t = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(whole, norm(tl.reshape(t, (M * N,))))
    tl.store(rows + tl.arange(0, M), row_norms(t))
    tl.store(columns + tl.arange(0, N), column_norms(t))


@triton.jit
def mean_kernel(x, out, N: tl.constexpr):
    tl.store(out, mean_of_powers(tl.load(x + tl.arange(0, N)), 3.0))


@triton.jit
def largest_kernel(x, w, at, most, first, M: tl.constexpr, N: tl.constexpr):
    t = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    found, value = largest(t, w)
    tl.store(at + tl.arange(0, M), found)
    tl.store(most + tl.arange(0, M), value)
    tl.store(first, place_of_largest(tl.reshape(t, (M * N,))))
