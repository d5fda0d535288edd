"""One launch: the programs of a grid, taken in chunks by the threads that run it."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from tle_raw.targets.cpu.contexts import CANCELLED, CODE, Context


class Launch:
    """The programs of one grid. ``begun`` of ``total`` were given to a thread.

    The thread that launches runs chunks by itself, until it shares the rest with the threads of the pool.
    """

    def __init__(
        self,
        kernel: str,
        function: Any,
        arguments: Any,
        grid: tuple[int, int, int],
        scratch_bytes: int,
        flags: int = 0,
        ranges: Any = None,
    ) -> None:
        self.kernel, self.function, self.arguments, self.grid = kernel, function, arguments, grid
        self.total = grid[0] * grid[1] * grid[2]
        self.scratch_bytes, self.flags, self.ranges = scratch_bytes, flags, ranges
        self.begun = 0

    def begin(self, context: Context) -> None:
        """Use the launching thread's context."""
        self.context, self.status, self._grid = context, context.status, context.grid
        x, y, z = self.grid
        grid = context.grid
        grid[0], grid[1], grid[2] = x, y, z
        ranges = self.ranges
        self.ranges_address = int(context.ffi.cast("intptr_t", ranges)) if ranges is not None else 0
        self.prepare(context)

    def prepare(self, context: Context) -> None:
        """Make a context one of this launch."""
        context.prepare(self.context.status_address, self.scratch_bytes, self.flags, self.ranges_address)

    def run(self, context: Context, first: int, last: int) -> None:
        """Run some of the programs, without Python's lock."""
        self.function(self.arguments, self._grid, first, last, context.pointer)

    def run_next(self, count: int) -> None:
        """Run so many of the programs that are left; only before they are shared."""
        first = self.begun
        self.begun = min(first + count, self.total)
        self.run(self.context, first, self.begun)

    @property
    def left(self) -> int:
        return self.total - self.begun

    @property
    def stopped(self) -> bool:
        return bool(self.status[CODE])

    def cancel(self) -> None:
        """Let no further program begin."""
        if not self.stopped:
            self.status[CODE] = CANCELLED

    def outcome(self) -> list[int] | None:
        """The status record when something failed. Leaves it empty for the context's next launch."""
        if not self.stopped:
            return None
        record = list(self.status)
        for index in range(len(record)):
            self.status[index] = 0
        return record


class SharedLaunch:
    """The programs that are left of a launch, for several threads."""

    def __init__(self, launch: Launch, chunk: int) -> None:
        self.launch, self.chunk = launch, chunk
        self.error: BaseException | None = None
        self._lock = threading.Lock()
        self._helpers = 0
        self._closed = False
        self._all_left = threading.Event()

    def work(self, context: Context, progress: Progress | None = None) -> int:
        """Run chunks until none is left; how many programs those were."""
        done = 0
        while chunk := self._take():
            self.launch.run(context, *chunk)
            done += chunk[1] - chunk[0]
            if progress:
                progress.show(self.launch.begun)
        return done

    def _take(self) -> tuple[int, int] | None:
        launch = self.launch
        with self._lock:
            first = launch.begun
            if first >= launch.total or launch.stopped:
                return None
            launch.begun = min(first + self.chunk, launch.total)
            return first, launch.begun

    def help(self, context: Context) -> None:
        """What a thread of the pool does."""
        with self._lock:
            if self._closed:
                return
            self._helpers += 1
        try:
            self.launch.prepare(context)
            self.work(context)
        except BaseException as e:  # the launching thread raises it
            self.error = e
            self.launch.cancel()
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
        while not self._all_left.is_set():
            try:
                if not self._all_left.wait(progress.interval if progress else None) and progress:
                    progress.show(self.launch.begun)
            except BaseException as e:
                interrupt = interrupt or e
                self.launch.cancel()
        if interrupt:
            raise interrupt


class Progress:
    """Prints how far a long launch is."""

    def __init__(self, kernel: str, total: int, interval: float) -> None:
        self.kernel, self.total, self.interval = kernel, total, interval
        self.began = self._last = time.monotonic()

    def show(self, done: int) -> None:
        """Print a line when the last one is long enough ago."""
        now = time.monotonic()
        if now - self._last < self.interval or not done:
            return
        self._last = now
        elapsed = now - self.began
        left = elapsed * (self.total - done) / done
        print(
            f"{self.kernel}: {done} of {self.total} programs ({done / self.total:.0%}) begun in {elapsed:.0f} s, "
            f"about {left:.0f} s left",
            file=sys.stderr,
            flush=True,
        )
