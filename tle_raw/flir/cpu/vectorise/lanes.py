"""What is known about a value in the lanes of a vector: how it differs from lane 0, its range, its divisors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

# Signed index arithmetic of fewer bits than these is not taken to be free of overflow.
_ADDRESS_BITS = 32
_LARGEST_ASSUMED_STEP = 1 << 24


@dataclass(frozen=True)
class LaneFacts:
    """One value in all lanes.

    ``steps`` holds each lane's difference from lane 0 (bytes for pointers), or None where it is not known. Lane 0 is a
    multiple of ``multiple``; 0 stands for the value 0. ``low`` and ``high`` bound all lanes of all iterations, taken as
    signed numbers; where they are known no operation on the way has overflowed.
    """

    steps: tuple[int, ...] | None = None
    multiple: int = 1
    low: int | None = None
    high: int | None = None

    @property
    def uniform(self) -> bool:
        return self.steps is not None and not any(self.steps)

    @property
    def constant(self) -> int | None:
        return self.low if self.uniform and self.low == self.high else None

    @property
    def not_negative(self) -> bool:
        return self.low is not None and self.low >= 0

    @property
    def power_of_two(self) -> int:
        """The largest power of two that divides lane 0, up to 2**62."""
        return math.gcd(self.multiple, 1 << 62)


class KnownLanes(Protocol):
    """What is known of every value of a body."""

    def __getitem__(self, value: Any) -> LaneFacts: ...


def constant(value: int, lanes: int) -> LaneFacts:
    return LaneFacts((0,) * lanes, abs(value), value, value)


def in_bits(value: LaneFacts, bits: int) -> LaneFacts:
    """The value after it was cut to a number of bits."""
    limit = 1 << (bits - 1)
    steps = value.steps
    if value.low is not None and value.high is not None and -limit <= value.low and value.high < limit:
        return value
    if steps is not None and any(steps):
        steps = tuple((step + limit) % (2 * limit) - limit for step in steps)
        if bits < 8 and any(steps):
            steps = None
    # An overflow keeps a power of two as divisor and no other.
    return LaneFacts(steps, math.gcd(value.power_of_two, 1 << bits) if value.multiple else 0)


def signed_extension(value: LaneFacts, bits: int) -> LaneFacts:
    """The value after a widening from ``bits`` bits by sign.

    Address arithmetic is taken not to wrap around between the lanes of one vector, which is what Triton's own axis
    analysis takes for granted when it makes wide accesses.
    """
    if value.steps is None or value.low is not None or _stays_in_block(value):
        return value
    if bits >= _ADDRESS_BITS and max(map(abs, value.steps)) <= _LARGEST_ASSUMED_STEP:
        return value
    return replace(value, steps=None)


def unsigned_extension(value: LaneFacts) -> LaneFacts:
    if value.not_negative:
        return value
    kept = value.steps if value.steps is not None and _stays_in_block(value) else None
    return LaneFacts(kept, value.power_of_two if value.multiple else 0)


def _stays_in_block(value: LaneFacts) -> bool:
    """All lanes lie in one aligned block of a power of two: no boundary is between them."""
    assert value.steps is not None
    return value.multiple == 0 or (min(value.steps) >= 0 and max(value.steps) < value.power_of_two)


def add(a: LaneFacts, b: LaneFacts, sign: int = 1) -> LaneFacts:
    steps = low = high = None
    if a.steps is not None and b.steps is not None:
        steps = tuple(x + sign * y for x, y in zip(a.steps, b.steps))
    if a.low is not None and a.high is not None and b.low is not None and b.high is not None:
        low, high = (a.low + b.low, a.high + b.high) if sign > 0 else (a.low - b.high, a.high - b.low)
    return LaneFacts(steps, math.gcd(a.multiple, b.multiple), low, high)


def multiply(a: LaneFacts, b: LaneFacts) -> LaneFacts:
    low = high = None
    if a.low is not None and a.high is not None and b.low is not None and b.high is not None:
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        low, high = min(corners), max(corners)
    return LaneFacts(_scaled(a, b), a.multiple * b.multiple, low, high)


def _scaled(a: LaneFacts, b: LaneFacts) -> tuple[int, ...] | None:
    if a.uniform and b.uniform:
        return a.steps
    for x, factor in ((a, b.constant), (b, a.constant)):
        if x.steps is not None and factor is not None:
            return tuple(step * factor for step in x.steps)
    return None


def quotient(a: LaneFacts, divisor: int) -> LaneFacts:
    """Division with rounding down; all lanes lie in one row of multiples of the divisor, or lane 0 starts one."""
    low = None if a.low is None else a.low // divisor
    high = None if a.high is None else a.high // divisor
    unit = math.gcd(a.multiple, divisor)
    steps = None
    if a.steps is not None:
        if min(a.steps) >= 0 and max(a.steps) < unit:
            steps = (0,) * len(a.steps)
        elif unit == divisor:
            steps = tuple(step // divisor for step in a.steps)
    return LaneFacts(steps, a.multiple // divisor if a.multiple % divisor == 0 else 1, low, high)


def remainder(a: LaneFacts, divisor: int) -> LaneFacts:
    """The remainder that goes with ``quotient``."""
    unit = math.gcd(a.multiple, divisor)
    steps = None
    if a.steps is not None:
        if min(a.steps) >= 0 and max(a.steps) < unit:
            steps = a.steps
        elif unit == divisor:
            steps = tuple(step % divisor for step in a.steps)
    return LaneFacts(steps, unit if unit != divisor else 0, 0, divisor - 1)


def either(a: LaneFacts, b: LaneFacts) -> LaneFacts:
    """One of two values, the same in all lanes."""
    low = min(a.low, b.low) if a.low is not None and b.low is not None else None
    high = max(a.high, b.high) if a.high is not None and b.high is not None else None
    known = low is not None and high is not None
    return LaneFacts(
        a.steps if a.steps == b.steps else None,
        math.gcd(a.multiple, b.multiple),
        low if known else None,
        high if known else None,
    )
