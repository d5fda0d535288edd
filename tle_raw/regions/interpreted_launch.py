"""A launch in Triton's interpreter: nothing is compiled but the fragments, and they have run."""

from __future__ import annotations

from dataclasses import dataclass, field

from tle_raw.errors import SourceLocation
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.compiled import CompiledFragment


@dataclass(frozen=True)
class InterpretedRegion:
    """A region that has run; ``compiled`` is None where its operations are Triton's own."""

    bound: BoundSignature
    call_site: SourceLocation
    compiled: CompiledFragment | None


@dataclass
class InterpretedLaunch:
    """What a launch with regions returns in the interpreter; ``tle_raw.report`` takes it.

    ``runs`` counts how often each region has run: once for each program that came by.
    """

    kernel: str
    num_warps: int
    regions: dict[tuple[str, SourceLocation], InterpretedRegion] = field(default_factory=dict)
    runs: dict[tuple[str, SourceLocation], int] = field(default_factory=dict)

    def record(self, bound: BoundSignature, site: SourceLocation | None, compiled: CompiledFragment | None) -> None:
        """A region runs now."""
        location = site or SourceLocation("<kernel>", 0)
        key = (bound.name, location)
        self.runs[key] = self.runs.get(key, 0) + 1
        self.regions.setdefault(key, InterpretedRegion(bound, location, compiled))
