"""Runs cuTile's own samples and tests with Triton in the place of its compiler, and says how many are right.

    python tools/sweep_cutile.py FOLDER [--on cpu|cuda] [--json OUT] [-- pytest's options]

FOLDER holds Python files with tests that launch kernels by ``cuda.tile.launch``; they check their own numbers. On the
CPU, tensors that ask for a GPU are made on the host. Counted are the tests that launch a kernel. Apart from them stand
those in which each launch is refused, as they expect, and those about cuTile's compiler and driver: they launch
nothing, or fail where they look at its bytecode, its cache or its ``tileiras``. A comparison of bytecode within a test
that launches is left out, and the numbers are checked; what a launch is refused with may be of other words.

Files run as they are, with this user's rights: give it sources that you trust.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

# What a test that is about cuTile's own compiler or driver fails with.
OWN_COMPILER = re.compile(
    r"tileiras|bytecode|cubin|libcuda|filecheck|compile_tile|get_compute_capability|CUDA driver|mock\.call_count", re.I
)
RIGHT, WRONG, REFUSED, OWN = "right", "not", "refused as expected", "about cuTile's compiler"
RAISES = pytest.raises
# What cuTile's tests call to look at the code of its compiler.
LOOKS_AT_CODE = ("get_bytecode", "filecheck")


class OnTheHost(TorchFunctionMode):
    """Tensors that are to be made on a GPU are made on the CPU."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if "cuda" in str(kwargs.get("device", "")):
            kwargs["device"] = "cpu"
        args = tuple("cpu" if isinstance(a, (str, torch.device)) and str(a).startswith("cuda") else a for a in args)
        if function == torch.Tensor.is_cuda.__get__:  # type: ignore[attr-defined]
            return True
        return args[0] if function is torch.Tensor.cuda else function(*args, **kwargs)


class Sweep:
    """The pytest plugin: puts Triton in place, and counts."""

    def __init__(self, on: str) -> None:
        self.on = on
        self.results: dict[str, tuple[str, str]] = {}
        self._kernels: dict[int, tuple[Any, Any]] = {}
        self._tried = self._done = 0  # launches of the test that runs
        self._expects = False  # whether a host error of cuTile's launcher is awaited
        self._in_other_words = False

    def pytest_configure(self, config: pytest.Config) -> None:
        import cuda.tile as ct
        from cuda.tile import _cext, _compile
        from cuda.tile._bytecode.version import BytecodeVersion

        import tle_raw

        ct.launch = self._launch
        pytest.raises = self._raises
        _compile._get_max_supported_bytecode_version = lambda *_, **__: BytecodeVersion.V_13_4
        if self.on == "cpu":
            tle_raw.knobs.target = "cpu"
            torch.cuda.current_stream = lambda *_: None  # type: ignore[assignment]
            torch.cuda.synchronize = lambda *_: None
            torch.cuda.is_available = lambda: True
            torch.cuda.get_device_capability = lambda *_: (10, 0)
            torch.cuda.get_device_properties = lambda *_: types.SimpleNamespace(multi_processor_count=4)
            _cext.get_compute_capability = _compile.get_compute_capability = lambda *_: (10, 0)
            OnTheHost().__enter__()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for module in {getattr(item, "module", None) for item in items}:
            for name in LOOKS_AT_CODE:
                if hasattr(module, name):
                    setattr(module, name, lambda *_, **__: b"")

    def pytest_runtest_setup(self) -> None:
        self._tried = self._done = 0
        self._expects = self._in_other_words = False

    @contextlib.contextmanager
    def _raises(self, expected: Any, **options: Any) -> Iterator[Any]:
        """pytest's own, which notes that an error of a launch's arguments is awaited."""
        self._expects = expected in (TypeError, ValueError)
        with RAISES(expected, **options) as found:
            yield found
        self._expects = False

    def _launch(self, stream: Any, grid: Any, kernel: Any, arguments: Any, **options: Any) -> Any:
        import tle_raw

        self._tried += 1
        try:
            if id(kernel) not in self._kernels:
                self._kernels[id(kernel)] = kernel, tle_raw.fragment(kernel).as_kernel()
            self._kernels[id(kernel)][1].launch(stream, grid, arguments, **options)
        except Exception as error:
            self._in_other_words = self._expects and isinstance(error, tle_raw.TLEError)
            raise _cutiles(error) or error from None
        self._done += 1

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Any:
        outcome = yield
        report = outcome.get_result()
        if report.skipped or (report.passed and report.when != "call"):
            return
        text = "" if report.passed else str(call.excinfo.value)
        trace = "" if report.passed else report.longreprtext
        if not self._tried or (report.failed and OWN_COMPILER.search(trace)):
            kind = OWN
        else:
            wrong = report.failed and not self._in_other_words
            kind = WRONG if wrong else RIGHT if self._done else REFUSED
        self.results[item.nodeid] = kind, _reason(call, text) if kind == WRONG else ""


def _cutiles(error: BaseException | None) -> BaseException | None:
    """The error of cuTile's front end inside one of ours: its tests look for that."""
    while error is not None:
        if type(error).__module__.startswith("cuda.tile"):
            return error
        error = error.__cause__
    return None


def _reason(call: Any, text: str) -> str:
    """One line: the kind of error, and its first words that are about something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = next((line for line in lines if "fragment `" in line), lines[0] if lines else "")
    told = re.sub(r"fragment `\w+`: |0x[0-9a-f]+|\$\d+", "", told)
    return f"{call.excinfo.typename}: {told}"[:160]


def main(arguments: list[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    own, pytests = (given[: given.index("--")], given[given.index("--") + 1 :]) if "--" in given else (given, [])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--on", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(own)
    sweep = Sweep(options.on)
    path = options.folder.resolve()
    root = str(path if path.is_dir() else path.parent)
    base = ["-q", "--no-header", "--tb=short", "-p", "no:cacheprovider", "--rootdir", root, "-c", "/dev/null"]
    pytest.main([str(path), *base, *pytests], plugins=[sweep])
    _print(sweep.results)
    if options.json:
        options.json.write_text(json.dumps({name: list(found) for name, found in sweep.results.items()}, indent=1))
    return 0


def _print(results: dict[str, tuple[str, str]]) -> None:
    kinds = collections.Counter(kind for kind, _ in results.values())
    tried = kinds[RIGHT] + kinds[WRONG]
    share = f"{100 * kinds[RIGHT] / tried:.1f} %" if tried else "none"
    print(f"\n{tried} tests launch kernels: {kinds[RIGHT]} right ({share})")
    print(f"{kinds[REFUSED]} more see each launch refused, as they expect; {kinds[OWN]} are {OWN}")
    reasons = collections.Counter(reason for kind, reason in results.values() if kind == WRONG)
    for reason, count in reasons.most_common():
        print(f"  {count:4}  {reason}")


if __name__ == "__main__":
    sys.exit(main())
