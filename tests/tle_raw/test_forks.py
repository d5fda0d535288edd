"""Children that are forked while other threads are at work in this package."""

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable

import numpy as np
import pytest
import triton
import triton.language as tl

pytest.importorskip("llvmlite")
pytest.importorskip("torch_mlir")

import tle_raw
from tle_raw import Element, InOut, Tile
from tle_raw.fragments.keyed_source import KeyedSource
from tle_raw.thread_lock import ThreadLock

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

LONGEST = 60  # seconds that a child may take
TWICE = """
template <int N> __device__ void twice(tle::tile<float, N> t) {
  for (int i : t.indices()) t[i] *= 2;  // %s
}
"""


@tle_raw.dialect("cuda", source="#include <tle_raw/tile.h>\n" + TWICE)
def twice(t: InOut[Tile["f32", "N"]]): ...


@triton.jit
def double(x, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + at, twice(tl.load(x + at)))


@triton.jit
def count(x, steps, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.zeros((B,), tl.float32)
    for _ in range(steps):
        value = tl.sqrt(value * value + 1)
    tl.store(x + at, value)


def status_of_child(work: Callable[[], object]) -> int:
    """0 when a forked child could do the work; 14 when it waited too long."""
    child = os.fork()
    if not child:
        signal.alarm(LONGEST)
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def doubles(_: object = None) -> bool:
    x = np.arange(256, dtype=np.float32)
    double[(4,)](x, B=64)
    return bool((x == 2 * np.arange(256)).all())


def check_doubles() -> None:
    assert doubles()


@pytest.fixture(autouse=True)
def on_the_cpu():
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        yield


def test_a_lock_that_another_thread_held_is_free_in_a_child():
    class Owner:
        discarded = False

        def __init__(self):
            self.lock = ThreadLock(self.discard)

        def discard(self):
            self.discarded = True

    owner, held, done = Owner(), threading.Event(), threading.Event()

    def hold():
        with owner.lock:
            held.set()
            done.wait()

    def take():
        with owner.lock:
            assert owner.discarded

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        assert status_of_child(take) == 0
    finally:
        done.set()
        thread.join()
    assert not owner.discarded


def test_a_lock_of_the_thread_that_forks_stays_its_own():
    lock = ThreadLock()

    def leave_and_take():
        lock.__exit__()
        with lock:
            pass

    with lock:
        assert status_of_child(leave_and_take) == 0


def test_a_fragment_that_another_thread_compiles():
    text = "#include <tle_raw/tile.h>\n" + TWICE % time.time_ns()
    fragment = tle_raw.fragment(text, dialect="cuda", signature=twice.signature)
    compiling = threading.Thread(target=lambda: fragment.compile("cuda:90", N=64))
    compiling.start()
    time.sleep(0.1)
    try:
        assert status_of_child(lambda: fragment.compile("cuda:90", N=64)) == 0
    finally:
        compiling.join()


@tle_raw.dialect("cuda", source="__device__ float next_one(float x) { return x + 1; }")
def next_one(x: Element["f32"]) -> Element["f32"]: ...


@triton.jit
def add_one(x, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(x + at, next_one(tl.load(x + at)))


def test_a_kernel_whose_key_another_thread_computes(monkeypatch):
    computing, go_on, compute = threading.Event(), threading.Event(), KeyedSource._compute_key

    def wait_and_compute(source):
        computing.set()
        go_on.wait()
        return compute(source)

    def launch():
        KeyedSource._compute_key = compute
        x = np.zeros(64, np.float32)
        add_one[(1,)](x, B=64)
        assert (x == 1).all()

    monkeypatch.setattr(KeyedSource, "_compute_key", wait_and_compute)
    thread = threading.Thread(target=lambda: add_one.cache_key)
    thread.start()
    computing.wait()
    try:
        assert status_of_child(launch) == 0
    finally:
        go_on.set()
        thread.join()


def test_a_launch_that_runs():
    check_doubles()
    x = np.zeros(64 * 64, np.float32)
    count[(1,)](x, 1, B=64)
    running = threading.Thread(target=lambda: count[(64,)](x, 20_000, B=64))
    running.start()
    try:
        for _ in range(3):
            assert status_of_child(check_doubles) == 0
    finally:
        running.join()
    np.testing.assert_allclose(x, 20_000**0.5, rtol=1e-3)


def test_llvm_that_another_thread_is_inside_of():
    """Compiled anew in the thread and in the child: neither finds the other's half done."""
    x = np.zeros(64, np.float32)
    compiling = threading.Thread(target=lambda: [count.warmup(x, 1, B=2**i, grid=(1,)) for i in range(3, 8)])
    compiling.start()
    try:
        for i in range(3):
            time.sleep(0.2)
            assert status_of_child(lambda i=i: count[(1,)](x, i, B=16, num_warps=2**i)) == 0
    finally:
        compiling.join()


def test_a_pool_of_forked_processes():
    check_doubles()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(doubles, range(6)).get(LONGEST) == [True] * 6
