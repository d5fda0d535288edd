"""Checks what the user wrote in ``dialect("ptx", …)``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tle_raw.errors import DialectError
from tle_raw.fragments.options import absolute_path, known_options

NAMES = ("file", "source", "symbol")
ALIASES = {"extern_func_name": "symbol"}  # FlagTree's name


@dataclass(frozen=True)
class Options:
    """``file``, an absolute path, or ``source`` is set."""

    file: Path | None
    source: str | None
    symbol: str | None


def read_options(options: Mapping[str, Any], folder: Path) -> Options:
    """Validate the options of a declaration.

    Raises
    ------
    DialectError : an option is unknown or has a value of the wrong type.
    """
    wanted = {name: value for name, value in options.items() if value is not None}
    given = known_options("ptx", wanted, NAMES, ALIASES)
    if ("file" in given) == ("source" in given):
        both = "both" if "file" in given else "neither"
        raise DialectError(f"the ptx dialect takes file= or source=, got {both}", hint='write file="scale.ptx"')
    for name in ("source", "symbol"):
        if not isinstance(given.get(name, ""), str):
            raise DialectError(f"{name}= takes text, got {given[name]!r}")
    symbol = given.get("symbol", "").strip() or None
    return Options(
        absolute_path("file", given["file"], folder) if "file" in given else None, given.get("source"), symbol
    )
