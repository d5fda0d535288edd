"""A pipe whose writer waits for a reader that comes behind it: found where both stand in one partition.

A writer fills ``capacity`` slots; for another one it waits until each reader has given one back. In one partition, or
in the kernel in front of its partitions, all steps come one after the other. So before a reader waits for the first
time, no more than ``capacity`` slots may have been acquired. A loop that acquires, and that does not hold the wait,
acquires as many as it has iterations; where nobody knows how many, the pipe is refused too.
"""

from __future__ import annotations

from typing import Any

from tle_raw.errors import PipeError, Row
from tle_raw.frontends.gpu.pipes.account import Fill, PipeAccount, site_of
from tle_raw.frontends.gpu.pipes.loops import loops_here
from tle_raw.regions.partitions import current_partition


def note_acquire(account: PipeAccount, iteration: Any, semantic: Any, generator: Any) -> None:
    """The writer takes a slot. Triton traces the body of a loop twice: the same step counts once."""
    constant = iteration if isinstance(iteration, int) else None
    fill = Fill(current_partition(), site_of(semantic, generator), constant, loops_here())
    if fill not in account.fills:
        account.fills.append(fill)


def check_first_wait(account: PipeAccount, capacity: int, reader: str) -> None:
    """A reader waits.

    Raises
    ------
    PipeError : for the first time, and before it the writer has come to wait for this reader.
    """
    if reader in account.waited:
        return
    account.waited.add(reader)
    here, around = current_partition(), {loop for loop, _ in loops_here()}
    before = [fill for fill in account.fills if fill.partition in (here, None)]
    counts = [_times(fill, around) for fill in before]
    known = [count for count in counts if count is not None]
    if len(known) == len(counts) and sum(known) <= capacity:
        return
    unknown = next((fill for fill, count in zip(before, counts) if count is None), None)
    if unknown is not None:
        got = f"as many as a loop has iterations, which is not known; at {unknown.site}"
    else:
        got = f"{sum(known)}; the last at {before[-1].site}"
    raise PipeError(
        f"tle.pipe: `{account.name}` would come to a standstill: its writer waits for a slot before the reader, in the "
        "same partition, takes the first",
        table=[Row("slots acquired before the first wait", f"at most {capacity}, the capacity", got)],
        hint="acquire and wait in one loop, or give writer and reader to partitions of tle.gpu.warp_specialize",
    )


def _times(fill: Fill, around: set[int]) -> int | None:
    """How many slots it takes before a step that stands in the loops ``around``."""
    times = 1
    for loop, count in fill.loops:
        if loop not in around:
            if count is None:
                return None
            times *= count
    return times
