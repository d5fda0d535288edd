"""The store on disk: many processes, sudden death, damage, folders that cannot be written."""

import errno
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from tle_raw.errors import CacheError
from tle_raw.linker.processes import trusted_folders
from tle_raw.store import RUNTIMES, CacheWarning, Store, fallback, locks, private_files, texts
from tle_raw.store.entries import is_intact

pytestmark = pytest.mark.one_triton

META = {"entry": "scale", "static_shared": [["buf", 128, 16]], "seconds": 0.5}


@pytest.fixture
def cache(tmp_path):
    return Store(tmp_path / "cache")


@pytest.fixture
def fresh_process(monkeypatch, tmp_path):
    """The fallbacks as a new process has them; their temporary folders go with the test."""
    monkeypatch.setattr(fallback, "_PRIVATE", {})
    monkeypatch.setattr(fallback, "_IN_MEMORY", {})
    fallback._WARNED.clear()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    yield
    fallback._WARNED.clear()


def files(cache):
    return sorted(p.name for p in cache.folder.iterdir())


def fail_with(number):
    def fail(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    return fail


# What is saved is loaded.


def test_an_entry_comes_back_as_it_was_saved(cache):
    assert cache.load("k") is None
    saved = cache.save("k", "define void @scale()\n", META)
    loaded = cache.load("k")
    assert loaded == saved
    assert loaded.meta == META
    assert loaded.text == loaded.path.read_text() == "define void @scale()\n"


def test_the_file_name_holds_the_key_and_the_content(cache):
    first = cache.save("k", "one", {})
    second = cache.save("k", "two", {})
    assert first.path != second.path  # Triton remembers a file's hash by its path
    assert first.path.name.startswith("k.") and first.path.suffix == ".ll"
    assert first.path.read_text() == "one"
    assert cache.load("k").text == "two"
    assert cache.save("k", "one", {}).path == first.path


def test_a_deleted_text_comes_back_under_its_path(cache):
    entry = cache.save("k", "text", META)
    cache.clear()
    assert cache.save(entry.key, entry.text, entry.meta).path == entry.path
    assert entry.path.exists()


def test_another_store_on_the_folder_sees_the_entry(cache):
    cache.save("k", "text", META)
    assert Store(cache.root).load("k").text == "text"


@pytest.mark.parametrize("key", ["a" * 5000, "sm_90a/../../etc", "ключ", "", "a b", "\ud800", ".", "UPPER", "-rf"])
def test_any_key_will_do(cache, key):
    cache.save(key, key.replace("\ud800", "s"), {"k": 1})
    cache.save(key + "x", "other", {})
    assert cache.load(key).text == key.replace("\ud800", "s")
    assert {e.key for e in cache.entries()} == {key, key + "x"}
    assert all(len(name) < 200 for name in files(cache))
    assert cache.remove(key)
    assert cache.load(key) is None and cache.load(key + "x") is not None


def test_a_folder_with_spaces_and_unicode(tmp_path):
    cache = Store(tmp_path / "мой кэш \U0001f680" / "a b")
    cache.save("k", 'c"\u00e9\udcff"', {"name": "größe"})
    assert cache.load("k").text == 'c"\u00e9\udcff"'
    assert cache.load("k").meta == {"name": "größe"}


def test_nothing_is_made_before_it_is_used(cache):
    cache.load("k"), cache.entries(), cache.size(), cache.clear(), cache.prune(), cache.remove("k")
    assert not cache.root.exists()


def test_meta_that_is_not_json_is_the_callers_mistake(cache):
    with pytest.raises(TypeError):
        cache.save("k", "text", {"path": Path("x")})
    assert not cache.entries()


# Modes.


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_files_are_private_whatever_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        cache = Store(tmp_path / "a" / "b")
        with cache.lock("k"):
            cache.save("k", "text", META)
    finally:
        os.umask(before)
    for folder in (tmp_path / "a", tmp_path / "a" / "b", cache.folder):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in cache.folder.iterdir():
        assert not stat.S_IMODE(file.stat().st_mode) & 0o077
    assert cache.load("k").text == "text"


def test_a_folder_of_the_user_keeps_its_mode(tmp_path):
    tmp_path.chmod(0o755)
    Store(tmp_path).save("k", "text", META)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_folder_that_others_can_write_is_not_used(tmp_path, fresh_process):
    cache = Store(tmp_path)
    cache.save("k", "text", META)
    cache.folder.chmod(0o777)
    assert Store(tmp_path).load("k") is None
    with pytest.warns(CacheWarning, match="others may write"):
        cache.save("k", "mine", META)
    assert cache.load("k").text == "mine"
    cache.folder.chmod(0o700)
    assert Store(tmp_path).load("k").text == "text"


# Damage.


@pytest.mark.parametrize("damage", [b"", b"tex", b"text and more", b"\0\0\0\0", b"\xff\xfe"])
def test_a_damaged_text_is_a_miss(cache, damage):
    entry = cache.save("k", "text", META)
    entry.path.chmod(0o600)
    entry.path.write_bytes(damage)
    assert cache.load("k") is None
    assert cache.entries() == []
    assert cache.save("k", "text", META).path.read_text() == "text"
    assert cache.load("k").text == "text"


def test_a_missing_text_is_a_miss(cache):
    cache.save("k", "text", META).path.unlink()
    assert cache.load("k") is None


def index_of(cache):
    return next(cache.folder.glob("*.json"))


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"null", b"\xff", b"{}", b'{"format": 1}', b"[" * 100_000])
def test_a_damaged_index_is_a_miss(cache, damage):
    cache.save("k", "text", META)
    index_of(cache).write_bytes(damage)
    assert cache.entries() == []
    assert cache.load("k") is None
    assert not list(cache.folder.glob("*.json"))


