"""The hints of the kernel that is compiled: those in its functions, as Triton has read them.

Triton reads the source of a function when ``triton.jit`` makes it, and what it reads is in its cache key. The file may
be another one when the kernel is compiled, or gone. So hints come from what Triton keeps. Functions that no name in the
kernel leads to, methods of its values for one, are looked for in the files that Python keeps, if those are the same.
"""

from __future__ import annotations

import linecache
import textwrap
import threading
import weakref
from collections.abc import Sequence
from typing import Any

from triton.runtime.jit import JITFunction

from tle_raw.flir.hints.comments import mentions, read_hints
from tle_raw.flir.hints.places import AT_LAST_ARGUMENT, HintedFile, place_hints
from tle_raw.flir.triton_compilation import triton_compilation
from tle_raw.fragments.watch import dependencies

_THREAD = threading.local()


def hints_of_kernel() -> dict[str, HintedFile]:
    """Of the kernel that this thread compiles: its hints by the names of the files; none where nothing is compiled."""
    known = triton_compilation()
    if known is None:
        return {}
    source, last = known["src"], getattr(_THREAD, "last", None)
    if last is None or last[0]() is not source:
        last = _THREAD.last = weakref.ref(source), _read(source)
    found: dict[str, HintedFile] = last[1]
    return found


def asks_for(name: str, file: str, line: int) -> bool:
    """Whether a call of the kernel that this thread compiles, which begins on a line, has a hint of that name."""
    placed = hints_of_kernel().get(file, HintedFile())
    places = [place for found in placed.at.values() for place in found]
    return any(p.hint.name == name and p.first == line and not p.is_loop for p in places)


def _read(source: Any) -> dict[str, HintedFile]:
    functions: dict[str, list[JITFunction[Any]]] = {}
    for function in dependencies(source.fn, source.constants.values())[0]:
        functions.setdefault(function.fn.__code__.co_filename, []).append(function)
    found: dict[str, HintedFile] = {}
    for file, those in functions.items():
        for function in those:
            if mentions([*function.raw_src, function.src]):
                found.setdefault(file, HintedFile()).add(_of_function(function, file))
    for file in [file for file, entry in list(linecache.cache.items()) if len(entry) > 2 and _mentions(entry[2])]:
        rest = _of_others(file, functions.get(file, []))
        if rest.hints():
            found.setdefault(file, HintedFile()).add(rest)
    return found


def _of_function(function: JITFunction[Any], file: str) -> HintedFile:
    """Triton has the function without the blanks in front of it, and before 3.8 counts columns so."""
    text, begin = textwrap.dedent("".join(function.raw_src)), function.starting_line_number
    if not text.endswith(function.src):  # somebody has put another text in its place, from `def` on
        text, begin = function.src, begin + _lines_before_def(function.raw_src)
    blanks = len(function.raw_src[0]) - len(function.raw_src[0].lstrip())
    lines = ["\n"] * (begin - 1) + text.splitlines(keepends=True)
    return place_hints(lines, read_hints(lines, file), 0 if AT_LAST_ARGUMENT else blanks)


def _lines_before_def(lines: Sequence[str]) -> int:
    return next((number for number, line in enumerate(lines) if line.strip().startswith("def ")), 0)


def _of_others(file: str, functions: Sequence[JITFunction[Any]]) -> HintedFile:
    """What a file holds besides these functions; nothing where it has changed since they were read."""
    lines = linecache.getlines(file)
    known: set[int] = set()
    for function in functions:
        first = function.starting_line_number - 1
        last = first + len(function.raw_src)
        if lines[first:last] != function.raw_src:
            return HintedFile()
        known.update(range(first + 1, last + 1))
    return place_hints(lines, [hint for hint in read_hints(lines, file) if hint.line not in known])


def _mentions(lines: Sequence[str]) -> bool:
    """Known for each list of lines as long as it is the one that is kept."""
    key = id(lines), len(lines)
    if key not in _MENTIONED:
        if len(_MENTIONED) > _MOST_KNOWN:
            _MENTIONED.clear()
        _MENTIONED[key] = lines, mentions(lines)
    return _MENTIONED[key][1]


# The lines are kept beside the answer, so that no other list gets their number.
_MENTIONED: dict[tuple[int, int], tuple[Sequence[str], bool]] = {}
_MOST_KNOWN = 4096
