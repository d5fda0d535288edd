"""Regions that became Triton IR at their call: what a thread's compilation tells of them in its report.

Nothing of them is left to see in the kernel, so they are written down while it is traced. So is why another region was
not traced.
"""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass, replace
from typing import Any

from tle_raw.errors import SourceLocation, UntraceableError

KEY, UNTRACED = "tle_raw_traced", "tle_raw_untraced"
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
    notes: tuple[str, ...] = ()


def begin() -> None:
    """A compilation begins in this thread."""
    _STATE.linkable, _STATE.linked, _STATE.places = {}, {}, {}
    reset()


def reset() -> None:
    """The kernel is about to be traced, or what is known of it is written down."""
    _STATE.traced, _STATE.untraced = {}, {}


def record(region: TracedRegion) -> None:
    """The kernel that is being traced holds this region. A function that is traced twice tells of it once."""
    _found("traced").setdefault((region.name, region.file, region.line, region.column), region)


def choose(name: str, location: SourceLocation, identity: str, has_link: bool) -> UntraceableError | None:
    """Why a fragment of this compilation is to be linked although it could be traced; None where nothing is known yet.

    ``has_link`` says that it has the choice.
    """
    _found("places")[name] = location
    if has_link:
        _found("linkable")[identity] = name
    return _found("linked").get(identity)


def link_instead(reason: UntraceableError) -> bool:
    """Link from now on, in this compilation, what has the choice and was traced; False where nothing has."""
    left = {i: name for i, name in _found("linkable").items() if i not in _found("linked")}
    _found("linked").update(dict.fromkeys(left, reason))
    return bool(left)


def recorded(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """The traced regions of this compilation, described already or not."""
    return list(metadata.get(KEY, ())) or [asdict(region) for region in _found("traced").values()]


def location_of(name: str) -> SourceLocation | None:
    """Where a fragment of this compilation is declared."""
    return _found("places").get(name)


def add_note(key: str, text: str) -> None:
    """Say something more of a region that was recorded."""
    for name, region in _found("traced").items():
        if key_of(*name) == key and text not in region.notes:
            _found("traced")[name] = replace(region, notes=(*region.notes, text))


def key_of(name: str, file: str, line: int, column: int) -> str:
    """What a region's markers in the kernel call it."""
    return f"{name} {file}:{line}:{column}"


def record_untraced(name: str, site: SourceLocation, reason: UntraceableError) -> None:
    """Why a call of a fragment is linked, though its dialect would rather trace it."""
    where = reason.context.source
    text = f"{reason.message} ({where})" if where else reason.message
    _found("untraced")[name, site.file, site.line] = text


def describe(metadata: dict[str, Any]) -> None:
    """Write what this thread's compilation knows into its metadata, which Triton stores beside the kernel."""
    if _found("traced"):
        metadata[KEY] = [asdict(region) for region in _found("traced").values()]
    if _found("untraced"):
        metadata[UNTRACED] = [[*call, reason] for call, reason in _found("untraced").items()]
    reset()


def _found(kind: str) -> dict[Any, Any]:
    found: dict[Any, Any] = _STATE.__dict__.setdefault(kind, {})
    return found
