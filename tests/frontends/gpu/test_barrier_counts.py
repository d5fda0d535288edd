"""Block barriers stand where they are needed and nowhere else: as many as in the same schedule written in CUDA."""

from __future__ import annotations

import re

import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.frontends.gpu import order_kernels, product_kernels
from tests.support import compile_kernel
from tle_raw import Buffer, InOut, Pointer, Scalar

RING = r"""
__device__ unsigned shared(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void wait(const unsigned long long* bar, int phase) {
  asm volatile("{\n.reg .pred p;\nagain: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra.uni again;\n}"
               ::"r"(shared(bar)), "r"(phase) : "memory");
}

// Four slots; one thread begins the copies, and all wait for each. One barrier when the mbarriers are made, one a
// step: the next copy overwrites what the step before read.
__device__ void ring(const float* x, float* y, int steps) {
  __shared__ __align__(128) float slots[4][1024];
  __shared__ unsigned long long full[4];
  if (threadIdx.x == 0)
    for (int s = 0; s < 4; ++s) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared(&full[s])) : "memory");
  __syncthreads();
  auto fetch = [&](int step) {
    if (threadIdx.x != 0 || step >= steps) return;
    unsigned bar = shared(&full[step % 4]);
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 4096;" ::"r"(bar) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 4096, [%2];"
                 ::"r"(shared(slots[step % 4])), "l"(x + step * 1024), "r"(bar) : "memory");
  };
  for (int s = 0; s < 3; ++s) fetch(s);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    wait(&full[step % 4], step / 4 % 2);
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) y[step * 1024 + i] = 2 * slots[step % 4][i];
    __syncthreads();
    fetch(step + 3);
  }
}
"""
HISTOGRAM = r"""
// Zero, count, add up: everybody counts in everybody's bins.
__device__ void histogram(const int* x, int* counts, int n) {
  __shared__ int bins[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[x[i] & 255], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&counts[i], bins[i]);
}
"""
TURNED = r"""
// Between the store and the turning, between that and the load, and before the next store.
__device__ void turned(const float* x, float* y, int steps) {
  __shared__ float row[1024];
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) row[i] = x[step * 1024 + i];
    __syncthreads();
    for (int i = threadIdx.x; i < 512; i += blockDim.x) {
      float kept = row[i];
      row[i] = row[1023 - i];
      row[1023 - i] = kept;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) y[step * 1024 + i] = row[i];
    __syncthreads();
  }
}
"""
TURN = r"""
template <int N> __device__ void turn(float* row) {
  for (int i = threadIdx.x; i < N / 2; i += blockDim.x) {
    float kept = row[i];
    row[i] = row[N - 1 - i];
    row[N - 1 - i] = kept;
  }
}
"""


@tle_raw.dialect("cuda", source=RING)
def ring(x: Pointer["f32"], y: InOut[Pointer["f32"]], steps: Scalar["i32"]): ...


@tle_raw.dialect("cuda", source=HISTOGRAM)
def histogram(x: Pointer["i32"], y: InOut[Pointer["i32"]], steps: Scalar["i32"]): ...


@tle_raw.dialect("cuda", source=TURNED)
def turned(x: Pointer["f32"], y: InOut[Pointer["f32"]], steps: Scalar["i32"]): ...


@tle_raw.dialect("cuda", source=TURN)
def turn(row: InOut[Buffer["f32", "N"]]): ...


