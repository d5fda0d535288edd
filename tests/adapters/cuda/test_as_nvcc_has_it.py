"""What nvcc compiles and clang refuses, or Triton does not launch: shared objects, warps without masks, odd blocks."""

import re
import warnings

import numpy as np
import pytest

import tle_raw
from tests.support import TRITON, cause_of, ptx_calls
from tle_raw.adapters.cpp.toolchain import find_toolchain
from tle_raw.adapters.cuda.called_kernels import calls_kernels
from tle_raw.adapters.cuda.shared_objects import with_shared_objects
from tle_raw.errors import (
    CompilationFailed,
    DialectError,
    KernelFailed,
    LaunchError,
    RegionError,
    WarpMaskWarning,
)
from tle_raw.triton_version import VERSION

BARRIERS = r"""
#include <cuda/barrier>
using barrier_t = cuda::barrier<cuda::thread_scope_block>;
struct Stage { barrier_t full; float data[64]; };
#pragma nv_diag_suppress static_var_with_dynamic_init
__global__ void meet(float* o) {
  __shared__ cuda::barrier<cuda::thread_scope_block> b;
  __shared__ barrier_t c[2], d;
  __shared__ Stage s;
  if (threadIdx.x == 0) { init(&b, 64); init(&c[1], 64); init(&d, 64); init(&s.full, blockDim.x); }
  __syncthreads();
  b.arrive_and_wait();
  s.data[threadIdx.x] = threadIdx.x;
  auto token = s.full.arrive();
  s.full.wait(std::move(token));
  c[1].arrive_and_wait();
  d.arrive_and_wait();
  o[threadIdx.x] = s.data[63 - threadIdx.x];
}
"""

PIPELINE = """
#include <cooperative_groups.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
__global__ void stream(float* o, const float* x) {
  auto block = cg::this_thread_block();
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ float buffer[2][64];
  auto pipe = cuda::make_pipeline(block, &state);
  auto load = [&](int i) {
    pipe.producer_acquire();
    cuda::memcpy_async(block, buffer[i % 2], x + 64 * i, sizeof(float) * 64, pipe);
    pipe.producer_commit();
  };
  float sum = 0;
  load(0);
  for (int i = 0; i < 4; i++) {
    if (i < 3) load(i + 1);
    pipe.consumer_wait();
    sum += buffer[i % 2][63 - threadIdx.x];
    pipe.consumer_release();
  }
  o[threadIdx.x] = sum;
}
"""

WARPS = """
__device__ float reduce(float v) {
  for (int d = 16; d; d /= 2) v += __shfl_down(v, d);
  return v;
}
__global__ void legacy(float* o, const float* x) {
  const int lane = threadIdx.x % 32;
  float v = reduce(x[threadIdx.x]);
  if (lane >= 8) {
    o[threadIdx.x] = __shfl(x[threadIdx.x], 9) + __popc(__ballot(lane % 3 == 0)) + __any(lane == 40) + __all(lane < 60);
  } else {
    v = lane ? x[threadIdx.x] : v;
    for (int d = 2; d; d /= 2) v += __shfl_xor(v, d, 4);
    o[threadIdx.x] = v;
  }
}
"""

ODD = """
#include <cooperative_groups.h>
__global__ void odd(float* o, const float* x) {
  __shared__ float s[1024];
  const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int size = blockDim.x * blockDim.y * blockDim.z;
  s[t] = x[blockIdx.x * size + t];
  __syncthreads();
  const float v = s[size - 1 - t];
  __syncthreads();
  s[t] = v;
  cooperative_groups::this_thread_block().sync();
  o[blockIdx.x * size + t] = v + s[(t + 1) % size] + __syncthreads_count(t % 2 == 0);
}
"""


GRID = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void over_grid(float* o) {
  o[blockIdx.x] = 1;
  cg::this_grid().sync();
  o[blockIdx.x] += o[0];
}
"""

TURNED = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void turned(float* x, float* y, int turns) {
  auto grid = cg::this_grid();
  const int n = blockDim.x, i = threadIdx.x, above = (blockIdx.x + gridDim.x - 1) % gridDim.x;
  for (int turn = 0; turn < turns; ++turn) {
    const float* from = turn % 2 ? y : x;
    float* to = turn % 2 ? x : y;
    to[blockIdx.x * n + i] = from[(gridDim.x - 1 - blockIdx.x) * n + n - 1 - i] + from[above * n + i];
    grid.sync();
  }
}
"""