@pytest.mark.parametrize(
    "change",
    [
        {"format": 99},
        {"key": "other"},
        {"file": "../../../etc/passwd"},
        {"file": "/etc/passwd"},
        {"meta": []},
    ],
)
def test_an_index_that_says_something_else_is_a_miss(cache, change):
    cache.save("k", "text", META)
    index = json.loads(index_of(cache).read_text())
    index_of(cache).write_text(json.dumps(index | change))
    assert cache.load("k") is None
    assert cache.save("k", "text", META) == cache.load("k")


def test_every_truncation_is_a_miss_or_the_whole(cache):
    cache.save("k", "text" * 10, META)
    whole = index_of(cache).read_bytes()
    for length in range(len(whole)):
        cache.save("k", "text" * 10, META)
        index_of(cache).write_bytes(whole[:length])
        assert cache.load("k") is None


# Several processes.

ONE_OF_MANY = """
import os, sys, time
from pathlib import Path
from tle_raw.store import Store
cache = Store(Path(sys.argv[1]))
while not os.path.exists(sys.argv[2] + "/go"):
    time.sleep(0.001)
with cache.lock("k") as held:
    assert held
    entry = cache.load("k")
    if entry is None:
        Path(sys.argv[2], f"compiled-{os.getpid()}").touch()
        time.sleep(0.05)
        entry = cache.save("k", "text" * 10000, {"pid": os.getpid()})
assert entry.text == "text" * 10000 and entry.path.read_text() == entry.text
"""


def start(program, *arguments):
    return subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)])


def test_sixteen_processes_compile_one_key_once(cache, tmp_path):
    processes = [start(ONE_OF_MANY, cache.root, tmp_path) for _ in range(16)]
    (tmp_path / "go").touch()
    assert [p.wait(60) for p in processes] == [0] * 16
    assert len(list(tmp_path.glob("compiled-*"))) == 1
    assert len(cache.entries()) == 1
    assert not list(cache.folder.glob("*.part"))


SAVE_FOR_EVER = """
import sys
from pathlib import Path
from tle_raw.store import Store
cache = Store(Path(sys.argv[1]))
print("ready", flush=True)
number = 0
while True:
    number += 1
    with cache.lock("k"):
        cache.save("k", f"{number} " * 20000, {"number": number})
"""


