"""Checks that the options of every dialect share: known names, paths."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tle_raw.errors import DialectError
from tle_raw.near_names import did_you_mean

IGNORED = ("inline",)  # the core's own
# U+DC80 to U+DCFF stand for bytes of a file's name that are no UTF-8.
_UNUSABLE = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


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
            raise DialectError(
                f"the {dialect} dialect takes no option `{name}`",
                hint=did_you_mean(name, [*names, *aliases], "it takes " + ", ".join(names), most=3),
            )
        if value is not None:
            _check_characters(known, value)
            given[known] = value
    return given


def _check_characters(name: str, value: object) -> None:
    """Programs and files take no text with a zero in it, nor half of a surrogate pair.

    Raises
    ------
    DialectError : a text or a path of the value holds one. The name of a file that is no UTF-8 may, as Python gives it.
    """
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if isinstance(value, (list, tuple)):
        for item in value:
            _check_characters(name, item)
    elif isinstance(value, (str, os.PathLike)):
        text = os.fsdecode(value)
        wrong = (_NO_TEXT if name == "source" else _UNUSABLE).search(text)
        if wrong:
            line = text.count("\n", 0, wrong.start()) + 1
            raise DialectError(f"{name}= holds the character U+{ord(wrong[0]):04X}, in its line {line}")


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
    try:
        return Path(os.path.normpath(folder.absolute() / Path(os.fsdecode(value)).expanduser()))
    except RuntimeError as error:  # nobody of that name has a home
        raise DialectError(f"{name}={value!r} is no path here: {error}") from None
