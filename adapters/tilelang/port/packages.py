"""Modules of packages: their names, and the packages that are imported before them."""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from pathlib import Path
from types import ModuleType


def module_of(path: Path) -> tuple[Path, str]:
    """The folder that its outermost package lies in, and the module's name from there."""
    names = [] if path.name == "__init__.py" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        names.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(names) or path.parent.name


def import_parents(root: Path, name: str) -> tuple[str, ...]:
    """Import the packages that a module lies in; what those say whose ``__init__.py`` fails.

    Such a package is left empty, so that its modules still find each other.
    """
    if "." not in name:
        return ()
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    failed: dict[str, list[str]] = {}
    parts = name.split(".")
    for number in range(1, len(parts)):
        package = ".".join(parts[:number])
        try:
            importlib.import_module(package)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            failed.setdefault(f"{type(error).__name__}: {error}", []).append(package)
            bare = ModuleType(package)
            bare.__path__ = [str(root.joinpath(*parts[:number]))]
            bare.__spec__ = importlib.machinery.ModuleSpec(package, None, is_package=True)
            sys.modules[package] = bare
            if number > 1:
                setattr(sys.modules[".".join(parts[: number - 1])], parts[number - 1], bare)
    return tuple(f"{', '.join(names)}: {words}" for words, names in failed.items())
