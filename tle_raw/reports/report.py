"""Finds the target that reads the report of a kernel, and adds what was traced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tle_raw.errors import ReportError
from tle_raw.flir.hints.told import KEY as HINTS
from tle_raw.regions.interpreted_launch import InterpretedLaunch
from tle_raw.regions.traced_regions import KEY, UNTRACED
from tle_raw.registry import find_target
from tle_raw.reports.hints import with_hints
from tle_raw.reports.interpreted import read_launch
from tle_raw.reports.link_report import LinkReport
from tle_raw.reports.traced import with_traced
from tle_raw.reports.values import KernelReport

NO_LINKED: dict[str, Any] = {"regions": [], "fragments": {}}


def report(kernel: Any) -> LinkReport:
    """Read a compiled kernel: what ``kernel[grid](...)`` or ``triton.compile`` returns.

    What a launch in Triton's interpreter returns has a report too: of the regions that have run.

    Raises
    ------
    ReportError : the object is no compiled kernel, or it holds neither a region nor a hint.
    """
    if isinstance(kernel, InterpretedLaunch):
        return _printable(read_launch(kernel))
    metadata = getattr(kernel, "metadata", None)
    if metadata is None or not hasattr(metadata, "target") or not isinstance(getattr(kernel, "asm", None), Mapping):
        raise ReportError(f"a report needs a compiled kernel, got {_kind(kernel)}", hint=_hint(kernel))
    record = getattr(metadata, "tle_raw", None)
    traced = getattr(metadata, KEY, ())
    hints = getattr(metadata, HINTS, ())
    if record is None and not traced and not hints:
        raise ReportError(
            f"the kernel `{getattr(metadata, 'name', '?')}` holds no region and no hint: it is Triton's alone"
        )
    target = find_target(metadata.target.backend)
    linked = target.read_report(kernel.asm, metadata, record or NO_LINKED)
    return _printable(with_hints(with_traced(linked, traced, getattr(metadata, UNTRACED, ())), hints))


def _printable(report: KernelReport) -> LinkReport:
    return LinkReport(**vars(report))


def _kind(value: object) -> str:
    return "nothing" if value is None else type(value).__name__


def _hint(value: object) -> str:
    from triton import knobs
    from triton.runtime import KernelInterface

    if value is None and knobs.runtime.interpret:
        return "TRITON_INTERPRET=1: Triton's interpreter compiles nothing, and this launch had no regions"
    if isinstance(value, KernelInterface):
        return "launch it first: the report is of what kernel[grid](...) returns"
    return "pass what kernel[grid](...) or triton.compile(...) returns"
