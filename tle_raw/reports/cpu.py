"""Reads the report of a kernel for the CPU from its assembly and its object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tle_raw.errors import SourceLocation
from tle_raw.host.assembly import HostAsm, HostFunction, read_host_asm
from tle_raw.host.code import ENTRY
from tle_raw.linker.machine_code.elf import visible_functions
from tle_raw.reports.values import KernelReport, RegionReport, told_warnings

# A block-level fragment is the function of one thread, and an entry that runs a thread block of them.
THREAD, THREAD_BLOCK = "tle_raw_", "tle_team_"
WARP = 32


def read_kernel(asm: Mapping[str, Any], metadata: Any, record: dict[str, Any]) -> KernelReport:
    """The report of a kernel with regions."""
    text = asm["asm"]
    code = read_host_asm(text)
    entries = tuple(visible_functions(asm["obj"]))
    fragments = record["fragments"]
    regions = tuple(_region(r, fragments[r["entry"]], code, metadata.num_warps * WARP) for r in record["regions"])
    own = {function.name for function in code.functions}
    outside = dict.fromkeys(c for f in code.functions for c in f.calls if c not in own)
    return KernelReport(
        kernel=metadata.name,
        target=f"cpu ({metadata.target.arch})" if metadata.target.arch else "cpu",
        regions=regions,
        entries=entries,
        problems=tuple(_problems(entries, code, list(fragments))),
        static_shared=sum(v[1] for f in fragments.values() for v in f["static_shared"]),
        asm=text,
        asm_instructions=sum(function.instructions for function in code.functions),
        library_calls=tuple(sorted(outside)),
        scratch=metadata.scratch_bytes,
        checked=bool(getattr(metadata, "debug_checks", False)),
    )


def _region(region: dict[str, Any], fragment: dict[str, Any], code: HostAsm, threads: int) -> RegionReport:
    body = _body(region["entry"], code)
    return RegionReport(
        name=region["name"],
        entry=region["entry"],
        call_site=SourceLocation(region["file"], region["line"], region["column"], region["text"]),
        inlined=body is None,
        instructions=body.instructions if body else None,
        lines=((body.first_line, body.last_line),) if body else (),
        static_shared=sum(v[1] for v in fragment["static_shared"]),
        seconds=fragment["seconds"],
        cache_hit=fragment["cache_hit"],
        compiler=fragment["compiler"],
        parameters=tuple(region["parameters"]),
        kept_calls=tuple(fragment["kept_calls"]),
        threads=threads if _is_thread_block(region["entry"]) else 0,
        route=fragment["route"],
        notes=told_warnings(fragment),
    )


def _is_thread_block(entry: str) -> bool:
    return entry.startswith(THREAD_BLOCK)


def _body(entry: str, code: HostAsm) -> HostFunction | None:
    """The function that holds the user's code; None where it was inlined into the kernel."""
    return code.function(THREAD + entry.removeprefix(THREAD_BLOCK) if _is_thread_block(entry) else entry)


def _problems(entries: tuple[str, ...], code: HostAsm, fragments: list[str]) -> Iterator[str]:
    if entries != (ENTRY,):
        yield f"entry points in the object: expected {ENTRY}, got {', '.join(entries) or 'none'}"
    own = {function.name for function in code.functions}
    called = {call for function in code.functions for call in function.calls}
    yield from (f"fragment: expected `{name}` linked, got a call of it" for name in fragments if name in called - own)
