"""A folder for the time of a ``with``: nobody else can change what lies in it, and a forked child leaves it alone."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tle_raw.errors import ToolchainError
from tle_raw.linker.processes.trusted_folders import why_distrusted

# Where a temporary folder can be, after the one that TMPDIR names.
TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")


@contextmanager
def temporary_folder(prefix: str = "tle_raw-") -> Iterator[str]:
    """Unlike ``tempfile.TemporaryDirectory``, whose folders a forked child removes when it ends.

    Raises
    ------
    ToolchainError : there is no place for one.
    """
    try:
        folder, process = new_private_folder(prefix), os.getpid()
    except OSError as error:
        raise ToolchainError(
            f"there is no place for temporary files: {error}",
            hint="set TMPDIR to a folder that this user, and nobody else, can write",
        ) from error
    try:
        yield str(folder)
    finally:
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)


def new_private_folder(prefix: str = "tle_raw-") -> Path:
    """A new folder that stays, in the first place where other users cannot put another one under its name.

    Raises
    ------
    OSError : there is no such place.
    """
    failure = OSError("there is no place for a temporary folder")
    for place in (tempfile.gettempdir(), *TEMPORARY):
        try:
            made = folder_within(place, prefix)
        except OSError as error:
            failure = error
            continue
        reason = why_distrusted(made)
        if not reason:
            return made
        made.rmdir()
        failure = PermissionError(reason)
    raise failure


def folder_within(place: Path | str, prefix: str = "tle_raw-") -> Path:
    """A new folder in ``place``, for this user only."""
    made = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    made.chmod(0o700)  # whatever the umask says
    return made
