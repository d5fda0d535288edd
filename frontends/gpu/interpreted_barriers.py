"""Barriers in Triton's interpreter: words that count as a fragment's threads do (``tle_raw/team/mbarrier.h``).

A program's steps come one after the other, so that a wait for a phase that is not complete would last for ever. Only
partitions of specialised warps take turns (``interpreted_partitions``).
"""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import Row, SharedBufferError
from tle_raw.frontends.gpu.interpreted_partitions import current_turns

# From the lowest bit on: bytes that have not come, arrivals that are missing, arrivals of a phase, which phase runs.
_PENDING, _COUNT, _PHASE = 23, 43, 63
_BYTES = (1 << _PENDING) - 1
_ARRIVALS = (1 << (_COUNT - _PENDING)) - 1


def allocate(type_: Any, name: str) -> Any:
    """The words of barriers, as an array whose last axis has one element."""
    import numpy

    first = type_.arrive_count << _PENDING | type_.arrive_count << _COUNT
    return numpy.full([type_.slots, 1] if type_.slots else [1], first, "int64")


def arrive(barrier: Any, arrivals: int, size: int = 0) -> None:
    """Count arrivals, and bytes that are expected, or, below zero, have come."""
    turns = current_turns()
    if turns is not None:
        turns.went_on()
    state = int(barrier[0]) % (1 << 64)
    count, phase = state >> _COUNT & _ARRIVALS, state >> _PHASE
    missing = (state + size) & _BYTES
    pending = ((state >> _PENDING & _ARRIVALS) - arrivals) & _ARRIVALS
    if not missing and not pending:
        pending, phase = count, phase ^ 1
    made = missing | pending << _PENDING | count << _COUNT | phase << _PHASE
    barrier[0] = made - (1 << 64) if made >> 63 else made


def wait(barrier: Any, parity: int) -> None:
    """Pass where the phase of this parity is complete. In a partition of specialised warps the others run meanwhile.

    Raises
    ------
    SharedBufferError : it is not, and nobody is left to complete it.
    """
    turns = current_turns()
    if turns is not None:
        turns.wait_until(lambda: _is_complete(barrier, parity), lambda: ", ".join(_missing(barrier)))
    elif not _is_complete(barrier, parity):
        arrivals, bytes_ = _missing(barrier)
        raise SharedBufferError(
            "tle.gpu.barrier_wait: a wait for a phase of a barrier that nobody completes",
            table=[
                Row("arrivals missing", "0", arrivals.partition(" ")[0]),
                Row("bytes missing", "0", bytes_.partition(" ")[0]),
            ],
        )


def _is_complete(barrier: Any, parity: int) -> bool:
    return int(barrier[0]) % (1 << 64) >> _PHASE != parity & 1


def _missing(barrier: Any) -> tuple[str, str]:
    state = int(barrier[0]) % (1 << 64)
    arrivals = _signed(state >> _PENDING & _ARRIVALS, _COUNT - _PENDING)
    return f"{arrivals} arrivals missing", f"{_signed(state & _BYTES, _PENDING)} bytes missing"


def meet(barrier: Any, threads: int, waits: bool) -> None:
    """So many threads come to a named barrier; they wait for the others, or go on."""
    before = int(barrier[0]) % (1 << 64) >> _PHASE
    arrive(barrier, threads)
    if waits:
        wait(barrier, before)


def word(barrier: Any, note: str) -> Any:
    """The eight bytes, as a region takes them."""
    from triton.runtime.interpreter import TensorHandle

    return TensorHandle(barrier.copy(), core.int64)


def _signed(number: int, bits: int) -> int:
    return number - (1 << bits) if number >> (bits - 1) else number
