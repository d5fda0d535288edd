"""Checks what the user wrote in ``dialect("llvm", …)``."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tle_raw.errors import DialectError

NAMES = ("file", "source", "symbol")
ALIASES = {"extern_func_name": "symbol"}  # FlagTree's name
IGNORED = ("inline",)  # the hub's own


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
    given = {ALIASES.get(name, name): value for name, value in options.items() if value is not None}
    for name in given:
        if name not in (*NAMES, *IGNORED):
            near = difflib.get_close_matches(name, [*NAMES, *ALIASES])
            raise DialectError(
                f"the llvm dialect takes no option `{name}`",
                hint=f"did you mean {' or '.join(near)}?" if near else "it takes " + ", ".join(NAMES),
            )
    if ("file" in given) == ("source" in given):
        both = "both" if "file" in given else "neither"
        raise DialectError(f"the llvm dialect takes file= or source=, got {both}", hint='write file="scale.ll"')
    for name in ("source", "symbol"):
        if not isinstance(given.get(name, ""), str):
            raise DialectError(f"{name}= takes text, got {given[name]!r}")
    file = given.get("file")
    if file is not None and (not isinstance(file, (str, os.PathLike)) or not os.fspath(file)):
        raise DialectError(f"file= takes a path, got {file!r}")
    symbol = given.get("symbol", "").strip().removeprefix("@") or None
    return Options(_absolute(file, folder) if file is not None else None, given.get("source"), symbol)


def _absolute(file: str | os.PathLike[str], folder: Path) -> Path:
    return Path(os.path.normpath(folder.absolute() / Path(file).expanduser()))
