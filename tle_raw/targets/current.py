"""Which target the next launch is for."""

from __future__ import annotations

from tle_raw.knobs import knobs
from tle_raw.target import Target, parse_target


def current_target() -> Target:
    """Where the next launch runs; on a machine without a GPU, what ``knobs.target`` says, or ``cuda:90``."""
    import triton  # whose import asks this package's own backend for its driver

    try:
        current = triton.runtime.driver.active.get_current_target()
    except RuntimeError:
        return parse_target(knobs.target or "cuda:90")
    return Target(str(current.backend), current.arch if isinstance(current.arch, int) else 0)
