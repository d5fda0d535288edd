"""A checkout's identity is kept beside its bytecode; whatever is edited, nobody gets the one of before."""

import json
import os
import sys
import time
from importlib.util import cache_from_source
from pathlib import Path
from types import SimpleNamespace

import pytest

from tle_raw import kept_identity
from tle_raw.file_stamp import SECOND
from tle_raw.identity import sources_identity
from tle_raw.kept_identity import FILE, SETTLED, is_settled_file


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A package whose files count as old, with a folder for bytecode."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(kept_identity, "time", SimpleNamespace(time_ns=lambda: time.time_ns() + 2 * SETTLED))
    for path, text in {"__init__.py": "", "linker/link.py": "A = 1\n", "include/a.h": "int a;\n"}.items():
        file = tmp_path / "package" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    kept_file(tmp_path / "package").parent.mkdir(parents=True, exist_ok=True)
    return tmp_path / "package"


def kept_file(package: Path) -> Path:
    return Path(cache_from_source(str(package / "__init__.py"))).parent / FILE


def without_kept(package: Path) -> str:
    """The identity as the files themselves say it."""
    kept_file(package).unlink(missing_ok=True)
    return sources_identity(str(package))


def test_what_is_kept_is_taken_while_nothing_changes(checkout):
    identity = sources_identity(str(checkout))
    kept = json.loads(kept_file(checkout).read_text())
    assert kept["identity"] == identity
    kept_file(checkout).write_text(json.dumps({**kept, "identity": "as it was kept"}))
    assert sources_identity(str(checkout)) == "as it was kept"


def edit_in_secret(package: Path) -> None:
    """As many bytes, and the time of the content set back: what bytecode is known by stays the same."""
    file = package / "linker/link.py"
    status = file.stat()
    file.write_text("A = 2\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace_by_a_file_of_the_same_times(package: Path) -> None:
    file, other = package / "linker/link.py", package / "linker/other"
    status = file.stat()
    other.write_text("A = 2\n")
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.rename(file)


EDITS = {
    "edited": edit_in_secret,
    "replaced": replace_by_a_file_of_the_same_times,
    "more": lambda package: (package / "linker/more.py").write_text("B = 1\n"),
    "fewer": lambda package: (package / "include/a.h").unlink(),
    "renamed": lambda package: (package / "include/a.h").rename(package / "include/b.h"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_makes_another_version(edit, checkout):
    before = sources_identity(str(checkout))
    EDITS[edit](checkout)
    after = sources_identity(str(checkout))
    assert before != after == without_kept(checkout)


def test_nothing_is_kept_while_a_file_is_young(checkout, monkeypatch):
    monkeypatch.setattr(kept_identity, "time", time)
    sources_identity(str(checkout))
    assert not kept_file(checkout).exists()


def test_nothing_is_kept_when_a_file_is_edited_while_it_is_read(checkout, monkeypatch):
    def edit_first(path):
        Path(path).write_text("A = 3\n")
        return read_digest(path)

    read_digest = kept_identity.read_digest
    monkeypatch.setattr(kept_identity, "read_digest", edit_first)
    sources_identity(str(checkout))
    assert not kept_file(checkout).exists()


@pytest.mark.parametrize(
    "changed, settled",
    [(-SETTLED - 1, True), (-SETTLED + 1, False), (SETTLED, False), (-60 * SECOND, False)],
)
def test_a_file_is_known_by_its_time_when_that_is_old_and_counts_less_than_seconds(changed, settled):
    now = 1_800_000_000 * SECOND
    assert is_settled_file(SimpleNamespace(st_ctime_ns=now + changed), now) is settled


@pytest.mark.parametrize("content", ["", "\0" * 80, "[]", '{"stamps": 1}', "[" * 100_000])
def test_what_is_damaged_is_read_anew(content, checkout):
    identity = sources_identity(str(checkout))
    kept_file(checkout).write_text(content)
    assert sources_identity(str(checkout)) == identity
    assert json.loads(kept_file(checkout).read_text())["identity"] == identity


def test_where_python_keeps_no_bytecode_nothing_is_kept(checkout, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    sources_identity(str(checkout))
    assert not kept_file(checkout).exists()


def test_a_folder_that_nobody_may_write_is_no_error(checkout, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError

    monkeypatch.setattr("tle_raw.store.private_files.write_whole", refuse)
    assert sources_identity(str(checkout)) == without_kept(checkout)
