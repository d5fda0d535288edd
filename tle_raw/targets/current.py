"""Which target the next launch is for."""

from __future__ import annotations

from pathlib import Path

from tle_raw.knobs import knobs
from tle_raw.target import Target, parse_target

_CONTROL = Path("/dev/nvidiactl")  # NVIDIA's driver


def current_target() -> Target:
    """Where the next launch runs; on a machine without a GPU, what ``knobs.target`` says, or ``cuda:90``."""
    import triton  # whose import asks this package's own backend for its driver

    try:
        current = triton.runtime.driver.active.get_current_target()
    except RuntimeError:
        return parse_target(knobs.target or "cuda:90")
    return Target(str(current.backend), current.arch if isinstance(current.arch, int) else 0)


def likely_target() -> Target:
    """The same as far as it is known without asking a driver, which must not begin in a process that may yet fork."""
    return parse_target(knobs.target or ("cuda:90" if _CONTROL.exists() else "cpu"))
