"""Whether an example checked its numbers after a kernel ran, and what it found."""

from __future__ import annotations

import ast
import builtins
import importlib.abc
import importlib.machinery
import importlib.util
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

WORDS = re.compile(r"close|diff|err|sim|equal|tol\b|correct|mismatch|match|ratio|cos|norm")
NAME = "__sweep_assertion__"


class Checks:
    """Calls ``held`` when a check holds; ``failed`` is what a check that fails in silence says."""

    def __init__(self, held: Callable[[], None]) -> None:
        self.held, self.failed = held, ""
        setattr(builtins, NAME, self._assertion)

    def watch(self, folder: Path) -> None:
        """Comparing functions of torch, NumPy and TileLang, and ``assert`` in the scripts of ``folder``."""
        import numpy as np
        import torch
        from tilelang import profiler
        from tilelang.utils import tensor

        for owner, name in (
            (torch.testing, "assert_close"),
            (np.testing, "assert_allclose"),
            (tensor, "torch_assert_close"),
            (profiler.Profiler, "assert_allclose"),
            (profiler.Profiler, "manual_assert_close"),
        ):
            setattr(owner, name, self._counted(getattr(owner, name)))
        for owner, name in ((torch, "allclose"), (torch, "equal"), (np, "allclose")):
            setattr(owner, name, self._judged(getattr(owner, name), name))
        torch.Tensor.allclose = self._judged(torch.Tensor.allclose, "allclose")  # type: ignore[method-assign]
        torch.Tensor.equal = self._judged(torch.Tensor.equal, "equal")  # type: ignore[method-assign]
        sys.meta_path.insert(0, _Finder(folder))

    def accept_everything(self) -> None:
        """Nothing was computed, and so nothing is compared."""
        import numpy as np
        import torch
        from tilelang import profiler
        from tilelang.utils import tensor

        for owner, name in (
            (torch.testing, "assert_close"),
            (np.testing, "assert_allclose"),
            (tensor, "torch_assert_close"),
            (profiler.Profiler, "assert_allclose"),
            (profiler.Profiler, "manual_assert_close"),
            (profiler.Profiler, "assert_consistent"),
        ):
            setattr(owner, name, lambda *_, **__: None)
        for owner, name in ((torch, "allclose"), (torch, "equal"), (np, "allclose"), (torch.Tensor, "allclose")):
            setattr(owner, name, lambda *_, **__: True)

    def _counted(self, check: Callable) -> Callable:
        def call(*arguments: Any, **keywords: Any) -> Any:
            result = check(*arguments, **keywords)
            self.held()
            return result

        return call

    def _judged(self, check: Callable, name: str) -> Callable:
        def call(*arguments: Any, **keywords: Any) -> Any:
            result = check(*arguments, **keywords)
            if result:
                self.held()
            else:
                self.failed = self.failed or f"torch.{name} says False"
            return result

        return call

    def _assertion(self) -> None:
        self.held()


def read_script(text: str | bytes, path: str) -> Any:
    """Compile a script so that each ``assert`` about numbers tells of itself once it held."""
    tree = ast.parse(text, path)
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                setattr(node, field, _with_notes(block))
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def _with_notes(block: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for statement in block:
        found.append(statement)
        if isinstance(statement, ast.Assert) and WORDS.search(ast.unparse(statement.test)):
            call = ast.Expr(ast.Call(ast.Name(NAME, ast.Load()), [], []))
            found.append(ast.copy_location(call, statement))
    return found


class _Finder(importlib.abc.MetaPathFinder):
    """The modules beside a script are read in the same way."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or not (spec.origin or "").startswith(self.folder) or not str(spec.origin).endswith(".py"):
            return None
        return importlib.util.spec_from_file_location(
            name, spec.origin, loader=_Loader(name, str(spec.origin)),
            submodule_search_locations=spec.submodule_search_locations,
        )  # fmt: skip


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> Any:
        return read_script(self.get_data(self.path), self.path)
