"""Find adapters and targets by name; third parties add theirs through entry points."""

from __future__ import annotations

import difflib
from functools import cache
from importlib.metadata import entry_points

from tle_raw.errors import DialectError, ToolchainError
from tle_raw.fragments.adapter import Adapter

ADAPTERS = "tle_raw.adapters"
_REGISTERED: dict[str, Adapter] = {}

# Dialects that the project plans; asking for one says so instead of "unknown".
PLANNED = ("ptx",)


def register_adapter(adapter: Adapter) -> None:
    """Add an adapter for this process, before any entry point of the same name."""
    _REGISTERED[adapter.name] = adapter


def adapter_names() -> list[str]:
    return sorted({*_REGISTERED, *(p.name for p in entry_points(group=ADAPTERS))})


def find_adapter(name: str) -> Adapter:
    """The adapter of a dialect.

    Raises
    ------
    DialectError : nothing is registered under that name.
    ToolchainError : its package cannot be imported.
    """
    return _REGISTERED.get(name) or _load(name)


@cache
def _load(name: str) -> Adapter:
    for point in entry_points(group=ADAPTERS):
        if point.name == name:
            try:
                return point.load()()
            except ImportError as e:
                raise ToolchainError(
                    f"the adapter of dialect {name!r} cannot be imported: {e}",
                    hint=f"pip install 'tle_raw[{name}]'",
                ) from e
    known = adapter_names()
    if name in PLANNED:
        raise DialectError(f"the dialect {name!r} is not in this release", hint=f"it has {', '.join(known)}")
    near = difflib.get_close_matches(name, known, n=1)
    raise DialectError(
        f"unknown dialect {name!r}",
        hint=f"did you mean {near[0]!r}?" if near else f"known dialects: {', '.join(known) or 'none'}",
    )
