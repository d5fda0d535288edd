"""``tle_raw.report``: what became of each region of a compiled kernel, proven from its machine code."""

from __future__ import annotations

from typing import Any

from tle_raw.errors import ReportError
from tle_raw.reports.link_report import LinkReport, RegionReport

__all__ = ["LinkReport", "RegionReport", "report"]


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
    if metadata.target.backend == "cpu":
        from tle_raw.reports.cpu import read_kernel
    else:
        from tle_raw.reports.gpu import read_kernel
    return read_kernel(kernel.asm, metadata, record)
