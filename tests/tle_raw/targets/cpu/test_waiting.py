"""Programs that wait for other programs of their launch come to their end, or the launch ends with an error."""

import signal
import threading
import time

import pytest

pytest.importorskip("torch_mlir.ir")

import numpy as np
import triton
import triton.language as tl

import tle_raw
from tle_raw import Pointer, Scalar
from tle_raw.errors import KernelFailed

pytestmark = pytest.mark.every_triton(1)


@pytest.fixture(autouse=True, params=[1, 3], ids=["one thread", "three threads"])
def on_the_cpu(request):
    with tle_raw.knobs.scope() as knobs:
        knobs.target, knobs.cpu.threads, knobs.cpu.patience = "cpu", request.param, 0.5
        yield


def cuda(source, symbol="k", block=32):
    return tle_raw.fragment(source, dialect="cuda", symbol=symbol).as_kernel(block=block)


LATER_WRITES = cuda("""
__global__ void k(volatile int* o) {
  if (blockIdx.x == 0) { while (o[0] == 0); o[1] = o[0] + 1; }
  else o[0] = 1;
}""")


def test_a_program_may_wait_for_a_later_one():
    o = np.zeros(2, np.int32)
    LATER_WRITES[(2,)](o)
    assert o.tolist() == [1, 2]


GRID_BARRIER = cuda(
    """
__global__ void k(int* arrived, int* rounds, int* o, int n) {
  for (int round = 1; round <= n; ++round) {
    o[round * gridDim.x * 64 + blockIdx.x * 64 + threadIdx.x] =
        o[(round - 1) * gridDim.x * 64 + (blockIdx.x + 1) % gridDim.x * 64 + threadIdx.x] + 1;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      if (atomicAdd(arrived, 1) == int(gridDim.x) * round - 1) atomicExch(rounds, round);
      while (atomicAdd(rounds, 0) < round) __nanosleep(100);
    }
    __syncthreads();
  }
}""",
    block=64,
)


def test_all_programs_meet_at_a_barrier_of_the_grid():
    o = np.zeros((4, 20, 64), np.int32)
    GRID_BARRIER[(20,)](np.zeros(1, np.int32), np.zeros(1, np.int32), o, 3)
    assert (o[3] == 3).all()


PTX_FLAG = cuda("""
__global__ void k(int* flag, int* o) {
  if (blockIdx.x == 2) { asm volatile("st.release.gpu.global.s32 [%0], %1;" :: "l"(flag), "r"(7) : "memory"); return; }
  int seen;
  do asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory"); while (seen == 0);
  o[blockIdx.x] = seen;
}""")


def test_inline_ptx_may_wait():
    o = np.zeros(2, np.int32)
    PTX_FLAG[(3,)](np.zeros(1, np.int32), o)
    assert o.tolist() == [7, 7]


@triton.jit
def scanned(x, o, sums, flags, B: tl.constexpr):
    """A scan that looks back: each program waits for the one before it."""
    pid = tl.program_id(0)
    at = pid * B + tl.arange(0, B)
    value = tl.load(x + at)
    before = 0
    if pid > 0:
        while tl.atomic_add(flags + pid - 1, 0) == 0:
            pass
        before = tl.load(sums + pid - 1, volatile=True)
    tl.store(sums + pid, before + tl.sum(value))
    tl.atomic_xchg(flags + pid, 1)
    tl.store(o + at, before + tl.cumsum(value, 0))


def test_a_scan_looks_back():
    x = np.arange(40 * 64, dtype=np.int32) % 17
    o, sums, flags = np.empty_like(x), np.zeros(40, np.int32), np.zeros(40, np.int32)
    scanned[(40,)](x, o, sums, flags, B=64)
    assert (o == np.cumsum(x)).all()


@triton.jit
def reversed_order(turn, o):
    """The last program goes first."""
    mine = tl.num_programs(0) - 1 - tl.program_id(0)
    while tl.load(turn, volatile=True) != mine:
        pass
    tl.store(o + mine, tl.program_id(0))
    tl.atomic_add(turn, 1)


def test_programs_may_end_in_the_reverse_order():
    o = np.zeros(50, np.int32)
    reversed_order[(50,)](np.zeros(1, np.int32), o)
    assert o.tolist() == list(range(50))[::-1]


@triton.jit
def locked(lock, total, n):
    for _ in range(n):
        while tl.atomic_cas(lock, 0, 1) == 1:
            pass
        tl.store(total, tl.load(total, volatile=True) + 1)
        tl.atomic_xchg(lock, 0)


