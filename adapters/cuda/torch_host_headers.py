"""Which of torch's headers are host code: those for which torch's numbers alone stand in (``tle_raw/torch``).

``tle_raw/torch/light.h`` declares torch's host classes and defines none. A header that includes their definitions
cannot be read beside it, and is for host code alone if it has no device code itself: every such header is replaced,
whichever of torch's the program names, and in whichever release. ``.cuh`` files are read as they are.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from tle_raw.adapters.cpp.includes import includes_in
from tle_raw.adapters.cpp.source import decode
from tle_raw.adapters.cpp.toolchain import INCLUDE

INTERFACE = "torch/csrc/api/include"
FOLDERS = ("ATen", "c10", "torch", "THC")
# Torch's numbers without its host headers.
LIGHT_TORCH = INCLUDE / "tle_raw" / "torch"
LIGHT = LIGHT_TORCH / "light.h"
# Defines what ``light.h`` only declares, and has no stand-in of its own.
_POINTERS = "c10/util/intrusive_ptr.h"
_FOR_DEVICES = re.compile(r"__device__|__global__|\b(?:C10|STD_TORCH)_(?:HOST_)?DEVICE\b")


def is_torchs(header: str) -> bool:
    """Whether a name in an include is that of a header of torch's."""
    return header.partition("/")[0] in FOLDERS


def host_headers(torch: Path, names: Iterable[str]) -> Mapping[str, Path]:
    """The host headers that the named ones lead to, and what is read in their place; ``torch`` is torch's folder."""
    found = _of_hosts(torch, tuple(sorted({name for name in names if is_torchs(name)})))
    return {name: LIGHT for name in sorted(found - _replaced()) if _is_hosts(_file(torch, name))}


def leads_to_hosts(torch: Path, names: Iterable[str]) -> bool:
    """Whether one of the named headers is, or includes, one that something stands in for."""
    named = {name for name in names if is_torchs(name)}
    return not named.isdisjoint(_replaced() | _of_hosts(torch, tuple(sorted(named))))


@functools.lru_cache(maxsize=64)
def _of_hosts(torch: Path, names: tuple[str, ...]) -> frozenset[str]:
    """The headers that define torch's host classes, or lead to such, among all that the named ones include."""
    replaced = _replaced()
    includes: dict[str, tuple[str, ...]] = {}
    waiting = [name for name in names if name not in replaced]
    while waiting:
        name = waiting.pop()
        if name not in includes:
            includes[name] = () if name in replaced else _of_torch(_file(torch, name))
            waiting += includes[name]
    return frozenset(_leading_to({*replaced, _POINTERS}, includes))


def _file(torch: Path, name: str) -> Path:
    """The header of that name: torch's C++ interface lies in a folder of its own, which builds search, too."""
    return next((path for path in (torch / name, torch / INTERFACE / name) if path.is_file()), torch / name)


def _leading_to(roots: set[str], includes: Mapping[str, tuple[str, ...]]) -> set[str]:
    """The headers that include one of the roots, or a header that does."""
    includers: dict[str, list[str]] = {}
    for name, included in includes.items():
        for each in included:
            includers.setdefault(each, []).append(name)
    found, waiting = set[str](), [root for root in roots if root in includes]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += includers.get(name, ())
    return found


def _is_hosts(header: Path) -> bool:
    return header.suffix != ".cuh" and header.is_file() and not _FOR_DEVICES.search(decode(header.read_bytes()))


def _of_torch(header: Path) -> tuple[str, ...]:
    """The headers of torch's that one includes."""
    return tuple(include.name for include in includes_in(str(header)) if is_torchs(include.name))


@functools.cache
def _replaced() -> frozenset[str]:
    """The headers that have a stand-in of their own."""
    files = (path.relative_to(LIGHT_TORCH) for folder in FOLDERS for path in (LIGHT_TORCH / folder).rglob("*.*h"))
    return frozenset(path.as_posix() for path in files if (LIGHT_TORCH / path).is_file())
