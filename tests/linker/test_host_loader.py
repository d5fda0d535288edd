"""Objects come and go: what they leave behind, and in which order they may go."""

import ctypes
import gc
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

from tle_raw.host.code import assemble, link_host_code
from tle_raw.host.loader import OBJECTS_PER_COMPILER, load_object

pytestmark = pytest.mark.one_triton


@pytest.fixture(scope="module")
def image():
    return assemble(link_host_code("define i32 @tle_launch(i32 %x) { %y = add i32 %x, 1 ret i32 %y }"))


def run(loaded):
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(loaded.address)(41)


def resident_bytes():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_objects_that_are_gone_leave_nothing_behind(image):
    for _ in range(2 * OBJECTS_PER_COMPILER):
        load_object(image)
    before = resident_bytes()
    for _ in range(16 * OBJECTS_PER_COMPILER):
        load_object(image)
    assert resident_bytes() - before < 16 * OBJECTS_PER_COMPILER * 3000  # 10 kB each, before


def test_they_go_in_any_order(image):
    dice, held = random.Random(5), []
    for _ in range(5 * OBJECTS_PER_COMPILER):
        held.append(load_object(image))
        if dice.random() < 0.6:
            held.pop(dice.randrange(len(held)))
    assert [run(loaded) for loaded in held] == [42] * len(held)


def test_many_threads_load_at_once(image):
    results = []
    threads = [
        threading.Thread(target=lambda: results.extend(run(load_object(image)) for _ in range(30))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [42] * 120


def test_a_cycle_that_holds_objects_may_go(image):
    for _ in range(2 * OBJECTS_PER_COMPILER):
        cycle = [load_object(image)]
        cycle.append(cycle)
    del cycle
    gc.collect()
    assert run(load_object(image)) == 42


def test_objects_may_be_alive_at_exit():
    program = (
        "from tle_raw.host.code import assemble, link_host_code\n"
        "from tle_raw.host.loader import load_object\n"
        "image = assemble(link_host_code('define void @tle_launch() { ret void }'))\n"
        "held = [load_object(image) for _ in range(50)]\n"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
