"""``tle_raw.report``: what became of each region of a compiled kernel, proven from its PTX and SASS."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.errors import Place, ReportError
from tle_raw.linker.ptx import Instruction, Ptx, read_ptx
from tle_raw.linker.sass import CubinFacts, read_cubin
from tle_raw.linker.verify import find_problems

_NO_CODE = (".loc", "$L__tmp", "// %bb", "$L__func")


@dataclass(frozen=True)
class RegionReport:
    """One region.

    Attributes
    ----------
    inlined : no call to the fragment is left in the PTX.
    instructions : PTX instructions that come from this call of the fragment, or None without line information.
    lines : first and last PTX lines of the region's pieces.
    static_shared : bytes of the fragment's own ``__shared__`` variables, once for the whole kernel.
    seconds, cache_hit : the foreign compiler's time, and whether the fragment came from the cache.
    """

    name: str
    entry: str
    call_site: Place
    inlined: bool
    instructions: int | None
    lines: tuple[tuple[int, int], ...]
    static_shared: int
    seconds: float
    cache_hit: bool
    compiler: str
    parameters: tuple[str, ...]
    kept_calls: tuple[str, ...]


@dataclass(frozen=True)
class LinkReport:
    """A whole kernel and its regions; ``print(report)`` is a table.

    ``ptxas_calls`` are calls of subroutines that ptxas made itself, such as the slow path of a division.
    ``registers``, ``stack`` and the SASS fields are None where cuobjdump is missing; ``tool_problem`` says why.
    ``dynamic_shared`` is Triton's own shared memory in bytes, ``static_shared`` the fragments'.
    """

    kernel: str
    target: str
    regions: tuple[RegionReport, ...]
    entries: tuple[str, ...]
    ptx_calls: tuple[str, ...]
    sass_calls: tuple[str, ...] | None
    ptxas_calls: tuple[str, ...]
    registers: int | None
    spills: int | None
    stack: int | None
    sass_instructions: int | None
    dynamic_shared: int
    static_shared: int
    problems: tuple[str, ...]
    tool_problem: str
    ptx: str

    @property
    def one_kernel(self) -> bool:
        """Exactly one entry point in PTX and, where it can be read, SASS; and all that was promised holds."""
        return len(self.entries) == 1 and not self.problems

    def excerpt(self, region: RegionReport | int = 0, most: int = 40, around: str = "") -> str:
        """The PTX lines in which a region sits, with their numbers; at most ``most`` lines.

        ``around`` puts the first line that holds this text near the top; without it, or where nothing holds it, the
        excerpt starts where the region does.
        """
        chosen = self.regions[region] if isinstance(region, int) else region
        text = self.ptx.splitlines()
        numbers = [n for first, last in chosen.lines for n in range(first, last + 1)]
        lines = [(n, text[n - 1]) for n in numbers if not text[n - 1].lstrip().startswith(_NO_CODE)]
        found = next((i for i, (_, line) in enumerate(lines) if around and around in line), 0)
        start = max(0, min(found - 4, len(lines) - most))
        shown = [f"{n:6}  {line}" for n, line in lines[start : start + most]]
        before = [f"        … {start} lines before"] if start else []
        left = len(lines) - start - most
        return "\n".join([*before, *shown, *([f"        … {left} more lines"] if left > 0 else [])])

    def __str__(self) -> str:
        return "\n".join(_render(self))


def report(kernel: Any) -> LinkReport:
    """Read a compiled kernel: what ``kernel[grid](...)`` or ``triton.compile`` returns.

    Raises
    ------
    ReportError : the object is no compiled kernel, or it holds no region.
    """
    metadata = getattr(kernel, "metadata", None)
    if metadata is None or not hasattr(kernel, "asm"):
        raise ReportError(
            f"a report needs a compiled kernel, got {type(kernel).__name__}",
            hint="pass what kernel[grid](...) or triton.compile(...) returns",
        )
    record = getattr(metadata, "tle_raw", None)
    if record is None:
        raise ReportError(f"the kernel `{getattr(metadata, 'name', '?')}` holds no region: it is Triton's alone")
    ptx_text = kernel.asm["ptx"]
    ptx = read_ptx(ptx_text)
    cubin = kernel.asm.get("cubin")
    facts = read_cubin(cubin) if cubin else CubinFacts(reason="the kernel was not assembled")
    inlined = {entry: f["inline"] for entry, f in record["fragments"].items()}
    rows = find_problems(ptx, facts, inlined=inlined)
    known = not facts.reason
    return LinkReport(
        kernel=metadata.name,
        target=f"{metadata.target.backend}:{metadata.target.arch}",
        regions=tuple(_region(r, record["fragments"][r["entry"]], ptx) for r in record["regions"]),
        entries=ptx.entries,
        ptx_calls=tuple(c.target for c in ptx.calls),
        sass_calls=tuple(c for c in facts.calls if not _is_ptxas_own(c)) if known else None,
        ptxas_calls=tuple(c for c in facts.calls if _is_ptxas_own(c)),
        registers=facts.registers,
        spills=(facts.local_loads or 0) + (facts.local_stores or 0) if known else None,
        stack=facts.stack,
        sass_instructions=facts.instructions,
        dynamic_shared=metadata.shared or 0,
        static_shared=sum(v[1] for f in record["fragments"].values() for v in f["static_shared"]),
        problems=tuple(f"{r.what}: expected {r.expected}, got {r.got}" for r in rows),
        tool_problem=facts.reason,
        ptx=ptx_text,
    )


def _is_ptxas_own(target: str) -> bool:
    """Subroutines that ptxas makes itself, in plain kernels too: slow paths of division, and shared tails of code."""
    return target.startswith((".L", "$__internal_"))


def _region(region: dict[str, Any], fragment: dict[str, Any], ptx: Ptx) -> RegionReport:
    site = Place(region["file"], region["line"], region["column"], region["text"])
    inside = [i for i in ptx.instructions if _comes_from(i, site)]
    has_lines = any(i.places for i in ptx.instructions)
    return RegionReport(
        name=region["name"],
        entry=region["entry"],
        call_site=site,
        inlined=region["entry"] not in ptx.functions and all(c.target != region["entry"] for c in ptx.calls),
        instructions=len(inside) if has_lines else None,
        lines=tuple(_pieces(inside)),
        static_shared=sum(v[1] for v in fragment["static_shared"]),
        seconds=fragment["seconds"],
        cache_hit=fragment["cache_hit"],
        compiler=fragment["compiler"],
        parameters=tuple(region["parameters"]),
        kept_calls=tuple(fragment["kept_calls"]),
    )


def _comes_from(instruction: Instruction, site: Place) -> bool:
    """Inlined at the call, however deep; Triton's own instructions for the ports stand at the call itself."""
    wanted = (site.file, site.line, site.column)
    return any((p.file, p.line, p.column) == wanted for p in instruction.places[1:])


