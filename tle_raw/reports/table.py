"""``print(report)``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tle_raw.columns import columns
from tle_raw.reports.interpreted import render_interpreted
from tle_raw.reports.values import KernelReport, RegionReport

_MOST_PLACES = 3  # source lines that are named


def render(report: KernelReport) -> Iterator[str]:
    """The report as lines."""
    if report.runs:
        yield from render_interpreted(report)
        return
    if report.memories:
        yield from _dsa_facts(report)
        yield from _hints(report)
        return
    on_cpu = bool(report.asm)
    yield f"kernel `{report.kernel}` for {report.target}: {_verdict(report)}"
    yield from _cpu_facts(report) if on_cpu else _gpu_facts(report)
    yield from _table(report.regions, on_cpu) if report.regions else ()
    yield from _hints(report)
    yield from (f"  PROBLEM {problem}" for problem in report.problems)
    if report.tool_problem:
        yield f"  SASS was not read: {report.tool_problem}"


def _dsa_facts(report: KernelReport) -> Iterator[str]:
    yield f"kernel `{report.kernel}` for {report.target}: compiled as far as it goes without a card"
    for memory in report.memories:
        yield f"  {memory.name}: {memory.bytes} of {memory.capacity} bytes"
    yield f"  pipes: {_counted(report.pipes)}"
    yield f"  synchronisation: {_counted(report.synchronisation)}"
    yield from (f"  to run it: {need}" for need in report.still_needed)


def _counted(counts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts) or "none"


def _gpu_facts(report: KernelReport) -> Iterator[str]:
    yield (
        f"  {_known(report.registers)} registers, {_known(report.spills)} spill instructions, "
        f"{_known(report.sass_instructions)} SASS instructions, "
        f"{len(report.ptx_calls)} PTX and {_sass_calls(report)} SASS calls"
    )
    yield from _local_memory(report)
    yield (
        f"  shared memory: {report.dynamic_shared} bytes dynamic (Triton), "
        f"{report.static_shared} bytes static (fragments)"
    )
    for region in report.regions:
        if region.dynamic_shared:
            yield f"    of the dynamic: {region.dynamic_shared} bytes for `{region.name}`"


def _local_memory(report: KernelReport) -> Iterator[str]:
    """How much and why: it makes a kernel several times slower where loops use it."""
    arrays = report.local_arrays
    spilled = max(0, (report.stack or 0) - arrays)
    if spilled or arrays:
        yield f"  local memory: {spilled + arrays} bytes a thread"
    if arrays:
        lines = [f"{place.file.rsplit('/', 1)[-1]}:{place.line}" for place in report.local_places]
        lines = lines if len(lines) <= _MOST_PLACES else [*lines[:_MOST_PLACES], "…"]
        yield f"    arrays: {arrays} bytes{_in_brackets(lines)}, with an index that is known at run time only:"
        yield "      it comes from data, or from a loop that is not unrolled whole"
    if spilled:
        yield f"    spills: {spilled} bytes, of values that {_known(report.registers)} registers do not hold"


def _cpu_facts(report: KernelReport) -> Iterator[str]:
    calls = ", ".join(report.library_calls) or "nothing"
    yield f"  {_known(report.asm_instructions)} instructions, entry {', '.join(report.entries)}, calls outside: {calls}"
    checks = ", with the checks of knobs.debug" if report.checked else ""
    yield f"  memory for tiles: {_known(report.scratch)} bytes for each thread that runs programs{checks}"


def _in_brackets(words: Sequence[str]) -> str:
    return f" ({', '.join(words)})" if words else ""


def _sass_calls(report: KernelReport) -> str:
    if report.sass_calls is None:
        return "unread"
    own = f" (and {len(report.ptxas_calls)} of ptxas's own)" if report.ptxas_calls else ""
    return f"{len(report.sass_calls)}{own}"


def _verdict(report: KernelReport) -> str:
    count = len(report.regions)
    regions = f"{count} region{'s' * (count != 1)}"
    return f"{regions}, one entry point" if report.one_kernel else f"{regions}, NOT as promised"


def _known(value: int | None, unknown: str = "?") -> str:
    return unknown if value is None else str(value)


def _became(region: RegionReport) -> str:
    if region.route == "traced":
        return "traced"
    if region.threads and not region.inlined:
        became = f"a team of {region.threads} threads"
        return f"{became} ({region.route})" if region.route else became
    became = "inlined" if region.inlined else "called"
    return f"{became} ({region.route})" if region.route else became


def _table(regions: Sequence[RegionReport], on_cpu: bool) -> Iterator[str]:
    counted, unknown = ("instructions", "-") if on_cpu else ("PTX instr.", "?")
    rows = [("region", "called at", "became", counted, "static shared", "compiled")]
    for r in regions:
        file = r.call_site.file.rsplit("/", 1)[-1]
        compiled = f"{r.seconds:.2f} s" + (" (cached)" if r.cache_hit else "")
        where = f"{file}:{r.call_site.line}"
        rows.append((r.name, where, _became(r), _known(r.instructions, unknown), str(r.static_shared), compiled))
    yield from columns(rows)
    yield from (f"  `{r.name}` is linked: {r.reason}" for r in regions if r.reason)
    yield from dict.fromkeys(f"  `{r.name}`: {note}" for r in regions for note in r.notes)
    yield from dict.fromkeys(f"  compiled by {_short(r.compiler)}" for r in regions)


def _hints(report: KernelReport) -> Iterator[str]:
    for hint in report.hints:
        file = hint.place.file.rsplit("/", 1)[-1]
        became = f"had no effect: {hint.reason}" if hint.reason else "was taken"
        yield f"  hint `{hint.text}` at {file}:{hint.place.line} {became}"


def _short(compiler: str) -> str:
    """Versions of compiler and headers, without what only a cache key needs."""
    parts = [part.split(" (")[0] for part in compiler.split(", ")]
    return ", ".join(part for part in parts if not part.startswith(("tile.h", "libstdc++", "libc++")))
