"""Patience of a program that runs alone, as in Triton's interpreter: what it waits for, no other program will write."""

from __future__ import annotations

import ctypes
import time

from tle_raw.knobs import knobs
from tle_raw.regions.waiting_regions import WaitingRegion

GO_ON, OVER, STANDSTILL = 0, 1, 2
_PAUSE = 1e-3


class SingleProgram:
    """What a region asks that waits: see ``tle_raw.flir.cpu``."""

    def __init__(self) -> None:
        self.error: BaseException | None = None  # an interrupt that came while a region waited
        self._since = 0.0
        self._others: WaitingRegion | None = None
        self._function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)(self._ask)

    @property
    def address(self) -> int:
        return ctypes.cast(self._function, ctypes.c_void_p).value or 0

    def begin(self, others: WaitingRegion | None = None) -> None:
        """``others`` is asked in place of patience, where others of the program can run meanwhile."""
        self.error, self._since, self._others = None, time.monotonic(), others

    def _ask(self, _context: int, news: int) -> int:
        try:
            if self._others is not None:
                self._others.wait()
                return GO_ON
            if news:
                self._since = time.monotonic()
            time.sleep(_PAUSE)
            return STANDSTILL if time.monotonic() - self._since > knobs.cpu.patience else GO_ON
        except BaseException as e:  # ctypes would print it, and go on
            self.error = e
            return OVER

    @property
    def described(self) -> str:
        return (
            f"one program runs at a time here, and memory has not changed for {knobs.cpu.patience:g} s: "
            "launch the kernel, rather than running it alone or in the interpreter"
        )
