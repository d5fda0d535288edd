"""The error of a region of a CUDA fragment that failed while it ran, from the status record that it left."""

from __future__ import annotations

import ctypes
import linecache
from collections.abc import Callable, Sequence

from tle_raw.errors import Context, KernelFailed, SourceLocation

REGION_FAILED = -2  # the record's code
STATUS_FIELDS, ADDRESS = 9, 8
# By their numbers in team/abi.h.
KINDS = {
    1: "divergent_barrier",
    2: "exited_at_barrier",
    3: "out_of_bounds",
    4: "uninitialised",
    5: "assertion",
    6: "trap",
    7: "no_memory",
    8: "stack_overflow",
    9: "bad_address",
    10: "standstill",
    11: "memory",
    20: "warp_mask",
    21: "division",
    22: "race",
}
_HINTS = {
    1: "all threads of the block must reach the same barrier; put it outside of the branch",
    2: "let all threads reach the barrier: `if (inside) …; __syncthreads();` instead of an early return",
    5: 'on a GPU torch reports "device-side assert triggered" at its next call',
    20: "a mask names all lanes that take part: the calling one, and those whose values it takes",
    21: "a GPU gives a number there, which PTX does not define; test the divisor first",
    22: "put __syncthreads() between them; between lanes of one warp __syncwarp() is enough",
    8: "keep large arrays in shared memory, or in a tile",
}


def region_failure(
    status: Sequence[int],
    fragment: str = "",
    standstill: str = "",
    memory_near: Callable[[int], str] | None = None,
) -> KernelFailed | None:
    """The error of a status record, or None when no region failed.

    ``standstill`` is what is known of programs that wait for ever; ``memory_near`` says of an address where it lies,
    seen from the launch's arrays. The texts of the record lie in
    the worker's workspace and in the kernel's code: call this while both exist.
    """
    if status[0] != REGION_FAILED:
        return None
    program, (kind, message, file, line) = (status[1], status[2], status[3]), status[4:8]
    location = _location(_text(file), line)
    near = f": {memory_near(status[ADDRESS])}" if memory_near and KINDS.get(kind) == "memory" else ""
    return KernelFailed(
        f"{_text(message)}{near}, in program {program}",
        kind=KINDS.get(kind, ""),
        program=program,
        hint=standstill if KINDS.get(kind) == "standstill" else _HINTS.get(kind, ""),
        context=Context(fragment=fragment, source=location),
    )


def _text(address: int) -> str:
    return ctypes.string_at(address).decode("utf-8", "replace") if address else ""


def _location(file: str, line: int) -> SourceLocation | None:
    return SourceLocation(file, line, 0, linecache.getline(file, line).rstrip()) if file and line else None
