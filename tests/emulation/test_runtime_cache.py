"""The team's runtime in the cache: what is damaged is compiled again, and the command line sees it."""

import pytest

from tle_raw.adapters.cpp.toolchain import find_toolchain
from tle_raw.cli import main
from tle_raw.emulation import runtime
from tle_raw.knobs import knobs
from tle_raw.store import RUNTIMES, Store

pytestmark = pytest.mark.one_triton


@pytest.fixture
def clang(tmp_path):
    runtime._compiled.cache_clear()
    with knobs.scope():
        knobs.cache.dir = tmp_path / "cache"
        yield find_toolchain()
    runtime._compiled.cache_clear()


def as_a_new_process(clang):
    runtime._compiled.cache_clear()
    return runtime.runtime_text(clang)


def test_a_damaged_runtime_is_compiled_again_and_clear_removes_it(clang, tmp_path, capsys):
    text = runtime.runtime_text(clang)
    (entry,) = Store(tmp_path / "cache", RUNTIMES).entries()
    entry.path.write_text(text.replace("ret", "rot"))
    assert as_a_new_process(clang) == text == entry.path.read_text()
    main(["cache", "list"])
    assert "runtime of teams" in capsys.readouterr().out
    main(["cache", "clear"])
    assert not entry.path.exists()


def test_a_runtime_that_others_may_write_is_not_read(clang, tmp_path):
    store = Store(tmp_path / "cache", RUNTIMES)
    text = runtime.runtime_text(clang)
    (entry,) = store.entries()
    store.save(entry.key, "planted", {})
    assert as_a_new_process(clang) == "planted", "the key is right"
    (tmp_path / "cache" / "team").chmod(0o777)
    assert as_a_new_process(clang) == text
