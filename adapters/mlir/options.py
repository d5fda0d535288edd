"""Checks what the user wrote in ``dialect("mlir", …)``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tle_raw.errors import DialectError
from tle_raw.fragments.options import absolute_path, known_options

NAMES = ("file", "source", "module", "symbol", "block", "route")
SOURCES = ("file", "source", "module")
ALIASES = {"extern_func_name": "symbol"}  # FlagTree's name


@dataclass(frozen=True)
class Options:
    """At most one of ``file``, an absolute path, ``source`` and ``module`` is set; none for a Python function."""

    file: Path | None = None
    source: str | bytes | None = None
    module: Any = None
    symbol: str | None = None
    block: tuple[int, ...] = ()
    route: str | None = None

    @property
    def has_source(self) -> bool:
        return self.file is not None or self.source is not None or self.module is not None

    def settings(self) -> tuple[tuple[str, str], ...]:
        """What can change the code beside the text."""
        return (
            ("block", json.dumps(self.block)),
            ("file", str(self.file or "")),
            ("route", self.route or ""),
            ("symbol", self.symbol or ""),
        )


def read_options(options: Mapping[str, Any], folder: Path) -> Options:
    """Validate the options of a declaration.

    Raises
    ------
    DialectError : an option is unknown or has a value of the wrong type, or several give the code.
    """
    wanted = {name: value for name, value in options.items() if value is not None}
    given = known_options("mlir", wanted, NAMES, ALIASES)
    sources = [name for name in SOURCES if name in given]
    if len(sources) > 1:
        raise DialectError(f"{sources[0]}= and {sources[1]}= both give the code", hint="give one of them")
    if not isinstance(given.get("source", ""), (str, bytes)):
        raise DialectError(f"source= takes text or bytecode, got {given['source']!r}", hint="a module is module=")
    if not isinstance(given.get("symbol", ""), str):
        raise DialectError(f"symbol= takes a function's name, got {given['symbol']!r}")
    return Options(
        absolute_path("file", given["file"], folder) if "file" in given else None,
        given.get("source"),
        given.get("module"),
        given.get("symbol", "").strip().removeprefix("@") or None,
        _block(given.get("block", ())),
        _route(given.get("route")),
    )


def _route(value: object) -> str | None:
    if value is not None and (not isinstance(value, str) or not value):
        raise DialectError(f'route= takes "libtriton" or the name of MLIR bindings, got {value!r}')
    return value


def _block(value: object) -> tuple[int, ...]:
    sizes = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
    if len(sizes) > 3 or not all(isinstance(s, int) and not isinstance(s, bool) and s > 0 for s in sizes):
        raise DialectError(f"block= takes one to three sizes, got {value!r}", hint="write block=(16, 16)")
    return sizes
