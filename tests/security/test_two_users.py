"""Another user plants files in every folder that is read: none of them is used, by root neither."""

import grp
import json
import os
import pwd
import shutil
from pathlib import Path

import pytest

from tests.security.users import ATTACKER, ORDINARY, ROOT, needs_two_users, run_as

pytestmark = [needs_two_users, pytest.mark.one_triton]

PLANT = """
import sys
from pathlib import Path
from tle_raw.store import FRAGMENTS, HEADERS, LOTS, RUNTIMES, LinkFolders, Store
root = Path(sys.argv[1])
for kind in (FRAGMENTS, HEADERS, LOTS, RUNTIMES):
    Store(root, kind).save("k", "planted", {})
LinkFolders(root).folder_of("x", {"include": Path("/usr"), "empty": None})
"""

USE = """
import json, warnings
from pathlib import Path
warnings.simplefilter("ignore")
from tle_raw.knobs import knobs
from tle_raw.store import FRAGMENTS, HEADERS, LOTS, RUNTIMES, LinkFolders, Store
from tle_raw.linker.processes.trusted_folders import why_distrusted
stores = [Store(knobs.cache.dir, kind) for kind in (FRAGMENTS, HEADERS, LOTS, RUNTIMES)]
found = [entry.text for entry in (store.load("k") for store in stores) if entry]
saved = [store.save("k", "mine", {}) for store in stores]
links = LinkFolders(knobs.cache.dir).folder_of("x", {"include": Path("/usr"), "empty": None})
print(json.dumps({
    "root": str(knobs.cache.dir),
    "found": found,
    "read": [entry.path.read_text() for entry in saved],
    "folders": sorted({str(entry.path.parent) for entry in saved} | {str(links)}),
    "distrusted": [why_distrusted(folder) for folder in (*(entry.path.parent for entry in saved), links)],
}))
"""


@pytest.fixture(params=[ROOT, ORDINARY], ids=["root", "ordinary"])
def victim(request):
    return request.param


@pytest.fixture
def place(tmp_path, victim):
    """A folder of the victim's, in which the tests do as they like."""
    os.chown(tmp_path, victim, victim)
    return tmp_path


@pytest.fixture(scope="module")
def attackers_cache(tmp_path_factory):
    """A cache that the attacker filled, with valid digests."""
    made = tmp_path_factory.mktemp("attacker")
    os.chown(made, ATTACKER, ATTACKER)
    run_as(ATTACKER, PLANT, made)
    assert {kind.name for kind in made.iterdir()} == {"fragments", "team", "headers", "lots", "links"}
    return made


@pytest.fixture
def planted(attackers_cache):
    """Puts a copy somewhere."""
    return lambda folder: given(shutil.copytree(attackers_cache, folder, symlinks=True), ATTACKER, 0o755)


def given(folder, owner, mode=0o700):
    """All of it belongs to somebody else now."""
    for path in (folder, *folder.rglob("*")):
        os.lchown(path, owner, owner)
    folder.chmod(mode)
    return folder


def check(victim, used, **environment):
    """The victim takes nothing from there; ``used`` says whether its own entries go there."""
    seen = json.loads(run_as(victim, USE, **environment))
    assert seen["found"] == [] and seen["read"] == 4 * ["mine"] and seen["distrusted"] == 5 * [""]
    assert all(Path(folder).is_relative_to(seen["root"]) == used for folder in seen["folders"])


def test_a_cache_of_the_attackers(place, victim, planted):
    check(victim, False, TLE_RAW_CACHE_DIR=planted(place / "cache"))


def test_a_cache_in_the_folder_of_all_caches(place, victim, planted):
    planted(place / "tle_raw")
    check(victim, False, XDG_CACHE_HOME=place)


def test_a_cache_by_the_victims_name_in_the_temporary_folder(place, victim, planted):
    place.chmod(0o1777)
    planted(place / f"tle_raw-{victim}")
    check(victim, False, TLE_RAW_CACHE_DIR=place / f"tle_raw-{victim}", TMPDIR=place)


def test_kinds_of_the_attackers_in_the_victims_cache(place, victim, planted):
    planted(place / "cache").chmod(0o755)
    os.chown(place / "cache", victim, victim)
    check(victim, False, TLE_RAW_CACHE_DIR=place / "cache")


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_cache_that_others_may_write(place, victim, mode, planted):
    cache = given(planted(place / "cache"), victim)
    for folder in cache.iterdir():
        folder.chmod(mode)
        os.chown(folder, victim, ATTACKER)
    check(victim, False, TLE_RAW_CACHE_DIR=cache)


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_folder_above_that_others_may_write(place, victim, mode, planted):
    cache = given(planted(place / "cache"), victim)
    place.chmod(mode)
    os.chown(place, victim, ATTACKER)
    check(victim, False, TLE_RAW_CACHE_DIR=cache)


