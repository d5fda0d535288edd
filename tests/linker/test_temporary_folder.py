"""Temporary folders, and the children of a process that has one."""

import subprocess
import sys
from pathlib import Path

import pytest

from tle_raw.errors import ToolchainError
from tle_raw.linker.processes.temporary_folder import temporary_folder

pytestmark = pytest.mark.one_triton

PROGRAM = """
import os, sys, threading
from tle_raw.linker.processes.temporary_folder import temporary_folder
ready, done, folders = threading.Event(), threading.Event(), []
def work():
    with temporary_folder() as folder:
        folders.append(folder)
        ready.set()
        done.wait()
thread = threading.Thread(target=work, daemon=True)
thread.start()
ready.wait()
with temporary_folder() as own:
    child = os.fork()
    if not child:
        sys.exit()
    os.waitpid(child, 0)
    print(os.path.isdir(folders[0]), os.path.isdir(own))
done.set()
thread.join()
print(os.path.isdir(folders[0]), os.path.isdir(own))
"""


def test_it_is_there_for_the_time_of_a_with():
    with temporary_folder("tle_raw-test-") as folder:
        assert Path(folder).is_dir() and Path(folder).name.startswith("tle_raw-test-")
        assert Path(folder).stat().st_mode & 0o777 == 0o700
    assert not Path(folder).exists()


def test_a_place_that_others_could_change_is_passed_over(monkeypatch, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setattr("tempfile.tempdir", str(shared))
    with temporary_folder() as folder:
        assert Path(folder).parent != shared and not any(shared.iterdir())
    shared.chmod(0o1777)  # where only an entry's owner may rename it
    with temporary_folder() as folder:
        assert Path(folder).parent == shared


def test_without_a_place_the_error_says_what_to_set(monkeypatch, tmp_path):
    tmp_path.chmod(0o777)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("tle_raw.linker.processes.temporary_folder.TEMPORARY", ())
    with pytest.raises(ToolchainError, match="TMPDIR"), temporary_folder():
        pass


def test_a_forked_child_that_ends_leaves_it_alone():
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    assert run.stdout.split() == ["True", "True", "False", "False"], run.stderr
