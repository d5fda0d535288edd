"""Programs that wait for other programs of their launch: the others begin meanwhile, or the launch ends with an error.

A GPU runs all programs that fit at once, and begins them in order: scans look back at lower programs, grids meet at
barriers, locks are passed on. Here a thread runs one program at a time. One that waits asks, now and then, whether to
go on; then its thread gives away what it has not begun, and a further thread begins it.
"""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tle_raw.flir.cpu.context_fields import NUMBER, WAIT_ADDRESS, WAIT_CHECK, WAIT_VALUE
from tle_raw.knobs import knobs
from tle_raw.targets.cpu.contexts import GO_ON, OVER, STANDSTILL, Context
from tle_raw.targets.cpu.excerpts import excerpt
from tle_raw.targets.cpu.utilities import threads_of_a_launch

# What waits together takes memory: each program a thread of the machine, and the stacks of its fragment's threads.
MOST_PROGRAMS = 1024
MOST_THREADS = 1 << 18
# Between two questions of a program; the more programs wait, the longer, for they ask one after the other.
LONGEST_PAUSE, SHARE = 10e-3, 50e-6
# A program that has not asked for so long does something else by now.
STILL_WAITING = 1.0
SHOWN = 4
# Between two questions a program has looked again at all that it waits for. The first may have begun too early.
QUESTIONS_OF_ONE_LOOK = 2


Sleep = tuple[Callable[[], str], Callable[[], bool]]  # for what a program sleeps, and whether it has to go on doing so


@dataclass(frozen=True)
class WaitingProgram:
    """A program that waits: which one, where, and what it looks at (address 0: ``what`` says it)."""

    program: tuple[int, int, int]
    where: str
    excerpt: str
    address: int
    value: int
    what: str


class TogetherWith(Protocol):
    """What runs at the same time as a launch."""

    news: int

    def tell(self) -> None: ...

    def end_if_still(self) -> None: ...


class SharedPrograms(Protocol):
    """The programs that are left of a launch, for several threads."""

    @property
    def workers(self) -> int: ...

    def programs_left(self) -> int: ...

    def give_back(self, first: int, last: int) -> None: ...

    def has_room(self, most: int) -> bool: ...

    def enter(self, most: int) -> bool: ...

    def work_as_helper(self, context: Context) -> None: ...

    def exit(self) -> None: ...


class WaitingLaunch(Protocol):
    """A launch, as far as programs that wait are concerned."""

    total: int
    world: TogetherWith | None
    checks: Sequence[Mapping[str, Any]]

    @property
    def stopped(self) -> bool: ...

    @property
    def running(self) -> int: ...

    def give_back(self, context: Context) -> None: ...

    def program(self, number: int) -> tuple[int, int, int]: ...

    def shared_one_by_one(self) -> SharedPrograms: ...


