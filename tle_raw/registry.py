"""Find adapters, targets and the front end by name; third parties add theirs through entry points."""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from tle_raw.errors import DialectError, ToolchainError
from tle_raw.fragments.adapter import Adapter
from tle_raw.fragments.frontend import Frontend
from tle_raw.targets.base import TargetBackend

ADAPTERS, TARGETS = "tle_raw.adapters", "tle_raw.targets"
# What is spelled inside kernels stands above the fragments, which call it without importing it.
FRONTEND = "tle_raw.frontends.raw.frontend"
_REGISTERED: dict[str, Adapter] = {}
_TARGETS: dict[str, TargetBackend] = {}

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


def register_target(target: TargetBackend) -> None:
    """Add a target for this process, before any entry point of the same name."""
    _TARGETS[target.name] = target


def target_names() -> list[str]:
    """The backends that code can be compiled for: ``cpu``, ``cuda`` and those of third parties."""
    return sorted({*_TARGETS, *(p.name for p in entry_points(group=TARGETS))})


def find_target(name: str) -> TargetBackend:
    """The target of a backend, as ``Target.backend`` names it.

    Raises
    ------
    DialectError : nothing is registered under that name.
    ToolchainError : its package cannot be imported.
    """
    return _TARGETS.get(name) or _load_target(name)


@cache
def _load_target(name: str) -> TargetBackend:
    for point in entry_points(group=TARGETS):
        if point.name == name:
            try:
                return point.load()()
            except ImportError as e:
                raise ToolchainError(f"the target {name!r} cannot be imported: {e}") from e
    raise DialectError(f"unknown target {name!r}", hint=f"known targets: {', '.join(target_names()) or 'none'}")


@cache
def frontend() -> Frontend:
    """What a fragment's call in a kernel means, and what it needs of Triton."""
    return cast(Frontend, import_module(FRONTEND))
