"""cuTile itself: imported when a fragment needs it, in a version that was tried, and if its IR is the known one."""

from __future__ import annotations

import functools
import re
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from tle_raw.errors import Row, ToolchainError

OLDEST, BEFORE = (1, 6), (1, 8)
RANGE = "cuda-tile>=1.6,<1.8"


def installed_version() -> str:
    """The version of the installed package.

    Raises
    ------
    ToolchainError : there is none, or one outside the tested range.
    """
    try:
        found = version("cuda-tile")
    except PackageNotFoundError as e:
        raise ToolchainError("fragments of dialect 'cutile' need cuTile", hint=f"pip install '{RANGE}'") from e
    check_version(found)
    return found


def check_version(found: str) -> None:
    """Refuse what was never tried: cuTile promises that its bytecode stays, not that its typed IR does."""
    numbers = tuple(int(n) for n in re.findall(r"\d+", found.split("+")[0])[:2])
    if not OLDEST <= numbers < BEFORE:
        raise ToolchainError(
            "this version of cuTile is outside the tested range",
            table=[Row("cuda-tile", ">=1.6, <1.8", found)],
            hint=f"pip install '{RANGE}'",
        )


@functools.cache
def load_cutile() -> ModuleType:
    """The package, after its typed IR was compared with what this release knows.

    Raises
    ------
    ToolchainError : it is missing, outside the range, broken, or its typed IR is another one.
    """
    found = installed_version()
    try:
        import cuda.tile
    except Exception as e:  # a broken installation fails in many ways
        raise ToolchainError(f"cuTile cannot be imported: {e}", hint=f"pip install '{RANGE}'") from e
    from tle_raw.adapters.cutile.drift import check_typed_ir

    check_typed_ir(found)
    return cuda.tile
