"""Folders of links: laid out once by many, looked through whenever they are used."""

import concurrent.futures
import os
import stat

import pytest

from tle_raw.store import Cache, CacheWarning, LinkFolders, fallback
from tle_raw.store.links import is_laid_out

pytestmark = pytest.mark.one_triton


@pytest.fixture
def folders(tmp_path):
    return LinkFolders(tmp_path / "cache")


@pytest.fixture
def wanted(tmp_path):
    return {"include": tmp_path, "a/b/empty": None}


def test_many_lay_out_one_folder(folders, wanted):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        (folder,) = set(pool.map(lambda _: folders.folder_of("x", wanted), range(32)))
    assert is_laid_out(folder, wanted)
    assert os.listdir(folders.folder) == [folder.name]


def test_other_links_are_another_folder(folders, wanted, tmp_path):
    assert folders.folder_of("x", wanted) != folders.folder_of("x", wanted | {"include": tmp_path / "cache"})


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_folders_are_private_whatever_the_umask(folders, wanted, umask):
    before = os.umask(umask)
    try:
        folder = folders.folder_of("x", wanted)
    finally:
        os.umask(before)
    for made in (folders.root, folders.folder, folder, folder / "a", folder / "a/b"):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "a/b/empty").stat().st_mode) == 0o600


def replaced(path):
    path.rename(path.with_name("aside"))


DAMAGES = {
    "a link is missing": lambda f: (f / "include").unlink(),
    "a link leads elsewhere": lambda f: ((f / "include").unlink(), (f / "include").symlink_to("/tmp")),
    "a folder in the place of a link": lambda f: ((f / "include").unlink(), (f / "include").mkdir()),
    "a file in the place of a link": lambda f: ((f / "include").unlink(), (f / "include").touch()),
    "an empty file is missing": lambda f: (f / "a/b/empty").unlink(),
    "an empty file is not empty": lambda f: (f / "a/b/empty").write_text("int x;"),
    "a link in the place of an empty file": lambda f: ((f / "a/b/empty").unlink(), (f / "a/b/empty").symlink_to("/")),
    "a pipe in the place of an empty file": lambda f: ((f / "a/b/empty").unlink(), os.mkfifo(f / "a/b/empty")),
    "one file too many": lambda f: (f / "a/stdio.h").write_text("#error"),
    "others may write": lambda f: (f / "a").chmod(0o777),
    "a file in the place of the folder": lambda f: (f.rename(f.with_name("aside")), f.touch()),
    "a link in the place of the folder": lambda f: (f.rename(f.with_name("aside")), f.symlink_to("aside")),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_laid_out_anew(folders, wanted, damage):
    folder = folders.folder_of("x", wanted)
    DAMAGES[damage](folder)
    assert not is_laid_out(folder, wanted) or folder.is_symlink()
    assert folders.folder_of("x", wanted) == folder
    assert is_laid_out(folder, wanted) and not folder.is_symlink()


def test_they_are_listed_and_cleared(folders, wanted, tmp_path):
    folder = folders.folder_of("x", wanted)
    (folders.folder / ".draft-half").mkdir()
    (folders.folder / "mine").mkdir()
    cache = Cache(tmp_path / "cache")
    assert [(kind, entry.path) for kind, entry in cache.entries()] == [("links", folder)]
    assert cache.size() > 0
    assert cache.clear() == 1
    assert os.listdir(folders.folder) == ["mine"]


def test_they_are_pruned(folders, wanted):
    folder = folders.folder_of("x", wanted)
    os.utime(folder, (1, 1))
    assert folders.prune(older_than_seconds=3600) == 1
    assert not folder.exists()


def test_a_cache_that_cannot_be_written_falls_back(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(fallback, "_PRIVATE", {})
    fallback._WARNED.clear()
    folders = LinkFolders(tmp_path / "file" / "below a file")
    with pytest.warns(CacheWarning, match="is not used"):
        folder = folders.folder_of("x", {"empty": None})
    assert (folder / "empty").is_file()
    assert folders.folder_of("x", {"empty": None}) == folder
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
