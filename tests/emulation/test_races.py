"""Debug tells of races: what one thread reads and another writes with nothing between that orders them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tle_raw import InOut, Pointer, Tile
from tle_raw.errors import KernelFailed

pytestmark = pytest.mark.every_triton(2)

SOURCE = """
template <int N> __device__ void across(float* t, const int* how) {
  const int i = threadIdx.x;
  __shared__ float sums[32];
  __shared__ int hits;
  switch (*how) {
    case 0: {  // each reads what its neighbour writes
      const float next = t[(i + 1) % N];
      t[i] = next;
      break;
    }
    case 1: {
      const float next = t[(i + 1) % N];
      __syncthreads();
      t[i] = next;
      break;
    }
    case 2:  // a warp writes, another reads
      if (i < 32) t[i] = i;
      if (i >= 32 && i < 64) t[i] = t[i - 32];
      break;
    case 3:  // lanes of one warp, which __syncwarp orders
      if (i < 32) {
        sums[i] = i;
        __syncwarp();
        const float other = sums[31 - i];
        __syncwarp();
        sums[i] = other;
        t[i] = other;
      }
      break;
    case 4:
      if (i < 32) {
        const float other = t[31 - i];
        t[i] = other + 1;
      }
      break;
    case 5:  // one value, written by all
      hits = 7;
      __syncthreads();
      t[i] = hits;
      break;
    case 6:  // a flag that an atomic access publishes
      hits = 0;
      __syncthreads();
      if (i == 0) { t[1] = 3; __threadfence_block(); atomicExch(&hits, 1); }
      if (i == 64) { while (atomicAdd(&hits, 0) == 0) {} t[64] = t[1]; }
      break;
    case 7:  // the barrier of two of the four warps
      if (i < 64) {
        t[i] = i;
        asm volatile("bar.sync 1, 64;" ::: "memory");
        const float other = t[63 - i];
        asm volatile("bar.sync 1, 64;" ::: "memory");
        t[i] = other;
      }
      break;
  }
}
"""


@tle_raw.dialect("cuda", source=SOURCE)
def across(t: InOut[Tile["f32", "N"]], how: Pointer["i32"]): ...


@triton.jit
def kernel(x, how, ROUNDS: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    for _ in range(ROUNDS):
        tl.store(x + i, across(tl.load(x + i), how))


@pytest.fixture
def launch():
    def run(how, rounds=1):
        x = np.arange(128, dtype=np.float32)
        with tle_raw.knobs.scope() as knobs:
            knobs.target, knobs.debug = "cpu", True
            kernel[(1,)](x, np.array([how], np.int32), ROUNDS=rounds, N=128, num_warps=4)
        return x

    return run


def _line(text):
    """Where the source stands in this file."""
    return next(i for i, line in enumerate(Path(__file__).read_text().split("\n"), 1) if text in line)


@pytest.mark.parametrize(
    ("how", "words", "first", "second"),
    [
        (0, ("writes what thread", "reads at"), "t[i] = next;", "const float next = t[(i + 1) % N];"),
        (2, ("reads what thread", "writes at"), "t[i] = t[i - 32]", "if (i < 32) t[i] = i;"),
        (4, ("reads what thread", "writes at"), "const float other = t[31 - i]", "t[i] = other + 1"),
    ],
)
def test_accesses_that_nothing_orders(launch, how, words, first, second):
    with pytest.raises(KernelFailed) as caught:
        launch(how, rounds=3)
    assert caught.value.kind == "race"
    text = str(caught.value)
    assert text.startswith("race: ") and "no barrier stands between them" in text and all(w in text for w in words)
    assert first in text
    assert f"test_races.py:{_line(second)}" in text


@pytest.mark.parametrize("how", [1, 3, 5, 6, 7])
def test_what_orders_threads(launch, how):
    got = launch(how)
    expected = {
        1: np.roll(np.arange(128), -1),
        3: np.concatenate([np.arange(32)[::-1], np.arange(32, 128)]),
        5: np.full(128, 7),
        6: np.array([0, 3, *range(2, 64), 3, *range(65, 128)]),
        7: np.concatenate([np.arange(64)[::-1], np.arange(64, 128)]),
    }[how]
    assert np.array_equal(got, expected)
