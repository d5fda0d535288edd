"""Regions that became Triton IR at their call: what a thread's compilation tells of them in its report.

Nothing of them is left to see in the kernel, so they are written down while it is traced.
"""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass
from typing import Any

KEY = "tle_raw_traced"
_STATE = threading.local()


@dataclass(frozen=True)
class TracedRegion:
    """One call of a fragment that was traced, as the kernel's metadata keeps it."""

    name: str
    file: str
    line: int
    column: int
    text: str
    parameters: tuple[str, ...]
    language: str
    seconds: float


def forget() -> None:
    """A compilation begins in this thread."""
    _STATE.regions = {}


def remember(region: TracedRegion) -> None:
    """The kernel that is being traced holds this region. A function that is traced twice tells of it once."""
    regions = _STATE.__dict__.setdefault("regions", {})
    regions.setdefault((region.name, region.file, region.line, region.column), region)


def describe(metadata: dict[str, Any]) -> None:
    """Write the regions of this thread's compilation into its metadata, which Triton stores beside the kernel."""
    regions = _STATE.__dict__.get("regions", {})
    if regions:
        metadata[KEY] = [asdict(region) for region in regions.values()]
    forget()
