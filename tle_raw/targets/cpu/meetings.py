"""Where the programs of one group wait for each other: barriers of a cluster, of a part of it, of the grid.

A program that waits sleeps on its thread. One that waits for a phase of a barrier in shared memory sleeps until any
program of the group has arrived at any barrier, and looks again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tle_raw.errors import KernelFailed
from tle_raw.flir.cpu.access_kinds import ACQUIRE, RELEASE
from tle_raw.flir.cpu.context_fields import ARRIVE, GRID, MEMBER, NUMBER, PART, START, WAIT_CHECK, WAIT_IN_CLUSTER
from tle_raw.targets.cpu.access_logs import AccessLog
from tle_raw.targets.cpu.contexts import GO_ON, OVER, Context
from tle_raw.targets.cpu.failures import failure_at

# Seconds between two looks: who completes a barrier of ours wakes the others, an arrival in shared memory does not.
_SHORTEST, _LONGEST = 50e-6, 5e-3


class MeetingLaunch(Protocol):
    """The launch of a group."""

    kernel: str
    checks: Sequence[Any]

    @property
    def stopped(self) -> bool: ...

    def fail(self, error: BaseException) -> None: ...

    def program(self, number: int) -> tuple[int, int, int]: ...

    def number_at(self, place: int) -> int: ...

    def block(self, context: Context, what: Callable[[], str], still: Callable[[], bool]) -> None: ...

    def unblock(self, context: Context) -> None: ...


class _Barrier:
    """How often each of some programs has arrived, and has waited. Programs that are done count as arrived."""

    def __init__(self, members: Sequence[int], waits_for_those_done: bool) -> None:
        self.arrived, self.waited = dict.fromkeys(members, 0), dict.fromkeys(members, 0)
        self._waits_for_those_done = waits_for_those_done

    def missing(self, member: int, done: set[int]) -> list[int]:
        """Who has not come to the meeting for which a member waits."""
        away = set() if self._waits_for_those_done else done
        return [other for other, count in self.arrived.items() if count < self.waited[member] and other not in away]


class Meetings:
    """The barriers of one group: ``size`` programs from the place ``first`` on, in clusters of ``blocks``."""

    def __init__(self, launch: MeetingLaunch, record: Any, first: int, size: int, blocks: int) -> None:
        self.launch, self.record, self.first, self.size, self.blocks = launch, record, first, size, blocks
        self._woken = threading.Condition()
        self._barriers: dict[tuple[int, int], _Barrier] = {}
        self._done: set[int] = set()
        self.logs: dict[int, AccessLog] = {}  # of members that are watched for races
        self._seen: dict[int, int] = {}  # arrivals in shared memory, when a member last looked

    def ask(self, context: Context, what: int) -> int:
        """What a program does at a barrier: whether the launch goes on."""
        if self.launch.stopped:
            return OVER
        member = int(context.fields[MEMBER])
        if what == ARRIVE:
            self._arrive(self._cluster(member), member, context)
        elif what == WAIT_IN_CLUSTER:
            self._wait(self._cluster(member), member, context)
        elif what in (PART, GRID, START):
            barrier = self._meeting(what, member, context)
            if barrier is not None:
                self._arrive(barrier, member, context)
                self._wait(barrier, member, context)
        else:
            self._wait_for_arrivals(member, context)
        return OVER if self.launch.stopped else GO_ON

    def program(self, member: int) -> tuple[int, int, int]:
        """The ids of a program of the group."""
        return self.launch.program(self.launch.number_at(self.first + member))

    def leave(self, context: Context) -> None:
        """A program is done: clusters do not wait for it any more."""
        with self._woken:
            self._done.add(int(context.fields[MEMBER]))
            self._woken.notify_all()

    # --- which barrier -----------------------------------------------------------------------------------------------

    def _cluster(self, member: int, kind: int = -1) -> _Barrier:
        first = member - member % self.blocks
        return self._barrier((kind, first), range(first, first + self.blocks), False)

    def _meeting(self, what: int, member: int, context: Context) -> _Barrier | None:
        if what == START:
            return self._cluster(member, -3)
        return self._grid() if what == GRID else self._part(member, int(context.fields[WAIT_CHECK]))

    def _part(self, member: int, check: int) -> _Barrier | None:
        first = member - member % self.blocks
        for number, part in enumerate(self.launch.checks[check - 1]["members"]):
            if member - first in part:
                return self._barrier((check, first * self.blocks + number), [first + rank for rank in part], True)
        return None

    def _grid(self) -> _Barrier:
        return self._barrier((-2, 0), range(self.size), True)

    def _barrier(self, key: tuple[int, int], members: Sequence[int], waits_for_those_done: bool) -> _Barrier:
        with self._woken:
            return self._barriers.get(key) or self._barriers.setdefault(key, _Barrier(members, waits_for_those_done))

    # --- arriving and waiting ----------------------------------------------------------------------------------------

    def _arrive(self, barrier: _Barrier, member: int, context: Context) -> None:
        self._order(RELEASE, barrier, member)
        with self._woken:
            twice = barrier.arrived[member] > barrier.waited[member]
            barrier.arrived[member] += 1
            self._woken.notify_all()
        if twice:
            self.launch.fail(self._failed(context))

    def _wait(self, barrier: _Barrier, member: int, context: Context) -> None:
        with self._woken:
            barrier.waited[member] += 1

        def still() -> bool:
            return bool(barrier.missing(member, self._done))

        self._sleep(context, still, lambda: self._named(barrier.missing(member, self._done)), _LONGEST)
        self._order(ACQUIRE, barrier, member)

    def _order(self, kind: int, barrier: _Barrier, member: int) -> None:
        log = self.logs.get(member)
        if log is not None:
            log.order(kind, barrier)

    def _wait_for_arrivals(self, member: int, context: Context) -> None:
        def still() -> bool:
            return int(self.record[0]) == self._seen.get(member, 0)

        self._sleep(context, still, lambda: "arrivals at a barrier of this block", _SHORTEST)
        self._seen[member] = int(self.record[0])

    def _sleep(self, context: Context, still: Callable[[], bool], what: Callable[[], str], pause: float) -> None:
        if not still():
            return
        self.launch.block(context, what, still)
        with self._woken:
            while still() and not self.launch.stopped:
                self._woken.wait(pause)
                pause = min(2 * pause, _LONGEST)
        self.launch.unblock(context)

    def _named(self, members: Sequence[int]) -> str:
        names = ", ".join(str(self.program(member)) for member in members[:8])
        return f"programs {names}" if len(members) > 1 else f"program {names}"

    def _failed(self, context: Context) -> KernelFailed:
        fields, launch = context.fields, self.launch
        return failure_at(launch.checks, int(fields[WAIT_CHECK]), launch.program(int(fields[NUMBER])), launch.kernel)
