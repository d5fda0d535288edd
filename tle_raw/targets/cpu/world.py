"""Devices of one process that work at the same time: a thread for each, and one view of who waits for whom.

A device runs a function of Python, which launches kernels. Only one device at a time is in Python code: thus kernels
are compiled one after the other, and a function may append to a list. Kernels of all devices run together; one that
waits for another device gives the machine's cores away (``waiting``).

When every device waits, or is done, and nobody has seen memory change while each of them looked at it again, nothing
will change any more: that is a deadlock, and all launches end.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from tle_raw.errors import DeadlockError, KernelFailed, LaunchError, Row
from tle_raw.targets.cpu.access_logs import Counter, LoggedProgram
from tle_raw.targets.cpu.arrays import Range
from tle_raw.targets.cpu.current_device import Device, set_current_device
from tle_raw.targets.cpu.waiting import SHOWN, WaitingProgram, Waits
from tle_raw.targets.cpu.watch import NOWHERE, Watch

_PATIENCE = 1.0  # seconds, with threads that should have ended
_PAUSE = 5e-3  # between two looks whether all devices are here
_NOT_BEGUN, _IN_PYTHON, _IN_KERNEL, _MEETS, _DONE, _FAILED = (
    "has not begun",
    "runs Python code",
    "runs a kernel",
    "waits between kernels for all devices",
    "is done",
    "has failed",
)


class DeviceStopped(LaunchError):
    """A kernel of a simulated device was ended, because devices wait for each other or one has failed."""


class Memory(Protocol):
    """The memory that devices share."""

    def ranges(self) -> Sequence[tuple[str, Range]]:
        """All of it, by names: kernels may access it beside their arguments."""

    @property
    def common(self) -> Range:
        """What all devices reach."""

    def described(self, address: int, value: int | None) -> str:
        """What lies at an address, and that it holds a value unless that is None; "" where it is none of it."""


class RunningLaunch(Protocol):
    """A launch, as far as its world is concerned."""

    kernel: str
    waits: Waits | None

    def fail(self, error: BaseException) -> None: ...


class World:
    """So many devices with common memory, while they run one function each."""

    def __init__(self, size: int, memory: Memory | None = None) -> None:
        self.size, self.memory = size, memory
        self.news = 0  # counts what has happened: see `Waits`
        self.python = threading.Lock()  # held by the device that is in Python code
        self._lock = threading.RLock()
        self._counting = threading.Lock()
        self._states = [_NOT_BEGUN] * size
        self._launches: dict[int, RunningLaunch] = {}
        self._end: KernelFailed | None = None
        self._logged: list[LoggedProgram] = []
        self._watched: list[int] = []  # whose launch each one is that is watched for races
        self._before: tuple[int, ...] = ()  # the launches in front of the last meeting
        self._meetings = 0
        self._counter = Counter()
        self._results: list[Any] = [None] * size
        self._errors: dict[int, BaseException] = {}

    def tell(self) -> None:
        """Something has happened: who waits looks again."""
        with self._counting:
            self.news += 1

    # --- running ---------------------------------------------------------------------------------------------------

    def run(self, function: Callable[[int], Any], seconds: float) -> tuple[list[Any], dict[int, BaseException]]:
        """``function(rank)`` on each device: what they returned, and what they raised.

        Raises
        ------
        KernelFailed : why the world was ended: a deadlock, a race, or devices that are not done after so many seconds.
        """
        threads = []
        for rank in range(self.size):
            run = contextvars.copy_context().run
            name = f"tle_raw-device-{rank}"
            threads.append(threading.Thread(target=run, args=(self._work, rank, function), name=name, daemon=True))
        try:
            for thread in threads:
                thread.start()
            end = time.monotonic() + seconds
            for thread in threads:
                thread.join(max(0.0, end - time.monotonic()))
            if any(thread.is_alive() for thread in threads):
                self.stop(self._deadlock(f"devices are not done after {seconds:g} s"))
        except BaseException:
            self.stop(self._deadlock("the launch was interrupted"))
            raise
        finally:
            for thread in threads:
                if thread.ident is not None:
                    thread.join(_PATIENCE)  # one that hangs is left behind: it is a daemon
        failed = {rank: e for rank, e in sorted(self._errors.items()) if not isinstance(e, DeviceStopped)}
        if not failed:
            self._look_for_races()
            if self._end is not None:
                raise self._end
        return self._results, failed

    def _look_for_races(self) -> None:
        memory = self.memory
        if self._end is None and memory is not None and self._logged:
            from tle_raw.targets.cpu.races import find_race

            self._end = find_race(self._logged, memory.common, lambda address: memory.described(address, None))

    def _work(self, rank: int, function: Callable[[int], Any]) -> None:
        set_current_device(Device(self, rank))
        end = _FAILED
        try:
            with self.python:
                self._set(rank, _IN_PYTHON)
                self._results[rank] = function(rank)
                end = _DONE
        except BaseException as e:
            self._errors[rank] = e
        finally:
            self._set(rank, end)
            set_current_device(None)

    def _set(self, rank: int, state: str) -> None:
        with self._lock:
            self._states[rank] = state
            self.tell()

    # --- launches --------------------------------------------------------------------------------------------------

    @contextmanager
    def launching(self, rank: int, launch: RunningLaunch) -> Iterator[None]:
        """While a device's kernel runs the others may run Python code."""
        with self._lock:
            if self._end is not None:
                raise DeviceStopped(self._end.message)
            self._launches[rank] = launch
            self._set(rank, _IN_KERNEL)
        self.python.release()
        try:
            yield
        finally:
            self.python.acquire()
            with self._lock:
                del self._launches[rank]
                self._set(rank, _IN_PYTHON)

    def watch(self, rank: int) -> Watch:
        """For a launch of a device that is watched for races."""
        with self._lock:
            number, common = len(self._watched), self.memory.common if self.memory is not None else NOWHERE
            own = [launch for launch, device in enumerate(self._watched) if device == rank]
            after = (*self._before, *own[-1:])
            self._watched.append(rank)
            return Watch(self._logged, self._counter, common, rank, number, after, self.memory is not None)

    @contextmanager
    def alone(self, launch: RunningLaunch) -> Iterator[None]:
        """While a launch runs that has no device: the world is its own, and has one."""
        self._launches[0], self._states[0] = launch, _IN_KERNEL
        try:
            yield
        except DeviceStopped:
            assert self._end is not None
            raise self._end from None

    def meet(self, rank: int) -> None:
        """A device waits, outside of kernels, until all are here."""
        with self._lock:
            meeting = self._meetings
            self._set(rank, _MEETS)
            if self._states.count(_MEETS) == self.size:
                self._meetings += 1
                self._before = tuple(range(len(self._watched)))
                self._states = [_IN_PYTHON] * self.size
                self.tell()
        self.python.release()
        try:
            while self._meetings == meeting and self._end is None:
                self.end_if_still()
                time.sleep(_PAUSE)
        finally:
            self.python.acquire()
        if self._end is not None:
            raise DeviceStopped(self._end.message)

    def stop(self, error: KernelFailed) -> None:
        """End all launches; the first reason is the one that is told."""
        with self._lock:
            if self._end is None:
                self._end = error
                for launch in self._launches.values():
                    launch.fail(DeviceStopped(error.message))

    # --- who waits for whom ----------------------------------------------------------------------------------------

    def stands_still(self) -> bool:
        """Whether nothing will change any more."""
        with self._lock:
            return bool(self._launches) and self._stands_still()

    def end_if_still(self) -> None:
        """End all launches when nothing will change any more."""
        with self._lock:
            if self._end is None and self._stands_still():
                who = "device" if self.memory is not None else "program"
                self.stop(self._deadlock(f"every {who} waits or is done, and nothing will change any more"))

    def _stands_still(self) -> bool:
        if _IN_PYTHON in self._states or _NOT_BEGUN in self._states:
            return False
        launches = list(self._launches.values())
        return all(launch.waits is not None and launch.waits.is_quiet(self.news) for launch in launches)

    def _deadlock(self, why: str) -> DeadlockError:
        with self._lock:
            rows, log = [], ""
            for rank, state in enumerate(self._states):
                launch = self._launches.get(rank)
                waiting = launch.waits.waiting() if launch is not None and launch.waits is not None else []
                for program in waiting[:SHOWN]:
                    log = log or program.excerpt
                    rows.append(self._row(rank, launch.kernel if launch else "", program))
                if len(waiting) > SHOWN:
                    where = f"device {rank}" if self.memory is not None else "others"
                    rows.append(Row(where, "", f"{len(waiting) - SHOWN} more programs wait"))
                if not waiting:
                    rows.append(Row(f"device {rank}", "", f"{state}: `{launch.kernel}`" if launch else state))
            return DeadlockError(f"a deadlock: {why}", kind="deadlock", table=rows, log=log)

    def _row(self, rank: int, kernel: str, program: WaitingProgram) -> Row:
        what = self.memory.described(program.address, program.value) if self.memory is not None else ""
        if not what:
            what = f"{program.what}, which holds {program.value}" if program.address else program.what
        who = f"program {program.program} of `{kernel}`"
        if self.memory is not None:
            who = f"device {rank}, {who}"
        return Row(who, f"news of {what}", f"waits at {program.where}")