LEFT_EARLY = """
#include <cooperative_groups.h>
__global__ void left_early(float* o) {
  if (blockIdx.x == 1) return;
  cooperative_groups::this_grid().sync();
  o[blockIdx.x] = 1;
}
"""

CLUSTER = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(2, 1, 1) over_cluster(float* o, const float* x) {
  __shared__ float s[64];
  auto cluster = cg::this_cluster();
  s[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  cluster.sync();
  o[blockIdx.x * 64 + threadIdx.x] = cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[threadIdx.x];
  cluster.sync();
}
"""


@pytest.fixture(autouse=True)
def on_cpu():
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        yield


def kernel(source, symbol, block=64):
    return tle_raw.fragment(source, dialect="cuda", symbol=symbol).as_kernel(block=block)


def assert_one_kernel(compiled):
    assert compiled.asm["ptx"].count(".entry") == 1 and not ptx_calls(compiled)


@pytest.mark.one_triton
def test_shared_barriers_are_memory_that_the_kernel_initialises():
    o, meet = np.zeros(64, np.float32), kernel(BARRIERS, "meet")
    meet[(1,)](o)
    np.testing.assert_array_equal(o, 63 - np.arange(64))
    assert_one_kernel(meet.compile("cuda:90"))


@pytest.mark.one_triton
def test_the_shared_state_of_a_pipeline_works():
    o, x = np.zeros(64, np.float32), np.random.rand(256).astype(np.float32)
    stream = kernel(PIPELINE, "stream")
    stream[(1,)](o, x)
    np.testing.assert_allclose(o, x.astype("f8").reshape(4, 64).sum(0)[::-1], rtol=1e-6)


@pytest.mark.one_triton
@pytest.mark.parametrize("text", [
    "__global__ void k() { __shared__ float s[4]; }", "struct R { cuda::barrier<S>* p; }; void k() { __shared__ R r; }",
    "void k() { extern __shared__ barrier_t b[]; }", "void k() { __shared__ cuda::barrier<S>* p; }",
])  # fmt: skip
def test_other_shared_variables_stay_as_they_are(text):
    assert with_shared_objects(text) == text


@pytest.mark.one_triton
def test_rewritten_variables_keep_their_lines():
    text = "a;\n__shared__ cuda::barrier<\n  S> b;\nc;"
    assert [line[-1:] for line in with_shared_objects(text).split("\n")] == [";", ";", "", ";"]
    assert "shared_object<cuda::barrier<S>> tle_raw_memory_of_b; auto& b" in with_shared_objects(text)


@pytest.mark.one_triton
def test_warp_functions_of_before_volta_get_the_lanes_that_are_there(tmp_path):
    o, x = np.zeros(64, np.float32), np.random.rand(64).astype(np.float32)
    legacy = kernel(WARPS, "legacy")
    with tle_raw.knobs.scope() as knobs, warnings.catch_warnings(record=True) as told:
        knobs.cache.dir = str(tmp_path)  # who compiles it is told, and sessions may share their compiled fragments
        warnings.simplefilter("always")
        legacy[(1,)](o, x)
    (text,) = [str(w.message) for w in told if w.category is WarpMaskWarning]
    assert (
        re.search(r"test_as_nvcc_has_it\.py:\d+:36: warning: `__shfl_down`", text)
        and "`__ballot_sync`" in text
        and len(text.splitlines()) == 6
    )
    lanes = x.reshape(2, 32).astype("f8")
    low = lanes[:, :8].copy()
    low[:, 0] = lanes.sum(1)
    low = np.repeat(low.reshape(2, 2, 4).sum(2), 4, axis=1)
    expected = np.concatenate([low, np.repeat(lanes[:, 9:10] + 8 + 0 + 1, 24, axis=1)], axis=1)
    np.testing.assert_allclose(o.reshape(2, 32), expected, rtol=1e-5)
    compiled = legacy.compile("cuda:90")
    assert_one_kernel(compiled)
    assert compiled.asm["ptx"].count("shfl.sync.down.b32") == 5 and "activemask.b32" in compiled.asm["ptx"]


@pytest.mark.every_triton(1)
@pytest.mark.parametrize(("block", "debug"), [((7, 5, 3), True), (1000, False)])
def test_a_block_may_have_any_number_of_threads(block, debug):
    tle_raw.knobs.debug = debug
    size = int(np.prod(block))
    o, x = np.zeros(2 * size, np.float32), np.random.rand(2 * size).astype(np.float32)
    odd = kernel(ODD, "odd", block)
    odd[(2,)](o, x)
    mirrored = x.reshape(2, size)[:, ::-1].astype("f8")
    np.testing.assert_allclose(o.reshape(2, size), mirrored + np.roll(mirrored, -1, 1) + (size + 1) // 2, rtol=1e-5)


@pytest.mark.every_triton(1)
def test_whole_warps_are_launched_and_idle_lanes_end():
    compiled = kernel(ODD, "odd", 400).compile("cuda:90")
    assert_one_kernel(compiled)
    assert ".reqntid 416" in compiled.asm["ptx"] and "exit;" in compiled.asm["ptx"]
    assert compiled.metadata.num_warps == 13


@pytest.mark.one_triton
def test_no_block_has_more_threads_than_a_gpu_launches():
    with pytest.raises(DialectError, match="2000 threads"):
        kernel(ODD, "odd", (20, 100))


@pytest.mark.every_triton(1)
def test_a_barrier_of_the_grid_makes_the_launch_a_cooperative_one():
    compiled = kernel(GRID, "over_grid").compile("cuda:90")
    assert_one_kernel(compiled)
    assert compiled.metadata.launch_cooperative_grid and "%envreg" in compiled.asm["ptx"]


@pytest.mark.every_triton(1)
@pytest.mark.parametrize("debug", [False, True])
def test_all_of_a_grid_meet_on_the_cpu(debug):
    blocks, threads, turns = 23, 48, 3
    x = np.random.default_rng(0).standard_normal((blocks, threads)).astype(np.float32)
    expected = x.astype("f8")
    for _ in range(turns):
        expected = expected[::-1, ::-1] + np.roll(expected, 1, 0)
    with tle_raw.knobs.scope() as knobs:
        knobs.debug = debug
        launch = kernel(TURNED, "turned", threads)
        for _ in range(2):  # the barrier is ready for the next launch
            given, room = x.copy(), np.empty_like(x)
            launch[(blocks,)](given, room, turns)
            np.testing.assert_allclose(room if turns % 2 else given, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.one_triton
def test_a_program_that_ends_before_the_grid_meets_is_told():
    with tle_raw.knobs.scope() as knobs:
        knobs.cpu.patience = 0.5
        with pytest.raises(KernelFailed, match="waits in a loop for memory that no program of the launch changes"):
            kernel(LEFT_EARLY, "left_early")[(3,)](np.zeros(3, np.float32))


def together(**options):
    return tle_raw.fragment(CLUSTER, dialect="cuda", symbol="over_cluster").as_kernel(block=64, **options)


@pytest.mark.every_triton(1)
def test_a_kernel_may_be_launched_in_clusters():
    if TRITON < (3, 9):
        with pytest.raises(Exception) as caught:
            together(cluster=2).compile("cuda:90")
        assert isinstance(cause_of(caught.value), RegionError) and "triton>=3.9" in cause_of(caught.value).hint
        return
    compiled = together(cluster=2).compile("cuda:90")
    assert_one_kernel(compiled)
    assert ".reqnctapercluster 2" in compiled.asm["ptx"] and "mapa.u64" in compiled.asm["ptx"]
    assert compiled.metadata.num_ctas == 2


@pytest.mark.skipif(VERSION < (3, 9), reason="Triton 3.9 launches clusters")
def test_dynamic_memory_in_a_cluster_is_the_blocks_own(tmp_path):
    file = tmp_path / "dynamic.cu"
    file.write_text(
        "__global__ void k(float* x) { extern __shared__ float s[]; s[threadIdx.x] = x[threadIdx.x];"
        " __syncthreads(); x[threadIdx.x] = s[63 - threadIdx.x]; }"
    )
    compiled = tle_raw.fragment(file, symbol="k").as_kernel(block=64, cluster=2, shared=256).compile("cuda:90")
    assert "mapa.shared::cluster" in compiled.asm["ptx"]


@pytest.mark.one_triton
def test_a_grid_is_whole_clusters_and_clusters_are_powers_of_two():
    with pytest.raises(LaunchError) as error:
        together(cluster=2)[(3,)](np.zeros(192, np.float32), np.zeros(192, np.float32))
    assert error.value.table[0].got == "3"
    with pytest.raises(DialectError, match="cluster"):
        together(cluster=3)


@pytest.mark.one_triton
@pytest.mark.parametrize(("text", "calls"), [
    ("__global__ void g(int* x); __global__ void k(int* x) { g(x); }", True),
    ("template <int N> __global__ void g(int* x); __device__ void k(int* x) { g<N + 1>(x); }", True),
    ("__global__ void g(int* x); void host(int* x) { g<<<1, 2>>>(x); f(g); }", False),
    ("__global__ void g(int* x); __global__ void k(int* x) { g<<<1, 2>>>(x); }", False),
    ("template <int N> __global__ void g(int* x); __global__ void k(S s) { s.g(1); auto p = &g<2>; }", False),
])  # fmt: skip
def test_calls_of_kernels_are_told_from_launches(text, calls):
    assert calls_kernels(text) == calls


TYPEOF = """
__global__ void k(float* o) {
  typeof(*o + 1) x = 3.75f;
  o[threadIdx.x] = x;
}
"""


@pytest.mark.one_triton
def test_typeof_is_a_word_of_the_language(on_cpu):
    o = np.zeros(32, np.float32)
    tle_raw.fragment(TYPEOF, dialect="cuda", symbol="k").as_kernel(block=32)[(1,)](o)
    np.testing.assert_array_equal(o, 3.75)


ONLY_WITH_CLUSTERS = """
#include <cooperative_groups.h>
struct Rank { int of; };
__global__ void k(int* o, Rank r) { o[0] = cooperative_groups::this_cluster().num_blocks() + r.of + missing; }
"""


@pytest.mark.one_triton
def test_an_error_beside_clusters_is_told_and_none_of_clusters(on_cpu):
    """For the CPU code is compiled as for the oldest GPU, where headers leave clusters out."""
    with pytest.raises(CompilationFailed, match="undeclared identifier 'missing'") as error:
        tle_raw.fragment(ONLY_WITH_CLUSTERS, dialect="cuda", symbol="k").as_kernel(block=32).compile("cpu")
    assert "this_cluster" not in error.value.log


BY_REFERENCE = """
template <bool Twice> struct Scaled { float by = Twice ? 2 : 1; };
template <int N> struct Settings { static constexpr bool is_even = N % 2 == 0; int n; };
template <int N> __device__ float scaled(const Settings<N>& settings, float x) {
  Scaled<settings.is_even> scaled;
  if constexpr (settings.is_even) x += settings.n;
  return x * scaled.by;
}
template <int N> __global__ void k(float* o, Settings<N> settings) { o[threadIdx.x] = scaled(settings, threadIdx.x); }
"""


@pytest.mark.one_triton
@pytest.mark.parametrize("n", [2, 3])
def test_a_constant_is_named_by_a_parameter_that_is_a_reference(n, on_cpu):
    if find_toolchain().clang.major < 20:
        pytest.skip("clang takes it from 20 on")
    o = np.zeros(32, np.float32)
    tle_raw.fragment(BY_REFERENCE, dialect="cuda", symbol=f"k<{n}>").as_kernel(block=32)[(1,)](o, (5,))
    x = np.arange(32)
    np.testing.assert_array_equal(o, 2 * (x + 5) if n == 2 else x)


SIZED = """
__global__ void turned(float* o, const float* x) {
  extern __shared__ float s[32][33];
  s[threadIdx.y][threadIdx.x] = x[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  o[threadIdx.y * 32 + threadIdx.x] = s[threadIdx.x][threadIdx.y];
}
"""


@pytest.mark.one_triton
def test_dynamic_shared_memory_with_a_size():
    x = np.random.default_rng(1).random((32, 32)).astype(np.float32)
    o = np.zeros_like(x)
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        tle_raw.fragment(SIZED, dialect="cuda", symbol="turned").as_kernel(block=(32, 32), shared=4224)[(1,)](o, x)
    np.testing.assert_array_equal(o, x.T)


SHUFFLES = """
#include <cuda_fp16.h>
struct Number {
  __half value;
  __device__ Number(__half x) : value(x) {}
  __device__ operator __half() const { return value; }
};
__device__ inline Number __shfl_up(const Number x, const unsigned lanes) {
  return __shfl_up(x.operator __half(), lanes);
}
__global__ void moved(__half* o, const __half* x) { o[threadIdx.x] = __shfl_up(Number(x[threadIdx.x]), 3u); }
"""


@pytest.mark.one_triton
def test_shuffles_of_halves_from_before_volta():
    x = np.random.default_rng(1).random(32).astype(np.float16)
    o = np.zeros_like(x)
    with tle_raw.knobs.scope(), pytest.warns(WarpMaskWarning):
        tle_raw.knobs.target = "cpu"
        tle_raw.fragment(SHUFFLES, dialect="cuda", symbol="moved").as_kernel(block=32)[(1,)](o, x)
    np.testing.assert_array_equal(o, np.concatenate([x[:3], x[:-3]]))
