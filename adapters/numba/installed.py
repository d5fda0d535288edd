"""Numba's CUDA target: imported when a fragment needs it, in a version that was tried."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from tle_raw.tested_package import TestedPackage

PACKAGE = TestedPackage("numba-cuda", "Numba's CUDA target", "numba", "0.30", "0.31")
_LOCK = threading.RLock()


def load() -> Any:
    """``numba.cuda``; no driver is needed.

    Raises
    ------
    ToolchainError : it is missing, outside the tested range, or broken.
    """
    PACKAGE.installed_version()
    try:
        from numba import cuda
    except Exception as error:
        raise PACKAGE.broken(error) from error
    return cuda


@contextlib.contextmanager
def capability_of(capability: tuple[int, int]) -> Iterator[None]:
    """Numba asks the driver for a device when a function calls another; here it gets the capability alone."""
    from numba.cuda import dispatcher

    with _LOCK:
        asked = dispatcher.get_current_device
        dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
        try:
            yield
        finally:
            dispatcher.get_current_device = asked
