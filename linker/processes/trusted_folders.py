"""Which folders nobody but this process's user can change: the rule for all that is compiled, linked or loaded.

The path is followed from ``/`` down, link by link, as sshd does for keys (StrictModes).

- The folder itself belongs to this process's effective user, and only the user may write it.
- Each folder above belongs to the user, to root or to the owner of ``/``, and no other may write it. Where others may
  write and the sticky bit is set, as on /tmp, only its owner can rename an entry: that will do.
- Each link on the way belongs to one of these.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
from functools import lru_cache
from pathlib import Path

ROOT = 0
MOST_LINKS = 40  # as Linux
OTHERS = stat.S_IWGRP | stat.S_IWOTH


def is_trusted(folder: Path) -> bool:
    """Nobody else can plant anything in it."""
    return not why_distrusted(folder)


def why_distrusted(folder: Path) -> str:
    """How another user could change what lies in the folder; nothing when none could."""
    return _why_shared(folder) or why_unsafe_way(folder)


def why_unsafe_way(folder: Path) -> str:
    """How another user could put another folder in this one's place; nothing when none could."""
    try:
        for path, status in _passed(folder):
            reason = why_changeable(status)
            if reason:
                return f"{path} {reason}"
    except OSError as error:
        return f"{folder}: {error.strerror or error}"
    return ""


def belongs_to_user(status: os.stat_result) -> bool:
    """This process's user made it, and nobody else may write it."""
    return status.st_uid == os.geteuid() and not status.st_mode & OTHERS


def _why_shared(folder: Path) -> str:
    try:
        status = os.stat(folder)
    except OSError as error:
        return f"{folder}: {error.strerror or error}"
    if not stat.S_ISDIR(status.st_mode):
        return f"{folder} is no folder"
    if status.st_uid != os.geteuid():
        return f"{folder} belongs to {_name(status.st_uid)}"
    return f"others may write into {folder}" if status.st_mode & OTHERS else ""


def why_changeable(status: os.stat_result) -> str:
    """How another user could change what is neither secret nor this user's alone: folders above, Triton's files."""
    if status.st_uid not in (ROOT, os.geteuid(), _owner_of_all()):
        return f"belongs to {_name(status.st_uid)}"
    if stat.S_ISLNK(status.st_mode) or status.st_mode & stat.S_ISVTX:
        return ""
    if status.st_mode & stat.S_IWOTH:
        return "may be written by others"
    shared = status.st_mode & stat.S_IWGRP and not _is_own_group(status.st_uid, status.st_gid)
    return "may be written by its group" if shared else ""


@lru_cache(maxsize=1)
def _owner_of_all() -> int:
    """Who owns ``/`` could change everything: root, or nobody where a container's users do not include root."""
    return Path("/").lstat().st_uid


@lru_cache(maxsize=64)
def _is_own_group(user: int, group: int) -> bool:
    """Many systems give each user a group of the same name, with nobody else in it, and a umask that lets it write."""
    if user == ROOT:
        return False  # whose umask never does
    try:
        person, members = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:
        return False
    alone = set(members.gr_mem) <= {person.pw_name}
    return alone and person.pw_gid == group and person.pw_name == members.gr_name


def _name(user: int) -> str:
    try:
        return f"{pwd.getpwuid(user).pw_name} (user {user})"
    except KeyError:
        return f"user {user}"


def _passed(folder: Path) -> list[tuple[str, os.stat_result]]:
    """Every folder and link that the path leads through, from the root on."""
    here = "/"  # texts: each file of a cache is asked for by itself, and paths take longer to make than to look at
    passed = [(here, os.lstat(here))]
    ahead = [*reversed(folder.absolute().parts[1:])]
    links = 0
    while ahead:
        name = ahead.pop()
        step = os.path.dirname(here) if name == ".." else os.path.join(here, name)
        status = os.lstat(step)
        passed.append((step, status))
        if not stat.S_ISLNK(status.st_mode):
            here = step
            continue
        links += 1
        if links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(folder))
        target = Path(os.readlink(step))
        here = "/" if target.is_absolute() else here
        ahead += reversed([part for part in target.parts if part != "/"])
    return passed
