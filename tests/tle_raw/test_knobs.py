"""Settings: defaults, environment twins, Python overrides and scopes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tle_raw.errors import KnobError
from tle_raw.flir.passes import for_speed
from tle_raw.knobs import OBSERVERS, Knobs, UnknownKnobError, user_cache

pytestmark = pytest.mark.one_triton


@pytest.fixture
def knobs(monkeypatch):
    for name in [n for n in os.environ if n.startswith("TLE_RAW_")]:
        monkeypatch.delenv(name)
    return Knobs()


def test_the_defaults_need_no_environment(knobs):
    assert knobs.compile_timeout == 300.0
    assert knobs.watch_files is knobs.line_info is knobs.verify is knobs.cache.enabled is True
    assert knobs.print_after == knobs.disable_passes == ""
    assert knobs.target is knobs.cuda.clang is knobs.cuda.toolkit is knobs.cuda.cccl is None
    assert knobs.debug is False
    assert knobs.cpu.threads is knobs.cpu.progress is None


def test_every_setting_is_described_with_its_environment_twin(knobs):
    twins = {d.name: d.environment for d in knobs.describe()}
    assert twins["cache.dir"] == "TLE_RAW_CACHE_DIR"
    assert twins["compile_timeout"] == "TLE_RAW_COMPILE_TIMEOUT"
    assert twins["cuda.clang"] == "TLE_RAW_CUDA_CLANG"
    assert all(d.doc and d.source == "default" and not d.differs for d in knobs.describe())


@pytest.mark.parametrize(
    ("variable", "written", "name", "value"),
    [
        ("TLE_RAW_COMPILE_TIMEOUT", "2.5", "compile_timeout", 2.5),
        ("TLE_RAW_VERIFY", "off", "verify", False),
        ("TLE_RAW_VERIFY", "0", "verify", False),
        ("TLE_RAW_VERIFY", " TRUE ", "verify", True),
        ("TLE_RAW_VERIFY", "", "verify", True),
        ("TLE_RAW_TARGET", "cuda:100", "target", "cuda:100"),
        ("TLE_RAW_PRINT_AFTER", "all", "print_after", "all"),
        ("TLE_RAW_DEBUG", "1", "debug", True),
        ("TLE_RAW_DISABLE_PASSES", "pair-words", "disable_passes", "pair-words"),
    ],
)
def test_the_environment_is_read_at_each_access(knobs, monkeypatch, variable, written, name, value):
    monkeypatch.setenv(variable, written)
    assert getattr(knobs, name) == value
    monkeypatch.delenv(variable)
    assert getattr(knobs, name) == getattr(Knobs, name).default


def test_python_goes_before_the_environment_until_deleted(knobs, monkeypatch):
    monkeypatch.setenv("TLE_RAW_COMPILE_TIMEOUT", "7")
    knobs.compile_timeout = 3
    assert knobs.compile_timeout == 3.0
    del knobs.compile_timeout
    assert knobs.compile_timeout == 7.0
    del knobs.compile_timeout  # twice is no error


def test_a_scope_restores_every_group(knobs):
    knobs.verify = False
    with knobs.scope() as inner:
        assert inner is knobs
        knobs.verify = True
        knobs.cache.dir = "/elsewhere"
        with knobs.scope():
            knobs.cuda.clang = "/usr/bin/clang"
        assert knobs.cuda.clang is None
    assert knobs.verify is False
    assert knobs.cache.dir == user_cache()


def test_a_scope_restores_after_an_error(knobs):
    with pytest.raises(ZeroDivisionError), knobs.scope():
        knobs.verify = False
        _ = 1 / 0
    assert knobs.verify is True


def test_reset_forgets_what_python_set(knobs):
    knobs.verify, knobs.cache.enabled = False, False
    knobs.reset()
    assert knobs.verify and knobs.cache.enabled


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), "soon", True, None, [3]])
def test_a_value_of_the_wrong_type_is_refused(knobs, seconds):
    with pytest.raises(KnobError, match=r"knobs\.compile_timeout cannot have this value"):
        knobs.compile_timeout = seconds
    assert knobs.compile_timeout == 300.0


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "many", [2]])
def test_a_count_is_a_whole_number_from_one(knobs, threads):
    with pytest.raises(KnobError, match="a whole number, 1 or more"):
        knobs.cpu.threads = threads
    assert knobs.cpu.threads is None


def test_launches_on_the_cpu_are_set_from_the_environment(knobs, monkeypatch):
    monkeypatch.setenv("TLE_RAW_CPU_THREADS", "3")
    monkeypatch.setenv("TLE_RAW_CPU_PROGRESS", "2.5")
    assert (knobs.cpu.threads, knobs.cpu.progress) == (3, 2.5)
    knobs.cpu.threads = None
    assert knobs.cpu.threads is None


def test_observers_hear_of_every_change(knobs, monkeypatch):
    heard = []
    monkeypatch.setattr(sys.modules["tle_raw.knobs"], "OBSERVERS", [*OBSERVERS, lambda: heard.append(knobs.target)])
    knobs.target = "cpu"
    del knobs.target
    with knobs.scope():
        knobs.target = "cuda:90"
    knobs.target = "cpu"
    knobs.reset()
    assert heard == ["cpu", None, "cuda:90", None, "cpu", None]


@pytest.mark.parametrize("value", ["perhaps", 1, None])
def test_a_switch_takes_a_bool_or_its_words(knobs, value):
    with pytest.raises(KnobError, match="a switch"):
        knobs.verify = value


@pytest.mark.parametrize("value", ["", 3, "a\0b"])
def test_a_path_takes_a_path(knobs, value):
    with pytest.raises(KnobError, match="a path"):
        knobs.cache.dir = value


def test_an_unreadable_variable_is_named_with_what_it_holds(knobs, monkeypatch):
    monkeypatch.setenv("TLE_RAW_COMPILE_TIMEOUT", "soon")
    with pytest.raises(KnobError, match="TLE_RAW_COMPILE_TIMEOUT") as caught:
        _ = knobs.compile_timeout
    assert "a positive number of seconds" in str(caught.value)
    assert "'soon'" in str(caught.value)


def test_describe_reports_an_unreadable_variable_instead_of_raising(knobs, monkeypatch):
    monkeypatch.setenv("TLE_RAW_COMPILE_TIMEOUT", "soon")
    found = {d.name: d for d in knobs.describe()}["compile_timeout"]
    assert found.differs
    assert found.source == "environment"
    assert "TLE_RAW_COMPILE_TIMEOUT" in found.error


def test_an_unknown_setting_suggests_the_near_one(knobs):
    with pytest.raises(KnobError, match=r"no setting knobs\.compile_timout.*\n.*knobs\.compile_timeout\?"):
        knobs.compile_timout = 3
    with pytest.raises(UnknownKnobError, match=r"knobs\.cache\.dir"):
        _ = knobs.dir
    with pytest.raises(UnknownKnobError, match=r"knobs\.cuda\.clang"):
        knobs.cuda.clagn = "/usr/bin/clang"
    assert not hasattr(knobs, "nothing_like_it")


def test_a_group_cannot_be_replaced(knobs):
    with pytest.raises(KnobError):
        knobs.cache = None


def test_a_path_expands_the_home_folder(knobs, monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    knobs.cuda.toolkit = "~/cuda"
    assert knobs.cuda.toolkit == Path("/home/someone/cuda")
    knobs.cuda.toolkit = None
    assert knobs.cuda.toolkit is None


def test_the_cache_folder_follows_xdg(knobs, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/caches")
    assert knobs.cache.dir == Path("/var/caches/tle_raw")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # XDG: a relative path is ignored
    monkeypatch.setenv("HOME", "/home/someone")
    assert knobs.cache.dir == Path("/home/someone/.cache/tle_raw")


def test_a_user_without_a_home_gets_a_folder_of_their_own(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def homeless():
        raise RuntimeError

    monkeypatch.setattr(Path, "home", homeless)
    assert user_cache().name == f"tle_raw-{os.getuid()}"


def test_settings_are_listed_by_dir(knobs):
    assert {"verify", "cache", "cuda", "scope"} <= set(dir(knobs))
    assert {"dir", "enabled"} <= set(dir(knobs.cache))


def test_the_knobs_need_nothing_but_the_standard_library():
    """Loaded by path, because importing the package brings Triton."""
    program = (
        "import sys, types, pathlib\n"
        "package = types.ModuleType('tle_raw'); package.__path__ = [sys.argv[1]]\n"
        "sys.modules['tle_raw'] = package\n"
        "from tle_raw.knobs import knobs\n"
        "assert 'triton' not in sys.modules and 'torch' not in sys.modules\n"
    )
    folder = Path(sys.modules["tle_raw.knobs"].__file__).parent
    subprocess.run([sys.executable, "-c", program, str(folder)], check=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("target", "foo"),
        ("target", "cuda"),
        ("target", ""),
        ("target", 90),
        ("compile_timeout", 10**400),
        ("compile_timeout", "1e999"),
        ("cache.dir", "~nobody-of-that-name/cache"),
        ("cache.dir", b"/tmp"),
        ("cpu.threads", "9" * 5000),
        ("debug", object()),
        ("print_after", ["all"]),
        ("disable_passes", "all"),
        ("disable_passes", "vectorise"),
        ("disable_passes", "pair-words,"),
        ("disable_passes", ["pair-words"]),
    ],
)
def test_odd_values_are_knob_errors(knobs, name, value):
    group, _, knob = name.rpartition(".")
    with pytest.raises(KnobError, match="cannot have this value"):
        setattr(getattr(knobs, group) if group else knobs, knob, value)


def test_equal_sets_of_disabled_passes_are_equal_texts(knobs):
    knobs.disable_passes = " spread-divisions,pair-words, spread-divisions "
    assert knobs.disable_passes == "pair-words,spread-divisions"


@pytest.mark.parametrize("wrong", ["spread-division", "replace-ports", "verify-kernel"])
def test_a_pass_that_cannot_be_disabled_lists_those_that_can(knobs, monkeypatch, wrong):
    monkeypatch.setenv("TLE_RAW_DISABLE_PASSES", f"pair-words,{wrong}")
    with pytest.raises(KnobError, match="TLE_RAW_DISABLE_PASSES") as error:
        knobs.disable_passes  # noqa: B018
    assert ", ".join(for_speed()) in str(error.value)
    assert {"pack-halves", "keep-scalars", "zero-accumulators", "pair-words", "spread-divisions"} <= set(for_speed())


def test_a_target_that_there_is_none_of_lists_those_that_there_are(knobs, monkeypatch):
    monkeypatch.setenv("TLE_RAW_TARGET", "foo")
    with pytest.raises(KnobError, match="TLE_RAW_TARGET") as error:
        knobs.target  # noqa: B018
    assert "cpu, or cuda:" in str(error.value)
