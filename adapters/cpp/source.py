"""Reads the text of a fragment."""

from __future__ import annotations

from pathlib import Path

from tle_raw.errors import FragmentSourceError
from tle_raw.fragments.source_text import read_bytes

SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".cpp")


def read_file(path: Path) -> str:
    """Text of a source file.

    Raises
    ------
    FragmentSourceError : the file is missing or cannot be read.
    """
    data = read_bytes(path, SUFFIXES, "CUDA")
    if '"' in str(path) or "\n" in str(path):
        raise FragmentSourceError(f"the source file {path!s} has a name that no #include can spell")
    return decode(data)


def decode(data: bytes) -> str:
    """UTF-8, or bytes as they are: old comments come in any encoding, and no two files may look equal."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")
