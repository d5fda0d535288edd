"""Decide where barriers order what regions and the code around them do to global memory: one rule for all dialects.

Triton orders the accesses of a thread, and a region is run by all threads of the block, each doing a share that Triton
does not know. So a barrier stands between a region and what may touch the same memory where one of the two writes.
Arguments of a kernel may be one tensor: any two accesses can meet. A region that was declared with ``ordered=False``
meets nothing. Elements' functions read and write as Triton's own loads and stores do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from tle_raw.flir.nvidia.memory_events import TRITON, Event, Kind
from tle_raw.linker.mlir.structure import Nest, jumps_in, label_of

BEFORE, AFTER = "before", "after"
# A side of a region, by the line where it begins, or of a loop, by its first or its last line.
Barrier = tuple[int, str]


class MemoryAccess(NamedTuple):
    """An access since the last barrier: of a region or of Triton. ``again`` marks one of the loop's turn before."""

    region: int
    writes: bool
    again: bool = False


State = frozenset[MemoryAccess]
NOTHING: State = frozenset()
ANYTHING: State = frozenset({MemoryAccess(TRITON, False), MemoryAccess(TRITON, True)})


def decide_barriers(items: list[int | Nest], events: Mapping[int, Event], standing: Iterable[Barrier]) -> set[Barrier]:
    """The barriers that are missing beside those that stand in any case.

    Code of Triton's that meets a region gets the barrier at the end of the last region before it; what still meets then
    stands before another region. A barrier stands outside of as many loops as will do.
    """
    fixed, chosen = frozenset(standing), set[Barrier]()

    def missing() -> Barrier | None:
        return _Walk(events, fixed | chosen).first_missing(items)

    while (found := missing()) is not None:
        chosen.add(found)
    for barrier in sorted(chosen):
        chosen.remove(barrier)
        if missing() is not None:
            chosen.add(barrier)
    return chosen


class _Walk:
    """Follows control flow with the accesses since the last barrier, on any path."""

    def __init__(self, events: Mapping[int, Event], barriers: frozenset[Barrier]) -> None:
        self.events, self.barriers = events, barriers
        self.inside = TRITON
        self.loops: list[Nest] = []  # that are open, the outermost first
        self.loops_of: dict[int, list[Nest]] = {}  # by region
        self.jumped: dict[str, State] = {}
        self.found: dict[str, Barrier] = {}

    def first_missing(self, items: list[int | Nest]) -> Barrier | None:
        self._until_stable(lambda: self._block(items, NOTHING))
        return self.found.get(AFTER) or self.found.get(BEFORE)

    def _until_stable(self, walk: Callable[[], State]) -> None:
        """Jumps back to a label bring more each time."""
        before: dict[str, State] | None = None
        while before != self.jumped:
            before = dict(self.jumped)
            walk()

    def _block(self, items: list[int | Nest], state: State) -> State:
        for item in items:
            state = self._nest(item, state) if isinstance(item, Nest) else self._line(item, state)
        return state

    def _nest(self, nest: Nest, state: State) -> State:
        if nest.is_function:
            # A function that is called knows nothing of what its callers did and will do.
            left = self._block(nest.bodies[0], ANYTHING if nest.is_called else NOTHING)
            if nest.is_called:
                self._touch(TRITON, True, left)
            return NOTHING
        if nest.is_partition:
            return self._partition(nest)
        return self._loop(nest, state) if nest.is_loop else self._bodies(nest, state)

    def _partition(self, nest: Nest) -> State:
        """All warps of the block meet before a partition begins and when all are done; loops around it are not its."""
        around, self.loops = self.loops, []
        self._bodies(nest, NOTHING)
        self.loops = around
        return NOTHING

    def _bodies(self, nest: Nest, state: State) -> State:
        return state.union(*(self._block(body, state) for body in nest.bodies))

    def _loop(self, nest: Nest, state: State) -> State:
        state = NOTHING if (nest.begin, BEFORE) in self.barriers else state
        self.loops.append(nest)
        while (left := self._bodies(nest, state)) != state:
            state = left
        self.loops.pop()
        return NOTHING if (nest.end, AFTER) in self.barriers else state

    def _line(self, number: int, state: State) -> State:
        event = self.events.get(number)
        return state if event is None else self._event(event, state)

    def _event(self, event: Event, state: State) -> State:
        if event.kind == Kind.BARRIER:
            return NOTHING
        if event.kind == Kind.LABEL:
            return state | self.jumped.get(label_of(event.text), NOTHING)
        if event.kind == Kind.JUMP:
            for label in jumps_in(event.text):
                self.jumped[label] = self.jumped.get(label, NOTHING) | state
            return NOTHING
        if event.kind in (Kind.BEGIN, Kind.WHOLE):
            state = self._begin(event.region, state)
        state = self._accesses(event, state)
        if event.kind in (Kind.END, Kind.WHOLE):
            self.inside = TRITON
            state = NOTHING if (event.region, AFTER) in self.barriers else state
        return state

    def _begin(self, region: int, state: State) -> State:
        self.inside, self.loops_of[region] = region, list(self.loops)
        if (region, BEFORE) in self.barriers:
            return NOTHING
        return frozenset(a._replace(again=True) if a.region == region else a for a in state)

    def _accesses(self, event: Event, state: State) -> State:
        for writes in (False, True):
            if event.writes if writes else event.reads:
                self._touch(self.inside, writes, state)
                state |= {MemoryAccess(self.inside, writes)}
        return state

    def _touch(self, by: int, writes: bool, state: State) -> None:
        """Note a conflict with what is not ordered before it."""
        met = [a for a in state if (a.region != by or a.again) and (a.writes or writes)]
        if not met:
            return
        if by == TRITON:
            self.found.setdefault(AFTER, self._behind(max(a.region for a in met)))
        else:
            self.found.setdefault(BEFORE, self._in_front_of(by))

    def _behind(self, region: int) -> Barrier:
        """Behind the outermost loop around the region that the present line is not in."""
        left = [loop for loop in self.loops_of[region] if loop not in self.loops]
        return (left[0].end if left else region, AFTER)

    def _in_front_of(self, region: int) -> Barrier:
        """In front of the outermost loop around it where none stands yet: what the loop itself does may still meet."""
        places = [(loop.begin, BEFORE) for loop in self.loops_of[region]]
        return next((place for place in places if place not in self.barriers), (region, BEFORE))
