"""Fragments in pickles: by the name under which a module holds them, as Python's functions."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from tle_raw.errors import FragmentPicklingError


def name_in_module(fragment: Any) -> tuple[str, str]:
    """The module and the name that give this very fragment.

    Raises
    ------
    FragmentPicklingError : no module holds it.
    """
    for module in _modules(fragment):
        names = [fragment.name, *(n for n, value in vars(module).items() if value is fragment)]
        for name in names:
            if vars(module).get(name) is fragment:
                return module.__name__, name
    raise FragmentPicklingError(
        f"the fragment `{fragment.name}` cannot be pickled: no module holds it under a name",
        hint="declare it at the top level of a module; the other process imports it from there",
    ).at(fragment=fragment.name, source=fragment.location)


def imported(module: str, name: str) -> Any:
    """The fragment of that name."""
    return getattr(importlib.import_module(module), name)


def _modules(fragment: Any) -> Iterator[ModuleType]:
    """Those of the file that declares it, then those that know its name."""
    modules = [m for m in list(sys.modules.values()) if isinstance(m, ModuleType)]
    yield from (m for m in modules if getattr(m, "__file__", None) == fragment.location.file)
    yield from (m for m in modules if vars(m).get(fragment.name) is fragment)
