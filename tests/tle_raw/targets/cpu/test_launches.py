"""How launches on the CPU run: every program once, on several threads, interruptible, nested, after a fork."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import triton
import triton.language as tl

pytest.importorskip("cffi")
pytest.importorskip("llvmlite")
pytest.importorskip("torch_mlir")

import tle_raw
from tle_raw.errors import KernelFailed, LaunchError
from tle_raw.targets.cpu.arrays import Range
from tle_raw.targets.cpu.contexts import ALIGNMENT, SCRATCH, Context
from tle_raw.targets.cpu.failures import failure
from tle_raw.targets.cpu.pool import LONGEST_CHUNK, SHORTEST_CHUNK, chunk_size, pool

pytestmark = pytest.mark.every_triton(2)


@triton.jit
def count(target, spins):
    """Adds one where the program's number is, although another may do so meanwhile; `spins` makes it last."""
    program = tl.program_id(0) + tl.num_programs(0) * (tl.program_id(1) + tl.num_programs(1) * tl.program_id(2))
    spun = tl.load(target + program) + 1.0
    for i in range(spins):
        spun = tl.sqrt(spun * spun + i) + 1.0 - tl.sqrt(spun * spun + i)
    tl.atomic_add(target + program, tl.where(spun < 0, 2.0, 1.0))


@triton.jit(debug=True)
def fail_at(target, n):
    tl.device_assert(tl.program_id(0) < n, "too far")
    tl.store(target + tl.program_id(0), 1.0)


@pytest.fixture(autouse=True)
def settings():
    with tle_raw.knobs.scope():
        yield


@pytest.mark.parametrize("grid", [(1,), (7,), (1000,), (3, 5), (4, 3, 2), (1, 1, 9), [6]])
@pytest.mark.parametrize("threads", [1, 3])
def test_every_program_runs_once(grid, threads):
    tle_raw.knobs.cpu.threads = threads
    target = np.zeros(int(np.prod(grid)))
    count[grid](target, 0)
    assert (target == 1).all()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_long_launches_run_every_program_once(threads):
    tle_raw.knobs.cpu.threads = threads
    target = np.zeros(400)
    for _ in range(3):
        target[:] = 0
        count[(400,)](target, 2000)
        assert (target == 1).all()


def test_what_goes_wrong_in_another_thread_is_raised_by_the_launch(monkeypatch):
    tle_raw.knobs.cpu.threads = 3
    target, prepare = np.zeros(400), Context.prepare
    count[(400,)](target, 2000)  # compiled, and known to be long

    def prepared(context, *fields):
        if threading.current_thread() is not threading.main_thread():
            raise MemoryError("no scratch for a thread")
        prepare(context, *fields)

    monkeypatch.setattr(Context, "prepare", prepared)
    with pytest.raises(MemoryError, match="no scratch for a thread"):
        count[(400,)](target, 20000)
    monkeypatch.undo()
    target[:] = 0
    count[(400,)](target, 2000)
    assert (target == 1).all(), "the next launch is a whole one"


@pytest.mark.parametrize("grid", [(0,), (4, 0), (4, 4, 0)])
def test_a_grid_of_nothing_does_nothing(grid):
    target = np.zeros(4)
    count[grid](target, 0)
    assert not target.any()


@pytest.mark.parametrize("grid", [(-1,), (1.5,), ("4",), (2**31,), (2, -3), (2**31 - 1, 2**31 - 1, 2**31 - 1), (None,)])
def test_a_grid_that_cannot_be_is_named(grid):
    with pytest.raises(LaunchError, match=r"the grid is wrong[\s\S]*" + re.escape(str(grid[-1]))):
        count[grid](np.zeros(4), 0)


def test_a_grid_of_numpy_numbers_is_taken():
    target = np.zeros(4)
    count[(np.int64(2), np.int32(2))](target, 0)
    assert target.all()


def test_a_failed_check_says_where_and_in_which_program():
    with pytest.raises(KernelFailed) as caught:
        fail_at[(10,)](np.zeros(10), 6)
    error = caught.value
    assert error.kind == "assert"
    assert error.program[0] >= 6 and error.program[1:] == (0, 0)
    assert "too far" in str(error) and "test_launches.py" in str(error) and "tl.device_assert(" in str(error)


def test_the_next_launch_after_a_failure_is_a_clean_one():
    for _ in range(3):
        with pytest.raises(KernelFailed):
            fail_at[(10,)](np.zeros(10), 6)
        target = np.zeros(10)
        fail_at[(10,)](target, 10)
        assert target.all()


def test_a_failure_stops_the_programs_that_have_not_begun():
    tle_raw.knobs.cpu.threads = 1
    target = np.zeros(1000)
    with pytest.raises(KernelFailed):
        fail_at[(1000,)](target, 500)
    assert target[:500].all() and not target[501:].any()


CHECKS = [{"kind": "memory", "message": "load outside", "file": "k.py", "line": 3, "column": 1}]


@pytest.mark.parametrize(
    ("address", "says"),
    [
        (100, "0 bytes beyond the 84 bytes of argument `x`"),
        (98, "across the end of the 84 bytes of argument `x`"),
        (12, "4 bytes before the 84 bytes of argument `x`"),
        (1004, "4 bytes beyond the 900 bytes of argument `y`"),
    ],
)
def test_an_access_outside_names_the_nearest_argument(address, says):
    memory = [("x", Range(16, 100)), ("y", Range(100, 1000))] if address > 1000 else [("x", Range(16, 100))]
    error = failure([1, 2, 0, 0, address, 0, 0, 0], CHECKS, "k", memory)
    assert says in str(error) and error.program == (2, 0, 0)


