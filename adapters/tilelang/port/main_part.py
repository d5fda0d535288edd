"""The part of a script that an import leaves out: what stands under ``if __name__ == "__main__"``, and ``main()``."""

from __future__ import annotations

import ast
import importlib
import inspect
import linecache
import re
import signal
import threading
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from tle_raw.adapters.tilelang.port.capture import replaced
from tle_raw.adapters.tilelang.port.recorded import holds_prim_func
from tle_raw.adapters.tilelang.port.results import Launched
from tle_raw.errors import SourceLocation

LIMIT = 120.0  # seconds: references and measurements in there are no part of a kernel
_NUMBERS = re.compile(r"close|diff|err|equal|tol\b|correct|mismatch|match|ratio|cos_?sim|norm")
_NAMES = ("main", "run", "test", "demo")


@dataclass(frozen=True)
class LeftOut:
    """A statement of the script that was not finished, and why; without a place the packages that it lies in."""

    place: SourceLocation | None
    reason: str


class TimeIsUp(BaseException):
    """The main part takes too long."""


def run_main(tree: ast.Module, path: Path, module: ModuleType, has_kernels: bool) -> list[LeftOut]:
    """Run it on tensors that hold nothing; what fails there ends its own statement only."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    left_out = []
    with FakeTensorMode(allow_non_fake_inputs=True), _alarm(LIMIT), _checks_hold():
        try:
            for code in _codes(tree, path, module, has_kernels):
                try:
                    exec(code, vars(module))
                except Launched as stop:
                    left_out.append(LeftOut(line_of(path, stop.__traceback__), "it runs a kernel"))
                except (Exception, SystemExit) as error:
                    words = str(error).strip().splitlines() or [""]
                    reason = f"{type(error).__name__}: {words[0]}; tensors hold nothing here"
                    left_out.append(LeftOut(line_of(path, error.__traceback__), reason))
        except TimeIsUp as stop:
            left_out.append(LeftOut(line_of(path, stop.__traceback__), f"it runs for longer than {LIMIT:g} seconds"))
    return left_out


@contextmanager
def _checks_hold() -> Iterator[None]:
    """Nothing is computed, and so nothing is compared."""
    import numpy as np
    import torch

    held = {"allclose": lambda *_, **__: True, "equal": lambda *_, **__: True}
    silent = {"assert_allclose": lambda *_, **__: None, "assert_almost_equal": lambda *_, **__: None}
    with ExitStack() as stack:
        for owner, attributes in (
            (torch, held),
            (torch.Tensor, {**held, "item": lambda self: 0, "tolist": lambda self: []}),
            (torch.testing, {"assert_close": lambda *_, **__: None}),
            (np.testing, silent),
            (importlib.import_module("tilelang.utils.tensor"), {"torch_assert_close": lambda *_, **__: None}),
        ):
            stack.enter_context(replaced(owner, attributes))
        yield


def without_checks(tree: ast.Module) -> ast.Module:
    """A script whose functions that build no kernel do not assert that numbers are right."""
    for node in ast.walk(tree):
        builds = isinstance(node, ast.FunctionDef) and holds_prim_func(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and not builds:
                setattr(node, name, [_unchecked(statement) for statement in block])
    return tree


def _unchecked(statement: ast.stmt) -> ast.stmt:
    if isinstance(statement, ast.Assert) and _NUMBERS.search(ast.unparse(statement.test)):
        return ast.copy_location(ast.Pass(), statement)
    return statement


def _codes(tree: ast.Module, path: Path, module: ModuleType, has_kernels: bool) -> Iterator[Any]:
    blocks = [node for node in tree.body if isinstance(node, ast.If) and _asks_for_main(node.test)]
    for block in blocks:
        for node in block.body:
            yield compile(ast.Module([node], []), str(path), "exec", dont_inherit=True)
    if blocks or has_kernels:
        return
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and (node.name in _NAMES or node.name.startswith(("test_", "run_"))):
            function = getattr(module, node.name, None)
            if inspect.isfunction(function) and not _wants(function):
                yield compile(f"{node.name}()", str(path), "exec", dont_inherit=True)


def _asks_for_main(test: ast.expr) -> bool:
    words = {getattr(node, "id", getattr(node, "value", None)) for node in ast.walk(test)}
    return {"__name__", "__main__"} <= {word for word in words if isinstance(word, str)}


def _wants(function: Any) -> list[str]:
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_ONLY)
    every = inspect.signature(function).parameters.values()
    return [p.name for p in every if p.default is p.empty and p.kind in plain]


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Only a process's first thread can be told."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: Any) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def line_of(path: Path, trace: TracebackType | None) -> SourceLocation:
    """The innermost line of the script itself."""
    lines = [number for frame, number in traceback.walk_tb(trace) if frame.f_code.co_filename == str(path)]
    number = lines[-1] if lines else 1
    return SourceLocation(str(path), number, 0, linecache.getline(str(path), number).rstrip())
