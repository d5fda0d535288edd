"""Launches whose programs run in groups: the blocks of a cluster, or all of a grid that meets at barriers.

A group begins with all of its programs, each on a thread and with memory of its own, and the next one when all are
done: others may still read what a program has in its memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from math import prod
from typing import Any

from tle_raw.errors import LaunchError, Row
from tle_raw.flir.cpu.context_fields import END, GROUP, MEMBER, NUMBER, SCRATCH
from tle_raw.regions.clusters import MEETS
from tle_raw.targets.check_launch import check_grid
from tle_raw.targets.cpu.access_logs import LoggedProgram
from tle_raw.targets.cpu.arrays import Range
from tle_raw.targets.cpu.contexts import ALIGNMENT, Context, load_cffi
from tle_raw.targets.cpu.launch import Launch
from tle_raw.targets.cpu.meetings import Meetings

# Programs that run together: each takes a thread of the machine.
MOST_TOGETHER = 1024
_RECORD_WORDS = 4  # of a group's record, in front of the contexts


def group_size(grid: tuple[int, int, int], kernel: str, wanted: Mapping[str, Any]) -> int:
    """How many programs of a launch run together, by what the kernel's metadata says; 0 where each runs alone.

    Raises
    ------
    MeshError : a grid that does not fit the kernel's meshes. LaunchError : too many programs.
    """
    check_grid(wanted, grid)
    if not wanted[MEETS]:
        return int(wanted["cluster"])
    total = grid[0] * grid[1] * grid[2]
    if total > MOST_TOGETHER:
        raise LaunchError(
            f"kernel `{kernel}` has a barrier of all programs, and so many cannot run at the same time on the CPU",
            table=[Row("programs", f"at most {MOST_TOGETHER}", f"{total}: grid {grid}")],
        )
    return total


class _Team:
    """Contexts for a group, with scratch memory behind each other, and the group's record."""

    def __init__(self, size: int, blocks: int, scratch_bytes: int) -> None:
        ffi = load_cffi()
        self.contexts = [Context() for _ in range(size)]
        self.record = ffi.new(f"int64_t[{_RECORD_WORDS + size}]")
        self.stride = -(-scratch_bytes // ALIGNMENT) * ALIGNMENT
        self._scratch = ffi.new("char[]", self.stride * size + ALIGNMENT)
        start = -(-self.contexts[0].address_of(self._scratch) // ALIGNMENT) * ALIGNMENT
        self.memory = Range(start, start + self.stride * size)
        words = scratch_bytes, size, blocks, *(context.address for context in self.contexts)
        for number, word in enumerate(words, 1):
            self.record[number] = word

    def place(self, member: int) -> None:
        """Give a context its scratch memory, and its place in the group."""
        context = self.contexts[member]
        fields = context.fields
        fields[SCRATCH] = self.memory.start + member * self.stride
        fields[GROUP], fields[MEMBER] = context.address_of(self.record), member


class GroupLaunch(Launch):
    """One launch, in groups of so many programs. What a ``Launch`` counts are groups here.

    Each block has a place, in the order of clusters and within them of ranks. Where a cluster lies along several axes
    of the grid, ``dims`` of them along each, that is another number than the program's.
    """

    def __init__(self, *arguments: Any, together: int, dims: Sequence[int], **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.together, self.dims = together, dims
        self.blocks = prod(dims)
        self.total //= together
        self._lock = threading.Lock()
        self._teams: list[_Team] = []  # all that were made
        self._idle: list[_Team] = []
        self._meetings: dict[Context, tuple[Meetings, Context]] = {}  # and of the thread that has begun the group
        self._threads = ThreadPoolExecutor(max_workers=2 * MOST_TOGETHER, thread_name_prefix="tle_raw-block")
        self._running = 0

    @property
    def running(self) -> int:
        """How many programs have begun and are not done."""
        return self._running

    def number_at(self, place: int) -> int:
        """The number of the program at a place."""
        cluster, rank = divmod(place, self.blocks)
        number, step = 0, 1
        for count, blocks in zip(self.grid, self.dims):
            cluster, at = divmod(cluster, count // blocks)
            rank, within = divmod(rank, blocks)
            number += (at * blocks + within) * step
            step *= count
        return number

    def run(self, context: Context, first: int, last: int) -> None:
        """Run some of the groups."""
        context.fields[END], group = last, first
        while group < context.fields[END] and not self.stopped:
            context.fields[NUMBER] = group
            self._run_group(context, group)
            group += 1

    def _run_group(self, leader: Context, group: int) -> None:
        first, team = group * self.together, self._take()
        meetings = Meetings(self, team.record, first, self.together, self.blocks)
        for member, context in enumerate(team.contexts):
            self.prepare(context)
            team.place(member)
            self._meetings[context] = meetings, leader
            log = self.log(self.number_at(first + member), team.memory)
            if log is not None:
                meetings.logs[member] = log
        with self._lock:
            self._running += self.together
        others: list[Future[None]] = []
        try:
            for member, context in enumerate(team.contexts[1:], 1):
                others.append(self._threads.submit(self._run_program, context, first + member))
            self._run_program(team.contexts[0], first)
        except RuntimeError as e:
            self.fail(LaunchError(f"kernel `{self.kernel}` runs {self.together} programs together: {e}"))
            # The program whose thread did not begin is still in the queue: a thread that is free would run it, and wait
            # for the others, when the launch's failure has been told already.
            self._threads.shutdown(cancel_futures=True)
        finally:
            self._join(others)
        if meetings.logs and not self.stopped:
            self._look_for_races(meetings, team)
        self._idle.append(team)

    def _run_program(self, context: Context, place: int) -> None:
        meetings, _ = self._meetings[context]
        number = self.number_at(place)
        try:
            self.call(context, number, number + 1, meetings.logs.get(place - meetings.first))
        finally:
            meetings.leave(context)
            with self._lock:
                self._running -= 1
            if self.waits:
                self.waits.ended(context)

    def _look_for_races(self, meetings: Meetings, team: _Team) -> None:
        programs = []
        for member, log in meetings.logs.items():
            name = f"program {meetings.program(member)} of `{self.kernel}`"
            programs.append(LoggedProgram(name, member, self.checks, log))

        def described(address: int) -> str:
            member, byte = divmod(address - team.memory.start, team.stride)
            return f"byte {byte} of the memory of program {meetings.program(member)}"

        from tle_raw.targets.cpu.races import find_race

        race = find_race(programs, team.memory, described)
        if race is not None:
            self.fail(race)

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

    def _take(self) -> _Team:
        with self._lock:
            if self._idle:
                return self._idle.pop()
            self._teams.append(_Team(self.together, self.blocks, self.scratch_bytes))
            return self._teams[-1]

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
        for team in self._teams:
            for context in team.contexts:
                context.release()
        self._teams.clear()
