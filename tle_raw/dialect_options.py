"""Checks that the options of every dialect share: known names, paths."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tle_raw.errors import DialectError

IGNORED = ("inline",)  # the hub's own


def known_options(
    dialect: str, options: Mapping[str, Any], names: Sequence[str], aliases: Mapping[str, str]
) -> dict[str, Any]:
    """The options that have a value, under the dialect's own names.

    Raises
    ------
    DialectError : the dialect has no option of that name.
    """
    given: dict[str, Any] = {}
    for name, value in options.items():
        known = aliases.get(name, name)
        if known in IGNORED:
            continue
        if known not in names:
            near = difflib.get_close_matches(name, [*names, *aliases])
            raise DialectError(
                f"the {dialect} dialect takes no option `{name}`",
                hint=f"did you mean {' or '.join(near)}?" if near else "it takes " + ", ".join(names),
            )
        if value is not None:
            given[known] = value
    return given


def wrong_type(name: str, expected: str, value: object) -> DialectError:
    """The error of an option whose value is of another kind."""
    return DialectError(f"{name}= takes {expected}, got {value!r}")


def absolute_path(name: str, value: object, folder: Path) -> Path:
    """The path that the option ``name`` gives; a relative one starts at ``folder``.

    Raises
    ------
    DialectError : the value is no path.
    """
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise wrong_type(name, "a path", value)
    return Path(os.path.normpath(folder.absolute() / Path(os.fsdecode(value)).expanduser()))
