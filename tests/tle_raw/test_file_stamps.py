"""An edit of a file is seen whatever its time, its size and the file system's clock say."""

import os

import pytest

from tle_raw.fragments import file_stamps
from tle_raw.fragments.file_stamps import FileStamps

pytestmark = pytest.mark.one_triton


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "factor.h"
    path.write_text("#define FACTOR 2\n")
    return path


def edit_unseen(path, text, monkeypatch):
    """An edit in place within the tick of the first stamp: nothing that `stat` tells is different."""
    before = file_stamps._stamps((str(path),))
    path.write_text(text)
    monkeypatch.setattr(file_stamps, "_stamps", lambda paths: before)


def grow_old(monkeypatch, stamps):
    now = file_stamps.time.time_ns()
    monkeypatch.setattr(file_stamps.time, "time_ns", lambda: now + 3 * file_stamps.SECOND)
    assert not stamps.are_stale()


def test_an_edit_of_the_same_size_whose_time_was_set_back(file, monkeypatch):
    stamps = FileStamps([file])
    grow_old(monkeypatch, stamps)
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns
    file.write_text("#define FACTOR 3\n")
    os.utime(file, ns=times)
    assert stamps.are_stale()


def test_an_edit_within_the_same_tick_of_the_clock(file, monkeypatch):
    stamps = FileStamps([file])
    assert not stamps.are_stale()
    edit_unseen(file, "#define FACTOR 3\n", monkeypatch)
    assert stamps.are_stale()


def test_an_old_file_is_not_read_again(file, monkeypatch):
    stamps = FileStamps([file])
    grow_old(monkeypatch, stamps)
    monkeypatch.setattr(file_stamps, "_digest", lambda path: pytest.fail("read at a launch"))
    assert not stamps.are_stale() and not stamps.are_young


def test_a_file_system_that_counts_whole_seconds(file, monkeypatch):
    monkeypatch.setattr(file_stamps, "_stamps", lambda paths: ((7 * file_stamps.SECOND, 0, 17, 1),))
    monkeypatch.setattr(file_stamps.time, "time_ns", lambda: int(8.9 * file_stamps.SECOND))
    stamps = FileStamps([file])
    file.write_text("#define FACTOR 3\n")
    assert stamps.are_stale()


def test_files_that_go_and_come(file):
    stamps = FileStamps([file])
    file.unlink()
    assert stamps.are_stale()
    gone = FileStamps([file])
    assert not gone.are_stale()
    file.write_text("")
    assert gone.are_stale()
