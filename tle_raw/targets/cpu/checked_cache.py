"""Kernels of the CPU in Triton's cache: every file is checked before Triton reads it, and damage is compiled again.

Triton asks one manager per kernel for its group of files. Beside the group lies a file of digests; a group that does
not fit is none. A folder that other users could change is not used: a private one is, which goes with the process.

    <key>/__grp__<name>.json        Triton's: the paths of the kernel's files
    <key>/__sha256__<name>.json     ours: the key, and the digest of each file
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
import threading
from functools import cache
from pathlib import Path
from typing import Any

from tle_raw.linker.processes.trusted_folders import OTHERS, why_changeable, why_unsafe_way
from tle_raw.store import fallback
from tle_raw.store.private_files import make_private, read_if, remove

_COMPILING = threading.local()


def join_next_cache() -> None:
    """The next manager that Triton makes in this thread is for a kernel of the CPU. Called as its key is made."""
    from triton import knobs
    from triton.runtime.cache import FileCacheManager

    there = knobs.cache.manager_class or FileCacheManager
    if not issubclass(there, _Checked):
        knobs.cache.manager_class = _checked(there)
    _COMPILING.for_cpu = True


@cache
def _checked(manager: type) -> type:
    """Triton's manager, or the user's, with checks. For other kernels it is the same."""
    return type(f"Checked{manager.__name__}", (_Checked, manager), {})


class _Checked:
    """In front of a ``CacheManager``; uses its interface only."""

    def __init__(self, key: str, *arguments: Any, **options: Any) -> None:
        self.kernel = key if getattr(_COMPILING, "for_cpu", False) and not (arguments or options) else ""
        if self.kernel:
            _COMPILING.for_cpu = False
            _make_folder(key)
        super().__init__(key, *arguments, **options)  # type: ignore[call-arg]
        if self.kernel:
            self._leave_shared_folder()

    def get_group(self, filename: str) -> dict[str, str] | None:
        if not self.kernel:
            unchecked: dict[str, str] | None = super().get_group(filename)  # type: ignore[misc]
            return unchecked
        try:
            group: dict[str, str] | None = super().get_group(filename)  # type: ignore[misc]
            if group and _digests(self.kernel, group) == self._kept(filename):
                return group
        except Exception:
            pass  # whatever a damaged file makes of Triton's reader
        return None

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        if self.kernel:
            self._remove_folder(filename)
        path: str = super().put(data, filename, binary=binary)  # type: ignore[misc]
        if self.kernel:
            os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) & ~OTHERS)  # whatever the umask says
        return path

    def put_group(self, filename: str, group: dict[str, str]) -> Any:
        if self.kernel:
            with contextlib.suppress(OSError):  # somebody damages it at this moment: it is not taken next time
                self.put(json.dumps(_digests(self.kernel, group)), f"__sha256__{filename}", binary=False)
        return super().put_group(filename, group)  # type: ignore[misc]

    def _kept(self, filename: str) -> Any:
        path = self.get_file(f"__sha256__{filename}")  # type: ignore[attr-defined]
        return json.loads(_read(path)) if path else None

    def _leave_shared_folder(self) -> None:
        folder = getattr(self, "cache_dir", "")
        reason = why_unsafe_way(Path(folder)) if folder else ""
        if reason:
            above = Path(folder).parent
            fallback.warn_once(above, PermissionError(reason), "TRITON_CACHE_DIR")
            self.cache_dir = str(fallback.make_private_in_place_of(above) / self.kernel)
            self.lock_path = os.path.join(self.cache_dir, "lock")
            os.makedirs(self.cache_dir, mode=0o700, exist_ok=True)

    def _remove_folder(self, filename: str) -> None:
        """A folder in the place of a file, which nothing replaces by itself."""
        folder = getattr(self, "cache_dir", "")
        if folder and os.path.isdir(os.path.join(folder, filename)):
            shutil.rmtree(os.path.join(folder, filename), ignore_errors=True)


def _make_folder(key: str) -> None:
    """The kernel's folder, private whatever the umask says; what lies in its place goes."""
    from triton import knobs

    folder = Path(knobs.cache.dir) / key
    if os.path.lexists(folder) and not folder.is_dir():
        remove(folder)
    with contextlib.suppress(OSError):
        make_private(folder)


def _digests(kernel: str, group: dict[str, str]) -> dict[str, Any]:
    return {"kernel": kernel, "sha256": {name: hashlib.sha256(_read(path)).hexdigest() for name, path in group.items()}}


def _read(path: str) -> bytes:
    """A file that no other user could have changed.

    Raises
    ------
    OSError : there is none, or it is a link, or somebody else's.
    """
    return read_if(path, why_changeable)
