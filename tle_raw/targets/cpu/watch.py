"""What is written down of one launch under ``knobs.debug``, to find races between devices and between blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tle_raw.errors import RaceError
from tle_raw.targets.cpu.access_logs import AccessLog, Counter
from tle_raw.targets.cpu.arrays import Range

NOWHERE = Range(0, 0)


class LoggedProgram(NamedTuple):
    """A program that has a log. ``launch`` is a number, ``after`` that of the launch before on the same device."""

    name: str
    group: int
    checks: Sequence[Any]
    log: AccessLog
    launch: int = 0
    after: int | None = None


class Watch:
    """The logs of a launch's programs, which are also its world's (``logged``).

    Parameters
    ----------
    device : whose launch it is; ``named`` tells programs of several devices apart.
    common : memory that devices share.
    launch, after : the numbers of this launch, and of the one before on the device.
    """

    def __init__(
        self,
        logged: list[LoggedProgram],
        counter: Counter,
        common: Range,
        device: int,
        launch: int,
        after: int | None,
        named: bool,
    ) -> None:
        self.logged, self.counter, self.common = logged, counter, common
        self.device, self.launch, self.after, self.named = device, launch, after, named

    def log(self, program: tuple[int, int, int], kernel: str, checks: Sequence[Any], own: Range = NOWHERE) -> AccessLog:
        """A log for a program that begins. ``own`` is memory that the programs of its group share."""
        log = AccessLog(self.counter, self.common, own)
        name = f"program {program} of `{kernel}`"
        name = f"device {self.device}, {name}" if self.named else name
        self.logged.append(LoggedProgram(name, self.device, checks, log, self.launch, self.after))
        return log


def race_of(logged: Sequence[LoggedProgram], memory: Range, described: Callable[[int], str]) -> RaceError | None:
    """The first race in a range of memory; ``described`` says what lies at an address."""
    if memory.start >= memory.end or len({program.group for program in logged}) < 2:
        return None
    from tle_raw.targets.cpu.races import find_race

    return find_race(logged, memory, described)
