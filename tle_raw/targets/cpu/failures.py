"""Says what failed inside a kernel, from the status record that it left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tle_raw.errors import KernelFailed
from tle_raw.flir.cpu.partition_waits import waiting_rows
from tle_raw.flir.cpu.region_failure import region_failure
from tle_raw.regions.peers import is_outside
from tle_raw.targets.cpu.arrays import Range
from tle_raw.targets.cpu.contexts import CODE, DETAIL, PROGRAM
from tle_raw.targets.cpu.excerpts import excerpt

MEMORY, STANDSTILL = "memory", "standstill"


def failure(
    status: Sequence[int],
    checks: Sequence[Mapping[str, Any]],
    kernel: str,
    memory: Sequence[tuple[str, Range]] = (),
    standstill: str = "",
) -> KernelFailed:
    """The error for a status record: a region failed, or a check of the kernel (code n is check n-1).

    Texts of a region lie in its worker's memory: call this before that is gone.

    ``standstill`` is what is known of programs that wait for ever. A check may name the ``details`` of its
    record, to be shown; the first of one of kind ``memory`` is an address.
    """
    x, y, z = status[PROGRAM]
    region = region_failure(status, standstill=standstill, memory_near=lambda address: _nearest(address, memory))
    if region is not None:
        return region
    place = f"in program ({x}, {y}, {z}) of kernel `{kernel}`"
    number = status[CODE] - 1
    if not 0 <= number < len(checks):
        return KernelFailed(f"the kernel stopped with the unknown status {status[CODE]}, {place}", program=(x, y, z))
    check = checks[number]
    shown = [f"{name} = {value}" for name, value in zip(check.get("details", ()), status[DETAIL])]
    if check.get("kind") == MEMORY:
        shown = [_nearest(status[DETAIL][0], memory)]
    rows = list(waiting_rows(status, checks, check.get("partitions", 0)))
    where = str(check.get("file", "")), int(check.get("line", 0)), int(check.get("column", 0))
    message = ": ".join((str(check.get("message", "")) or "a check failed", *shown))
    return KernelFailed(
        f"{message}, {place}",
        kind=str(check.get("kind", "")),
        program=(x, y, z),
        table=rows,
        hint=standstill if check.get("kind") == STANDSTILL else "",
        log="" if rows else excerpt(*where),
    )


def failure_at(
    checks: Sequence[Mapping[str, Any]], code: int, program: tuple[int, int, int], kernel: str
) -> KernelFailed:
    """The error for a check that the launcher has done itself, for a program."""
    check = checks[code - 1]
    return KernelFailed(
        f"{check['message']}, in program {program} of kernel `{kernel}`",
        kind=str(check.get("kind", "")),
        program=program,
        log=excerpt(str(check.get("file", "")), int(check.get("line", 0)), int(check.get("column", 0))),
    )


def _nearest(address: int, memory: Sequence[tuple[str, Range]]) -> str:
    """Where an address lies, seen from the argument that is nearest to it."""
    if is_outside(address):
        return "`tle.remote` moved a pointer that does not lie in the context's memory"
    near = [
        (address - found.end if address >= found.end else found.start - address, name, found)
        for name, found in memory
        if found.end > found.start
    ]
    if not near:
        return f"address {address:#x}"
    _, name, found = min(near)
    size = f"the {found.end - found.start} bytes of argument `{name}`"
    if address >= found.end:
        return f"{address - found.end} bytes beyond {size}"
    if address >= found.start:
        return f"across the end of {size}"
    return f"{found.start - address} bytes before {size}"
