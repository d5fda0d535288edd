"""Pointers of every address space as operands of inline PTX: the right memory, or an error with its name."""

from __future__ import annotations

import numpy as np
import pytest

import tle_raw
from tests.emulation.tables import run
from tle_raw import In, InOut, Out, Pointer, Scalar, Tile
from tle_raw.errors import KernelFailed, UnsupportedFeatureError
from tle_raw.knobs import knobs

pytestmark = pytest.mark.one_triton

THREADS = np.arange(128)
SPACES = """
#define SHARED __attribute__((address_space(3)))
#define GLOBAL __attribute__((address_space(1)))
#define CONSTANT __attribute__((address_space(4)))
"""


@tle_raw.dialect("cuda", source=SPACES + r"""
__constant__ float table[4] = {1, 2, 3, 4};
__device__ void spaces(float* out, const float* x, SHARED float* t, float* u) {
  const int i = threadIdx.x;
  const unsigned number = __cvta_generic_to_shared(u);
  float a, b, c, d;
  const float* next;
  SHARED float* same;
  asm volatile("st.shared.f32 [%0], %1;" :: "r"(t + i), "f"(1.0f + i) : "memory");
  asm volatile("st.shared.f32 [%0+16], %1;" :: "r"((SHARED float*)u + i - 4), "f"(2.0f * i) : "memory");
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(a) : "l"(t + i));
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(b) : "r"(number + 4 * i));
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(c) : "l"((const GLOBAL float*)x + i));
  asm volatile("ld.const.f32 %0, [%1];" : "=f"(d) : "l"((const CONSTANT float*)table + i % 4));
  asm volatile("add.u64 %0, %1, 4;" : "=l"(next) : "l"(x + i));
  asm volatile("add.u32 %0, %1, 0;" : "=r"(same) : "r"(t + i));
  out[i] = a + b + c + d + *next + *same;
}
""")  # fmt: skip
def spaces(out: Pointer["f32"], x: Pointer["f32"], t: InOut[Tile["f32", 128]], u: InOut[Tile["f32", 128]]): ...


@pytest.mark.parametrize("debug", [False, True])
def test_pointers_of_all_spaces_reach_their_memory(debug):
    out, x = np.zeros(128, "f4"), np.arange(129).astype("f4")
    with knobs.scope():
        knobs.debug = debug
        t, u = run(spaces, out=out, x=x, t=np.zeros(128, "f4"), u=np.zeros(128, "f4"))
    np.testing.assert_array_equal(t, 1 + THREADS)
    np.testing.assert_array_equal(u, 2 * THREADS)
    np.testing.assert_array_equal(out, 2 * (1 + THREADS) + 2 * THREADS + x[:128] + 1 + THREADS % 4 + x[1:])


@tle_raw.dialect("cuda", source=SPACES + r"""
__device__ void copies(const float* x, float* out) {
  __shared__ __align__(16) float buffer[128];
  __shared__ unsigned long long done;
  __shared__ int count;
  const int i = threadIdx.x;
  if (i == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"((SHARED unsigned long long*)&done), "r"(128) : "memory");
    asm volatile("st.shared.u32 [%0], 0;" :: "r"((SHARED int*)&count) : "memory");
  }
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
               :: "r"((SHARED float*)buffer + i), "l"((const GLOBAL float*)x + i) : "memory");
  asm volatile("atom.shared.add.u32 %0, [%1], 2;" : "=r"(*(unsigned*)(out + i)) : "r"((SHARED int*)&count) : "memory");
  asm volatile("{ .reg .pred p; cp.async.mbarrier.arrive.noinc.shared.b64 [%0]; WAIT:\n\t"
               "mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra WAIT; }"
               :: "r"((SHARED unsigned long long*)&done) : "memory");
  out[i] = buffer[(i + 1) % 128] + count;
}
""")  # fmt: skip
def copies(x: Pointer["f32"], out: Pointer["f32"]): ...


