"""Lays out a folder of links once, safely beside other processes that do the same."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tle_raw.cache_folders import cache_folders
from tle_raw.errors import ToolchainError


def linked_folder(name: str, links: Mapping[str, Path | None]) -> Path:
    """A folder that holds ``links``: relative path to target, or None for an empty file.

    Its name carries a digest of its content, so a changed target makes a new folder, and a folder that
    exists is complete: it came into being by one rename.
    """
    content = "\n".join(f"{path}={target or ''}" for path, target in sorted(links.items()))
    folder_name = f"{name}-{hashlib.sha256(content.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"
    failures = []
    for parent in cache_folders("cuda"):
        folder = parent / folder_name
        if is_laid_out(folder, links):
            return folder
        try:
            return _lay_out(folder, links)
        except OSError as error:
            failures.append(f"{parent}: {error}")
    raise ToolchainError(
        "no folder can be written for the CUDA header links",
        log="\n".join(failures),
        hint="set TMPDIR to one that can",
    )


def is_laid_out(folder: Path, links: Mapping[str, Path | None]) -> bool:
    """True when the folder is ours and every link leads where it should."""
    try:
        if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
            return False  # in a shared temporary folder anyone could have put it there
        return all(
            (folder / path).is_file() if target is None else os.readlink(folder / path) == str(target)
            for path, target in links.items()
        )
    except OSError:
        return False


def _lay_out(folder: Path, links: Mapping[str, Path | None]) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".draft-"))
    try:
        for path, target in links.items():
            (draft / path).parent.mkdir(parents=True, exist_ok=True)
            if target is None:
                (draft / path).touch()
            else:
                (draft / path).symlink_to(target)
        for _ in range(2):
            with contextlib.suppress(OSError):
                os.rename(draft, folder)
                return folder
            if is_laid_out(folder, links):  # another process was first
                return folder
            shutil.rmtree(folder)  # somebody removed or changed some of its links
        raise FileExistsError(f"{folder} cannot be replaced")
    finally:
        shutil.rmtree(draft, ignore_errors=True)
