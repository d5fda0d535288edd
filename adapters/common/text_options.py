"""Checks what the user wrote in ``dialect(…)`` of a language whose options are a file or a text, and a symbol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tle_raw.errors import DialectError
from tle_raw.fragments.options import absolute_path, known_options

_NAMES = ("file", "source", "symbol")
_ALIASES = {"extern_func_name": "symbol"}  # FlagTree's name


@dataclass(frozen=True)
class TextOptions:
    """``file``, an absolute path, or ``source`` is set."""

    file: Path | None
    source: str | None
    symbol: str | None


def read_text_options(
    dialect: str, example: str, options: Mapping[str, Any], folder: Path, sigil: str = ""
) -> TextOptions:
    """Validate the options of a declaration.

    ``example`` is a file's name, for a hint; ``sigil`` is what the language writes in front of a symbol.

    Raises
    ------
    DialectError : an option is unknown or has a value of the wrong type.
    """
    wanted = {name: value for name, value in options.items() if value is not None}
    given = known_options(dialect, wanted, _NAMES, _ALIASES)
    if ("file" in given) == ("source" in given):
        both = "both" if "file" in given else "neither"
        raise DialectError(f"the {dialect} dialect takes file= or source=, got {both}", hint=f'write file="{example}"')
    for name in ("source", "symbol"):
        if not isinstance(given.get(name, ""), str):
            raise DialectError(f"{name}= takes text, got {given[name]!r}")
    file = absolute_path("file", given["file"], folder) if "file" in given else None
    symbol = given.get("symbol", "").strip().removeprefix(sigil) or None
    return TextOptions(file, given.get("source"), symbol)