def test_a_lock_is_passed_on():
    total = np.zeros(1, np.int32)
    locked[(30,)](np.zeros(1, np.int32), total, 20)
    assert total[0] == 600


@triton.jit
def forever(flag, o):
    tl.store(o + tl.program_id(0), 1)
    while tl.atomic_cas(flag, 1, 1) != 1:  # nobody writes it
        pass


def test_a_loop_that_nobody_ends_is_named():
    o = np.zeros(3, np.int32)
    with pytest.raises(KernelFailed, match="a loop waits for memory that no program of the launch changes") as caught:
        forever[(3,)](np.zeros(1, np.int32), o)
    assert "# nobody writes it" in str(caught.value)
    assert "(0, 0, 0), (1, 0, 0), (2, 0, 0) wait" in str(caught.value)
    assert caught.value.kind == "standstill"
    assert o.tolist() == [1, 1, 1]
    forever[(3,)](np.ones(1, np.int32), o)  # the next launch starts anew


@pytest.fixture
def interrupts():
    """As in a program of one's own; processes of xdist ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def sleeper(tmp_path_factory):
    file = tmp_path_factory.mktemp("waiting") / "sleeps.cu"
    file.write_text("__global__ void k(volatile int* o) {\n  if (blockIdx.x == 1)\n    while (o[0] == 0);\n}\n")
    return tle_raw.fragment(file, symbol="k").as_kernel(block=64)


def test_a_fragment_that_nobody_wakes_is_named(sleeper):
    with pytest.raises(KernelFailed, match="waits in a loop for memory") as caught:
        sleeper[(2,)](np.zeros(2, np.int32))
    assert "sleeps.cu:3" in str(caught.value)
    assert caught.value.program == (1, 0, 0)


WAITS = r"""
extern "C" __device__ int arrive(int* arrived, int n) {
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    while (*(volatile int*)arrived < n);
  }
  __syncthreads();
  return *arrived;
}
"""


@tle_raw.dialect("cuda", source=WAITS)
def arrive(arrived: Pointer["i32"], n: Scalar["i32"]) -> Scalar["i32"]: ...


@triton.jit
def met(arrived, o):
    tl.store(o + tl.program_id(0), arrive(arrived, tl.num_programs(0)))


def test_a_region_in_a_kernel_may_wait():
    o = np.zeros(12, np.int32)
    met[(12,)](np.zeros(1, np.int32), o)
    assert (o == 12).all()


@triton.jit
def queue(taken, o, n):
    item = tl.atomic_add(taken, 1)
    total = item * 0
    while item < n:
        total += item
        item = tl.atomic_add(taken, 1)
    tl.store(o + tl.program_id(0), total)


def test_a_loop_that_gets_on_is_left_alone():
    """Each turn finds a new number: that this goes on for longer than the patience is no standstill."""
    with tle_raw.knobs.scope() as knobs:
        knobs.cpu.patience = 0.02
        o, n = np.zeros(2, np.int64), 6_000_000
        queue[(2,)](np.zeros(1, np.int64), o, n)
    assert o.sum() == n * (n - 1) // 2


def test_an_interrupt_ends_programs_that_wait(interrupts):
    with tle_raw.knobs.scope() as knobs:
        knobs.cpu.patience = 60
        forever[(1,)](np.ones(1, np.int32), np.zeros(1, np.int32))  # is compiled
        timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
        began = time.monotonic()
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            forever[(4,)](np.zeros(1, np.int32), np.zeros(4, np.int32))
        assert time.monotonic() - began < 20


def test_what_waits_together_is_bounded(monkeypatch):
    monkeypatch.setattr("tle_raw.targets.cpu.waiting.MOST_PROGRAMS", 8)
    with pytest.raises(KernelFailed, match=r"9\d of 100 programs could not begin"):
        forever[(100,)](np.zeros(1, np.int32), np.zeros(100, np.int32))


@triton.jit
def plain(x, o, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, tl.load(x + at) + 1)


def test_plain_kernels_ask_nobody():
    x = np.zeros(64, np.float32)
    compiled = plain[(1,)](x, np.empty_like(x), B=64)
    assert not compiled.metadata.may_wait
    assert "tle.wait" not in compiled.asm["linalg"]


def test_a_region_that_runs_alone_does_not_hang():
    from tle_raw.flir.cpu.run_fragment import run_fragment

    compiled = arrive.compile(target="cpu")
    with pytest.raises(KernelFailed, match="waits in a loop") as caught:
        run_fragment(compiled, {"arrived": np.zeros(1, np.int32), "n": 2})
    assert "one program runs at a time" in str(caught.value)
