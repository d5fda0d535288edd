"""The report of a launch in Triton's interpreter."""

from __future__ import annotations

from collections.abc import Iterator

from tle_raw.columns import columns
from tle_raw.regions.interpreted_launch import InterpretedLaunch, InterpretedRegion
from tle_raw.reports.values import KernelReport, RegionReport

INTERPRETER = "Triton's interpreter"
WARP = 32


def read_launch(launch: InterpretedLaunch) -> KernelReport:
    """The regions that have run; there is no kernel that could hold an entry point."""
    regions = tuple(_region(region, launch.num_warps * WARP) for region in launch.regions.values())
    return KernelReport(
        kernel=launch.kernel,
        target=INTERPRETER,
        regions=regions,
        entries=(),
        problems=(),
        static_shared=sum(region.static_shared for region in regions),
        runs=tuple(launch.runs.values()),
    )


def _region(region: InterpretedRegion, threads: int) -> RegionReport:
    bound, compiled = region.bound, region.compiled
    return RegionReport(
        name=bound.name,
        entry=compiled.entry if compiled else "",
        call_site=region.call_site,
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


def render_interpreted(report: KernelReport) -> Iterator[str]:
    """The report as lines."""
    count = len(report.regions)
    yield f"kernel `{report.kernel}` in {report.target}: {count} region{'s' * (count != 1)}, nothing was linked"
    rows = [("region", "called at", "ran as", "times", "compiled")]
    for region, runs in zip(report.regions, report.runs):
        where = f"{region.call_site.file.rsplit('/', 1)[-1]}:{region.call_site.line}"
        compiled = "-" if region.route else f"{region.seconds:.2f} s" + (" (cached)" if region.cache_hit else "")
        rows.append((region.name, where, _ran_as(region), str(runs), compiled))
    yield from columns(rows)


def _ran_as(region: RegionReport) -> str:
    if region.route:
        return "Triton's operations"
    return f"a team of {region.threads} threads" if region.threads else "a function of each element"
