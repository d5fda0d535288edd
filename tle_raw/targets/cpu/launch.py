"""One launch: the programs of a grid, taken in chunks by the threads that run it."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from tle_raw.targets.cpu.contexts import Context, load_cffi

CANCELLED = -1  # a code that no check has: programs that have not begun return at once
CODE, PROGRAM, DETAIL = 0, slice(1, 4), slice(4, 8)
STATUS_FIELDS = 8


class Launch:
    """What all threads of one launch share. ``total`` programs; ``begun`` of them were given to a thread."""

    def __init__(
        self, function: Any, arguments: Any, grid: Any, total: int, scratch_bytes: int, flags: int, ranges: Any
    ) -> None:
        ffi = load_cffi()
        self.function, self.arguments, self.grid, self.total = function, arguments, grid, total
        self.scratch_bytes, self.flags = scratch_bytes, flags
        self._ranges = ranges
        self._range_address = int(ffi.cast("intptr_t", ranges)) if ranges is not None else 0
        self.status = ffi.new(f"int64_t[{STATUS_FIELDS}]")
        self._status_address = int(ffi.cast("intptr_t", self.status))
        self.begun = 0
        self.chunk = 1
        self.error: BaseException | None = None
        self._lock = threading.Lock()
        self._helpers = 0
        self._closed = False
        self._all_left = threading.Event()

    def prepare(self, context: Context) -> None:
        context.prepare(self._status_address, self.scratch_bytes, self.flags, self._range_address)

    def run(self, context: Context, first: int, last: int) -> None:
        self.function(self.arguments, self.grid, first, last, context.pointer)

    @property
    def stopped(self) -> bool:
        return bool(self.status[CODE])

    def cancel(self) -> None:
        """Let no further program begin."""
        if not self.stopped:
            self.status[CODE] = CANCELLED

    def take(self) -> tuple[int, int] | None:
        """The next chunk; None when nothing is left to begin."""
        with self._lock:
            first = self.begun
            if first >= self.total or self.stopped:
                return None
            self.begun = last = min(first + self.chunk, self.total)
        return first, last

    def help(self, context: Context) -> None:
        """What a thread of the pool does for this launch."""
        with self._lock:
            if self._closed:
                return
            self._helpers += 1
        try:
            self.prepare(context)
            while chunk := self.take():
                self.run(context, *chunk)
        except BaseException as e:  # the launching thread raises it
            self.error = e
            self.cancel()
        finally:
            with self._lock:
                self._helpers -= 1
                if self._closed and not self._helpers:
                    self._all_left.set()

    def close(self, progress: Progress | None) -> None:
        """Wait for the helpers: they work on the caller's memory, so that nothing may interrupt this."""
        with self._lock:
            self._closed = True
            if not self._helpers:
                return
        interrupt = None
        while True:
            try:
                while not self._all_left.wait(progress.interval if progress else None):
                    if progress:
                        progress.show(self.begun)
                break
            except BaseException as e:
                interrupt = interrupt or e
                self.cancel()
        if interrupt:
            raise interrupt


class Progress:
    """Prints how far a long launch is."""

    def __init__(self, kernel: str, total: int, interval: float) -> None:
        self.kernel, self.total, self.interval = kernel, total, interval
        self.began = self._last = time.monotonic()

    def show(self, done: int) -> None:
        now = time.monotonic()
        if now - self._last < self.interval or not done:
            return
        self._last = now
        elapsed = now - self.began
        left = elapsed * (self.total - done) / done
        print(
            f"{self.kernel}: {done} of {self.total} programs ({done / self.total:.0%}) in {elapsed:.0f} s, "
            f"about {left:.0f} s left",
            file=sys.stderr,
            flush=True,
        )
