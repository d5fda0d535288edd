"""Lists the user's files that CUDA text includes, without compiling it."""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tle_raw.adapters.cpp.source import decode

_INCLUDE = re.compile(r"^[^\S\n]*(?:/\*.*?\*/)?[^\S\n]*#[^\S\n]*(include|include_next|import)\b(?:\\\n|[^\n])*", re.M)
_NAME = re.compile(r'(?:include|include_next|import)\s*(?:/\*.*?\*/)?\s*("([^"\n]+)"|<([^>\n]+)>)', re.S)

_KNOWN: dict[bytes, tuple[Include, ...]] = {}


@dataclass(frozen=True)
class Include:
    """``name`` is empty for a computed include, whose file only a preprocessor knows."""

    name: str
    is_quoted: bool = False
    is_next: bool = False


@dataclass(frozen=True)
class Closure:
    """The user's files reached, and whether some include could not be read from the text."""

    files: tuple[Path, ...]
    has_computed: bool


@functools.lru_cache(maxsize=4096)
def includes_of(text: str) -> tuple[Include, ...]:
    """All ``#include`` lines, in dead #if branches and comments too: too many is safe, too few is not."""
    found = []
    for line in _INCLUDE.finditer(text):
        name = _NAME.search(line[0].replace("\\\n", " "))
        is_next = line[1] == "include_next"
        found.append(Include(name[2] or name[3], bool(name[2]), is_next) if name else Include("", is_next=is_next))
    return tuple(found)


def closure(text: str, folder: Path | None, search_dirs: Iterable[Path], extra: Iterable[Path] = ()) -> Closure:
    """Follow the includes through the including files' folders and the user's folders, and nowhere else.

    What is not found there belongs to the toolchain. ``extra`` are files that are read in any case.
    """
    search = _Search([str(path) for path in search_dirs])
    found: dict[str, None] = {}
    computed = False
    waiting: list[tuple[str | None, tuple[Include, ...]]] = [(str(folder) if folder else None, includes_of(text))]
    for path in extra:
        for present in search.present([str(path)]):
            found[present] = None
            waiting.append((os.path.dirname(present), includes_in(present)))
    while waiting:
        here, includes = waiting.pop()
        for include in includes:
            computed = computed or not include.name
            for file in search.files(include, here):
                if file not in found:
                    found[file] = None
                    waiting.append((os.path.dirname(file), includes_in(file)))
    return Closure(tuple(sorted(map(Path, found))), computed)


class _Search:
    """Finds files by the names that includes have. Names are looked up once: a library's stand in hundreds of files."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = folders
        self._known: dict[str, tuple[str, ...]] = {}
        self._is_file: dict[str, bool] = {}

    def files(self, include: Include, here: str | None) -> tuple[str, ...]:
        """The file that is meant; all that could be, where the next one after the includer is."""
        if not include.name:
            return ()
        # an angle include may still name a neighbour when -iquote or -I say so, but never by its own folder alone
        own = self.present([os.path.join(here, include.name)]) if include.is_quoted and here is not None else ()
        if own and not include.is_next:
            return own
        if include.name not in self._known:
            self._known[include.name] = self.present(os.path.join(folder, include.name) for folder in self._folders)
        others = self._known[include.name]
        return (*own, *others) if include.is_next else others[:1]

    def present(self, candidates: Iterable[str]) -> tuple[str, ...]:
        """Those that are files, by their plain names."""
        return tuple(path for path in map(os.path.normpath, candidates) if self._is(path))

    def _is(self, path: str) -> bool:
        if path not in self._is_file:
            try:
                self._is_file[path] = os.path.isfile(path)
            except (OSError, ValueError):  # a name that no file can have
                self._is_file[path] = False
        return self._is_file[path]


def includes_in(path: str) -> tuple[Include, ...]:
    """What a file includes; nothing where there is none. It is read in any case: a file's time may stand still."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return ()
    key = hashlib.sha256(content).digest()
    if key not in _KNOWN:
        _KNOWN[key] = includes_of(decode(content))
    return _KNOWN[key]
