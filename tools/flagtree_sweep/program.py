"""One file of FlagTree's in a process of its own: a tutorial runs as it is, pytest runs the cases of tests."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import runpy
import shlex
import signal
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from flagtree_sweep.numbers import numbers_alone
from flagtree_sweep.results import COMPILED, FAILED, RIGHT, SKIPPED, WRONG, Tried, say

_LINES = 20  # of what a program prints, the last ones
_TESTS = (
    "--import-mode=importlib",
    "--assert=plain",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-o",
    "addopts=",
    "--tb=no",
    "-q",
)


class TimeIsUp(BaseException):
    """The limit of the program's own process."""


def try_program(script: Path, options: argparse.Namespace) -> None:
    """Say what became of it, or of each case."""
    sys.dont_write_bytecode = True
    import torch

    has_gpu = torch.cuda.is_available()
    if not has_gpu:
        from torch_without_gpu import torch_without_gpu

        os.environ["TORCHDYNAMO_DISABLE"] = "1"
        for package in ("cupy", "tilelang"):  # they are imported without a GPU, and then find none
            sys.modules[package] = None  # type: ignore[assignment]
        torch_without_gpu(options.capability)
    import tle_raw
    from flagtree_sweep.launches import Launches
    from tle_raw.compat.flagtree.finder import install, install_in_children

    install()
    install_in_children()
    launches = Launches(options.capability, options.compile_too)
    _without_measurements()
    if not has_gpu:
        tle_raw.knobs.target = "cpu"
        launches.install()
    os.chdir(script.parent)
    sys.path[0:0] = [str(script.parent), *map(str, options.python_path)]
    signal.signal(signal.SIGALRM, _time_is_up)
    signal.alarm(int(options.limit))
    if script.name.startswith("test_"):
        if options.numbers_alone:
            with tempfile.TemporaryDirectory() as folder:
                _run_tests(numbers_alone(script, Path(folder)), options.tests, launches)
            return
        _run_tests(script, options.tests, launches)
        return
    sys.argv = [str(script), *(word for given in options.arguments for word in shlex.split(given.partition("=")[2]))]
    tried = Tried("", kernels=launches.kernels, gpu=launches.gpu)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            runpy.run_path(str(script), run_name="__main__")
            error: BaseException | None = None
        except SystemExit as end:
            error = None if not end.code else end
        except BaseException as end:  # a program may do anything
            error = end
    tried.printed = printed.getvalue().splitlines()[-_LINES:]
    _judge(tried, error, launches)
    say(tried)
    text = script.read_text()
    if "import pytest" in text and "\ndef test_" in text:
        _run_tests(script, options.tests, launches, after=1)


def _time_is_up(*_: Any) -> None:
    raise TimeIsUp("longer than the limit")


def _without_measurements() -> None:
    """Of benchmarks each function runs once."""
    import triton.testing

    def once(function: Any, *_: Any, quantiles: Any = None, **__: Any) -> Any:
        function()
        return [1.0] * len(quantiles) if quantiles else 1.0

    triton.testing.do_bench = triton.testing.do_bench_cudagraph = once
    triton.testing.Mark.run = lambda *_, **__: None


def _judge(tried: Tried, error: BaseException | None, launches: Any) -> None:
    from flagtree_sweep.launches import said

    if not launches.all_ran and (error is None or isinstance(error, AssertionError)):
        tried.outcome, tried.message = COMPILED, ""  # without numbers its checks mean nothing
    elif error is None:
        tried.outcome = RIGHT
    else:
        skipped = type(error).__name__ == "Skipped"
        tried.outcome = SKIPPED if skipped else WRONG if isinstance(error, AssertionError) else FAILED
        tried.message = str(error) if skipped else said(error)


class _Cases:
    """A pytest plugin: the first ``most`` cases of each test function, each judged at its end."""

    def __init__(self, most: int, launches: Any, number: int) -> None:
        self.most, self.launches, self.number = most, launches, number
        self.errors: list[BaseException] = []

    def pytest_configure(self, config: Any) -> None:
        config.addinivalue_line("markers", "require_tle: FlagTree's own")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        met: dict[str, int] = defaultdict(int)
        chosen = []
        for item in items:
            name = item.nodeid.split("[")[0]
            met[name] += 1
            chosen += [item] if met[name] <= self.most else []
        items[:] = chosen

    def pytest_runtest_setup(self, item: Any) -> None:
        self.launches.kernels, self.launches.gpu = {}, {}

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        error = call.excinfo.value if call.excinfo is not None else None
        if call.when == "call" or (call.when == "setup" and error is not None):
            case, launches = item.nodeid.split("::", 1)[-1], self.launches
            tried = Tried("", case, kernels=launches.kernels, gpu=launches.gpu, number=self.number)
            self.number += 1
            _judge(tried, error, self.launches)
            say(tried)

    def pytest_exception_interact(self, call: Any, report: Any) -> None:
        if report.when == "collect" and call.excinfo is not None:
            error = call.excinfo.value
            self.errors.append(error.__cause__ or error)


def _run_tests(script: Path, most: int, launches: Any, after: int = 0) -> None:
    """As pytest finds them; ``after`` other records of this file."""
    import pytest

    cases = _Cases(most, launches, after)
    try:
        pytest.main([str(script), f"--confcutdir={_fixtures(script)}", *_TESTS], plugins=[cases])
    except TimeIsUp as end:
        cases.errors.append(end)
    if cases.errors or cases.number == after:
        tried = Tried("", kernels=launches.kernels, number=cases.number)
        _judge(tried, cases.errors[0] if cases.errors else RuntimeError("it holds no test that runs"), launches)
        say(tried)


def _fixtures(script: Path) -> Path:
    """The topmost folder above with fixtures for it; its own where there is none."""
    found = [above for above in script.parents if (above / "conftest.py").is_file()]
    return found[-1] if found else script.parent
