"""One launch: the programs of a grid, taken in chunks by the threads that run it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from tle_raw.flir.cpu.context_fields import END, NUMBER
from tle_raw.targets.cpu.access_logs import AccessLog
from tle_raw.targets.cpu.arrays import Range
from tle_raw.targets.cpu.contexts import CANCELLED, CODE, Context
from tle_raw.targets.cpu.waiting import TogetherWith, Waits
from tle_raw.targets.cpu.watch import NOWHERE, Watch

_MAKING = threading.Lock()  # of what few launches need


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
        *,
        waiting_threads: int = 0,
        checks: Sequence[Mapping[str, Any]] = (),
        world: TogetherWith | None = None,
    ) -> None:
        self.kernel, self.function, self.arguments, self.grid = kernel, function, arguments, grid
        self.total = grid[0] * grid[1] * grid[2]
        self.scratch_bytes, self.flags, self.ranges = scratch_bytes, flags, ranges
        self.checks, self.world = checks, world
        self.watch: Watch | None = None  # of a launch that is watched for races
        self.begun = 0
        self.shared: SharedLaunch | None = None
        self.error: BaseException | None = None
        # Programs of so many threads may wait for each other; 0: none does.
        self.waiting_threads = waiting_threads
        self.waits: Waits | None = None  # once one has waited

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
        if self.waiting_threads:
            context.listen(self)

    def run(self, context: Context, first: int, last: int) -> None:
        """Run some of the programs, without Python's lock."""
        self.call(context, first, last, self.log(first))
        if self.waits:
            self.waits.ended(context)

    def log(self, number: int, own: Range = NOWHERE) -> AccessLog | None:
        """A log for a program, where the launch is watched. ``own`` is memory of its group."""
        if self.watch is None:
            return None
        return self.watch.log(self.program(number), self.kernel, self.checks, own)

    def call(self, context: Context, first: int, last: int, log: AccessLog | None) -> None:
        """Run some of the programs; one where it has a log."""
        if log is not None:
            log.attach(context)
        try:
            self.function(self.arguments, self._grid, first, last, context.pointer)
        finally:
            if log is not None:
                log.detach(context)

    def run_next(self, count: int) -> None:
        """Run so many of the programs that are left; only before they are shared."""
        first, count = self.begun, 1 if self.watch is not None else count
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

    def fail(self, error: BaseException) -> None:
        """Let no further program begin, and the launching thread raise this."""
        self.error = self.error or error
        self.cancel()

    def ask(self, context: Context, news: int) -> int:
        """Whether a program that waits shall go on: see ``Waits.ask``."""
        return self.made_waits().ask(context, bool(news))

    def made_waits(self) -> Waits:
        """Who waits, from the first time on."""
        with _MAKING:
            if self.waits is None:
                self.waits = Waits(self, self.waiting_threads)
            return self.waits

    @property
    def running(self) -> int:
        """How many programs run at most: each thread has one."""
        return self.shared_one_by_one().workers

    def give_back(self, context: Context) -> None:
        """What was given to a thread, and has not begun, is for others: its program waits."""
        fields = context.fields
        self.shared_one_by_one().give_back(fields[NUMBER] + 1, fields[END])
        fields[END] = fields[NUMBER] + 1

    def release(self) -> None:
        """After the launch, and after its error was made: give back what threads of its own had."""
        if self.waits:
            self.waits.release()

    def shared_one_by_one(self) -> SharedLaunch:
        """The launch as its threads share it, in chunks of one program from now on."""
        with _MAKING:
            if self.shared is None:
                self.shared = SharedLaunch(self, 1)
            self.shared.chunk = 1
            return self.shared

    def program(self, number: int) -> tuple[int, int, int]:
        """The ids of a program: x counts fastest."""
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)

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
        self.launch, self.chunk = launch, 1 if launch.watch is not None else chunk
        self._lock = threading.Lock()
        self._given_back: list[tuple[int, int]] = []  # begun chunks' programs that have not begun
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
            if launch.stopped:
                return None
            if self._given_back:
                return self._take_given_back()
            first = launch.begun
            if first >= launch.total:
                return None
            launch.begun = min(first + self.chunk, launch.total)
            return first, launch.begun

    def _take_given_back(self) -> tuple[int, int]:
        first, last = self._given_back.pop(0)
        if first + self.chunk < last:
            self._given_back.insert(0, (first + self.chunk, last))
        return first, min(first + self.chunk, last)

    def give_back(self, first: int, last: int) -> None:
        """Programs of a begun chunk, for whoever is free: the lowest ones go first."""
        if first < last:
            with self._lock:
                self._given_back = sorted([*self._given_back, (first, last)])

    def programs_left(self) -> int:
        """How many have not begun."""
        return self.launch.left + sum(last - first for first, last in self._given_back)

    @property
    def workers(self) -> int:
        """How many threads run programs."""
        return self._helpers + (not self._closed)

    def help(self, context: Context) -> None:
        """What a thread of the pool does."""
        with self._lock:
            if self._closed:
                return
            self._helpers += 1
        try:
            self.work_as_helper(context)
        finally:
            self.exit()

    def has_room(self, most: int) -> bool:
        """Whether programs are left, and fewer than ``most`` threads are here. After the launch none is."""
        return 0 < self.workers < most and self.programs_left() > 0 and not self.launch.stopped

    def enter(self, most: int) -> bool:
        """Count one helper more, where there is room."""
        with self._lock:
            enters = self.has_room(most)
            self._helpers += enters
            return enters

    def work_as_helper(self, context: Context) -> None:
        """Run chunks until none is left; what goes wrong, the launching thread raises."""
        try:
            self.launch.prepare(context)
            self.work(context)
        except BaseException as e:
            self.launch.fail(e)

    def exit(self) -> None:
        """Count one helper less."""
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