def test_a_status_without_its_check_is_still_an_error():
    assert "unknown status 9" in str(failure([9, 0, 0, 0, 0, 0, 0, 0], CHECKS, "k"))


def test_threads_may_launch_at_the_same_time():
    tle_raw.knobs.cpu.threads = 3
    results = [np.zeros(300) for _ in range(6)]

    def work(target):
        for _ in range(5):
            target[:] = 0
            count[(300,)](target, 300)

    count[(300,)](np.zeros(300), 300)  # compiled before
    threads = [threading.Thread(target=work, args=(r,)) for r in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((r == results[0]).all() and r.all() for r in results)


def test_a_launch_hook_may_launch():
    inner, entered = np.zeros(4), []

    def enter(metadata):
        if not entered:
            entered.append(metadata.get()["name"])
            count[(4,)](inner, 0)

    outer = np.zeros(8)
    triton.knobs.runtime.launch_enter_hook.add(enter)
    try:
        count[(8,)](outer, 0)
    finally:
        triton.knobs.runtime.launch_enter_hook.remove(enter)
    assert inner.all() and outer.all() and entered == ["count"]


def test_hooks_are_called_around_a_launch():
    seen = []

    def enter(_):
        seen.append("enter")

    def leave(_):
        seen.append("exit")

    runtime = triton.knobs.runtime
    runtime.launch_enter_hook.add(enter)
    runtime.launch_exit_hook.add(leave)
    try:
        count[(1,)](np.zeros(1), 0)
    finally:
        runtime.launch_enter_hook.remove(enter)
        runtime.launch_exit_hook.remove(leave)
    assert seen == ["enter", "exit"]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_a_long_launch(threads):
    tle_raw.knobs.cpu.threads = threads
    target = np.zeros(1 << 20)
    count[(8,)](target, 3000)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            count[(1 << 20,)](target, 3000)  # minutes
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < 20
    target[:] = 0
    count[(8,)](target, 0)
    assert (target[:8] == 1).all()


FORK = """
import os, sys
import numpy as np
import tle_raw
sys.path.insert(0, sys.argv[1])
from test_launches import count
tle_raw.knobs.cpu.threads = 3
count[(300,)](np.zeros(300), 2000)
child = os.fork()
target = np.zeros(300)
count[(300,)](target, 2000)
if not child:
    os._exit(0 if target.all() else 1)
print(target.all(), os.waitpid(child, 0)[1])
"""


def test_a_forked_process_launches_with_threads_of_its_own(tmp_path):
    (tmp_path / "fork.py").write_text(FORK)
    done = subprocess.run(
        [sys.executable, tmp_path / "fork.py", os.path.dirname(__file__)], capture_output=True, text=True, timeout=300
    )
    assert done.stdout.split() == ["True", "0"], done.stderr


def test_a_long_launch_says_how_far_it_is(capsys):
    tle_raw.knobs.cpu.threads = 2
    tle_raw.knobs.cpu.progress = 0.05
    count[(400,)](np.zeros(400), 200_000)
    lines = capsys.readouterr().err.splitlines()
    assert lines and all(
        re.fullmatch(r"count: \d+ of 400 programs \(\d+%\) begun in \d+ s, about \d+ s left", s) for s in lines
    )


def test_a_launch_says_nothing_unless_it_is_asked_to(capsys):
    count[(400,)](np.zeros(400), 20_000)
    assert capsys.readouterr() == ("", "")


@pytest.mark.one_triton
def test_what_a_kernel_prints_comes_in_order():
    program = """
import numpy as np, sys
import triton, triton.language as tl
@triton.jit
def say(target, n):
    tl.device_print("n", n)
print("before"); say[(1,)](np.zeros(1), 5); print("after")
"""
    file = os.path.join(os.environ["TRITON_CACHE_DIR"], "say.py")
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file, "w") as f:
        f.write(program)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert (lines[0], lines[-1]) == ("before", "after") and "5" in lines[1], done.stderr


def test_scratch_is_aligned_and_grows():
    context = Context()
    sizes = (1, 4096, 100_000, 10)
    for size in sizes:
        context.prepare(context.status_address, size, 0, 0)
        assert context.fields[SCRATCH] % ALIGNMENT == 0
        assert context._scratch_bytes >= size


@pytest.mark.parametrize("left", [1, 7, 1000, 1 << 20])
@pytest.mark.parametrize("seconds", [1e-9, 1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("threads", [1, 2, 64])
def test_a_chunk_is_neither_too_short_nor_too_long(left, seconds, threads):
    size = chunk_size(left, seconds, threads)
    assert 1 <= size <= left
    assert size == 1 or size * seconds <= LONGEST_CHUNK * 1.001
    assert size == left or (size + 1) * seconds >= SHORTEST_CHUNK * 0.99


def test_a_small_launch_wakes_nobody():
    tle_raw.knobs.cpu.threads = 64
    before = pool()._threads
    for _ in range(20):
        count[(2,)](np.zeros(2), 0)
    assert pool()._threads == before
