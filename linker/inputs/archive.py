"""Reads static archives (``.a``): the members that hold something, in order."""

from __future__ import annotations

from collections.abc import Iterator

from tle_raw.errors import LinkError
from tle_raw.linker.inputs.kinds import ARCHIVE

_HEADER = 60


def members(data: bytes, name: str) -> Iterator[tuple[str, bytes]]:
    """Name and content of each member; symbol tables are left out.

    Raises
    ------
    LinkError : the archive was cut, or a header is damaged.
    """
    names, position = b"", len(ARCHIVE)
    while position < len(data):
        header = data[position : position + _HEADER]
        size = header[48:58].strip()
        if len(header) < _HEADER or header[58:60] != b"`\n" or not size.isdigit():
            raise LinkError(
                f"the archive {name} is damaged at byte {position}", hint="the file was cut, or is no archive"
            )
        start, end = position + _HEADER, position + _HEADER + int(size)
        if end > len(data):
            raise LinkError(f"the archive {name} ends within its member at byte {position}", hint="the file was cut")
        called, content = header[:16].rstrip(), data[start:end]
        position = end + end % 2
        if called == b"//":
            names = content
        elif called not in (b"/", b"/SYM64/") and not called.startswith(b"__.SYMDEF"):
            yield _member_name(called, names), content


def _member_name(called: bytes, names: bytes) -> str:
    if called.startswith(b"/") and called[1:].isdigit():
        called = names[int(called[1:]) :].split(b"\n", 1)[0]
    return called.decode("utf-8", "replace").rstrip("/")