def _pieces(inside: Sequence[Instruction]) -> Iterator[tuple[int, int]]:
    """Join instructions that stand within a few lines: between them are labels and ``.loc`` lines only."""
    start = end = 0
    for instruction in inside:
        if start and instruction.line - end > 4:
            yield start, end
            start = 0
        start, end = start or instruction.line, instruction.last_line
    if start:
        yield start, end


def _render(report: LinkReport) -> Iterator[str]:
    calls = _sass_calls(report)
    yield f"kernel `{report.kernel}` for {report.target}: {_verdict(report)}"
    yield (
        f"  {_known(report.registers)} registers, {_known(report.spills)} spill instructions, "
        f"{_known(report.sass_instructions)} SASS instructions, {len(report.ptx_calls)} PTX and {calls} SASS calls"
    )
    yield (
        f"  shared memory: {report.dynamic_shared} bytes dynamic (Triton), "
        f"{report.static_shared} bytes static (fragments)"
    )
    yield from _table(report.regions)
    yield from (f"  PROBLEM {problem}" for problem in report.problems)
    if report.tool_problem:
        yield f"  SASS was not read: {report.tool_problem}"


def _sass_calls(report: LinkReport) -> str:
    if report.sass_calls is None:
        return "unread"
    own = f" (and {len(report.ptxas_calls)} of ptxas's own)" if report.ptxas_calls else ""
    return f"{len(report.sass_calls)}{own}"


def _verdict(report: LinkReport) -> str:
    count = len(report.regions)
    regions = f"{count} region{'s' * (count != 1)}"
    return f"{regions}, one entry point" if report.one_kernel else f"{regions}, NOT as promised"


def _known(value: int | None) -> str:
    return "?" if value is None else str(value)


def _table(regions: Sequence[RegionReport]) -> Iterator[str]:
    rows = [("region", "called at", "became", "PTX instr.", "static shared", "compiled")]
    for r in regions:
        file = r.call_site.file.rsplit("/", 1)[-1]
        compiled = f"{r.seconds:.2f} s" + (" (cached)" if r.cache_hit else "")
        became = "inlined" if r.inlined else "called"
        where = f"{file}:{r.call_site.line}"
        rows.append((r.name, where, became, _known(r.instructions), str(r.static_shared), compiled))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
    yield from dict.fromkeys(f"  compiled by {_short(r.compiler)}" for r in regions)


def _short(compiler: str) -> str:
    """Versions of compiler and headers, without what only a cache key needs."""
    parts = [part.split(" (")[0] for part in compiler.split(", ")]
    return ", ".join(part for part in parts if not part.startswith(("tile.h", "libstdc++", "libc++")))
