"""The file that a module's name stands for."""

from __future__ import annotations

import importlib.machinery
import sys
from pathlib import Path

from tle_raw.errors import FragmentSourceError


def module_file(name: str) -> Path:
    """The file of ``package.module``, found without importing a package.

    Raises
    ------
    FragmentSourceError : there is no such module, or it is no Python file.
    """
    search = [str(Path.cwd()), *sys.path]
    spec = None
    parts = name.split(".")
    for number in range(1, len(parts) + 1):
        spec = importlib.machinery.PathFinder.find_spec(parts[number - 1], search)
        if spec is None:
            raise FragmentSourceError(
                f"there is no module {'.'.join(parts[:number])}",
                hint="give a file, or run this where the package can be imported from",
            )
        search = list(spec.submodule_search_locations or ())
    origin = spec.origin if spec is not None else None
    if not origin or not origin.endswith(".py"):
        raise FragmentSourceError(f"the module {name} is no Python file", hint="name a module inside of it")
    return Path(origin)
