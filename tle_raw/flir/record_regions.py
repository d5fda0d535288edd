"""Write what became of the regions into the kernel's metadata, so that a report needs only the compiled kernel."""

from __future__ import annotations

from typing import Any

from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.regions.ports import RegionRecord

SCHEMA = 1


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
        "name": fragment.name,
        "inline": fragment.inline,
        "static_shared": [list(v) for v in fragment.static_shared],
        "dynamic_shared": fragment.dynamic_shared,
        "route": fragment.route,
        "instructions": fragment.instructions,
        "kept_calls": list(fragment.kept_calls),
        "compiler": fragment.compiler,
        "seconds": fragment.seconds,
        "cache_hit": fragment.cache_hit,
        "files": [str(f) for f in fragment.files],
        "llvm_ir": str(fragment.path),
    }
