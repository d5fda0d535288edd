"""A fork waits for what must not be forked."""

import importlib
import os
import signal
import threading
import time

import pytest

from tle_raw.linker.processes.no_fork import no_fork

pytestmark = [pytest.mark.one_triton, pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")]


def test_a_fork_waits_for_other_threads():
    began, ended = threading.Event(), threading.Event()

    def work():
        with no_fork():
            began.set()
            time.sleep(0.2)
            ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    began.wait()
    child = os.fork()
    if not child:
        os._exit(0 if ended.is_set() else 1)
    assert os.waitpid(child, 0)[1] == 0
    thread.join()


def test_the_child_can_hold_forks_itself():
    with no_fork():
        child = os.fork()
        if not child:
            with no_fork():
                os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_a_module_that_another_thread_imports(tmp_path, monkeypatch):
    """Python locks a module while it is imported, and a child has no thread that would end that."""
    (tmp_path / "slow_module.py").write_text("import time\ntime.sleep(0.3)\nDONE = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    thread = threading.Thread(target=importlib.import_module, args=["slow_module"])
    thread.start()
    time.sleep(0.1)
    child = os.fork()
    if not child:
        signal.alarm(10)
        os._exit(0 if importlib.import_module("slow_module").DONE else 1)
    assert os.waitpid(child, 0)[1] == 0
    thread.join()
