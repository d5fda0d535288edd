"""TileLang itself: imported when a fragment needs it, and only in a version that was tried."""

from __future__ import annotations

import functools
import re
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from tle_raw.errors import Row, ToolchainError

OLDEST, BEFORE = (0, 1, 15), (0, 2)
RANGE = "tilelang>=0.1.15,<0.2"


def installed_version() -> str:
    """The version of the installed package.

    Raises
    ------
    ToolchainError : there is none, or one outside the tested range.
    """
    try:
        found = version("tilelang")
    except PackageNotFoundError as e:
        raise ToolchainError("fragments of dialect 'tilelang' need TileLang", hint=f"pip install '{RANGE}'") from e
    check_version(found)
    return found


def check_version(found: str) -> None:
    """Refuse what was never tried: TileLang's IR changes from one version to the next."""
    numbers = tuple(int(n) for n in re.findall(r"\d+", found.split("+")[0])[:3])
    if not OLDEST <= numbers < BEFORE:
        raise ToolchainError(
            "this version of TileLang is outside the tested range",
            table=[Row("tilelang", ">=0.1.15, <0.2", found)],
            hint=f"pip install '{RANGE}'",
        )


@functools.cache
def load_tilelang() -> ModuleType:
    """The package; its import takes about two seconds and puts ``tvm`` on the path."""
    installed_version()
    try:
        import tilelang
    except Exception as e:  # a broken installation fails in many ways: a missing library, another torch
        raise ToolchainError(f"TileLang cannot be imported: {e}", hint=f"pip install '{RANGE}'") from e
    return tilelang