def test_kill_in_mid_write_never_leaves_a_torn_entry(cache):
    dice = random.Random(4)
    for _ in range(12):
        process = subprocess.Popen([sys.executable, "-c", SAVE_FOR_EVER, str(cache.root)], stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(dice.uniform(0.0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        for entry in cache.entries():  # what an index names is whole
            loaded = cache.load(entry.key)
            assert loaded.text == f"{loaded.meta['number']} " * 20000
        with cache.lock("k", patience=1.0) as held:
            assert held, "the lock falls with its process"
    cache.save("k", "whole", {})
    assert cache.load("k").text == "whole"
    cache.clear()
    assert files(cache) == []


def test_half_written_files_of_dead_processes_are_pruned(cache):
    cache.save("k", "text", META)
    part = cache.folder / f"k.{'a' * 16}.part"
    orphan = cache.folder / f"k.{'b' * 16}.ll"
    for file in (part, orphan):
        file.write_text("half")
    cache.prune()
    assert part.exists() and orphan.exists()  # somebody may be writing them now
    for file in (part, orphan):
        os.utime(file, (time.time() - 7200,) * 2)
    cache.prune()
    assert not part.exists() and not orphan.exists()
    assert cache.load("k").text == "text"


def test_the_lock_keeps_others_out(cache):
    with cache.lock("k") as held, cache.lock("other") as other:
        assert held and other
        waiting = Store(cache.root).lock("k", patience=0.05)
        with pytest.warns(CacheWarning, match=f"process {os.getpid()} on"), waiting as second:
            assert not second, "it goes on without the lock"
    with cache.lock("k", patience=0.05) as held:
        assert held


def test_a_stale_lock_file_is_harmless(cache):
    with cache.lock("k"):
        pass
    assert files(cache) == ["k.entry.lock"]
    with cache.lock("k", patience=0.0) as held:
        assert held


def test_a_lock_file_removed_by_clear_is_not_trusted(cache):
    with cache.lock("k"):
        cache.clear()
        with cache.lock("k", patience=0.0) as held:
            assert held


def test_the_lock_is_released_after_an_error(cache):
    with pytest.raises(ZeroDivisionError), cache.lock("k"):
        _ = 1 / 0
    with cache.lock("k", patience=0.0) as held:
        assert held


def test_a_file_system_without_locks_is_no_obstacle(cache, monkeypatch):
    monkeypatch.setattr(locks.fcntl, "flock", fail_with(errno.ENOLCK))
    started = time.monotonic()
    with cache.lock("k") as held:
        assert not held
        cache.save("k", "text", META)
    assert time.monotonic() - started < 30
    assert cache.load("k").text == "text"


# Folders that cannot be written. The tests may run as root, whom no mode stops.


def check_it_works_with_one_warning(cache):
    with pytest.warns(CacheWarning, match="TLE_RAW_CACHE_DIR") as seen:
        entry = cache.save("k", "text", META)
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        second = cache.save("other", "more", META)
        with cache.lock("k"):
            assert cache.load("k") == entry
    assert entry.path.read_text() == "text" and second.path.read_text() == "more"
    assert cache.load("absent") is None
    return entry


def test_a_file_in_place_of_the_folder(tmp_path, fresh_process):
    (tmp_path / "cache").write_text("precious")
    entry = check_it_works_with_one_warning(Store(tmp_path / "cache"))
    assert entry.path.parent.parent == tmp_path / "temporary"
    assert stat.S_IMODE(entry.path.parent.stat().st_mode) == 0o700
    assert (tmp_path / "cache").read_text() == "precious"


def test_a_root_that_cannot_be_made(fresh_process):
    check_it_works_with_one_warning(Store(Path("/proc/tle_raw")))


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("call", ["open", "write", "fsync", "replace", "mkdir"])
def test_each_step_may_fail(cache, fresh_process, monkeypatch, call, number):
    real = getattr(os, call)

    def failing_in_the_cache(target, *arguments, **options):
        where = os.readlink(f"/proc/self/fd/{target}") if isinstance(target, int) else str(target)
        if where.startswith(str(cache.root)):
            raise OSError(number, os.strerror(number))
        return real(target, *arguments, **options)

    monkeypatch.setattr(private_files.os, call, failing_in_the_cache)
    check_it_works_with_one_warning(cache)
    assert not list(cache.root.rglob("*.part"))
    assert cache.remove("k")
    assert cache.load("k") is None


def test_a_read_only_folder_still_gives_its_entries(cache, fresh_process, monkeypatch):
    cache.save("old", "text", META)
    real = os.open

    def open_to_read(path, flags, *mode):
        return fail_with(errno.EROFS)() if flags & os.O_CREAT else real(path, flags)

    monkeypatch.setattr(private_files.os, "open", open_to_read)
    for call in ("replace", "utime", "unlink"):
        monkeypatch.setattr(private_files.os, call, fail_with(errno.EROFS))
    assert cache.load("old").text == "text"
    assert not cache.is_writable()


def test_without_any_disk_entries_live_in_memory(cache, fresh_process, monkeypatch):
    monkeypatch.setattr(private_files.os, "replace", fail_with(errno.ENOSPC))
    entry = check_it_works_with_one_warning(cache)
    assert str(entry.path).startswith("/proc/self/fd/")
    assert cache.save("k", "new", {}).path != entry.path
    assert entry.path.read_text() == "text"
    assert cache.clear() == 0
    assert cache.load("k") is None


def test_no_disk_and_no_memory_is_a_named_error(cache, fresh_process, monkeypatch):
    monkeypatch.setattr(private_files.os, "replace", fail_with(errno.ENOSPC))
    monkeypatch.setattr(fallback.os, "memfd_create", fail_with(errno.EMFILE))
    with pytest.warns(CacheWarning), pytest.raises(CacheError, match="nor in memory"):
        cache.save("k", "text", META)


def test_a_full_tmpfs(tmp_path, fresh_process):
    mounted = tmp_path / "full"
    mounted.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(mounted)]
    try:
        done = subprocess.run(mount, capture_output=True)
    except FileNotFoundError:
        pytest.skip("no mount here")
    if done.returncode:
        pytest.skip("this user may not mount")
    try:
        cache = Store(mounted)
        cache.save("small", "text", META)
        with pytest.warns(CacheWarning, match="No space left"):
            entry = cache.save("large", "text" * 100_000, META)
        assert entry.path.read_text() == "text" * 100_000
        assert cache.load("small").text == "text" and cache.load("large") == entry
        assert not list(mounted.rglob("*.part"))
    finally:
        subprocess.run(["umount", str(mounted)], check=True)


def test_a_private_folder_goes_with_its_process(tmp_path):
    program = (
        "import sys, warnings; from pathlib import Path; from tle_raw.store import Store\n"
        "warnings.simplefilter('ignore')\n"
        "print(Store(Path('/proc/tle_raw')).save('k', 'text', {}).path)\n"
    )
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    path = subprocess.check_output([sys.executable, "-c", program], env=environment, text=True).strip()
    assert path.startswith(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


# Keeping house.


def age(cache, key, seconds):
    os.utime(cache.folder / f"{key}.entry.json", (time.time() - seconds,) * 2)


def test_entries_are_listed_with_size_and_last_use(cache):
    for number in range(3):
        cache.save(f"k{number}", "x" * 100 * (number + 1), {"number": number})
        age(cache, f"k{number}", 100 * number)
    assert [e.key for e in cache.entries()] == ["k2", "k1", "k0"]
    assert [e.meta["number"] for e in cache.entries()] == [2, 1, 0]
    assert sum(e.size for e in cache.entries()) == cache.size()
    assert cache.size() == sum(f.stat().st_size for f in cache.folder.iterdir())
    cache.load("k2")
    assert cache.entries()[-1].key == "k2", "loading is using"


def test_remove_takes_one_key(cache):
    cache.save("k", "text", META), cache.save("kk", "text", META)
    assert cache.remove("k")
    assert not cache.remove("k")
    assert [e.key for e in cache.entries()] == ["kk"]


def test_clear_leaves_the_users_files(cache):
    cache.save("k", "text", META)
    theirs = ["notes.json", "mine.ll", "k.ll", "a.lock", ".hidden", "k.0123.ll", "README", "x.part"]
    for name in theirs:
        (cache.folder / name).write_text("precious")
    (cache.folder / "folder").mkdir()
    (cache.root / "else").write_text("precious")
    assert cache.clear() == 1
    assert files(cache) == sorted([*theirs, "folder"])
    assert (cache.root / "else").exists()


def test_prune_by_age(cache):
    for key, seconds in (("old", 1000), ("new", 10)):
        cache.save(key, "text", META)
        age(cache, key, seconds)
    assert cache.prune(older_than_seconds=100) == 1
    assert [e.key for e in cache.entries()] == ["new"]
    assert not [f for f in files(cache) if f.startswith("old")]


def test_prune_by_size_takes_the_longest_unused(cache):
    for number in range(4):
        cache.save(f"k{number}", "x" * 10_000, META)
        age(cache, f"k{number}", 100 - number)
    assert cache.prune(max_bytes=25_000) == 2
    assert [e.key for e in cache.entries()] == ["k2", "k3"]
    assert cache.prune(max_bytes=25_000) == 0
    assert cache.prune(max_bytes=0) == 2


def test_what_stays_is_no_larger_than_the_limit(cache):
    for number in range(2):
        cache.save(f"k{number}", "x" * 1000, META)
    whole = cache.size()
    assert cache.prune(max_bytes=whole) == 0
    assert cache.prune(max_bytes=whole - 1) == 1 and cache.size() < whole


def test_prune_without_a_limit_keeps_all(cache):
    cache.save("k", "text", META)
    assert cache.prune() == 0
    assert cache.load("k")


def test_a_thousand_entries_are_quick(cache, monkeypatch):
    monkeypatch.setattr(private_files.os, "fsync", lambda descriptor: None)
    for number in range(1000):
        cache.save(f"k{number}", "text", META)
    started = time.process_time()
    for number in range(0, 1000, 10):
        assert cache.load(f"k{number}") is not None
    assert len(cache.entries()) == 1000
    assert cache.prune(max_bytes=0) == 1000
    assert time.process_time() - started < 10  # a bound against quadratic work, no measurement
    assert files(cache) == []


def test_is_writable_says_so(cache):
    assert cache.is_writable()
    assert files(cache) == []


# What is checked when an entry is read.


@pytest.mark.parametrize("name", ["static_shared", "seconds", "entry"])
def test_a_changed_meta_is_a_miss(cache, name):
    cache.save("k", "text", META)
    index = json.loads(index_of(cache).read_text())
    index["meta"][name] = "other"
    index_of(cache).write_text(json.dumps(index))
    assert cache.load("k") is None


def test_folders_in_the_place_of_files_are_replaced(cache):
    entry = cache.save("k", "text", META)
    with cache.lock("k"):
        pass
    for file in [*cache.folder.iterdir()]:
        file.unlink()
        file.mkdir()
        (file / "inside").touch()
    assert cache.load("k") is None
    with cache.lock("k") as held:
        assert held
    assert cache.save("k", "text", META) == entry == cache.load("k")
    assert cache.clear() == 1 and files(cache) == []


def test_links_in_the_place_of_files_are_not_followed(cache, tmp_path):
    entry = cache.save("k", "text", META)
    for file in [*cache.folder.iterdir()]:
        file.rename(tmp_path / file.name)
        file.symlink_to(tmp_path / file.name)
    assert cache.load("k") is None
    assert cache.save("k", "text", META) == entry == cache.load("k")
    assert not any(file.is_symlink() for file in cache.folder.iterdir())


def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(cache):
    cache.save("k", "text", META)
    index_of(cache).unlink()
    os.mkfifo(cache.folder / "k.entry.json")
    assert cache.load("k") is None


def test_each_kind_has_its_folder(tmp_path):
    Store(tmp_path, RUNTIMES).save("k", "runtime", {})
    assert Store(tmp_path).load("k") is None
    assert Store(tmp_path, RUNTIMES).load("k").path.parent == tmp_path / "team"


def test_an_intact_text_is_known_by_its_name(cache):
    path = cache.save("k", "text", META).path
    assert is_intact(path)
    path.write_text("tezt")
    assert not is_intact(path)
    path.unlink()
    assert not is_intact(path)


def test_a_text_of_roots_is_intact_and_another_users_is_not(cache, monkeypatch):
    path = cache.save("k", "text", META).path
    monkeypatch.setattr(trusted_folders.os, "geteuid", lambda: path.stat().st_uid + 1)
    monkeypatch.setattr(trusted_folders, "_owner_of_all", lambda: path.stat().st_uid + 2)
    monkeypatch.setattr(trusted_folders, "ROOT", path.stat().st_uid)
    assert is_intact(path)
    path.chmod(0o646)
    assert not is_intact(path)
    path.chmod(0o644)
    monkeypatch.setattr(trusted_folders, "ROOT", path.stat().st_uid + 2)
    assert not is_intact(path)


# Locks whose holders do not go on.

HOLD = """
import os, sys, time
from pathlib import Path
from tle_raw.store import Store
with Store(Path(sys.argv[1])).lock("k"):
    print(os.getpid(), flush=True)
    if sys.argv[2] == "fork" and os.fork():
        os.kill(os.getpid(), 9)
    time.sleep(60)
"""


def test_a_stopped_process_is_named_and_not_waited_for(cache):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(cache.root), "stop"], stdout=subprocess.PIPE, text=True)
    try:
        holder.stdout.readline()
        holder.send_signal(signal.SIGSTOP)
        started = time.monotonic()
        with (
            pytest.warns(CacheWarning, match=f"process {holder.pid} on .* may be stopped") as seen,
            cache.lock("k", patience=0.3) as held,
        ):
            assert not held
            assert cache.save("k", "text", META) == cache.load("k")
        assert time.monotonic() - started < 30 and len(seen) == 1
    finally:
        holder.kill()
        holder.communicate()


def test_a_forked_child_holds_no_lock_of_its_dead_parent(cache):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(cache.root), "fork"], stdout=subprocess.PIPE, text=True)
    holder.stdout.readline()
    holder.wait()  # the child lives on
    with cache.lock("k", patience=1.0) as held:
        assert held


def test_nobody_waits_long_unless_told():
    assert texts.PATIENCE <= 10
