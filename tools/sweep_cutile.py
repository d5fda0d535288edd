"""Runs cuTile's own samples and tests with Triton in the place of its compiler, and says how many are right.

    python tools/sweep_cutile.py FOLDER [--on cpu|cuda] [--json OUT] [-- pytest's options]

FOLDER holds Python files with tests that launch kernels by ``cuda.tile.launch``; they check their own numbers. On the
CPU, tensors that ask for a GPU are made on the host. Tests of cuTile's compiler itself, which look at its bytecode or
need its ``tileiras``, are counted apart.

Files run as they are, with this user's rights: give it sources that you trust.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

# What a test that is about cuTile's own compiler or driver fails with.
OWN_COMPILER = re.compile(
    r"tileiras|bytecode|cubin|libcuda|filecheck|compile_tile|get_compute_capability|CUDA driver", re.I
)
RIGHT, WRONG, OWN = "right", "not", "about cuTile's compiler"


class OnTheHost(TorchFunctionMode):
    """Tensors that are to be made on a GPU are made on the CPU."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if "cuda" in str(kwargs.get("device", "")):
            kwargs["device"] = "cpu"
        args = tuple("cpu" if isinstance(a, (str, torch.device)) and str(a).startswith("cuda") else a for a in args)
        return args[0] if function is torch.Tensor.cuda else function(*args, **kwargs)


class Sweep:
    """The pytest plugin: puts Triton in place, and counts."""

    def __init__(self, on: str) -> None:
        self.on = on
        self.results: dict[str, tuple[str, str]] = {}
        self._kernels: dict[int, tuple[Any, Any]] = {}

    def pytest_configure(self, config: pytest.Config) -> None:
        import cuda.tile as ct

        import tle_raw

        ct.launch = self._launch
        if self.on == "cpu":
            tle_raw.knobs.target = "cpu"
            torch.cuda.current_stream = lambda *_: None  # type: ignore[assignment]
            torch.cuda.synchronize = lambda *_: None
            torch.cuda.is_available = lambda: True
            torch.cuda.get_device_capability = lambda *_: (9, 0)
            OnTheHost().__enter__()

    def _launch(self, stream: Any, grid: Any, kernel: Any, arguments: Any, **options: Any) -> Any:
        import tle_raw

        if id(kernel) not in self._kernels:
            self._kernels[id(kernel)] = kernel, tle_raw.fragment(kernel).as_kernel()
        try:
            return self._kernels[id(kernel)][1].launch(stream, grid, arguments, **options)
        except Exception as error:
            raise _cutiles(error) or error from None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Any:
        outcome = yield
        report = outcome.get_result()
        if report.skipped or (report.passed and report.when != "call"):
            return
        text = "" if report.passed else str(call.excinfo.value)
        trace = "" if report.passed else report.longreprtext
        kind = RIGHT if report.passed else OWN if OWN_COMPILER.search(trace) else WRONG
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
    folder = str(options.folder.resolve())
    base = ["-q", "--no-header", "--tb=short", "-p", "no:cacheprovider", "--rootdir", folder, "-c", "/dev/null"]
    pytest.main([folder, *base, *pytests], plugins=[sweep])
    _print(sweep.results)
    if options.json:
        options.json.write_text(json.dumps({name: list(found) for name, found in sweep.results.items()}, indent=1))
    return 0


def _print(results: dict[str, tuple[str, str]]) -> None:
    kinds = collections.Counter(kind for kind, _ in results.values())
    tried = kinds[RIGHT] + kinds[WRONG]
    share = f"{100 * kinds[RIGHT] / tried:.1f} %" if tried else "none"
    print(f"\n{tried} tests launch kernels: {kinds[RIGHT]} right ({share}); {kinds[OWN]} more are {OWN}")
    reasons = collections.Counter(reason for kind, reason in results.values() if kind == WRONG)
    for reason, count in reasons.most_common():
        print(f"  {count:4}  {reason}")


if __name__ == "__main__":
    sys.exit(main())
