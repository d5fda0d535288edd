"""What is written down of one launch under ``knobs.debug``, to find races between devices and between blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.targets.cpu.access_logs import AccessLog, Counter, LoggedProgram
from tle_raw.targets.cpu.arrays import Range

NOWHERE = Range(0, 0)


class Watch:
    """The logs of a launch's programs, which are also its world's (``logged``).

    Parameters
    ----------
    device : whose launch it is; ``named`` tells programs of several devices apart.
    common : memory that devices share.
    launch, after : the number of this launch, and those of launches that were over when it began.
    """

    def __init__(
        self,
        logged: list[LoggedProgram],
        counter: Counter,
        common: Range,
        device: int,
        launch: int,
        after: tuple[int, ...],
        named: bool,
    ) -> None:
        self.logged, self.counter, self.common = logged, counter, common
        self.device, self.launch, self.after, self.named = device, launch, after, named

    def log(self, program: tuple[int, int, int], kernel: str, checks: Sequence[Any], own: Range = NOWHERE) -> AccessLog:
        """A log for a program that begins. ``own`` is memory that the programs of its group share."""
        log = AccessLog(self.counter, self.common, own)
        name = f"program {program} of `{kernel}`"
        name = f"device {self.device}, {name}" if self.named else name
        self.logged.append(LoggedProgram(name, self.device, checks, log, self.launch, self.after, self.device))
        return log
