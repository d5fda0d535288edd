"""A launch in Triton's interpreter, and its report: nothing was compiled but the fragments, and they have run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tle_raw.errors import Place
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.compilation import CompiledFragment
from tle_raw.reports.link_report import LinkReport, RegionReport

INTERPRETER = "Triton's interpreter"
WARP = 32


@dataclass
class InterpretedLaunch:
    """What a launch with regions returns in the interpreter; ``tle_raw.report`` takes it.

    ``runs`` counts how often each region has run: once for each program that came by.
    """

    kernel: str
    num_warps: int
    regions: dict[tuple[str, Place], RegionReport] = field(default_factory=dict)
    runs: dict[tuple[str, Place], int] = field(default_factory=dict)

    def remember(self, bound: BoundSignature, site: Place | None, compiled: CompiledFragment | None) -> None:
        """A region runs now; ``compiled`` is None where its operations are Triton's own."""
        key = (bound.name, site or Place("<kernel>", 0))
        self.runs[key] = self.runs.get(key, 0) + 1
        if key not in self.regions:
            self.regions[key] = _region(bound, key[1], compiled, self.num_warps * WARP)

    def report(self) -> LinkReport:
        """The regions that have run; there is no kernel that could hold an entry point."""
        return LinkReport(
            kernel=self.kernel,
            target=INTERPRETER,
            regions=tuple(self.regions.values()),
            entries=(),
            problems=(),
            static_shared=sum(region.static_shared for region in self.regions.values()),
            runs=tuple(self.runs.values()),
        )


def _region(bound: BoundSignature, site: Place, compiled: CompiledFragment | None, threads: int) -> RegionReport:
    return RegionReport(
        name=bound.name,
        entry=compiled.entry if compiled else "",
        call_site=site,
        inlined=False,
        instructions=compiled.instructions if compiled else None,
        lines=(),
        static_shared=sum(v[1] for v in compiled.static_shared) if compiled else 0,
        seconds=compiled.seconds if compiled else 0.0,
        cache_hit=compiled.cache_hit if compiled else False,
        compiler=compiled.compiler if compiled else INTERPRETER,
        parameters=tuple(map(str, bound.parameters)),
        kept_calls=compiled.kept_calls if compiled else (),
        threads=threads if compiled and not bound.is_elementwise else 0,
        route="" if compiled else "traced",
    )


def render_interpreted(report: LinkReport) -> Iterator[str]:
    """The report as lines."""
    count = len(report.regions)
    yield f"kernel `{report.kernel}` in {report.target}: {count} region{'s' * (count != 1)}, nothing was linked"
    rows = [("region", "called at", "ran as", "times", "compiled")]
    for region, runs in zip(report.regions, report.runs):
        where = f"{region.call_site.file.rsplit('/', 1)[-1]}:{region.call_site.line}"
        compiled = "-" if region.route else f"{region.seconds:.2f} s" + (" (cached)" if region.cache_hit else "")
        rows.append((region.name, where, _ran_as(region), str(runs), compiled))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()


def _ran_as(region: RegionReport) -> str:
    if region.route:
        return "Triton's operations"
    return f"a team of {region.threads} threads" if region.threads else "a function of each element"
