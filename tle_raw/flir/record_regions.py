"""Write what became of the regions into the kernel's metadata, so that a report needs only the compiled kernel."""

from __future__ import annotations

from typing import Any

from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.regions.ports import RegionRecord

SCHEMA = 1
# The facts of a fragment's compile that a report shows.
TOLD = (
    "name", "static_shared", "dynamic_shared", "route", "instructions", "kept_calls", "compiler", "seconds", "files",
    "linked", "warnings",
)  # fmt: skip


def record_regions(regions: list[RegionRecord], compiled: list[CompiledFragment]) -> dict[str, Any]:
    """JSON-able: Triton stores metadata as JSON beside the kernel."""
    return {
        "schema": SCHEMA,
        "regions": [_region(r, f) for r, f in zip(regions, compiled)],
        "fragments": {f.entry: _fragment(f) for f in compiled},
    }


def _region(region: RegionRecord, fragment: CompiledFragment) -> dict[str, Any]:
    site = region.call_site
    return {
        "entry": fragment.entry,
        "name": region.bound.name,
        "file": site.file,
        "line": site.line,
        "column": site.column,
        "text": site.text,
        "elementwise": region.bound.is_elementwise,
        "parameters": [str(p) for p in region.bound.parameters],
    }


def _fragment(fragment: CompiledFragment) -> dict[str, Any]:
    return {
        **fragment.to_json(TOLD),
        "inline": fragment.inline,
        "cache_hit": fragment.cache_hit,
        "llvm_ir": str(fragment.path),
    }
