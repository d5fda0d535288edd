"""A package's own tests as scripts: pytest runs the smallest cases of each test function, and their checks count."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

SMALLEST_OF_NONE = 0.0


class Cases:
    """A pytest plugin: ``most`` cases of each test function; ``ended`` hears of each one's end."""

    def __init__(self, most: int, ended: Callable[[BaseException | None], None]) -> None:
        self.most, self.ended, self.case = most, ended, ""
        self.errors: list[BaseException] = []

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """The smallest of each, first; where two are as small the earlier one."""
        functions = defaultdict(list)
        for item in items:
            functions[item.nodeid.split("[")[0]].append(item)
        chosen = [item for cases in functions.values() for item in sorted(cases, key=_size_of)[: self.most]]
        items[:] = sorted(chosen, key=_size_of)

    def pytest_runtest_setup(self, item: Any) -> None:
        self.case = item.nodeid

    def pytest_exception_interact(self, call: Any) -> None:
        """A test, or the reading of the file, fails."""
        if call.excinfo is not None:
            error = call.excinfo.value
            self.errors.append(error.__cause__ if type(error).__name__ == "CollectError" and error.__cause__ else error)

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        if call.when == "call":
            self.ended(call.excinfo.value if call.excinfo is not None else None)


def run_tests(script: Path, cases: Cases) -> BaseException | None:
    """The first error of a test, or of the file itself."""
    import pytest

    options = ["--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=", "--tb=no", "-q"]
    cases.errors.clear()
    status = pytest.main([str(script), *options], plugins=[cases])
    if cases.errors:
        return cases.errors[0]
    return RuntimeError(f"pytest ends with status {int(status)}") if status not in (0, 1) else None


def _size_of(item: Any) -> float:
    """How much a case computes, as far as its numbers tell: the sum of their logarithms."""
    callspec = getattr(item, "callspec", None)
    return sum(map(_logarithm, _numbers(callspec.params))) if callspec is not None else SMALLEST_OF_NONE


def _numbers(value: Any) -> list[float]:
    if isinstance(value, (bool, str)):
        return []
    if isinstance(value, (int, float)):
        return [value]
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return [number for each in inner for number in _numbers(each)]


def _logarithm(number: float) -> float:
    return math.log(number) if math.isfinite(number) and number > 1 else 0.0