@pytest.mark.parametrize("debug", [False, True])
def test_copies_atomics_and_barriers_take_shared_pointers(debug):
    x, out = np.arange(128).astype("f4"), np.zeros(128, "f4")
    with knobs.scope():
        knobs.debug = debug
        run(copies, x=x, out=out)
    np.testing.assert_array_equal(out, np.roll(x, -1) + 256)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ('"ld.u32 %0, [%1];" : "=r"(n) : "r"(p)', r"`ld.u32` \(the address of memory that is not shared"),
        ('"ld.global.u32 %0, [%1];" : "=r"(n) : "r"(n)', r"`ld.global.u32` \(an address of 32 bits"),
        ('"cvta.to.shared.u32 %0, %1;" : "=r"(n) : "r"(n)', "`cvta.to.shared.u32`"),
        ('"mov.f32 %0, %1;" : "=r"(n) : "f"(1.0)', r"`mov.f32` \(an operand of 64 bits in a register of 32"),
    ],
)
def test_half_of_an_address_is_refused(statement, message):
    source = f"{SPACES}__device__ void f(int* p) {{ int n = 0; asm volatile({statement}); *p = n; }}"
    fragment = tle_raw.fragment(source, dialect="cuda", symbol="f")
    with pytest.raises(UnsupportedFeatureError, match=message):
        fragment.compile(target="cpu")


def test_a_number_that_is_no_shared_address_is_an_error_with_its_line():
    source = 'asm volatile("ld.shared.u32 %0, [%1];" : "=r"(n) : "r"(0x50000000 + n)); *p = n;'

    @tle_raw.dialect("cuda", source=f"__device__ void f(int* p) {{ int n = *p;\n{source} }}")
    def f(p: Pointer["i32"]): ...

    with pytest.raises(KernelFailed, match="takes 0x50000000 for an address of shared memory") as caught:
        run(f, p=np.zeros(1, "i4"))
    assert caught.value.kind == "bad_address"


@tle_raw.dialect("cuda", source=SPACES + r"""
__device__ void unwritten(int* p, int which) {
  __shared__ __align__(16) int s[128];
  int n = 0;
  const unsigned place = __cvta_generic_to_shared(s + threadIdx.x);
  switch (which) {
    case 0: asm volatile("ld.shared.u32 %0, [%1];" : "=r"(n) : "r"((SHARED int*)s + threadIdx.x)); break;
    case 1: asm volatile("atom.shared.add.u32 %0, [%1], 1;" : "=r"(n) : "r"(place)); break;
    case 2: asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;" :: "l"(p), "r"(place)); break;
    case 3: asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"((SHARED unsigned long long*)s)); break;
  }
  p[threadIdx.x] = n;
}
""")  # fmt: skip
def unwritten(p: Pointer["i32"], which: Scalar["i32"]): ...


@pytest.mark.parametrize("which", range(4))
def test_debug_finds_what_inline_ptx_reads_and_nobody_wrote(which):
    with knobs.scope(), pytest.raises(KernelFailed, match="reads shared memory that nothing has been written to"):
        knobs.debug = True
        run(unwritten, p=np.zeros(128, "i4"), which=which)


def test_debug_sees_what_inline_ptx_wrote():
    @tle_raw.dialect("cuda", source=SPACES + r"""
__device__ void f(const int* x, int* t) {
  __shared__ int s[128];
  const int i = threadIdx.x;
  asm volatile("st.shared.u32 [%0], %1;" :: "r"((SHARED int*)s + i), "r"(x[i]) : "memory");
  asm volatile("st.shared.u32 [%0], %1;" :: "r"((SHARED int*)t + i), "r"(s[i] + 1) : "memory");
  t[i] += 1;
}
""")  # fmt: skip
    def f(x: In[Tile["i32", 128]], t: Out[Tile["i32", 128]]): ...

    with knobs.scope():
        knobs.debug = True
        np.testing.assert_array_equal(run(f, x=THREADS.astype("i4")), THREADS + 2)
