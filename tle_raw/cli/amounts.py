"""Sizes and ages as text."""

from __future__ import annotations


def bytes_text(count: float) -> str:
    """``1.5 MB``: powers of 1000, as disks are sold."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count /= 1000
    return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"


def age_text(seconds: float) -> str:
    """``3 h``: the largest unit that fits."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
