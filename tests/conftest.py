"""What every test may rely on: its own caches, no settings from outside, GPU tests that say why they skip."""

from __future__ import annotations

import gc
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterable
from pathlib import Path

import pytest

SESSION_FOLDER = "TLE_RAW_TEST_FOLDER"
# Where compiled fragments go; with none, into the session's folder. `make test` names one for both Tritons.
FRAGMENTS = "TLE_RAW_TEST_FRAGMENTS"
FOR_ONE_TRITON = re.compile(r"^pytestmark = \[?pytest\.mark\.one_triton\b", re.MULTILINE)


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    if not is_worker:
        os.environ[SESSION_FOLDER] = tempfile.mkdtemp(prefix="tle_raw-tests-")
        _forget_settings()
    folder = os.environ[SESSION_FOLDER]
    # Compiled fragments are named by their content and their compiler: all processes of a session share them.
    os.environ["TLE_RAW_CACHE_DIR"] = os.environ.get(FRAGMENTS) or os.path.join(folder, "fragments")
    # Kernels are not shared, so that what one test compiles never depends on what runs beside it.
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, f"kernels-{worker}")
    # Triton 3.9 warns when this is not said; it is the default.
    os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(SESSION_FOLDER), ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """All that is imported and collected stays: to look through it for garbage is a fifth of the time it takes."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file that is for one Triton only as a whole is not even imported where those tests are left out."""
    left_out = config.option.markexpr == "not one_triton" and collection_path.suffix == ".py"
    return True if left_out and FOR_ONE_TRITON.search(collection_path.read_text()) else None


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is collected is never looked through for garbage again: that was a third of the time of many tests.

    And tests write a module twice in a second: compiled, the first one would be taken for the second one.
    """
    gc.freeze()
    sys.dont_write_bytecode = True


def _forget_settings() -> None:
    """Settings of the person who runs the tests are no part of them; where the toolchain lies is."""
    for name in list(os.environ):
        if (
            name.startswith("TLE_RAW_")
            and not name.startswith("TLE_RAW_CUDA_")
            and name not in (SESSION_FOLDER, FRAGMENTS)
        ):
            del os.environ[name]
    for name in ("TRITON_INTERPRET", "TRITON_KERNEL_OVERRIDE", "TRITON_KERNEL_DUMP", "TRITON_ALWAYS_COMPILE"):
        os.environ.pop(name, None)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport, object]:
    """Every second worker imports the tests from behind: what compilers say of fragments that are declared there is
    kept in the session's folder, and side by side all workers would ask, and wait, for the same."""
    report = yield
    if isinstance(collector, pytest.Directory) and _is_every_second(os.environ.get("PYTEST_XDIST_WORKER", "")):
        report.result.reverse()
    return report


def _is_every_second(worker: str) -> bool:
    return worker.startswith("gw") and int(worker.removeprefix("gw")) % 2 == 1


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: item.path.parts)  # all workers have them in one order
    _check_a_third(items)
    _leave_some_to_one_triton(items)
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    reason = _no_device() if on_gpu else ""
    if reason:
        for item in on_gpu:
            item.add_marker(pytest.mark.skip(reason=reason))


def _check_a_third(items: list[pytest.Item]) -> None:
    """Of a test that runs with the fixture ``checked`` and without, a third of its other parameters run with it."""

    def is_checked(item: pytest.Item) -> bool:
        parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        return parameters.get("checked") is True and len(parameters) > 1

    tests = _by_test(filter(is_checked, items))
    left_out = {id(item) for of_one_test in tests for number, item in enumerate(of_one_test) if number % 3}
    if left_out:
        items[0].config.hook.pytest_deselected(items=[item for item in items if id(item) in left_out])
        items[:] = [item for item in items if id(item) not in left_out]


def _leave_some_to_one_triton(items: list[pytest.Item]) -> None:
    """Of a test marked ``every_triton(n)``, n of its parameters run on every Triton, spread over their list."""
    for of_one_test in _by_test(item for item in items if item.get_closest_marker("every_triton")):
        marker = of_one_test[0].get_closest_marker("every_triton")
        assert marker is not None
        last, steps = len(of_one_test) - 1, max(1, marker.args[0] - 1)
        kept = {round(i * last / steps) for i in range(marker.args[0])}
        for number, item in enumerate(of_one_test):
            if number not in kept:
                item.add_marker(pytest.mark.one_triton)


def _by_test(items: Iterable[pytest.Item]) -> Iterable[list[pytest.Item]]:
    """The items of each test function, one for each of its parameters."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return tests.values()


def _no_device() -> str:
    """Why there is no CUDA device; nothing when there is one."""
    try:
        import torch
    except ImportError:
        return "needs a CUDA device; torch is not installed"
    return "" if torch.cuda.is_available() else "needs a CUDA device"