class Waits:
    """Who waits, of the programs of one launch."""

    def __init__(self, launch: WaitingLaunch, threads_of_a_program: int) -> None:
        self.launch = launch
        self.most = max(2, min(MOST_PROGRAMS, MOST_THREADS // threads_of_a_program))
        self.standstill = ""  # what is known of it, once it is found
        self._lock = threading.Lock()
        self._asked: dict[Context, float] = {}  # when each asked last
        self._since: dict[Context, float] = {}  # since when it has had no news
        self._news = 0.0
        self._starting = 0  # threads that have not come to their first program
        self._full = False  # the machine gives no further thread
        self._quiet: dict[Context, tuple[int, int]] = {}  # questions without news, since which news of the world
        self._blocked: dict[Context, Sleep] = {}
        self._extra: list[Context] = []  # of the threads that were begun for this launch: errors point into them

    def ask(self, context: Context, news: bool) -> int:
        """What a program does that waits: whether to go on. Everything else happens on other threads meanwhile."""
        if self.launch.stopped:
            return OVER
        now, world = time.monotonic(), self.launch.world
        if news or not self._news:
            self._tell(now)
        with self._lock:
            if world is not None:
                known, questions = self._quiet.get(context, (-1, 0))
                self._quiet[context] = world.news, 0 if news else questions + 1 if known == world.news else 1
            self._asked[context] = now
            since = now if news else self._since.get(context, now)
            self._since[context] = since
        if not self._begin_another(context):
            if world is not None:
                world.end_if_still()
            elif self._stands_still(now):
                return STANDSTILL
        time.sleep(min((now - since) / 8, LONGEST_PAUSE + SHARE * len(self._asked)))
        self._asked[context] = time.monotonic()
        return OVER if self.launch.stopped else GO_ON

    def ended(self, context: Context) -> None:
        """A program has come to its end: those that sleep may have waited for it, and ask nothing themselves."""
        if self._asked or self._blocked:
            with self._lock:
                for known in (self._asked, self._since, self._quiet):
                    known.pop(context, None)
            self._tell_and_look()

    def _tell(self, now: float) -> None:
        """Something has happened."""
        self._news = now
        if self.launch.world is not None:
            self.launch.world.tell()

    def _tell_and_look(self) -> None:
        """A program sleeps, or has ended: it asks nothing any more, and looks for those that sleep before it stops."""
        self._tell(time.monotonic())
        if self._blocked and self.launch.world is not None:
            self.launch.world.end_if_still()

    def is_quiet(self, news: int) -> bool:
        """Whether every program that has begun waits, and has looked in vain again since that news of the world."""
        with self._lock:
            asleep = [context for context, (_, still) in self._blocked.items() if still()]
            quiet = [
                context
                for context, (since, questions) in self._quiet.items()
                if since == news and questions >= QUESTIONS_OF_ONE_LOOK and context not in self._blocked
            ]
            return not self._starting and 0 < self.launch.running <= len(asleep) + len(quiet)

    def block(self, context: Context, what: Callable[[], str], still: Callable[[], bool]) -> None:
        """A program sleeps until something is not so any more; ``what`` says for what."""
        with self._lock:
            self._blocked[context] = what, still
        self._tell_and_look()

    def unblock(self, context: Context) -> None:
        """It goes on."""
        with self._lock:
            self._blocked.pop(context, None)
        self._tell(time.monotonic())

    def waiting(self) -> list[WaitingProgram]:
        """The programs that wait, by their numbers."""
        with self._lock:
            contexts = sorted({*self._asked, *self._blocked}, key=lambda context: int(context.fields[NUMBER]))
        return [self._described_program(context) for context in contexts]

    def _described_program(self, context: Context) -> WaitingProgram:
        fields, checks = context.fields, self.launch.checks
        number, check = int(fields[NUMBER]), int(fields[WAIT_CHECK])
        found = checks[check - 1] if 0 < check <= len(checks) else {}
        file, line = str(found.get("file", "")), int(found.get("line", 0))
        what = self._blocked[context][0]() if context in self._blocked else "memory"
        return WaitingProgram(
            self.launch.program(number),
            f"{file}:{line}" if line else "a fragment's line",
            excerpt(file, line, int(found.get("column", 0))),
            0 if context in self._blocked else int(fields[WAIT_ADDRESS]) & (1 << 64) - 1,
            int(fields[WAIT_VALUE]),
            what,
        )

    def release(self) -> None:
        """After the launch, and after its error was made: give back what its own threads had."""
        for context in self._extra:
            context.release()
        self._extra.clear()

    def _begin_another(self, context: Context) -> bool:
        """Whether a further thread was begun. Programs that wait do not count as running."""
        shared = self.launch.shared_one_by_one()
        self.launch.give_back(context)
        limit = min(self.most, threads_of_a_launch() + len(self._asked))
        if self._full or not shared.has_room(limit - self._starting):
            return False
        self._count_starting(1)
        try:
            # Not threading.Thread: an interrupt must not come between the start and the knowledge of it.
            _thread.start_new_thread(self._work, (limit,))
        except RuntimeError:
            self._full = True
            self._count_starting(-1)
            return False
        self._tell(time.monotonic())
        return True

    def _count_starting(self, change: int) -> None:
        with self._lock:
            self._starting += change

    def _work(self, limit: int) -> None:
        shared = self.launch.shared_one_by_one()
        entered = shared.enter(limit)
        self._count_starting(-1)
        if not entered:
            return
        try:
            context = Context()
            self._extra.append(context)
            shared.work_as_helper(context)
        finally:
            shared.exit()

    def _waiting(self, now: float) -> int:
        with self._lock:
            return sum(now - asked < STILL_WAITING for asked in self._asked.values())

    def _stands_still(self, now: float) -> bool:
        """Whether every program that has begun waits, and none has had news for long."""
        patience = knobs.cpu.patience
        if now - self._news < patience or self._waiting(now) < self.launch.shared_one_by_one().workers:
            return False
        self.standstill = self.standstill or self._described(patience)
        return True

    def _described(self, patience: float) -> str:
        launch = self.launch
        with self._lock:
            numbers = sorted(int(context.fields[NUMBER]) for context in self._asked)
        named = ", ".join(str(launch.program(number)) for number in numbers[:SHOWN])
        more = f" and {len(numbers) - SHOWN} more" if len(numbers) > SHOWN else ""
        left = launch.shared_one_by_one().programs_left()
        begun = f"{left} of {launch.total} programs could not begin" if left else "every program has begun"
        return (
            f"programs {named}{more} wait, and memory has not changed for {patience:g} s; {begun}. "
            "knobs.cpu.patience is how long this may take"
        )
