"""Python runs this when it starts in a process whose parent is ``python -m tle_raw.compat.flagtree``.

Nothing is imported until a program asks for one of the names. A module of this name that stands elsewhere runs as well.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

_ROOTS = ("triton.experimental.tle", "mlir")


class _AtFirstUse:
    """Stands where FlagTree's modules will be looked for."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _ROOTS:
            return None
        sys.meta_path.remove(self)
        try:
            from tle_raw.compat.flagtree.finder import FlagTreeFinder, install
        except ImportError:  # a Python of another environment
            return None
        install()
        finder = next(each for each in sys.meta_path if isinstance(each, FlagTreeFinder))
        return finder.find_spec(name, path, target)


def _run_the_other() -> None:
    here = Path(__file__).resolve().parent
    found = PathFinder.find_spec("sitecustomize", [each for each in sys.path if Path(each).resolve() != here])
    if found is not None and found.loader is not None:
        found.loader.exec_module(module_from_spec(found))


_run_the_other()
sys.meta_path.insert(0, _AtFirstUse())
