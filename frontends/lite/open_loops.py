"""The loops of ``tle.range`` whose bodies are being traced, or run by Triton's interpreter."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import FrameType

from tle_raw.errors import ArgumentTypeError, RegionError, Row, ScheduleError
from tle_raw.flir.group_markers import LoopSchedule
from tle_raw.regions.interpret import interpreted_call_site

_PACKAGE = "tle_raw."
_running = threading.local()


@dataclass
class OpenLoop:
    """One run through the body of a loop.

    Attributes
    ----------
    seen : the groups that were met, and ``inside`` the one that is open.
    frame : of the kernel's function, in Triton's interpreter.
    """

    schedule: LoopSchedule
    seen: set[int] = field(default_factory=set)
    inside: int | None = None
    frame: FrameType | None = None

    def begin(self) -> None:
        """The body begins."""
        self.seen, self.inside = set(), None

    def enter(self, group: int) -> None:
        """A group begins.

        Raises
        ------
        ArgumentTypeError : there is no group of this number.
        RegionError : another group is open.
        """
        count = self.schedule.count
        if group < 0 or (count and group >= count):
            expected = f"0 to {count - 1}: {self._list} has {count} entries" if count else "0 or more"
            raise ArgumentTypeError("tle.pipeline_group: no such group", table=[Row("group", expected, str(group))])
        if self.inside is not None:
            raise RegionError(f"tle.pipeline_group: group {group} stands within group {self.inside}")
        self.inside = group
        self.seen.add(group)

    def leave(self) -> None:
        """The open group ends."""
        self.inside = None

    def end(self) -> None:
        """The body ends.

        Raises
        ------
        ScheduleError : a group of ``pipe_stages`` or ``executors`` does not stand in it.
        """
        count = self.schedule.count
        missing = sorted(set(range(count)) - self.seen)
        if missing:
            raise ScheduleError(
                f"tle.range: a group of {self._list} does not stand in the loop",
                table=[
                    Row("groups in the loop", f"0 to {count - 1}", ", ".join(map(str, sorted(self.seen))) or "none")
                ],
                hint=f"put what belongs together into `with tle.pipeline_group({missing[0]}):`, directly in the body",
            )

    @property
    def _list(self) -> str:
        return "pipe_stages" if self.schedule.stages else "executors"


def interpreted_loop(loop: OpenLoop, numbers: Iterable[int]) -> Iterator[int]:
    """The numbers of a loop that Triton's interpreter runs, with the loop open in between."""
    open_loops: list[OpenLoop] = _running.__dict__.setdefault("loops", [])
    loop.frame = sys._getframe(1)
    open_loops.append(loop)
    try:
        for number in numbers:
            loop.begin()
            yield number
            loop.end()
    except ScheduleError as error:
        raise error.at(call_site=interpreted_call_site()) from None
    finally:
        loop.frame = None
        open_loops.remove(loop)


def innermost_interpreted() -> OpenLoop | None:
    """The innermost loop that is open in the function that called into this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith(_PACKAGE):
        frame = frame.f_back
    loops: list[OpenLoop] = getattr(_running, "loops", [])
    return next((loop for loop in reversed(loops) if frame is not None and loop.frame is frame), None)
