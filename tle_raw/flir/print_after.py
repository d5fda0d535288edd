"""Show a module after one of FLIR's passes, as ``TLE_RAW_PRINT_AFTER=<pass|all>`` asks."""

from __future__ import annotations

import sys

from tle_raw.knobs import knobs


def print_after(name: str, text: str) -> None:
    """Write ``text`` to standard error when the knob names this pass."""
    wanted = knobs.print_after
    if wanted and (wanted == "all" or name in wanted.split(",")):
        print(f"// ----- tle_raw after {name} -----\n{text}", file=sys.stderr)
