"""What goes wrong in a region is told with its line: always, or when knobs.debug is on."""

from __future__ import annotations

import numpy as np
import pytest

import tle_raw
from tests.emulation.tables import run
from tle_raw import Element, In, InOut, Out, Pointer, Scalar, Tile
from tle_raw.errors import KernelFailed, UnsupportedFeatureError
from tle_raw.knobs import knobs

pytestmark = pytest.mark.one_triton


@pytest.fixture
def debug():
    with knobs.scope():
        knobs.debug = True
        yield


def fails(fragment, *, num_warps=4, program=(0, 0, 0), names=None, **values) -> KernelFailed:
    with pytest.raises(KernelFailed) as caught:
        run(fragment, num_warps=num_warps, program=program, names=names, **values)
    return caught.value


def line_of(error: KernelFailed) -> str:
    assert error.context.source is not None
    return error.context.source.text.strip()


def write(folder, text: str):
    path = folder / "fragment.cu"
    path.write_text(text)
    return path


def declare(folder, text, stub):
    return tle_raw.fragment(write(folder, text), signature=stub)


def test_threads_that_wait_for_each_other_at_two_places(tmp_path):
    def f(n: Scalar["i32"]): ...

    source = """
__device__ void f(int n) {
  if (threadIdx.x >= 48) return;
  if (threadIdx.x < n)
    __syncthreads();  // some stand here
  else
    __shfl_sync(~0u, n, 3);  // the others here, and want the whole warp
}
"""
    error = fails(declare(tmp_path, source, f), num_warps=2, n=40, program=(3, 1, 0))
    assert error.kind == "divergent_barrier"
    assert "no thread can go on; thread 0 waits at fragment.cu:5, thread 40 at fragment.cu:7" in str(error)
    assert "16 of 64 threads have returned" in str(error)
    assert error.program == (3, 1, 0)
    assert line_of(error).startswith("__shfl_sync(~0u, n, 3);")


def test_a_team_works_after_one_that_failed(tmp_path):
    def f(n: Scalar["i32"], out: Pointer["i32"]): ...

    source = """
__device__ void f(int n, int* out) {
  if (threadIdx.x >= n) __shfl_sync(~0u, n, 3);
  __syncthreads();
  out[threadIdx.x] = 1;
}
"""
    fragment, out = declare(tmp_path, source, f), np.zeros(128, "i4")
    for _ in range(3):
        fails(fragment, n=16, out=out)
        assert not out.any()
    run(fragment, n=128, out=out)
    assert out.all()


EXIT = """
__device__ void f(int n, int* out) {
  if (threadIdx.x >= n) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}
"""


def exits(n: Scalar["i32"], out: Pointer["i32"]): ...


exits.__name__ = "f"


def test_a_barrier_without_the_threads_that_returned(tmp_path):
    out = np.zeros(128, "i4")
    run(declare(tmp_path, EXIT, exits), n=40, out=out)  # as on the GPU
    np.testing.assert_array_equal(out, np.arange(128) < 40)


@pytest.mark.usefixtures("debug")
def test_debug_reports_threads_that_returned_before_a_barrier(tmp_path):
    error = fails(declare(tmp_path, EXIT, exits), n=40, out=np.zeros(128, "i4"))
    assert error.kind == "exited_at_barrier"
    assert "has returned while thread 0 waits at the barrier at fragment.cu:4" in str(error)
    assert line_of(error) == "__syncthreads();"


@pytest.mark.usefixtures("debug")
def test_debug_reports_threads_at_two_barriers(tmp_path):
    def f(n: Scalar["i32"]): ...

    source = """
__device__ void f(int n) {
  if (threadIdx.x < n)
    __syncthreads();
  else
    __syncthreads();
}
"""
    error = fails(declare(tmp_path, source, f), n=40)
    assert "thread 0 waits at fragment.cu:4 and thread 40 at fragment.cu:6" in str(error)


TILE = """
#include <tle_raw/tile.h>
template <int M, int N> __device__ void f(tle::tile<float, M, N> t, int i, int j, int k) {
  if (threadIdx.x == 7) {
    t(i, j) = 1;
    t[k] = 2;
  }
}
"""


def tile(t: InOut[Tile["f32", "M", "N"]], i: Scalar["i32"], j: Scalar["i32"], k: Scalar["i32"]): ...


tile.__name__ = "f"


