"""Launches whose programs run in groups: the blocks of a cluster, or all of a grid that meets at barriers.

A group begins with all of its programs, each on a thread and with memory of its own, and the next one when all are
done: others may still read what a program has in its memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

from tle_raw.errors import LaunchError, Row
from tle_raw.flir.cpu.context_fields import END, GROUP, MEMBER, NUMBER
from tle_raw.targets.cpu.contexts import Context, load_cffi
from tle_raw.targets.cpu.launch import Launch
from tle_raw.targets.cpu.meetings import Meetings

# Programs that run together: each takes a thread of the machine.
MOST_TOGETHER = 1024
_RECORD_WORDS = 4  # of a group's record, in front of the contexts


class Groups(NamedTuple):
    """Which programs of a kernel run together.

    Attributes
    ----------
    blocks : of a cluster; 0 for none.
    programs : how many the kernel's mesh of blocks has; 0 where it does not say.
    meets : not None where all of the grid meets; then how many programs that must be, or 0.
    """

    blocks: int
    programs: int
    meets: int | None


def group_size(grid: tuple[int, int, int], kernel: str, groups: Groups) -> int:
    """How many programs of a launch run together; 0 where they run one by one.

    Raises
    ------
    LaunchError : a grid that is not made of whole clusters, or of other blocks than the mesh says; too many programs.
    """
    blocks, programs, meets = groups
    total = grid[0] * grid[1] * grid[2]
    if blocks and grid[0] % blocks:
        raise _misfit(
            kernel, "first axis of the grid", f"a multiple of {blocks}, the blocks of a cluster", str(grid[0])
        )
    if programs and grid[0] % programs:
        raise _misfit(
            kernel, "first axis of the grid", f"a multiple of {programs}, the blocks of the mesh", str(grid[0])
        )
    if meets and total != meets:
        raise _misfit(kernel, "programs", f"{meets}, which the barrier's mesh has", f"{total}: grid {grid}")
    if meets is None:
        return blocks
    if total > MOST_TOGETHER:
        raise LaunchError(
            f"kernel `{kernel}` has a barrier of all programs, and so many cannot run at the same time on the CPU",
            table=[Row("programs", f"at most {MOST_TOGETHER}", f"{total}: grid {grid}")],
        )
    return total


def _misfit(kernel: str, what: str, expected: str, got: str) -> LaunchError:
    return LaunchError(f"the grid does not fit the mesh of kernel `{kernel}`", table=[Row(what, expected, got)])


class GroupLaunch(Launch):
    """One launch, in groups of so many programs. What a ``Launch`` counts are groups here."""

    def __init__(self, *arguments: Any, together: int, blocks: int, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.together, self.blocks = together, blocks or together
        self.total //= together
        self._lock = threading.Lock()
        self._contexts: list[Context] = []  # all that were made
        self._idle: list[Context] = []
        self._meetings: dict[Context, tuple[Meetings, Context]] = {}  # and of the thread that has begun the group
        self._threads = ThreadPoolExecutor(max_workers=2 * MOST_TOGETHER, thread_name_prefix="tle_raw-block")
        self._running = 0

    @property
    def running(self) -> int:
        """How many programs have begun and are not done."""
        return self._running

    def run(self, context: Context, first: int, last: int) -> None:
        """Run some of the groups."""
        context.fields[END], group = last, first
        while group < context.fields[END] and not self.stopped:
            context.fields[NUMBER] = group
            self._run_group(context, group)
            group += 1

    def _run_group(self, leader: Context, group: int) -> None:
        first, record = group * self.together, load_cffi().new(f"int64_t[{_RECORD_WORDS + self.together}]")
        meetings = Meetings(self, record, first, self.together, self.blocks)
        contexts = self._take(self.together)
        record[1], record[2], record[3] = self.scratch_bytes, self.together, self.blocks
        for member, context in enumerate(contexts):
            self.prepare(context)
            record[_RECORD_WORDS + member] = context.address
            context.fields[GROUP], context.fields[MEMBER] = context.address_of(record), member
            self._meetings[context] = meetings, leader
        with self._lock:
            self._running += self.together
        others = [self._threads.submit(self._run_program, c, first + n) for n, c in enumerate(contexts) if n]
        try:
            self._run_program(contexts[0], first)
        finally:
            self._join(others)
            self._idle += contexts

    def _run_program(self, context: Context, number: int) -> None:
        try:
            self.function(self.arguments, self._grid, number, number + 1, context.pointer)
        finally:
            self._meetings[context][0].leave(context)
            with self._lock:
                self._running -= 1
            if self.waits:
                self.waits.ended(context)

    def _join(self, others: list[Future[None]]) -> None:
        """They work on memory of this launch, so that nothing may interrupt this."""
        interrupt = None
        while others:
            try:
                others = list(wait(others).not_done)
            except BaseException as e:
                interrupt = interrupt or e
                self.cancel()
        if interrupt:
            raise interrupt

    def _take(self, count: int) -> list[Context]:
        with self._lock:
            while len(self._idle) < count:
                self._idle.append(Context())
                self._contexts.append(self._idle[-1])
            taken, self._idle = self._idle[:count], self._idle[count:]
            return taken

    def ask(self, context: Context, news: int) -> int:
        """A program waits for memory, or for others of its group."""
        if news <= 1:
            return super().ask(context, news)
        self.made_waits()
        return self._meetings[context][0].ask(context, news)

    def block(self, context: Context, what: Callable[[], str], still: Callable[[], bool]) -> None:
        """A program sleeps until something is not so any more."""
        self.made_waits().block(context, what, still)

    def unblock(self, context: Context) -> None:
        """It goes on."""
        self.made_waits().unblock(context)

    def give_back(self, context: Context) -> None:
        """The groups that were given to the thread of a program, and have not begun, are for others."""
        with self._lock:
            super().give_back(self._meetings[context][1])

    def release(self) -> None:
        """Give back what its threads had."""
        super().release()
        self._threads.shutdown()
        for context in self._contexts:
            context.release()
        self._contexts.clear()