def test_a_folder_above_that_is_the_attackers(place, victim, planted):
    cache = given(planted(place / "cache"), victim)
    os.chown(place, ATTACKER, ATTACKER)
    check(victim, False, TLE_RAW_CACHE_DIR=cache)


def test_the_attackers_link_to_a_cache_of_the_victims(place, victim, planted):
    given(planted(place / "cache"), victim)
    (place / "link").symlink_to("cache")
    os.lchown(place / "link", ATTACKER, ATTACKER)
    check(victim, False, TLE_RAW_CACHE_DIR=place / "link")


def test_files_that_the_attacker_left_in_a_folder_that_is_private_again(place, victim, planted):
    cache = planted(place / "cache")
    for folder in (cache, *cache.iterdir()):
        os.chown(folder, victim, victim)
        folder.chmod(0o700)
    check(victim, True, TLE_RAW_CACHE_DIR=cache)


def test_a_temporary_folder_of_the_attackers(place, victim, planted):
    given(planted(place / "cache"), ATTACKER, 0o777)
    (place / "temporary").mkdir()
    given(place / "temporary", ATTACKER, 0o777)
    check(victim, False, TLE_RAW_CACHE_DIR=place / "cache", TMPDIR=place / "temporary")


def test_root_does_not_use_the_folder_of_another_user(tmp_path, planted):
    cache = given(planted(tmp_path / "cache"), ORDINARY)
    check(ROOT, False, TLE_RAW_CACHE_DIR=cache)


def test_a_private_folder_in_a_shared_sticky_one_is_used(place, victim):
    os.chown(place, ROOT, ROOT)
    place.chmod(0o1777)
    check(victim, True, TLE_RAW_CACHE_DIR=place / "new" / "cache")
    assert (place / "new").stat().st_mode & 0o777 == 0o700, "though the umask is 0"


def test_only_a_group_of_the_users_own_may_write_above(place):
    place.chmod(0o775)
    os.chown(place, ORDINARY, ORDINARY)
    own = grp.getgrgid(ORDINARY).gr_name == pwd.getpwuid(ORDINARY).pw_name  # not on every system
    check(ORDINARY, own, TLE_RAW_CACHE_DIR=place / "cache")


# The whole way, with numbers that show whose code ran.

KERNEL = """
import sys, warnings
import numpy as np, triton, triton.language as tl
import tle_raw
from tle_raw import Element
warnings.simplefilter("ignore")

@tle_raw.dialect("cuda", source="__device__ float times(float x) { return x * 1536.0f; }")
def times(x: Element["f32"]) -> Element["f32"]: ...

@triton.jit
def kernel(target, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(target + i, times(tl.load(target + i)))

x = np.ones(32, np.float32)
kernel[(1,)](x, 32)
print(int(x[0]))
"""

POISON = """
import sys
from pathlib import Path
from tle_raw.store import Store
store = Store(Path(sys.argv[1]))
for entry in store.entries():
    text = store.load(entry.key).text
    store.save(entry.key, text.replace("1.536000e+03", "6.660000e+02"), entry.meta)
"""


def test_the_attackers_code_does_not_run(tmp_path):
    """With the right key and right digests, as the quickstart would find it in Triton's cache and in this one's."""
    pytest.importorskip("torch_mlir")
    theirs, mine = {}, {"TLE_RAW_TARGET": "cpu", "TMPDIR": "/tmp"}
    for name, folder in (("TLE_RAW_CACHE_DIR", "cache"), ("TRITON_CACHE_DIR", "kernels"), ("HOME", "home")):
        (tmp_path / folder).mkdir()
        os.chown(tmp_path / folder, ATTACKER, ATTACKER)
        theirs[name] = tmp_path / folder
    program = tmp_path / "kernel.py"
    program.write_text(KERNEL)
    runs = f"import runpy; runpy.run_path({str(program)!r})"
    assert run_as(ATTACKER, runs, **mine | theirs) == "1536\n"
    run_as(ATTACKER, POISON, tmp_path / "cache")
    shutil.rmtree(tmp_path / "kernels")
    (tmp_path / "kernels").mkdir()
    os.chown(tmp_path / "kernels", ATTACKER, ATTACKER)
    assert run_as(ATTACKER, runs, **mine | theirs) == "666\n", "the poison works"
    (tmp_path / "own").mkdir()
    os.chown(tmp_path / "own", ORDINARY, ORDINARY)
    assert run_as(ORDINARY, runs, **mine | theirs | {"HOME": tmp_path / "own"}) == "1536\n"
