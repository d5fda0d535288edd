"""The sources of a package: which there are, and the digest of each."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

_RECORDED = "sha256="


def source_files(folder: str) -> dict[str, os.stat_result]:
    """The sources by their paths in the folder. In a checkout some of its folders are links."""
    found, left = dict[str, os.stat_result](), [""]
    while left:
        within = left.pop()
        with os.scandir(os.path.join(folder, within)) as entries:
            for entry in entries:
                path = f"{within}/{entry.name}" if within else entry.name
                if entry.name.endswith((".py", ".h")):
                    found[path] = entry.stat()
                elif entry.is_dir() and entry.name != "__pycache__":
                    left.append(path)
    return found


def recorded_digests(folder: str, found: Mapping[str, os.stat_result]) -> dict[str, str]:
    """The sources' digests as the wheel's record has them; empty where that does not say what is there."""
    name = os.path.basename(folder)
    records = [*Path(folder).parent.glob(f"{name}-*.dist-info/RECORD")]
    if len(records) != 1:
        return {}
    text, written = records[0].read_text(encoding="utf-8"), records[0].stat().st_mtime_ns
    digests = dict[str, str]()
    for line in text.splitlines():
        path, recorded, size = [*line.rsplit(",", 2), "", ""][:3]
        within = path.removeprefix(f"{name}/")
        if within != path and within in found and recorded.startswith(_RECORDED):
            if found[within].st_mtime_ns > written or size != str(found[within].st_size):
                return {}
            digests[within] = recorded.removeprefix(_RECORDED)
    return digests if len(digests) == len(found) else {}


def read_digest(path: str) -> tuple[str, os.stat_result]:
    """A file's digest as records have it, and its status when all was read."""
    with open(path, "rb", buffering=0) as file:  # fifteen hundred of them: without a buffer, and without a Path
        content = file.readall()
        status = os.fstat(file.fileno())
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode(), status
