"""A library's manifest as values: what is packed, and of what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from tle_raw.errors import SourceLocation
from tle_raw.fragments.dtypes import DType
from tle_raw.fragments.signature import Signature
from tle_raw.target import Target

FORMAT = 1
Value = int | DType


@dataclass(frozen=True)
class Overload:
    """One signature of a function, and the code for it.

    ``source`` is a file, ``libraries`` are files of device functions that it calls. ``effects`` is None where packing
    shall find them. ``values`` holds, for each name of the signature, what it is packed for.
    """

    signature: Signature
    symbol: str
    source: Path
    dialect: str
    options: Mapping[str, Any]
    libraries: tuple[Path, ...]
    effects: frozenset[str] | None
    block: tuple[int, ...]
    values: Mapping[str, tuple[Value, ...]]
    architectures: tuple[Target, ...]
    location: SourceLocation

    def bindings(self) -> Iterator[dict[str, Value]]:
        """Every combination of the values, in order."""
        for chosen in product(*self.values.values()):
            yield dict(zip(self.values, chosen))


@dataclass(frozen=True)
class Function:
    """One name of the library, with its overloads in the order in which they are tried."""

    name: str
    doc: str
    overloads: tuple[Overload, ...]
    location: SourceLocation


@dataclass(frozen=True)
class ModuleHooks:
    """Functions of the host, ``package.module:name``, that a loaded module is set up and torn down by; "" for none.

    ``variables`` are what they look up in it.
    """

    setup: str = ""
    teardown: str = ""
    variables: tuple[str, ...] = ()


@dataclass(frozen=True)
class Manifest:
    """All that a manifest says."""

    file: Path
    name: str
    version: str
    summary: str
    architectures: tuple[Target, ...]
    hooks: ModuleHooks
    functions: tuple[Function, ...]
