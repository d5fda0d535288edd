"""Numba's CUDA target: imported when a fragment needs it, in a version that was tried."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from tle_raw.adapters.common.tested_package import TestedPackage
from tle_raw.thread_lock import ThreadLock

PACKAGE = TestedPackage("numba-cuda", "Numba's CUDA target", "numba", "0.30", "0.31")


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


class _Driver:
    """Numba's question for a device, while it is answered here."""

    def __init__(self) -> None:
        self.lock = ThreadLock(self.give_back)
        self._asked: Any = None

    def answer(self, capability: tuple[int, int]) -> Any:
        from numba.cuda import dispatcher

        before = dispatcher.get_current_device
        self._asked = self._asked or before
        dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
        return before

    def give_back(self, before: Any = None) -> None:
        """To the call around this one; after a fork, whose other threads are gone, to Numba itself."""
        from numba.cuda import dispatcher

        dispatcher.get_current_device = before or self._asked or dispatcher.get_current_device
        if before in (None, self._asked):
            self._asked = None


_DRIVER = _Driver()


@contextlib.contextmanager
def capability_of(capability: tuple[int, int]) -> Iterator[None]:
    """Numba asks the driver for a device when a function calls another; here it gets the capability alone."""
    with _DRIVER.lock:
        before = _DRIVER.answer(capability)
        try:
            yield
        finally:
            _DRIVER.give_back(before)
