"""Says what failed inside a kernel, from the status record that it left."""

from __future__ import annotations

import linecache
from collections.abc import Mapping, Sequence
from typing import Any

from tle_raw.errors import KernelFailed
from tle_raw.targets.cpu.contexts import CODE, DETAIL, PROGRAM


def failure(status: Sequence[int], checks: Sequence[Mapping[str, Any]], kernel: str) -> KernelFailed:
    """The error for a status record whose code is n: check n-1 failed."""
    x, y, z = status[PROGRAM]
    place = f"in program ({x}, {y}, {z}) of kernel `{kernel}`"
    number = status[CODE] - 1
    if not 0 <= number < len(checks):
        return KernelFailed(f"the kernel stopped with the unknown status {status[CODE]}, {place}", program=(x, y, z))
    check = checks[number]
    message = str(check.get("message", "")) or "a check failed"
    return KernelFailed(
        f"{_filled(message, status[DETAIL])}, {place}",
        kind=str(check.get("kind", "")),
        program=(x, y, z),
        log=_excerpt(str(check.get("file", "")), int(check.get("line", 0)), int(check.get("column", 0))),
    )


def _filled(message: str, detail: Sequence[int]) -> str:
    """A message may show the record's details: ``{0}`` is the first."""
    for index, value in enumerate(detail):
        message = message.replace(f"{{{index}}}", str(value))
    return message


def _excerpt(file: str, line: int, column: int) -> str:
    if not line:
        return ""
    lines = [f"{file}:{line}"]
    text = linecache.getline(file, line).rstrip()
    if text:
        lines.append(f"  {text}")
        if column:
            lines.append("  " + " " * (column - 1) + "^")
    return "\n".join(lines)
