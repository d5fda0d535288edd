"""Products in the background: each is waited for where somebody needs its result, or what it reads.

Tensor cores finish products in the order in which they begin. So a wait for one of them leaves the later ones alone.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from triton.language import core

from tle_raw.regions.structure import Structure


@dataclass(eq=False)
class Sum:
    """What one or more products are added to.

    Attributes
    ----------
    result, operand : the memory of the result, and of an operand that is read from registers, or None.
    done : what is called for each of its products when that is known to be done.
    count : how many products it is made of.
    """

    result: Any
    operand: Any
    done: Sequence[Callable[[], None]] = ()
    count: int = 1

    def reads(self, memory: Any) -> bool:
        """Whether it reads the registers of a memory's value."""
        return self.operand is not None and bool(self.operand.same_as(memory))


class Background:
    """The products that run at the place that is written, in order.

    ``values()`` are those of the memories, which know by ``same_as`` whether they are one.
    """

    def __init__(self, values: Callable[[], MutableMapping[Any, core.tensor]], structure: Structure) -> None:
        self._values, self._structure = values, structure
        self._sums: list[Sum] = []
        self._latest: core.tensor | None = None  # what was computed last

    def forget(self) -> None:
        """Nothing is under way here that somebody would wait for, and nothing was computed."""
        self._sums, self._latest = [], None

    def forget_latest(self) -> None:
        """What was computed last has no meaning here."""
        self._latest = None

    def begin(self, total: core.tensor, added: Sum) -> None:
        """A product runs; ``total`` is its result. With others of the same result it makes one sum."""
        before = [s for s in self._sums if s.result.same_as(added.result)]
        self._sums = [s for s in self._sums if s not in before]
        done = [each for s in (*before, added) for each in s.done]
        self._sums.append(Sum(added.result, added.operand, done, sum(s.count for s in (*before, added))))
        self._values()[added.result] = total

    def can_add_to(self, memory: Any) -> bool:
        """Whether a product may go on with this result as it is: nothing else will ask for what is read so far."""
        return all(s.operand is None for s in self._sums if s.result.same_as(memory))

    def needs(self, memory: Any) -> None:
        """Wait until a result is there."""
        self._wait([s for s in self._sums if s.result.same_as(memory)])

    def replaces(self, memory: Any, value: core.tensor) -> None:
        """Wait until nobody reads or writes a memory, which gets another value."""
        self._wait([s for s in self._sums if s.result.same_as(memory) or s.reads(memory)], behind=self._latest)
        if value.type.is_block() and value.type.scalar == core.float32:
            self._latest = value

    def settle(self) -> None:
        """Wait for all."""
        self._wait(self._sums)

    def wait_in_loop(self, memory: Any, left: int) -> None:
        """A wait for a sum that a loop carries: ``left`` products of it may run on."""
        value = self._structure.wait_for_products(self._values()[memory], left)
        self._values()[memory] = value

    def _wait(self, sums: Sequence[Sum], behind: core.tensor | None = None) -> None:
        """Until these are done, and so all that began before."""
        if not sums:
            return
        last = max(self._sums.index(s) for s in sums)
        for number, each in enumerate(self._sums[: last + 1]):
            left = sum(s.count for s in self._sums[number + 1 :])
            value = self._values()[each.result]
            value = self._structure.wait_for_products(value, left, behind if number == last else None)
            self._values()[each.result] = value
            for call in each.done:
                call()
        del self._sums[: last + 1]
