"""What is installed from a wheel has the identity of the checkout that it was built from, until somebody edits it."""

import base64
import hashlib
import os

import pytest

from tle_raw.identity import sources_identity

FILES = {"tle_raw/__init__.py": "", "tle_raw/linker/link.py": "A = 1\n", "tle_raw/include/a.h": "int a;\n"}


def record(files):
    lines = [f"{path},sha256={_digest(text)},{len(text)}" for path, text in files.items()]
    return "\n".join([*lines, "tle_raw/py.typed,sha256=x,0", "tle_raw-1.0.dist-info/RECORD,,"]) + "\n"


def _digest(text):
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


@pytest.fixture
def package(tmp_path):
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path / "tle_raw"


@pytest.fixture
def installed(package):
    file = package.parent / "tle_raw-1.0.dist-info" / "RECORD"
    file.parent.mkdir()
    file.write_text(record(FILES))
    newest = max(path.stat().st_mtime_ns for path in package.rglob("*"))
    os.utime(file, ns=(newest, newest + 10**9))
    return package


def test_a_wheel_has_its_checkouts_identity(installed):
    file = installed.parent / "tle_raw-1.0.dist-info" / "RECORD"
    of_record = sources_identity(str(installed))
    kept = file.read_text()
    file.unlink()
    assert sources_identity(str(installed)) == of_record
    file.write_text(kept.replace(_digest("A = 1\n"), _digest("A = 2\n")))  # it is the record that is read
    os.utime(file, ns=(0, 2**62))
    assert sources_identity(str(installed)) != of_record


EDITS = {
    "edited": lambda p: (p / "linker/link.py").write_text("A = 2\n"),
    "longer": lambda p: (p / "linker/link.py").write_text("A = 10\n"),
    "more": lambda p: (p / "linker/more.py").write_text("B = 1\n"),
    "fewer": lambda p: (p / "include/a.h").unlink(),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_is_edited_behind_the_installation_is_another_version(edit, package):
    before = sources_identity(str(package))
    file = package.parent / "tle_raw-1.0.dist-info" / "RECORD"
    file.parent.mkdir()
    file.write_text(record(FILES))
    EDITS[edit](package)
    for path in (package / "linker").iterdir():
        later = file.stat().st_mtime_ns + 10**9
        os.utime(path, ns=(later, later))
    after = sources_identity(str(package))
    file.unlink()
    assert before != after == sources_identity(str(package))
