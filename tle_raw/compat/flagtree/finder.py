"""Puts FlagTree's modules where Python looks for them, when they are imported and not before."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from tle_raw.thread_lock import ThreadLock

ROOT = "triton.experimental.tle"
MODULES = "tle_raw.compat.flagtree.modules"
MLIR, BINDINGS = "mlir", ("torch_mlir",)
_CHILDREN = Path(__file__).resolve().parent / "children"
_LOCK = ThreadLock()


class FlagTreeFinder:
    """Finds ``triton.experimental.tle`` and what is below, and ``mlir``, where no package has these names itself.

    It stands in front: what is below an alias would else be found in its folder, and be loaded a second time.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        for root, alias_of in ((ROOT, _own_module), (MLIR, _binding)):
            if name == root and _is_package(PathFinder.find_spec(name, path)):
                return None  # FlagTree's own Triton, or upstream's binding
            if name == root or (name.startswith(f"{root}.") and _is_alias(root)):
                return alias_of(name)
        return None


def install() -> None:
    """Make FlagTree's modules importable in this process. Idempotent; a Triton that has them keeps its own."""
    with _LOCK:
        if not any(isinstance(finder, FlagTreeFinder) for finder in sys.meta_path):
            sys.meta_path.insert(0, FlagTreeFinder())


def install_in_children() -> None:
    """Have Python processes that this one starts find the modules as well, by their ``PYTHONPATH``. Idempotent."""
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(_CHILDREN) not in known:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_CHILDREN), *known)))


def _is_alias(root: str) -> bool:
    return getattr(sys.modules.get(root), "__name__", root) != root


def _is_package(found: ModuleSpec | None) -> bool:
    """A folder without files of its own is none: FlagTree's tutorials lie in one that is called ``mlir``."""
    return found is not None and found.origin is not None


def _own_module(name: str) -> ModuleSpec | None:
    own = f"{MODULES}.{name.removeprefix(ROOT).removeprefix('.').replace('.', '_') or 'tle'}"
    return ModuleSpec(name, _Alias(own), is_package=True) if find_spec(own) else None


def _binding(name: str) -> ModuleSpec | None:
    for package in BINDINGS:
        found = package + name.removeprefix(MLIR)
        try:
            if find_spec(found) is not None:
                return ModuleSpec(name, _Alias(found), is_package=True)
        except ModuleNotFoundError:
            continue
    return ModuleSpec(name, _Missing()) if name == MLIR else None


class _Missing(Loader):
    """Of a binding where none is installed."""

    is_alias = True

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        raise ModuleNotFoundError(
            "no binding of MLIR is installed, which the program imports as `mlir`: pip install 'tle_raw[mlir]'",
            name=spec.name,
        )

    def exec_module(self, module: ModuleType) -> None:
        """Nothing was made."""


class _Alias(Loader):
    """A loader of a module that exists under another name: it is the same module object.

    ``is_alias`` is for those who look which bindings of MLIR are installed.
    """

    is_alias = True

    def __init__(self, name: str) -> None:
        self.name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.name)
        self.own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It was run when it was imported, under the name that it keeps."""
        module.__spec__ = self.own
