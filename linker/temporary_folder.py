"""A folder for the time of a ``with``, which a forked child leaves to its parent."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def temporary_folder(prefix: str = "tle_raw-") -> Iterator[str]:
    """Unlike ``tempfile.TemporaryDirectory``, whose folders a forked child removes when it ends."""
    folder, process = tempfile.mkdtemp(prefix=prefix), os.getpid()
    try:
        yield folder
    finally:
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)
