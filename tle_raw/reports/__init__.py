"""``tle_raw.report``: what became of each region of a compiled kernel, proven from its machine code."""

from __future__ import annotations

from typing import Any

from tle_raw.errors import ReportError
from tle_raw.flir.traced_regions import KEY, UNTRACED
from tle_raw.reports.link_report import LinkReport, RegionReport
from tle_raw.reports.traced import with_traced

__all__ = ["LinkReport", "RegionReport", "report"]

NO_LINKED: dict[str, Any] = {"regions": [], "fragments": {}}


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
    traced = getattr(metadata, KEY, ())
    if record is None and not traced:
        raise ReportError(f"the kernel `{getattr(metadata, 'name', '?')}` holds no region: it is Triton's alone")
    if metadata.target.backend == "cpu":
        from tle_raw.reports.cpu import read_kernel
    else:
        from tle_raw.reports.gpu import read_kernel
    return with_traced(read_kernel(kernel.asm, metadata, record or NO_LINKED), traced, getattr(metadata, UNTRACED, ()))
