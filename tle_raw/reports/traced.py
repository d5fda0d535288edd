"""Adds the regions that were traced to a report: their code is Triton's own, at the line of the call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tle_raw.errors import SourceLocation
from tle_raw.linker.ptx.read import read_ptx
from tle_raw.reports.values import KernelReport, RegionReport


def with_traced(
    report: KernelReport, traced: Sequence[dict[str, Any]], untraced: Sequence[Sequence[Any]]
) -> KernelReport:
    """The report with its traced regions after the linked ones, and with the reasons why those are linked."""
    if not traced and not untraced:
        return report
    reasons = {(name, file, line): reason for name, file, line, reason in untraced}
    linked = (replace(r, reason=reasons.get((r.name, r.call_site.file, r.call_site.line), "")) for r in report.regions)
    return replace(report, regions=(*linked, *(_region(region, report.ptx) for region in traced)))


def _region(region: dict[str, Any], ptx: str) -> RegionReport:
    return RegionReport(
        name=region["name"],
        entry="",
        call_site=SourceLocation(region["file"], region["line"], region["column"], region["text"]),
        inlined=True,
        instructions=_instructions(region, ptx),
        lines=(),
        static_shared=0,
        seconds=region["seconds"],
        cache_hit=False,
        compiler=f"Triton, from {region['language']}",
        parameters=tuple(region["parameters"]),
        kept_calls=(),
        route="traced",
        notes=tuple(region.get("notes", ())),
    )


def _instructions(region: dict[str, Any], ptx: str) -> int | None:
    """PTX instructions that come from the call's line, those of its arguments included."""
    instructions = read_ptx(ptx).instructions if ptx else ()
    if not any(i.places for i in instructions):
        return None
    where = (region["file"], region["line"])
    return sum(any((p.file, p.line) == where for p in i.places) for i in instructions)
