"""A fork waits for what must not be forked."""

import os
import threading
import time

import pytest

from tle_raw.linker.no_fork import no_fork

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
