"""A fragment's text: the bytes of its file, and the lines of a ``source=`` string."""

from __future__ import annotations

import inspect
import linecache
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tle_raw.errors import FragmentSourceError, SourceLocation

LARGEST = 256 << 20


def is_path(source: object) -> bool:
    """Whether a source names a file; text of code has lines or no suffix."""
    return isinstance(source, Path) or (
        isinstance(source, str) and "\n" not in source and Path(source).suffix.strip(".").isalnum()
    )


def location_of_function(function: Callable[..., Any]) -> SourceLocation:
    """The line of a Python function's ``def``; without its text where Python does not have the source."""
    code = function.__code__
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        return SourceLocation(code.co_filename, code.co_firstlineno)
    at = next((i for i, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)
    return SourceLocation(code.co_filename, first + at, 0, lines[at].rstrip())


def location_of_text(text: str, declared: SourceLocation) -> SourceLocation:
    """Where the first line of a ``source=`` string stands in the Python file that holds it.

    A string that is built at run time stands nowhere: its lines are counted from the declaration.
    """
    lines = text.splitlines()
    first = next((index for index, line in enumerate(lines) if line.strip()), 0)
    wanted = [line.strip() for line in lines[first:]]
    python = [line.rstrip("\n") for line in linecache.getlines(declared.file)]
    best: tuple[int, bool, int, int] | None = None
    for number, line in enumerate(python, start=1):
        if wanted and wanted[0] and wanted[0] in line:
            before = line[: line.index(wanted[0])].strip()
            starts = not before or before[-1] in "\"'"
            score = (
                _matching_lines(wanted, python, number - 1),
                starts,
                -abs(number - declared.line),
                number,
            )
            best = score if best is None else max(best, score)
    if best is None:
        return declared
    return SourceLocation(declared.file, best[3] - first, 0, lines[first] if lines else "")


def _matching_lines(wanted: list[str], python: list[str], start: int) -> int:
    count = 0
    for line, present in zip(wanted, python[start:], strict=False):
        if line not in present:
            break
        count += 1
    return count


def read_bytes(path: Path, suffixes: Sequence[str], language: str) -> bytes:
    """The content of a fragment's file; where it is missing, the error names those of that language beside it.

    Raises
    ------
    FragmentSourceError : the file is missing or cannot be read.
    """
    try:
        _check_file(path)
        return path.read_bytes()
    except FileNotFoundError:
        raise FragmentSourceError(
            f"the source file {path} does not exist", hint=_near_files(path, suffixes, language)
        ) from None
    except OSError as error:
        raise FragmentSourceError(f"the source file {path} cannot be read: {error.strerror}") from error


def _check_file(path: Path) -> None:
    """A pipe or a device has no end, or none in time."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise FragmentSourceError(f"the source {path} is no regular file")
    if status.st_size > LARGEST:
        raise FragmentSourceError(f"the source file {path} is larger than {LARGEST >> 20} MiB")


def _near_files(path: Path, suffixes: Sequence[str], language: str) -> str:
    """A hint for a file that is missing: what its folder holds instead."""
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist either"
    others = sorted(p.name for p in path.parent.iterdir() if p.suffix in suffixes)
    return (
        f"in {path.parent} there are " + ", ".join(others[:8]) if others else f"{path.parent} holds no {language} file"
    )
