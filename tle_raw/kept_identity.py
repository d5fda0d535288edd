"""What a checkout's sources were found to be, kept beside their bytecode: a look at the files tells if it still holds.

Python takes bytecode for that of a source by its size and the time of its content, in seconds. A kernel of the code of
a moment ago is a wrong kernel, so more is asked here. A file is known by the time of its last change of any kind, which
nobody can set, with nanoseconds, and by its inode. An edit gives it another time, but for one in the same tick of the
clock: nothing is kept while a file has been changed just before. Where a file system counts whole seconds, as archives
that are mounted do, nothing is kept at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from tle_raw.file_stamp import SECOND, stamp_of
from tle_raw.source_files import read_digest

FILE = "sources.json"
# Much more than a tick: the clock of a file server may be another one.
SETTLED = 10 * SECOND


def kept_identity(folder: str, found: Mapping[str, os.stat_result]) -> str | None:
    """The identity of the sources that are ``found``; None where nothing tells it."""
    file = _file(folder)
    try:
        kept = json.loads(file.read_bytes()) if file else {}
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(kept, dict) or kept.get("stamps") != _digest(found):
        return None
    identity = kept.get("identity")
    return identity if isinstance(identity, str) else None


def read_all(folder: str, found: Mapping[str, os.stat_result]) -> tuple[dict[str, str], bool]:
    """The digest of each file, and whether an identity that is made of them may be kept."""
    now, digests = time.time_ns(), dict[str, str]()
    is_settled = all(is_settled_file(status, now) for status in found.values())
    for path, status in found.items():
        digests[path], read = read_digest(os.path.join(folder, path))
        is_settled = is_settled and stamp_of(read) == stamp_of(status)
    return digests, is_settled


def is_settled_file(status: os.stat_result, now: int) -> bool:
    """Whether a later edit gives the file another stamp, whatever the edit is."""
    return status.st_ctime_ns < now - SETTLED and status.st_ctime_ns % SECOND != 0


def keep_identity(folder: str, found: Mapping[str, os.stat_result], identity: str) -> None:
    """Keep it for other processes, where they keep bytecode."""
    from tle_raw.store.private_files import write_whole  # once for each state of a checkout

    file = _file(folder)
    if file is None or sys.dont_write_bytecode or not file.parent.is_dir():
        return
    data = json.dumps({"stamps": _digest(found), "identity": identity}).encode()
    with contextlib.suppress(OSError):  # a folder that nobody may write: the next process reads the sources again
        write_whole(file, data, flush=False)


def _file(folder: str) -> Path | None:
    try:
        return Path(importlib.util.cache_from_source(os.path.join(folder, "__init__.py"))).parent / FILE
    except NotImplementedError:  # this Python keeps no bytecode
        return None


def _digest(found: Mapping[str, os.stat_result]) -> str:
    stamps = [(path, stamp_of(status)) for path, status in sorted(found.items())]
    return hashlib.sha256(repr(stamps).encode("utf-8", "surrogateescape")).hexdigest()
