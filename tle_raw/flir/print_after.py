"""Show a module after one of FLIR's passes, as ``TLE_RAW_PRINT_AFTER=<pass|all>`` asks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tle_raw.flir.passes import ALL
from tle_raw.knobs import knobs


def print_after(name: str, text: str | Callable[[], str]) -> None:
    """Write ``text``, or what it gives, to standard error when the knob names this pass."""
    wanted = knobs.print_after
    if wanted and not {ALL, name}.isdisjoint(wanted.split(",")):
        print(f"// ----- tle_raw after {name} -----\n{text if isinstance(text, str) else text()}", file=sys.stderr)


def with_locations(module: Any) -> str:
    """A module's text, its locations as aliases at the end."""
    return str(module.operation.get_asm(enable_debug_info=True, pretty_debug_info=False, assume_verified=True))
