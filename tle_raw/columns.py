"""Text in columns, for errors, reports and the command line."""

from __future__ import annotations

from collections.abc import Sequence


def columns(rows: Sequence[Sequence[object]], indent: str = "  ") -> list[str]:
    """A line a row, in which every column but the last is as wide as its widest cell; the rows are equally long."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*(row[:-1] for row in cells), strict=True)]
    return [
        indent + "  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in cells
    ]
