"""Whether files are what they were when they were read: cheap to ask, and right within one tick of the clock."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from tle_raw.file_stamp import SECOND, stamp_of

# The clock by which files are stamped moves every 1 to 10 ms; some file systems count whole seconds, or every other.
TICK, COARSE_TICK = 20_000_000, 2_100_000_000


class FileStamps:
    """What a file system tells of some files, taken before they are read.

    An edit within the tick in which a file was last changed leaves no trace in its stamp. A file as young as that is
    compared by content, until it is older (git calls such entries racy).
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = tuple(map(str, paths))
        now = time.time_ns()
        self._stamps = _stamps(self._paths)
        self.digests = tuple(_digest(path) for path in self._paths)
        self._are_young = _are_young(self._stamps, now)

    @property
    def are_young(self) -> bool:
        """Whether a file was changed just before, so that somebody may be writing it."""
        return self._are_young

    def are_stale(self) -> bool:
        """Whether a file looks different. A look at each file, and no more where none was changed just before."""
        if not self._paths:
            return False
        return _stamps(self._paths) != self._stamps or (self._are_young and self._differ())

    def _differ(self) -> bool:
        now = time.time_ns()
        if tuple(_digest(path) for path in self._paths) != self.digests:
            return True
        self._are_young = _are_young(self._stamps, now)
        return False


def _stamps(paths: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    stamps = []
    for path in paths:
        try:
            stamps.append(stamp_of(os.stat(path)))
        except OSError:  # a missing file is a stamp of its own
            stamps.append((0, 0, -1, 0, 0))
    return tuple(stamps)


def _are_young(stamps: tuple[tuple[int, ...], ...], now: int) -> bool:
    return any(changed >= now - (TICK if changed % SECOND else COARSE_TICK) for changed, *_ in stamps)


def _digest(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""
