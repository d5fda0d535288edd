"""Waits for groups of copies keep the number of groups that the kernel leaves under way.

Triton's software pipeliner sets the number of every ``ttg.async_wait`` of the module anew, by the copies of its own: of
a kernel's it makes 0, which waits for all. The kernel's number is noted on the operation before, and put back after.
"""

from __future__ import annotations

import re

from tle_raw.linker.mlir.generic_operation import generic_name

WAIT, NOTE = "ttg.async_wait", "tle.pendings"
_NUMBER = re.compile(r"<\{num = (\d+) : i32\}>")
_KEPT = re.compile(rf"<\{{num = \d+ : i32\}}> \{{{re.escape(NOTE)} = (\d+) : i32\}}")


def note_waits(text: str) -> str:
    """A module in generic form, with the notes. A wait for all needs none."""
    if WAIT not in text:
        return text
    lines = (_NUMBER.sub(_noted, line, count=1) if generic_name(line) == WAIT else line for line in text.splitlines())
    return "\n".join(lines)


def _noted(found: re.Match[str]) -> str:
    return found[0] if found[1] == "0" else f"{found[0]} {{{NOTE} = {found[1]} : i32}}"


def keep_waits(text: str) -> str:
    """A module in generic form, with the noted numbers in their places."""
    return _KEPT.sub(r"<{num = \1 : i32}>", text)
