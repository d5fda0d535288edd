"""Compile the fragments of a module's regions, each distinct one once, side by side; for any target."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tle_raw.errors import RegionError, TLEError
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.fragments.fragment import Fragment, fragment_by_identity, known_fragment
from tle_raw.regions.ports import RegionRecord
from tle_raw.target import Target


def compile_fragments(regions: list[RegionRecord], target: Target) -> list[CompiledFragment]:
    """One compiled fragment for each region, in order; what fails names the kernel's line."""
    needed = {_key(r): r for r in reversed(regions)}  # the first use of each is the one that errors name
    slow = {key: region for key, region in needed.items() if not _is_compiled_before(region)}
    compiled = {}
    if len(slow) > 1:
        known = [(known_fragment(region.fragment), region.bound) for region in slow.values()]
        Fragment.expect_together([(fragment, bound) for fragment, bound in known if fragment is not None], target)
        with ThreadPoolExecutor(max_workers=len(slow)) as pool:
            compiled = dict(zip(slow, pool.map(lambda region: _compile(region, target), slow.values())))
    compiled |= {key: _compile(region, target) for key, region in needed.items() if key not in compiled}
    return [compiled[_key(r)] for r in regions]


def _is_compiled_before(region: RegionRecord) -> bool:
    """No other process works for it: threads would only wait for each other."""
    fragment = known_fragment(region.fragment)
    return fragment is not None and fragment.is_compiled_before


def _key(region: RegionRecord) -> tuple[str, str]:
    return region.fragment, region.bound.to_json()


def _compile(region: RegionRecord, target: Target) -> CompiledFragment:
    try:
        fragment = fragment_by_identity(region.fragment)
        compiled = fragment.compile_bound(region.bound, target)
        if fragment.cache_key != region.fragment:
            # Triton would store new code under the key of the old one.
            raise RegionError(
                "the fragment's files changed after the kernel's cache key was made",
                hint="compile once more: the key is made anew",
            )
        return compiled
    except TLEError as e:
        e.at(fragment=region.bound.name, call_site=region.call_site)
        raise
