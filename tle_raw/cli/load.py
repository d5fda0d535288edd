"""Finds the fragments that a Python file or module declares."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from tle_raw.errors import DialectError, TLEError
from tle_raw.near_names import near_names

if TYPE_CHECKING:
    from tle_raw.fragments.fragment import Fragment

HOW = "FILE.py, FILE.py:fragment, package.module or package.module:fragment"


def fragments_of(text: str) -> dict[str, Fragment]:
    """The fragments that ``FILE.py`` or ``module`` holds by name; only the one that ``:fragment`` names.

    Raises
    ------
    DialectError : there is no such file, module or fragment, or it fails when imported.
    """
    where, wanted = _split(text)
    found = _fragments(module_of(where))
    if not found:
        raise DialectError(f"{where} declares no fragment", hint='declare one with @tle_raw.dialect("cuda", …)')
    if not wanted:
        return found
    if wanted not in found:
        near = near_names(wanted, found) or sorted(found)
        raise DialectError(f"{where} declares no fragment `{wanted}`", hint=f"it has {', '.join(near)}")
    return {wanted: found[wanted]}


def _split(text: str) -> tuple[str, str]:
    where, colon, wanted = text.rpartition(":")
    return (where, wanted) if colon and where and wanted.isidentifier() else (text, "")


def module_of(where: str) -> ModuleType:
    """The module that ``FILE.py`` or ``package.module`` means.

    Raises
    ------
    DialectError : it cannot be imported.
    """
    try:
        return _module_of_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
    except TLEError:
        raise
    except (Exception, SystemExit) as error:
        missing = isinstance(error, (FileNotFoundError, ModuleNotFoundError))
        raise DialectError(
            f"{where} cannot be imported: {type(error).__name__}: {error}",
            log="" if missing else "".join(traceback.format_exception(error)[-3:]),
            hint=f"the argument is {HOW}" if missing else "",
        ) from error


def _module_of_file(file: Path) -> ModuleType:
    """As ``python FILE.py`` sees it: its folder comes first on the path; but it is not ``__main__``."""
    if not file.is_file():
        raise FileNotFoundError(f"no such file: {file}")
    sys.path.insert(0, str(file.resolve().parent))
    spec = importlib.util.spec_from_file_location(file.stem, file.resolve())
    assert spec is not None and spec.loader is not None  # a file that ends in .py always has them
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def _fragments(module: ModuleType) -> dict[str, Fragment]:
    from tle_raw.fragments.fragment import Fragment

    return {name: value for name, value in vars(module).items() if isinstance(value, Fragment)}
