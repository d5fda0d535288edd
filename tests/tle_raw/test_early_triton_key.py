"""Triton's key of itself is computed beside the program, once, and is the one that Triton would compute."""

from __future__ import annotations

import functools
import threading

import pytest
from triton.runtime import cache

from tests.started import run_python
from tle_raw.regions import early_triton_key

DECLARED = """
import time
import tle_raw
from triton.runtime.cache import triton_key

@tle_raw.dialect("llvm", source="define void @f() { ret void }", symbol="f")
def f(): ...

end = time.monotonic() + 60
while triton_key.cache_info().currsize == 0 and time.monotonic() < end:
    time.sleep(0.01)
known = triton_key.cache_info()
triton_key.cache_clear()
before = triton_key()
print(known.currsize, known.misses, before == triton_key())
"""


@pytest.fixture
def begun(monkeypatch):
    """How often the key was asked for, as in a process that has declared nothing."""
    asked = []
    monkeypatch.setattr(early_triton_key, "_BEGUN", threading.Event())
    monkeypatch.setattr(cache, "triton_key", lambda: asked.append(threading.current_thread()))
    return asked


def finish():
    for thread in threading.enumerate():
        if thread.name == "tle_raw: Triton's key":
            thread.join(60)


def test_a_program_that_declares_a_fragment_has_the_key_before_it_asks():
    done = run_python("-c", DECLARED)
    assert done.stdout.split() == ["1", "1", "True"], done.stderr


def test_it_is_computed_once_and_not_on_the_threads_of_the_program(begun):
    early_triton_key.begin()
    early_triton_key.begin()
    finish()
    assert len(begun) == 1 and begun[0] is not threading.current_thread()


def test_who_asks_before_it_is_known_waits_for_it(monkeypatch):
    asked, may_end = [], threading.Event()

    def slow():
        asked.append(threading.current_thread())
        may_end.wait(60)
        return "key"

    slow = functools.lru_cache(slow)
    monkeypatch.setattr(early_triton_key, "_BEGUN", threading.Event())
    monkeypatch.setattr(cache, "triton_key", slow)
    early_triton_key.begin()
    cache.triton_key.cache_clear()  # as of the function itself
    threading.Timer(0.05, may_end.set).start()
    assert cache.triton_key() == "key"
    assert len(asked) == 1 and asked[0] is not threading.current_thread()
    finish()
    assert cache.triton_key is slow, "Triton's own again"


def test_a_thread_that_hangs_is_not_waited_for_for_ever(monkeypatch):
    may_end = threading.Event()

    def hangs_elsewhere():
        return "key" if threading.current_thread() is threading.main_thread() else may_end.wait(60)

    monkeypatch.setattr(early_triton_key, "_BEGUN", threading.Event())
    monkeypatch.setattr(early_triton_key, "_PATIENCE_S", 0.01)
    monkeypatch.setattr(cache, "triton_key", hangs_elsewhere)
    early_triton_key.begin()
    assert cache.triton_key() == "key"
    may_end.set()
    finish()


def test_one_processor_does_not_do_it_beside_anything(begun, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {3})
    early_triton_key.begin()
    finish()
    assert begun == []


def test_what_fails_is_told_where_the_key_is_asked_for(begun, monkeypatch, capfd):
    def fails():
        begun.append("asked")
        raise OSError("no libtriton")

    monkeypatch.setattr(cache, "triton_key", fails)
    early_triton_key.begin()
    finish()
    assert begun == ["asked"] and capfd.readouterr() == ("", "")
