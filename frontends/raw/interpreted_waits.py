"""Regions that wait for other partitions, in Triton's interpreter.

A region runs on copies of the kernel's buffers and barriers, and partitions take turns. So where a region waits, what
it has written is put into the kernel's memory, the others run, and what they leave there comes into its copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tle_raw.fragments.bound import BoundParameter, BoundSignature
from tle_raw.frontends.gpu.interpreted_partitions import Turns, current_turns
from tle_raw.frontends.raw.buffers import load_shared, store_shared
from tle_raw.regions.waiting_regions import while_it_waits


@contextmanager
def letting_others_run(bound: BoundSignature, given: Mapping[str, Any]) -> Iterator[None]:
    """Within, a region runs that may wait for other partitions; outside of partitions nothing is different."""
    turns = current_turns()
    if turns is None:
        yield
        return
    with while_it_waits(_Copies(bound, given, turns)):
        yield
    turns.went_on()  # it may have arrived somewhere


class _Copies:
    """A region's copies of shared memory."""

    def __init__(self, bound: BoundSignature, given: Mapping[str, Any], turns: Turns) -> None:
        self.shared = [(p, given[p.name]) for p in bound.parameters if p.buffer and not p.is_descriptor]
        self.turns = turns
        self.copies: dict[str, Any] = {}  # their bits
        self.known: dict[str, Any] = {}  # what they held when they were last the same as the kernel's memory

    def begin(self, arrays: Mapping[str, Any]) -> None:
        self.copies = {p.name: _bits(arrays[p.name]) for p, _ in self.shared}
        self.known = {name: copy.copy() for name, copy in self.copies.items()}

    def wait(self) -> None:
        changed = [self._give(parameter, value) for parameter, value in self.shared]
        self.turns.let_others_run(any(changed))
        for parameter, value in self.shared:
            self._take(parameter, value)

    def _give(self, parameter: BoundParameter, value: Any) -> bool:
        """Put into the kernel's memory what the region has written since: the rest may be somebody else's by now."""
        copy, known = self.copies[parameter.name], self.known[parameter.name]
        written = copy != known
        if parameter.effect == "In" or not written.any():
            return False
        tensor = load_shared(value)
        _bits(tensor.handle.data)[written] = copy[written]
        store_shared(value, tensor)
        return True

    def _take(self, parameter: BoundParameter, value: Any) -> None:
        copy = self.copies[parameter.name]
        copy[...] = _bits(load_shared(value).handle.data).reshape(copy.shape)
        self.known[parameter.name] = copy.copy()


def _bits(array: Any) -> Any:
    """The same memory as unsigned integers: a NaN is like itself."""
    return array.view(f"u{array.dtype.itemsize}")