@triton.jit
def turned_in_place(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    row = tle.gpu.alloc([B], tl.float32)
    for step in range(n):
        row.store(tl.load(x + step * B + i))
        turn(row)
        tl.store(y + step * B + i, row.load())


FLOATS, INTEGERS = ({"x": f"*{dtype}", "y": f"*{dtype}", "n": "i32"} for dtype in ("fp32", "i32"))
TILES = {"x_desc": "tensordesc<fp32[32,32]>", "y": "*fp32", "n": "i32"}
# What is written in CUDA, the same by TLE, and how many barriers stand in the text of both.
PAIRS = {
    "ring": (ring, order_kernels.ring_of_copies, TILES, {"M": 32, "N": 32}, 2),
    "histogram": (histogram, order_kernels.counted, INTEGERS, {"B": 1024}, 2),
    "turned": (turned, turned_in_place, FLOATS, {"B": 1024}, 3),
}


def barriers(text):
    return len(re.findall(r"\bbar\.sync\b", text))


@pytest.mark.parametrize("name", PAIRS)
def test_a_kernel_has_as_many_barriers_as_one_that_is_written_in_cuda(name):
    written, kernel, types, sizes, expected = PAIRS[name]
    code = written.compile("cuda:90")
    function = re.search(rf"^define [^\n]*@{code.entry}\(.*?^}}", code.text, re.MULTILINE | re.DOTALL)
    assert function and len(re.findall(r"call void @llvm\.nvvm\.barrier", function[0])) == expected
    assert barriers(compile_kernel(kernel, types, sizes, num_warps=8).asm["ptx"]) == expected


@pytest.mark.parametrize("warps", [4, 8])
def test_a_step_of_a_product_by_tma_has_one_barrier(warps):
    """All warps are done with a slot before the next copy into it begins. Both copies and the bytes follow that one."""
    tile = "tensordesc<fp16[128,64]>"
    types, sizes = {"a_desc": tile, "b_desc": tile, "c_ptr": "*fp32", "k": "i32"}, {"M": 128, "N": 128, "K": 64, "S": 4}
    ptx = compile_kernel(product_kernels.tma_gemm, types, sizes, num_warps=warps).asm["ptx"]
    before, _, rest = ptx.partition("Loop Header")
    loop = rest[: rest.index("wgmma.wait_group.sync.aligned 0")]
    assert (barriers(before), barriers(loop)) == (1, 1)
    assert loop.index("wgmma.wait_group") < loop.index("bar.sync") < loop.index("mbarrier.arrive.expect_tx")


def test_without_the_pass_triton_decides(monkeypatch):
    monkeypatch.setenv("TLE_RAW_DISABLE_PASSES", "order-copies")
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    kernel = compile_kernel(order_kernels.ring_of_copies, TILES, {"M": 32, "N": 32})
    assert barriers(kernel.asm["ptx"]) > 2


def test_who_arrives_for_the_block_comes_after_all_of_it():
    """One barrier behind the creation, one before each of two arrivals: the waits order the rest."""
    kernel = compile_kernel(product_kernels.handed_over, {"x": "*fp32", "o": "*fp32", "n": "i32"}, {"B": 256})
    ptx = kernel.asm["ptx"]
    assert barriers(ptx) == 3
    for arrival in re.finditer(r"mbarrier\.arrive", ptx):
        assert ptx.rindex("bar.sync", 0, arrival.start()) > max(
            ptx.rfind(word, 0, arrival.start()) for word in ("st.shared", "ld.shared", "st.global", "ld.global")
        )


def test_memory_that_triton_takes_for_itself_keeps_its_barriers():
    """The last steps begin no copy: nothing but Triton's barrier keeps a sum from the one before."""

    ptx = compile_kernel(order_kernels.summed, TILES, {"M": 32, "N": 32}).asm["ptx"]
    waiting = ptx.index("mbarrier.try_wait")
    begin = ptx.rindex("\n$L__BB", 0, waiting)
    assert barriers(ptx[begin : ptx.index("st.shared", waiting)]) == 1  # all have read the sums of the step before
    copying = ptx[ptx.index("Loop Header") :]
    assert re.findall(r"fence\.proxy\.async|bar\.sync|expect_tx|cp\.async\.bulk", copying) == [
        *("fence.proxy.async", "bar.sync", "expect_tx", "cp.async.bulk")
    ]
