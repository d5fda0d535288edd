"""Calls a library's host functions with each module that holds its code: when it is loaded, and when Python ends.

NVSHMEM's device code needs that: its host library fills variables of every module before a kernel of it runs.
"""

from __future__ import annotations

import atexit
import json
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from triton import knobs as triton_knobs

from tle_raw.errors import LibraryError
from tle_raw.libraries.packed_files import PackedIndex

_HOOKED: dict[str, PackedIndex] = {}  # by the title that a kernel's record names


def call_for_modules_of(index: PackedIndex) -> None:
    """From now on call the library's ``setup`` and ``teardown``, if it has them. Idempotent."""
    if not index.setup and not index.teardown:
        return
    if not _HOOKED:
        triton_knobs.runtime.kernel_load_end_hook.add(_loaded)
    _HOOKED.setdefault(index.title, index)


def _loaded(module: Any, function: Any, name: str, metadata_group: Mapping[str, str], hash: str) -> None:
    """Triton's hook, behind the load of a kernel's module."""
    used = _libraries_of(metadata_group)
    for title, index in _HOOKED.items():
        if title not in used:
            continue
        if index.setup:
            _host_function(index, index.setup)(module)
        if index.teardown:
            atexit.register(_host_function(index, index.teardown), module)


def _libraries_of(metadata_group: Mapping[str, str]) -> frozenset[str]:
    """The titles of the libraries that a kernel's record names."""
    files = [path for path in metadata_group.values() if path.endswith(".json") and "__grp__" not in path]
    found: set[str] = set()
    for file in files:
        try:
            record = json.loads(Path(file).read_bytes()).get("tle_raw") or {}
        except (OSError, ValueError):
            continue
        found.update(str(f["compiler"]).partition(" (")[0] for f in record.get("fragments", {}).values())
    return frozenset(found)


def _host_function(index: PackedIndex, written: str) -> Callable[[Any], object]:
    module, _, name = written.partition(":")
    try:
        return cast(Callable[[Any], object], getattr(import_module(module), name))
    except (ImportError, AttributeError) as error:
        raise LibraryError(
            f"the library {index.title} sets its modules up by {written}, which cannot be imported: {error}",
            hint="install the package that the library's host part stands in",
        ) from None
