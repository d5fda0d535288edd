"""Reads the report of a kernel for a GPU from its PTX and SASS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tle_raw.errors import SourceLocation
from tle_raw.linker.machine_code.sass import CubinFacts, read_cubin
from tle_raw.linker.ptx.local_memory import local_arrays
from tle_raw.linker.ptx.read import Instruction, Ptx, read_ptx
from tle_raw.linker.verify import find_problems
from tle_raw.reports.values import KernelReport, RegionReport, told_warnings


def read_kernel(asm: Mapping[str, Any], metadata: Any, record: dict[str, Any]) -> KernelReport:
    """The report of a kernel with regions."""
    ptx_text = asm["ptx"]
    ptx = read_ptx(ptx_text)
    cubin = asm.get("cubin")
    facts = read_cubin(cubin) if cubin else CubinFacts(reason="the kernel was not assembled")
    inlined = {entry: f["inline"] for entry, f in record["fragments"].items()}
    rows = find_problems(ptx, facts, inlined=inlined)
    known = not facts.reason
    arrays = local_arrays(ptx_text, ptx)
    kept = arrays.size if facts.stack is None else min(arrays.size, facts.stack)  # ptxas makes registers of some
    return KernelReport(
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
        local_arrays=kept,
        local_places=tuple(SourceLocation(place.file, place.line) for place in arrays.places if kept),
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
    site = SourceLocation(region["file"], region["line"], region["column"], region["text"])
    inside = [i for i in ptx.instructions if _comes_from(i, site)]
    # Code of a library has no lines: what of the PTX is its own cannot be told.
    has_lines = any(i.places for i in ptx.instructions) and bool(inside or not fragment["instructions"])
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
        dynamic_shared=fragment["dynamic_shared"],
        route=fragment["route"],
        notes=told_warnings(fragment),
    )


def _comes_from(instruction: Instruction, site: SourceLocation) -> bool:
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