@pytest.mark.usefixtures("debug")
def test_debug_reports_indices_outside_of_a_tile(tmp_path):
    fragment, t = declare(tmp_path, TILE, tile), np.zeros((4, 8), "f4")
    names = {"M": 4, "N": 8}
    assert run(fragment, names=names, t=t, i=3, j=7, k=31).sum() == 2
    for (i, j, k), said, line in (
        ((4, 0, 0), "the index 4 of dim 0 is outside of the tile, which has 4 there", "t(i, j) = 1;"),
        ((0, -1, 0), "the index -1 of dim 1 is outside of the tile, which has 8 there", "t(i, j) = 1;"),
        ((0, 0, 32), "the index 32 is outside of the tile, which has 32 elements", "t[k] = 2;"),
    ):
        error = fails(fragment, names=names, t=t, i=i, j=j, k=k)
        assert error.kind == "out_of_bounds"
        assert f"thread 7: {said}" in str(error)
        assert line_of(error) == line


@pytest.mark.usefixtures("debug")
def test_debug_reports_reads_of_out_tiles_that_nothing_wrote(tmp_path):
    def f(x: In[Tile["f32", "N"]], y: Out[Tile["f32", "N"]], n: Scalar["i32"]): ...

    source = """
#include <tle_raw/tile.h>
template <int N> __device__ void f(tle::tile<const float, N> x, float* y, int n) {
  const int i = threadIdx.x;
  if (i < n) y[i] = x[i];
  __syncthreads();
  const float other = i < N ? y[N - 1 - i] : 0;
  __syncthreads();
  if (i < N) y[i] += other;
}
"""
    fragment, x = declare(tmp_path, source, f), np.arange(64, dtype="f4")
    run(fragment, names={"N": 64}, x=x, n=64)
    error = fails(fragment, names={"N": 64}, x=x, n=50)
    assert error.kind == "uninitialised"
    assert "reads an Out tile at byte" in str(error)
    assert line_of(error) == "const float other = i < N ? y[N - 1 - i] : 0;"


@pytest.mark.usefixtures("debug")
def test_debug_reports_reads_of_shared_memory_that_nothing_wrote(tmp_path):
    def f(n: Scalar["i32"], out: Pointer["i32"]): ...

    source = """
__device__ void f(int n, int* out) {
  __shared__ int s[128];
  if (threadIdx.x < n) s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x ^ 64];
}
"""
    fragment, out = declare(tmp_path, source, f), np.zeros(128, "i4")
    run(fragment, n=128, out=out)
    np.testing.assert_array_equal(out, np.arange(128) ^ 64)
    error = fails(fragment, n=100, out=out)
    assert "thread 36 reads shared memory that nothing has been written to" in str(error)
    assert line_of(error) == "out[threadIdx.x] = s[threadIdx.x ^ 64];"


@pytest.mark.usefixtures("debug")
def test_debug_lets_a_right_fragment_run(tmp_path):
    def f(y: Out[Tile["i32", "N"]]): ...

    source = """
#include <cub/block/block_scan.cuh>
#include <tle_raw/tile.h>
template <int N> __device__ void f(tle::tile<int, N> y) {
  using Scan = cub::BlockScan<int, N>;
  __shared__ typename Scan::TempStorage storage;
  int v = threadIdx.x;
  Scan(storage).InclusiveSum(v, v);
  y[threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.x == 0) y[0] = atomicAdd(&y[1], 1);
}
"""
    got = run(declare(tmp_path, source, f), names={"N": 128})
    expected = np.cumsum(np.arange(128))
    expected[:2] = 1, 2
    np.testing.assert_array_equal(got, expected)


def test_assert_trap_and_printf(tmp_path, capfd):
    def f(n: Scalar["i32"]): ...

    source = r"""
#include <cassert>
#include <cstdio>
__device__ void f(int n) {
  if (threadIdx.x < 2)
    printf("thread %d: %5.2f %s %lld %c%% %x\n", threadIdx.x, 1.5f * n, "text", 1ll << 40, 'c', 255);
  if (n == 2) assert(threadIdx.x < 5 && "too many");
  if (n == 3 && threadIdx.x == 9) __trap();
}
"""
    fragment = declare(tmp_path, source, f)
    run(fragment, n=1)
    assert capfd.readouterr().out == "".join(f"thread {t}:  1.50 text 1099511627776 c% ff\n" for t in range(2))
    error = fails(fragment, n=2)
    assert error.kind == "assertion"
    assert 'thread 5: the assertion `threadIdx.x < 5 && "too many"` failed in' in str(error)
    assert line_of(error).startswith("if (n == 2) assert")
    error = fails(fragment, n=3)
    assert error.kind == "trap"
    assert "thread 9 executed __trap()" in str(error)
    assert line_of(error).endswith("__trap();")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('asm volatile("wgmma.fence.sync.aligned;");', "`wgmma.fence.sync.aligned`"),
        ('asm volatile("frobnicate.b32 %0, %1;" : "=r"(n) : "r"(n));', "`frobnicate.b32`"),
        ('asm volatile("mov.u32 %0, %%smelly;" : "=r"(n));', "%smelly"),
    ],
)
def test_an_instruction_that_cannot_be_emulated_is_named(tmp_path, body, said):
    def f(n: Scalar["i32"]): ...

    fragment = declare(tmp_path, f"__device__ void f(int n) {{\n  {body}\n}}\n", f)
    with pytest.raises(UnsupportedFeatureError) as caught:
        fragment.compile(target="cpu")
    assert said in str(caught.value)
    assert caught.value.context.source.line == 2
    assert body.split("(")[0] in caught.value.context.source.text


