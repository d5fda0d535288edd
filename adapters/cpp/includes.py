"""Lists the user's files that CUDA text includes, without compiling it."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
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
    dirs = tuple(search_dirs)
    found: dict[Path, None] = {}
    computed = False
    waiting: list[tuple[Path | None, tuple[Include, ...]]] = [(folder, includes_of(text))]
    for path in extra:
        for present in _present([path]):
            found[present] = None
            waiting.append((present.parent, _includes_in(present)))
    while waiting:
        here, includes = waiting.pop()
        for include in includes:
            computed = computed or not include.name
            for path in _resolve(include, here, dirs):
                if path not in found:
                    found[path] = None
                    waiting.append((path.parent, _includes_in(path)))
    return Closure(tuple(sorted(found)), computed)


def _resolve(include: Include, here: Path | None, dirs: tuple[Path, ...]) -> list[Path]:
    if not include.name:
        return []
    candidates = [folder / include.name for folder in dirs]
    # an angle include may still name a neighbour when -iquote or -I say so, but never by its own folder alone
    if include.is_quoted and here is not None:
        candidates.insert(0, here / include.name)
    present = _present(candidates)
    # the next one after the includer is unknown to this scan: all of them may be meant
    return present if include.is_next else present[:1]


def _present(candidates: Iterable[Path]) -> list[Path]:
    normal = (Path(os.path.normpath(candidate)) for candidate in candidates)
    return [candidate for candidate in normal if _is_file(candidate)]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that no file can have, such as one of 300 letters
        return False


def _includes_in(path: Path) -> tuple[Include, ...]:
    """By content, which is read in any case: a file's time may stand still."""
    try:
        content = path.read_bytes()
    except OSError:
        return ()
    key = hashlib.sha256(content).digest()
    if key not in _KNOWN:
        _KNOWN[key] = includes_of(decode(content))
    return _KNOWN[key]
