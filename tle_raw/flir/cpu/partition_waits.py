"""Which partitions of specialised warps wait for what, from the status record of a program (``convert/turns``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tle_raw.errors import Row
from tle_raw.flir.cpu.mbarrier_word import missing
from tle_raw.flir.cpu.region_failure import STATUS_FIELDS
from tle_raw.regions.partitions import DEFAULT, Partition

MOST = 29  # partitions of a block: four warps of the kernel's own, and twenty-eight workers
# Of two fields for each: the check of its wait, counted from 1, or 0; and the barrier's eight bytes.
FIRST = STATUS_FIELDS


def waiting_rows(status: Sequence[int], checks: Sequence[Mapping[str, Any]], count: int) -> Iterator[Row]:
    """A row for each partition that waits: where, and what the barrier misses."""
    for number in range(count):
        site, barrier = status[FIRST + 2 * number : FIRST + 2 * number + 2]
        if 0 < site <= len(checks):
            check = checks[site - 1]
            arrivals, size = missing(barrier)
            yield Row(
                Partition(number + DEFAULT, 0).name,
                "a phase that is complete",
                f"waits at {check.get('file', '')}:{check.get('line', 0)}: {arrivals} arrivals missing, "
                f"{size} bytes missing",
            )
