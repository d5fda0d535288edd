"""The threads that launches run on: they stay for the process, each with its own memory."""

from __future__ import annotations

import math
import os
import queue
import threading
import time

from tle_raw.knobs import knobs
from tle_raw.targets.cpu.contexts import Context
from tle_raw.targets.cpu.launch import Launch, Progress, SharedLaunch
from tle_raw.targets.cpu.utilities import threads_of_a_launch

# Waking threads pays when at least this much work is left; it takes some 10 to 30 us until they run.
WORTH_WAKING = 100e-6
# A chunk is at least as long as taking it is worth, and at most as long as an interrupt may wait.
SHORTEST_CHUNK, LONGEST_CHUNK = 50e-6, 50e-3
# Taking a chunk holds Python's lock for some microseconds, which all threads wait for: the more threads, the longer a
# chunk must be for that not to count (on 16 cores, 8 chunks of 0.2 ms each cost as much again as a vector addition).
LOCKED = 40e-6
# So many chunks per thread even out programs of different lengths.
CHUNKS_PER_THREAD = 8


class Pool:
    """Threads, grown as launches need them, and contexts for those who launch."""

    def __init__(self) -> None:
        self._shared: queue.SimpleQueue[SharedLaunch] = queue.SimpleQueue()
        self._threads = 0
        self._growing = threading.Lock()
        self._contexts: list[Context] = []

    def run(self, launch: Launch, seconds_per_program: float) -> tuple[float, list[int] | None]:
        """Run all programs.

        Parameters
        ----------
        seconds_per_program : what one took in an earlier launch, 0 when there was none.

        Returns
        -------
        What one took now, and the status record if a check failed.
        """
        try:
            # Each launch has its own: one kernel's hook may launch another, and so may several threads.
            context = self._contexts.pop()
        except IndexError:
            context = Context()
        try:
            launch.begin(context)
            seconds = self._run(launch, seconds_per_program)
        finally:
            outcome = launch.outcome()
            self._contexts.append(context)
        if launch.error:
            raise launch.error
        return seconds, outcome

    def _run(self, launch: Launch, estimate: float) -> float:
        """Alone for as long as that is faster; one program says how long the others will take."""
        if not self._is_long(launch, estimate):
            began = time.perf_counter()
            launch.run_next(programs_within(SHORTEST_CHUNK, estimate) if estimate else 1)
            while launch.left and not launch.stopped and not launch.shared:
                estimate = (time.perf_counter() - began) / launch.begun
                if self._is_long(launch, estimate):
                    break
                launch.run_next(programs_within(LONGEST_CHUNK, estimate))
            else:
                if not launch.shared:
                    return (time.perf_counter() - began) / launch.begun
        if launch.shared:  # a program has waited for others
            return self._run_shared(launch, launch.shared, estimate)
        return self._run_long(launch, estimate)

    def _is_long(self, launch: Launch, estimate: float) -> bool:
        return estimate * launch.left > WORTH_WAKING and launch.left > 1

    def _run_long(self, launch: Launch, estimate: float) -> float:
        threads = threads_of_a_launch()
        left = launch.left
        shared = launch.shared = SharedLaunch(launch, chunk_size(left, estimate, threads))
        helpers = min(threads, math.ceil(left / shared.chunk), math.ceil(estimate * left / SHORTEST_CHUNK)) - 1
        self._grow(helpers)
        for _ in range(helpers):
            self._shared.put(shared)
        return self._run_shared(launch, shared, estimate)

    def _run_shared(self, launch: Launch, shared: SharedLaunch, estimate: float) -> float:
        interval = knobs.cpu.progress
        progress = Progress(launch.kernel, launch.total, interval) if interval else None
        began, own = time.perf_counter(), 0
        try:
            own = shared.work(launch.context, progress)
        except BaseException:
            launch.cancel()
            raise
        finally:
            spent = time.perf_counter() - began
            shared.close(progress)
        return spent / own if own else estimate

    def _grow(self, threads: int) -> None:
        if self._threads >= threads:
            return
        with self._growing:
            while self._threads < threads:
                self._threads += 1
                # A daemon: a thread that waits for launches must not keep the process alive.
                name = f"tle_raw-cpu-{self._threads}"
                threading.Thread(target=self._serve, name=name, daemon=True).start()

    def _serve(self) -> None:
        context = Context()
        while True:
            self._shared.get().help(context)


def programs_within(seconds: float, seconds_per_program: float) -> int:
    """How many programs fit into a time; at least one."""
    return int(seconds / (seconds_per_program + 1e-12)) or 1


def chunk_size(left: int, seconds_per_program: float, threads: int) -> int:
    """Programs per chunk: even shares for the threads, neither too short nor too long."""
    share = math.ceil(left / (threads * CHUNKS_PER_THREAD))
    worth = programs_within(max(SHORTEST_CHUNK, threads * LOCKED), seconds_per_program)
    size = max(share, min(worth, math.ceil(left / threads)), programs_within(SHORTEST_CHUNK, seconds_per_program))
    return max(1, min(size, left, programs_within(LONGEST_CHUNK, seconds_per_program)))


_pool = Pool()


def pool() -> Pool:
    """The process's pool."""
    return _pool


def _start_again() -> None:
    """After a fork the threads are gone, and locks may be held by nobody."""
    global _pool
    _pool = Pool()


os.register_at_fork(after_in_child=_start_again)
