"""The threads that launches run on: they stay for the process, each with its own memory."""

from __future__ import annotations

import math
import os
import queue
import threading
import time

from tle_raw.targets.cpu.contexts import Context
from tle_raw.targets.cpu.launch import Launch, Progress
from tle_raw.targets.cpu.utilities import threads_of_a_launch

# Waking threads pays when at least this much work is left; it takes some 10 to 30 us until they run.
WORTH_WAKING = 100e-6
# A chunk is at least as long as taking it is worth, and at most as long as an interrupt may wait.
SHORTEST_CHUNK, LONGEST_CHUNK = 50e-6, 50e-3
# So many chunks per thread even out programs of different lengths.
CHUNKS_PER_THREAD = 8


class Pool:
    """Threads, grown as launches need them, and contexts for those who launch."""

    def __init__(self) -> None:
        self._launches: queue.SimpleQueue[Launch] = queue.SimpleQueue()
        self._threads = 0
        self._growing = threading.Lock()
        self._contexts: list[Context] = []

    def run(self, launch: Launch, seconds_per_program: float | None, progress: Progress | None) -> float:
        """Run all programs. Returns the seconds that one took, for the next launch of the kernel."""
        # Each launch has its own: one kernel's hook may launch another, and so may several threads.
        context = self._contexts.pop() if self._contexts else Context()
        try:
            launch.prepare(context)
            return self._run(launch, context, seconds_per_program, progress)
        finally:
            self._contexts.append(context)

    def _run(self, launch: Launch, context: Context, estimate: float | None, progress: Progress | None) -> float:
        threads = threads_of_a_launch()
        if estimate is None:
            launch.chunk = 1
        elif estimate * launch.total > WORTH_WAKING and threads > 1:
            return self._run_together(launch, context, estimate, threads, progress)
        else:
            launch.chunk = chunk_size(launch.total, estimate, 1)
        began = time.perf_counter()
        while chunk := launch.take():
            launch.run(context, *chunk)
            estimate = (time.perf_counter() - began) / launch.begun
            left = launch.total - launch.begun
            if left and estimate * left > WORTH_WAKING and threads > 1:
                return self._run_together(launch, context, estimate, threads, progress)
            launch.chunk = chunk_size(max(left, 1), estimate, 1)
            if progress:
                progress.show(launch.begun)
        return estimate or 0.0

    def _run_together(
        self, launch: Launch, context: Context, estimate: float, threads: int, progress: Progress | None
    ) -> float:
        left = launch.total - launch.begun
        launch.chunk = chunk_size(left, estimate, threads)
        helpers = min(threads, math.ceil(left / launch.chunk), math.ceil(estimate * left / SHORTEST_CHUNK)) - 1
        self._grow(helpers)
        began, own = time.perf_counter(), 0
        for _ in range(helpers):
            self._launches.put(launch)
        try:
            while chunk := launch.take():
                launch.run(context, *chunk)
                own += chunk[1] - chunk[0]
                if progress:
                    progress.show(launch.begun)
        except BaseException:
            launch.cancel()
            raise
        finally:
            spent = time.perf_counter() - began
            launch.close(progress)
        if launch.error:
            raise launch.error
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
            self._launches.get().help(context)


def chunk_size(left: int, seconds_per_program: float, threads: int) -> int:
    """Programs per chunk: even shares for the threads, neither too short nor too long."""
    per_program = max(seconds_per_program, 1e-9)
    shares = left if threads == 1 else math.ceil(left / (threads * CHUNKS_PER_THREAD))
    size = max(shares, math.ceil(SHORTEST_CHUNK / per_program))
    return max(1, min(size, left, int(LONGEST_CHUNK / per_program) or 1))


_pool = Pool()


def pool() -> Pool:
    return _pool


def _start_again() -> None:
    """After a fork the threads are gone, and locks may be held by nobody."""
    global _pool
    _pool = Pool()


os.register_at_fork(after_in_child=_start_again)
