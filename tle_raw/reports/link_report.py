"""What ``tle_raw.report`` gives."""

from __future__ import annotations

from tle_raw.reports.table import render
from tle_raw.reports.values import KernelReport


class LinkReport(KernelReport):
    """A whole kernel and its regions, as :class:`KernelReport` describes them; ``print(report)`` is a table."""

    def __str__(self) -> str:
        return "\n".join(render(self))
