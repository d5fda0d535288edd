"""The installed Python bindings of upstream MLIR, imported when a module needs them."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tle_raw.errors import ToolchainError

# In this order; `mlir` is what upstream's own wheel will be called.
CANDIDATES = (("mlir", "mlir"), ("torch_mlir", "torch-mlir"))


@dataclass(frozen=True)
class Binding:
    """Bindings under an import name, with what the pipeline needs of them."""

    root: str
    package: str

    @property
    def ir(self) -> Any:
        return importlib.import_module(f"{self.root}.ir")

    @property
    def pass_manager(self) -> Any:
        return importlib.import_module(f"{self.root}.passmanager").PassManager

    @property
    def llvm(self) -> Any:
        return importlib.import_module(f"{self.root}.dialects.llvm")

    @property
    def version(self) -> str:
        try:
            return version(self.package)
        except PackageNotFoundError:
            return "unknown"


@lru_cache(maxsize=1)
def installed() -> tuple[Binding, ...]:
    """The bindings that can lower modules; placeholders of the same name have no ``ir``."""
    return tuple(Binding(root, package) for root, package in CANDIDATES if _has_passes(root))


def _has_passes(root: str) -> bool:
    try:
        found = importlib.util.find_spec(f"{root}.passmanager")
        return found is not None and not getattr(found.loader, "is_alias", False)
    except (ImportError, ValueError):
        return False


def find_binding(name: str | None = None) -> Binding:
    """The binding of that name, or the first.

    Raises
    ------
    ToolchainError : it is not installed.
    """
    found = [b for b in installed() if name in (None, b.root, b.package)]
    if not found:
        raise ToolchainError(
            f"the MLIR bindings {name!r} are not installed" if name else "no bindings of upstream MLIR are installed",
            hint="pip install 'tle_raw[mlir]'",
        )
    return found[0]