def test_tensor_core_intrinsics_are_named(tmp_path):
    def f(x: Pointer["i32"], y: Pointer["i32"]): ...

    source = """
#include <mma.h>
using namespace nvcuda;
__device__ void f(const int* x, int* y) {
  wmma::fragment<wmma::matrix_a, 8, 8, 32, wmma::experimental::precision::s4, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 8, 8, 32, wmma::experimental::precision::s4, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 8, 8, 32, int> c;
  wmma::fill_fragment(c, 0);
  wmma::load_matrix_sync(a, x, 32);
  wmma::load_matrix_sync(b, x, 32);
  wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(y, c, 8, wmma::mem_row_major);
}
"""
    with pytest.raises(UnsupportedFeatureError, match=r"instruction `wmma_m8n8k32_\w+` cannot be emulated") as caught:
        declare(tmp_path, source, f).compile(target="cpu")
    assert "wmma::" in caught.value.context.source.text


def test_code_for_the_cpu_alone(tmp_path):
    def f(out: Pointer["i32"]): ...

    source = """
__device__ void f(int* out) {
#ifdef TLE_RAW_TEAM
  *out = 1;
#else
  asm volatile("wgmma.fence.sync.aligned;");
#endif
}
"""
    out = np.zeros(1, "i4")
    run(declare(tmp_path, source, f), out=out)
    assert out[0] == 1


@tle_raw.dialect("cuda", source="""
#include <cuda_fp16.h>
__device__ float mixed(float x, __half h, bool b, int s, const float* p) {
  return b ? x * __half2float(h) + s : p[0] - __expf(x);
}
""")  # fmt: skip
def mixed(
    x: Element["f32"], h: Element["f16"], b: Element["i1"], s: Scalar["i32"], p: Pointer["f32"]
) -> Element["f32"]: ...


@tle_raw.dialect("cuda", source="__device__ void twice(unsigned char& x, int k) { x = x * 2 + k; }")
def twice(x: InOut[Element["u8"]], k: Scalar["i32"]): ...


@tle_raw.dialect("cuda", source="__device__ bool odd(long long x) { return x & 1; }")
def odd(x: Element["i64"]) -> Element["i1"]: ...


def test_elementwise_fragments():
    rng = np.random.default_rng(1)
    x, h = rng.standard_normal((2, 100)).astype("f4"), rng.standard_normal((100,)).astype("f2")
    b, p = rng.integers(0, 2, (2, 100)).astype(bool), np.array([3], "f4")
    got = run(mixed, x=x, h=h, b=b, s=5, p=p)
    np.testing.assert_allclose(got, np.where(b, x * h.astype("f4") + 5, 3 - np.exp(x)), rtol=1e-5, atol=1e-6)
    y = rng.integers(0, 256, 77).astype("u1")
    np.testing.assert_array_equal(run(twice, x=y, k=3), (y * 2 + 3).astype("u1"))
    np.testing.assert_array_equal(run(odd, x=np.arange(9)), np.arange(9) % 2)


@pytest.mark.parametrize(
    ("code", "said"),
    [("return x + threadIdx.x;", "threadIdx"), ("return __shfl_xor_sync(~0u, x, 1);", "operation of a warp")],
)
def test_an_elementwise_function_has_no_thread(tmp_path, code, said):
    def f(x: Element["f32"]) -> Element["f32"]: ...

    with pytest.raises(UnsupportedFeatureError, match=said):
        declare(tmp_path, f"__device__ float f(float x) {{ {code} }}", f).compile(target="cpu")


def test_debug_and_plain_code_are_kept_apart(tmp_path):
    fragment = declare(tmp_path, TILE, tile)
    plain = fragment.compile(target="cpu", M=4, N=8)
    with knobs.scope():
        knobs.debug = True
        checked = fragment.compile(target="cpu", M=4, N=8)
    assert plain.path != checked.path
    assert "check_index" in checked.text and "check_index" not in plain.text
    assert fragment.compile(target="cpu", M=4, N=8).path == plain.path
