"""The rule for folders, followed from the root down, link by link. tests/security has what needs a second user."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tle_raw.linker.processes import trusted_folders
from tle_raw.linker.processes.trusted_folders import why_distrusted

pytestmark = pytest.mark.one_triton


def made(folder, mode=0o700):
    folder.mkdir(parents=True)
    folder.chmod(mode)
    return folder


def test_a_folder_of_the_users_own_is_trusted(tmp_path):
    assert why_distrusted(made(tmp_path / "a" / "b")) == ""
    assert why_distrusted(made(tmp_path / "c", 0o755)) == ""


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720, 0o1777])
def test_a_folder_that_others_may_write_is_not(tmp_path, mode):
    assert "others may write" in why_distrusted(made(tmp_path / "a", mode))


def test_a_folder_in_one_that_others_may_write_is_not(tmp_path):
    made(tmp_path / "shared", 0o777)
    assert "shared may be written by others" in why_distrusted(made(tmp_path / "shared" / "a"))


def test_the_sticky_bit_is_enough_above(tmp_path):
    made(tmp_path / "shared", 0o1777)
    assert why_distrusted(made(tmp_path / "shared" / "a")) == ""


def test_links_are_followed_through_every_folder(tmp_path):
    made(tmp_path / "a")
    made(tmp_path / "shared", 0o777)
    (tmp_path / "shared" / "link").symlink_to("../a")
    (tmp_path / "good").symlink_to("a")
    (tmp_path / "bad").symlink_to("shared/link")
    assert why_distrusted(tmp_path / "good") == why_distrusted(tmp_path / "a" / ".." / "a") == ""
    for path in ("bad", "shared/link", "shared/../a"):
        assert "shared may be written by others" in why_distrusted(tmp_path / path)


def test_what_is_not_there_is_not_trusted(tmp_path):
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "file").touch()
    assert "No such file" in why_distrusted(tmp_path / "none")
    assert why_distrusted(tmp_path / "circle") and why_distrusted(tmp_path / "circle" / "a")
    assert "is no folder" in why_distrusted(tmp_path / "file")


def test_a_container_whose_users_do_not_include_root():
    """Root's folders look like nobody's there."""
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if python is None or shutil.which("unshare") is None:
        pytest.skip("needs unshare, and an interpreter that any user may run")
    program = Path(trusted_folders.__file__).read_text() + (
        "\nimport tempfile\n"
        "with tempfile.TemporaryDirectory(dir='/tmp') as folder: print(why_distrusted(Path(folder)) or 'trusted')\n"
    )
    ordinary = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups"] if os.geteuid() == 0 else []
    command = [*ordinary, "unshare", "--user", "--map-current-user", python, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/")
    if done.returncode and "Traceback" not in done.stderr:
        pytest.skip("this system gives no such container")
    assert done.stdout == "trusted\n", done.stderr
