"""The line of a kernel that an error is about."""

from __future__ import annotations

import linecache


def excerpt(file: str, line: int, column: int) -> str:
    """Where it is, the line, and a caret under the column; "" where no line is known."""
    if not line:
        return ""
    lines = [f"{file}:{line}"]
    text = linecache.getline(file, line).rstrip()
    if text:
        lines.append(f"  {text}")
        if column:
            lines.append("  " + " " * (column - 1) + "^")
    return "\n".join(lines)
