"""What a file system tells of a file, by which it is known again."""

from __future__ import annotations

import os

SECOND = 1_000_000_000  # in the nanoseconds of a stamp


def stamp_of(status: os.stat_result) -> tuple[int, ...]:
    """The time of the last change of anything (which nobody can set), of content, the size, and which file it is."""
    return status.st_ctime_ns, status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev
