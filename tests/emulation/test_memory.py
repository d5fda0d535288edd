"""Memory on the CPU: atomics, shared memory, cached loads, PTX's loads, copies and barriers in memory."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tle_raw
from tests.emulation.tables import run
from tle_raw import InOut, Out, Pointer, Scalar, Tile
from tle_raw.errors import KernelFailed, SharedMemoryError, UnsupportedFeatureError

pytestmark = pytest.mark.one_triton

RNG = np.random.default_rng(9)


@tle_raw.dialect("cuda", source="""
__device__ void integers(const int* x, int* i, unsigned* u, unsigned long long* l) {
  const int v = x[threadIdx.x];
  atomicAdd(&i[0], v), atomicSub(&i[1], v), atomicMin(&i[2], v), atomicMax(&i[3], v);
  atomicAnd(&i[4], v), atomicOr(&i[5], v), atomicXor(&i[6], v);
  atomicAdd_block(&i[7], v), atomicAdd_system(&i[8], v);
  atomicInc(&u[0], 100), atomicDec(&u[1], 100), atomicMin(&u[2], (unsigned)v), atomicMax(&u[3], (unsigned)v);
  u[4 + threadIdx.x] = atomicExch(&u[4 + threadIdx.x], 7u) + atomicCAS(&u[4 + threadIdx.x], 7u, 9u);
  atomicAdd(&l[0], (unsigned long long)v << 20), atomicMax(&l[1], (unsigned long long)v), atomicCAS(&l[2], 0ull, 5ull);
  atomicAdd((unsigned long long*)&l[3], 1ull);
}
""")  # fmt: skip
def integers(x: Pointer["i32"], i: Pointer["i32"], u: Pointer["u32"], l: Pointer["u64"]): ...  # noqa: E741


def test_atomics_of_integers():
    x = RNG.integers(0, 1000, 128).astype("i4")
    i = np.array([0, 0, 10**6, -(10**6), -1, 0, 0, 0, 0], "i4")
    u, l = np.zeros(4 + 128, "u4"), np.zeros(4, "u8")  # noqa: E741
    u[1], u[2] = 50, 10**6
    run(integers, x=x, i=i, u=u, l=l)
    total, both = x.sum(), [np.bitwise_and.reduce(x), np.bitwise_or.reduce(x), np.bitwise_xor.reduce(x)]
    assert i.tolist() == [total, -total, x.min(), x.max(), *both, total, total]
    down = 50
    for _ in range(128):
        down = 100 if down == 0 or down > 100 else down - 1
    assert u[:4].tolist() == [128 % 101, down, x.min(), x.max()]
    np.testing.assert_array_equal(u[4:], 7)
    assert l.tolist() == [total << 20, x.max(), 5, 128]


@tle_raw.dialect("cuda", source="""
#include <cuda_bf16.h>
#include <cuda_fp16.h>
__device__ void floats(float* f, double* d, __half* h, __nv_bfloat16* b) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, 0.5f);
  atomicAdd(f, 0.25f), atomicAdd(d, 0.125), atomicExch(f + 1, 3.0f);
  atomicAdd(h, __float2half(1.0f)), atomicAdd((__half2*)(h + 2), __floats2half2_rn(1.0f, 2.0f));
  atomicAdd(b, __float2bfloat16(1.0f)), atomicAdd((__nv_bfloat162*)(b + 2), __floats2bfloat162_rn(1.0f, 0.5f));
  __syncthreads();
  if (threadIdx.x == 0) f[2] = sum;
}
""")  # fmt: skip
def floats(f: Pointer["f32"], d: Pointer["f64"], h: Pointer["f16"], b: Pointer["bf16"]): ...


def test_atomics_of_floats():
    f, d, h, b = np.zeros(3, "f4"), np.zeros(1), np.zeros(4, "f2"), np.zeros(4, "u2")
    run(floats, f=f, d=d, h=h, b=b)
    assert f.tolist() == [32, 3, 64] and d[0] == 16
    assert h.tolist() == [128, 0, 128, 256]
    assert (b.astype("u4") << 16).view("f4").tolist() == [128, 0, 128, 64]


@tle_raw.dialect("cuda", source="""
__device__ void contended(int* count, float* sum, int n) {
  for (int i = 0; i < n; ++i) atomicAdd(count, 1), atomicAdd(sum, 1.0f);
}
""")  # fmt: skip
def contended(count: Pointer["i32"], sum: Pointer["f32"], n: Scalar["i32"]): ...


def test_atomics_hold_across_the_host_s_threads():
    count, total = np.zeros(1, "i4"), np.zeros(1, "f4")
    contended.compile(target="cpu")
    workers = [
        threading.Thread(target=run, args=(contended,), kwargs={"count": count, "sum": total, "n": 500})
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert count[0] == total[0] == 4 * 128 * 500


@tle_raw.dialect("cuda", source="""
__device__ void lock(int* count) {      // a lock: the threads that wait must let its holder run
  __shared__ int held;
  __shared__ volatile int turn;
  if (threadIdx.x == 0) held = 0, turn = 0;
  __syncthreads();
  while (atomicCAS(&held, 0, 1) != 0) {}
  *count += 1;
  __threadfence();
  atomicExch(&held, 0);
  while (turn != threadIdx.x) {}        // then one after the other
  count[1 + threadIdx.x] = threadIdx.x ? count[threadIdx.x] + 1 : 1;
  turn = threadIdx.x + 1;
}
""")  # fmt: skip
def lock(count: Pointer["i32"]): ...


def test_threads_that_wait_in_a_loop_let_others_run():
    count = np.zeros(129, "i4")  # four warps: the time grows with the square of the threads that wait
    run(lock, num_warps=4, count=count)
    np.testing.assert_array_equal(count, [128, *range(1, 129)])


@tle_raw.dialect("cuda", source="""
__device__ void cached(const float* x, const int* y, float* out) {
  const int t = threadIdx.x;
  const float4 v = __ldg((const float4*)x + t);
  const int2 pair = __ldcg((const int2*)y + t);
  out[t] = v.x + 2 * v.y + 3 * v.z + 4 * v.w + pair.x + 5 * pair.y + __ldg(y + t) + __ldcs(y) + __ldcv(y + 1);
  __stwt(out + 128 + t, 2.5f), __stwt(out + 256 + t, 3.5f);
}
""")  # fmt: skip
def cached(x: Pointer["f32"], y: Pointer["i32"], out: Pointer["f32"]): ...


def test_cached_loads_and_vector_types():
    x, y, out = RNG.integers(0, 99, 512).astype("f4"), RNG.integers(0, 99, 256).astype("i4"), np.zeros(384, "f4")
    run(cached, x=x, y=y, out=out)
    expected = x.reshape(-1, 4) @ [1, 2, 3, 4] + y.reshape(-1, 2) @ [1, 5] + y[:128] + y[0] + y[1]
    np.testing.assert_array_equal(out, [*expected, *[2.5] * 128, *[3.5] * 128])


@tle_raw.dialect("cuda", source="""
#include <tle_raw/tile.h>
__device__ unsigned shared(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
template <int N> __device__ void copies(tle::tile<float, N> t, const float* x, float* out) {
  __shared__ __align__(16) float buffer[N];
  __shared__ __align__(8) unsigned long long done;
  const int i = threadIdx.x;
  if (i == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(shared(&done)), "r"(blockDim.x));
  __syncthreads();
  for (int k = 4 * i; k < N; k += 4 * blockDim.x) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared(buffer + k)), "l"(x + k));
    asm volatile("{ .reg .pred p; setp.eq.u32 p, %2, 0; cp.async.ca.shared.global [%0], [%1], 4, p; }"
                 :: "r"(shared(t.data() + k)), "l"(x + k), "r"(k % 8));
  }
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(shared(&done)));
  asm volatile("{\\n\\t.reg .pred p;\\n\\tWAIT:\\n\\tmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\\n\\t"
               "@p bra DONE;\\n\\tbra WAIT;\\n\\tDONE:\\n\\t}" :: "r"(shared(&done)), "r"(0) : "memory");
  for (int k = i; k < N; k += blockDim.x) {
    float v, w;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(shared(buffer) + 4 * ((k + 1) % N)));
    asm volatile("ld.shared.f32 {%0}, [%1+4];" : "=f"(w) : "r"(shared(buffer) + 4 * (k & ~1)));
    asm volatile("st.global.cs.f32 [%0], { %1 };" :: "l"(out + k), "f"(v + 2 * w));
  }
  if (i < 2) {
    float a, b, c, d;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(x + 4 * i));
    asm volatile("st.global.v2.f32 [%0], {%1, %2};" :: "l"(out + N + 2 * i), "f"(a + b), "f"(c + d));
    asm volatile("red.global.add.f32 [%0], %1;" :: "l"(out + N + 4), "f"(a));
  }
}
""")  # fmt: skip
def copies(t: InOut[Tile["f32", "N"]], x: Pointer["f32"], out: Pointer["f32"]): ...


@pytest.mark.parametrize("warps", [1, 4])
def test_copies_and_barriers_in_shared_memory(warps):
    memory = np.zeros(1024 + 64, "u1")
    x = memory[-memory.ctypes.data % 64 :][:1024].view("f4")
    x[:] = RNG.integers(0, 999, 256)
    out, t = np.zeros(256 + 5, "f4"), RNG.standard_normal(256).astype("f4")
    changed = run(copies, num_warps=warps, names={"N": 256}, t=t, x=x, out=out)
    index = np.arange(256)
    np.testing.assert_array_equal(out[:256], x[(index + 1) % 256] + 2 * x[(index & ~1) + 1])
    np.testing.assert_array_equal(out[256:], [x[0] + x[1], x[2] + x[3], x[4] + x[5], x[6] + x[7], x[0] + x[4]])
    expected = np.where(index % 8 == 0, 0, np.where(index % 4 == 0, x, t))
    np.testing.assert_array_equal(changed, expected)


@tle_raw.dialect("cuda", source="""
__device__ void shifted(const char* x, int how, int shift) {
  __shared__ __align__(16) char buffer[64];
  unsigned to = (unsigned)__cvta_generic_to_shared(buffer);
  switch (how) {
    case 0: asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(x + shift)); break;
    case 1: asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"(to + shift), "l"(x)); break;
    case 2: asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(x + shift)); break;
    case 3: asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 32;" :: "l"(x + shift), "r"(to));
  }
}
""")  # fmt: skip
def shifted(x: InOut[Pointer["i8"]], how: Scalar["i32"], shift: Scalar["i32"]): ...


@pytest.mark.parametrize("how, bytes", [(0, 4), (1, 8), (2, 16), (3, 16)])
def test_a_copy_fails_where_its_address_is_no_multiple_of_its_bytes(how, bytes):
    x = np.zeros(128 + 64, "i1")
    x = x[-x.ctypes.data % 64 :][:128]
    run(shifted, x=x, how=how, shift=bytes)
    with pytest.raises(KernelFailed, match=f"copies {bytes} bytes at once, .* {bytes // 2} bytes beyond a multiple"):
        run(shifted, x=x, how=how, shift=bytes // 2)


@tle_raw.dialect("cuda", source="""
__device__ int counter = 5;
__constant__ float table[4] = {1, 2, 3, 4};
__device__ void variables(float* out) {
  if (threadIdx.x < 4) out[threadIdx.x] = table[threadIdx.x] * counter;
}
""")  # fmt: skip
def variables(out: Pointer["f32"]): ...


def test_device_and_constant_variables():
    out = np.zeros(4, "f4")
    run(variables, out=out)
    assert out.tolist() == [5, 10, 15, 20]


@tle_raw.dialect("cuda", source="""
__device__ void spaces(int* out) {
  __shared__ int s[4];
  int local[4] = {(int)threadIdx.x, 1, 2, 3};
  int* p = threadIdx.x % 2 ? s : local;
  p[threadIdx.x % 4] = 7;
  if (threadIdx.x < 32)
    out[threadIdx.x] = __isShared(p) | __isLocal(p) << 1 | __isGlobal(out) << 2 | __isGlobal(p) << 3 |
                       (__cvta_shared_to_generic(__cvta_generic_to_shared(s + 2)) == s + 2) << 4;
}
""")  # fmt: skip
def spaces(out: Pointer["i32"]): ...


def test_address_spaces():
    out = np.zeros(32, "i4")
    run(spaces, out=out)
    np.testing.assert_array_equal(out, np.where(np.arange(32) % 2, 1, 2) | 4 | 16)


DTYPES = ["i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64"]


@tle_raw.dialect("cuda", source="""
#include <tle_raw/tile.h>
template <typename T, int M, int N>
__device__ T echo(tle::tile<const T, M, N> x, tle::tile<T, M, N> io, tle::tile<T, N, M> y, T s, T* p) {
  for (int i : x.indices()) y(i % N, i / N) = x[i];
  __syncthreads();
  if (io.thread() == 0) p[0] = x(1, 2), p[1] = io(0, 1), io(0, 1) = s;
  return s;
}
""")  # fmt: skip
def echo(
    x: Tile["T", "M", "N"], io: InOut[Tile["T", "M", "N"]], y: Out[Tile["T", "N", "M"]], s: Scalar["T"], p: Pointer["T"]
) -> Scalar["T"]: ...


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_crosses_as_it_is(dtype):
    from tle_raw.flir.cpu.run_fragment import storage
    from tle_raw.fragments.dtypes import DTYPES as known

    kind = storage(known[dtype])

    def some(*shape):
        data = RNG.integers(0, 2 if dtype == "i1" else 256, (*shape, kind.itemsize), dtype=np.uint8)
        return np.ascontiguousarray(data).view(kind).reshape(shape)

    x, io, p, s = some(4, 8), some(4, 8), np.zeros(2, kind), some(1)[0]
    changed, y, result = run(echo, names={"T": dtype, "M": 4, "N": 8}, x=x, io=io, s=s, p=p)
    expected = io.copy()
    expected[0, 1] = s
    for got, wanted in ((y, x.T), (changed, expected), (p, np.array([x[1, 2], io[0, 1]])), (result, s)):
        assert np.ascontiguousarray(got).tobytes() == np.ascontiguousarray(wanted).tobytes()


def test_extern_shared_memory_is_refused():
    @tle_raw.dialect("cuda", source="extern __shared__ int s[]; __device__ void f(int* p) { *p = s[threadIdx.x]; }")
    def f(p: Pointer["i32"]): ...

    with pytest.raises(UnsupportedFeatureError, match="extern __shared__"):
        f.compile(target="cpu")


def test_more_shared_memory_than_a_block_has_is_refused():
    source = "__device__ void f(int* p) { __shared__ int s[100000]; s[threadIdx.x] = *p; __syncthreads(); *p = s[*p]; }"

    @tle_raw.dialect("cuda", source=source)
    def f(p: Pointer["i32"]): ...

    with pytest.raises(SharedMemoryError, match="400000"):
        f.compile(target="cpu")


def test_a_thread_without_enough_stack_is_reported():
    source = """
__device__ __noinline__ int deep(int n, volatile int* p) {
  volatile int local[64];
  for (int i = 0; i < 64; ++i) local[i] = n;
  if (n == 0) return 0;
  const int r = deep(n - 1, p);
  return r * local[n % 64] + local[n % 7];
}
__device__ void f(int* p) { if (threadIdx.x == 40) *p = deep(900, p); }
"""

    @tle_raw.dialect("cuda", source=source)
    def f(p: Pointer["i32"]): ...

    with pytest.raises(KernelFailed, match="256 KiB of stack"):
        run(f, p=np.zeros(1, "i4"))
