"""Calls a library's host functions with each module that holds its code: when it is loaded, and when Python ends.

NVSHMEM's device code needs that: its host library fills variables of every module before a kernel of it runs.
"""

from __future__ import annotations

import atexit
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from triton import knobs as triton_knobs

from tle_raw.errors import LibraryError


@dataclass(frozen=True)
class _Written:
    """A library's host functions as ``module:name``, or ""."""

    setup: str
    teardown: str


_HOOKED: dict[str, _Written] = {}  # by the name that a kernel's record has for the library


def call_for_modules_of(library: str, setup: str, teardown: str) -> None:
    """From now on call these with each loaded module that holds code of a library. Idempotent.

    Parameters
    ----------
    library : ``name version`` of a packed one, or the name of one of ``libraries=``.
    setup, teardown : functions as ``module:name``, or "". They take what Triton's driver calls the module.
    """
    if not setup and not teardown:
        return
    if not _HOOKED:
        triton_knobs.runtime.kernel_load_end_hook.add(_loaded)
    _HOOKED.setdefault(library, _Written(setup, teardown))


def _loaded(module: Any, function: Any, name: str, metadata_group: Mapping[str, str], hash: str) -> None:
    """Triton's hook, behind the load of a kernel's module."""
    used = _libraries_of(metadata_group)
    called: set[_Written] = set()  # two libraries of the same host part are one to it
    for library, written in _HOOKED.items():
        if library not in used or written in called:
            continue
        called.add(written)
        if written.setup:
            _host_function(library, written.setup)(module)
        if written.teardown:
            atexit.register(_host_function(library, written.teardown), module)


def _libraries_of(metadata_group: Mapping[str, str]) -> frozenset[str]:
    """The libraries that a kernel's record names."""
    files = [path for path in metadata_group.values() if path.endswith(".json") and "__grp__" not in path]
    found: set[str] = set()
    for file in files:
        try:
            record = json.loads(Path(file).read_bytes()).get("tle_raw") or {}
        except (OSError, ValueError):
            continue
        for fragment in record.get("fragments", {}).values():
            found.add(str(fragment["compiler"]).partition(" (")[0])
            found.update(library for _, library in fragment.get("linked", ()))
    return frozenset(found)


def _host_function(library: str, written: str) -> Callable[[Any], object]:
    module, _, name = written.partition(":")
    try:
        return cast(Callable[[Any], object], getattr(import_module(module), name))
    except (ImportError, AttributeError) as error:
        raise LibraryError(
            f"the library {library} sets its modules up by {written}, which cannot be imported: {error}",
            hint="install the package that the library's host part stands in",
        ) from None
