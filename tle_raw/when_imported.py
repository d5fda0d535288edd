"""Something to do once a module has been imported, without importing it: for modules that few programs need."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

Action = Callable[[ModuleType], None]


def when_imported(name: str, act: Action) -> None:
    """Call ``act`` with the module of this name: at once where it has been imported, else when it will be."""
    module = sys.modules.get(name)
    if module is not None:
        act(module)
    else:
        sys.meta_path.insert(0, _Finder(name, act))


class _Finder:
    """Finds one module as the others do, once, and makes its loader act as well."""

    def __init__(self, name: str, act: Action) -> None:
        self.name, self.act = name, act

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self.name:
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            self._join(spec.loader)
        return spec

    def _join(self, loader: object) -> None:
        execute = loader.exec_module  # type: ignore[attr-defined]

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module  # type: ignore[attr-defined]
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self.act(module)

        loader.exec_module = exec_module  # type: ignore[attr-defined]
