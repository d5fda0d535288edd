"""Where a Python child looks for packages: where this process does, without the folders that nobody chose."""

from __future__ import annotations

import contextlib
import os
import site
import sys
import sysconfig
from pathlib import Path

from tle_raw.errors import TLEError


def child_path() -> list[str]:
    """``sys.path`` in its order, without the current folder and the started script's.

    Python puts these two first by itself, so that a file that merely lies there, such as ``json.py``, would take the
    place of a module. They stay where they are folders of installed packages. What the user chose (PYTHONPATH, entries
    added by code) stays, since a child must see the same packages; relative entries mean another folder in each
    process, and are left out. A package that runs from the current folder itself is found there last.
    """
    unasked = _unasked() - _installed()
    found = [entry for entry in sys.path if os.path.isabs(entry) and os.path.realpath(entry) not in unasked]
    own = str(Path(str(sys.modules[TLEError.__module__].__file__)).parent.parent)
    return found if own in found else [*found, own]


def _unasked() -> set[str]:
    folders = set()
    with contextlib.suppress(OSError):  # it is deleted
        folders.add(os.path.realpath(os.getcwd()))
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if script and not sys.flags.safe_path:
        folders.add(os.path.dirname(os.path.realpath(script)))
    return folders


def _installed() -> set[str]:
    """The folders of installed packages, and Python's own."""
    paths = sysconfig.get_paths()
    folders = [*site.getsitepackages(), site.getusersitepackages(), paths["stdlib"], paths["platstdlib"]]
    return {os.path.realpath(folder) for folder in folders}
