"""The eight bytes of a barrier in shared memory, which programs and the thread blocks of fragments count in alike.

They are those of ``tle_raw/team/mbarrier.h``: from the lowest bit on 23 bits of bytes that are expected and have not
come, 20 of arrivals that are missing in this phase, 20 of the arrivals of a phase, and one that says which phase runs.
"""

from __future__ import annotations

PENDING_AT, COUNT_AT, PHASE_AT = 23, 43, 63  # where the arrivals begin, the missing ones and all; and the phase's bit
ALL_BYTES = (1 << PENDING_AT) - 1
MOST_ARRIVALS = (1 << (COUNT_AT - PENDING_AT)) - 1


def initial_word(arrivals: int) -> int:
    """Of a barrier in its first phase, which so many arrivals complete."""
    return arrivals << PENDING_AT | arrivals << COUNT_AT


def missing(word: int) -> tuple[int, int]:
    """The arrivals and the bytes that the running phase misses; below zero: too many have come."""
    return _signed(word >> PENDING_AT, COUNT_AT - PENDING_AT), _signed(word, PENDING_AT)


def _signed(number: int, bits: int) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number
