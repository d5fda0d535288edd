"""Lanes of a warp go on together at volatile accesses, and come together again behind a branch."""

from __future__ import annotations

import numpy as np
import pytest

import tle_raw
from tests.emulation.tables import run
from tle_raw import Pointer, Scalar

pytestmark = pytest.mark.one_triton

LANE = np.arange(32)


@tle_raw.dialect("cuda", source=r"""
__device__ void steps(int* out, int which) {
  __shared__ volatile int s[4][32];
  __shared__ volatile int total, first, second;
  const int t = threadIdx.x % 32;
  volatile int* own = s[threadIdx.x / 32];
  own[t] = t;
  if (threadIdx.x == 0) total = 0, first = 0, second = 0;
  __syncthreads();
  switch (which) {
    case 0:  // a sum whose lanes leave one after the other
      for (int d = 16; d; d /= 2)
        if (t < d) own[t] += own[t + d];
      out[threadIdx.x] = own[0];
      break;
    case 1:  // one lane works, the others of its warp wait for it
      if (threadIdx.x == 3)
        for (int i = 0; i < 1000; ++i) total += 2;
      if (threadIdx.x < 32) out[threadIdx.x] = total;
      break;
    case 2:  // lanes that take part in every second turn of a loop
#pragma unroll 1
      for (int i = 0; i < 10; ++i)
        if (t % 2 == i % 2) own[t] += own[(t + 1) % 32];
      out[threadIdx.x] = own[t];
      break;
    case 3:  // a loop that waits for a lane of its own warp
      if (threadIdx.x == 31) first = 1, second = 1;
      while (!first || !second) {}
      out[threadIdx.x] = first + second;
      break;
    case 4:  // through inline PTX
      for (int d = 16; d; d /= 2)
        if (t < d) {
          int a, b;
          const unsigned place = __cvta_generic_to_shared((void*)(own + t));
          asm volatile("ld.volatile.shared.s32 %0, [%1];" : "=r"(a) : "r"(place) : "memory");
          asm volatile("ld.volatile.shared.s32 %0, [%1];" : "=r"(b) : "r"(place + 4 * d) : "memory");
          asm volatile("st.volatile.shared.s32 [%0], %1;" :: "r"(place), "r"(a + b) : "memory");
        }
      out[threadIdx.x] = own[0];
      break;
  }
}
""")  # fmt: skip
def steps(out: Pointer["i32"], which: Scalar["i32"]): ...


def alternating() -> np.ndarray:
    s = LANE.copy()
    for i in range(10):
        s = np.where(i % 2 == LANE % 2, s + np.roll(s, -1), s)
    return s


@pytest.mark.parametrize(
    ("which", "expected"),
    [(0, np.full(32, 496)), (1, np.full(32, 2000)), (2, alternating()), (3, np.full(32, 2)), (4, np.full(32, 496))],
)
def test_numbers_of_lanes_in_step(which, expected):
    out = np.zeros(128, "i4")
    run(steps, out=out, which=which)
    np.testing.assert_array_equal(out[:32], expected)
    if which in (0, 2, 4):
        np.testing.assert_array_equal(out, np.tile(expected, 4))


@tle_raw.dialect("cuda", source=r"""
__device__ void mixed(int* out) {  // a lane holds a lock of atomics while it goes through volatile memory
  __shared__ volatile int count;
  __shared__ int held;
  if (threadIdx.x == 0) count = 0, held = 0;
  __syncthreads();
  while (atomicCAS(&held, 0, 1) != 0) {}
  count = count + 1;
  atomicExch(&held, 0);
  __syncthreads();
  out[threadIdx.x] = count;
}
""")  # fmt: skip
def mixed(out: Pointer["i32"]): ...


def test_a_lock_around_volatile_memory_ends():
    out = np.zeros(128, "i4")
    run(mixed, out=out)
    assert out.tolist() == [128] * 128
