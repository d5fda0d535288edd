"""Follow the ways through a kernel with the accesses since the last block barrier, and choose where barriers stand.

What an access is, and which two must not meet without a barrier, the caller says by ``Rules``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from tle_raw.linker.mlir.generic_tree import Block, Operation

BEFORE, AFTER = "before", "after"
BARRIERS = ("gpu.barrier", "ttg.barrier", "nvvm.barrier0")
LOOPS = ("scf.for", "scf.while")
Barrier = tuple[int, str]


class Access(Protocol):
    """Anything that can be put into sets."""

    @property
    def lasts(self) -> bool:
        """False of what somebody else waits for: it must not begin too early, and orders nothing afterwards."""


A = TypeVar("A", bound=Access)


@dataclass(frozen=True)
class Rules(Generic[A]):
    """All operations of a module, what they access, and which of two accesses, one after the other, want a barrier.

    ``anything`` is what callers of a function may have done; ``lines`` are those where barriers stand or are proposed.
    """

    operations: Sequence[Operation]
    events: Mapping[Operation, Sequence[A]]
    conflict: Callable[[A, A], bool]
    anything: frozenset[A]
    lines: frozenset[int] = frozenset()

    @cached_property
    def functions(self) -> list[Operation]:
        """Those that have a body."""
        return [each for each in self.operations if each.name == "tt.func" and each.regions]

    def steps(self, block: Block) -> list[Operation]:
        """The operations of a block at which anything happens, or may."""
        found = self._steps.get(id(block))
        if found is None:
            found = self._steps[id(block)] = [each for each in block.operations if self._counts(each)]
        return found

    def meets(self, state: frozenset[A], new: A) -> bool:
        """Whether an access conflicts with an earlier one. Each pair is asked about once."""
        asked, conflicting = self._conflicts.setdefault(new, (set(), set()))
        if not state <= asked:
            conflicting.update(old for old in state - asked if self.conflict(old, new))
            asked |= state
        return not conflicting.isdisjoint(state)

    @cached_property
    def _conflicts(self) -> dict[A, tuple[set[A], set[A]]]:
        return {}

    @cached_property
    def _steps(self) -> dict[int, list[Operation]]:
        return {}

    def _counts(self, operation: Operation) -> bool:
        is_step = operation.regions or operation.successors or operation.name in BARRIERS or operation in self.events
        return bool(is_step) or operation.end in self.lines


def choose_barriers(rules: Rules[A], standing: Collection[Barrier], proposed: Collection[Barrier] = ()) -> set[Barrier]:
    """The barriers that are needed beside those that stand, by line: before an operation, or after one.

    They stand outside of as many loops as will do. Those proposed are preferred.
    """
    fixed = set(standing)
    chosen = fixed | set(proposed)
    chosen |= {(operation.line, BEFORE) for operation in unordered(rules, chosen)}
    for barrier in sorted(chosen - fixed):
        for outside in _outside(rules, barrier):
            moved = chosen - {barrier} | {(outside.line, BEFORE)}
            if not unordered(rules, moved):
                chosen = moved
                break
    for barrier in sorted(chosen - fixed):
        if not unordered(rules, chosen - {barrier}):
            chosen.remove(barrier)
    return chosen


def unordered(rules: Rules[A], barriers: Collection[Barrier], ordered_by_itself: bool = True) -> list[Operation]:
    """Operations that meet an earlier access without a barrier, in the text's order.

    With ``ordered_by_itself`` each of them is taken to get one, and what stands behind it may need none.
    """
    walk = _Walk(rules, barriers, ordered_by_itself)
    for function in rules.functions:
        is_called = 'sym_visibility = "private"' in function.details
        walk.region(function.regions[0], rules.anything if is_called else frozenset())
    return sorted(walk.found, key=lambda operation: operation.line)


def _outside(rules: Rules[A], barrier: Barrier) -> list[Operation]:
    """The loops around the operation that a barrier stands before, the outermost first."""
    line, side = barrier
    operation = next((each for each in rules.events if each.line == line), None)
    if operation is None or side != BEFORE:
        return []
    return [each for each in operation.ancestors() if each.name in LOOPS][::-1]


class _Walk(Generic[A]):
    """Follows control flow with the accesses since the last barrier, on any path."""

    def __init__(self, rules: Rules[A], barriers: Collection[Barrier], ordered_by_itself: bool) -> None:
        self.rules, self.barriers, self.ordered_by_itself = rules, barriers, ordered_by_itself
        self.found: set[Operation] = set()
        self.nothing: frozenset[A] = frozenset()

    def region(self, blocks: Sequence[Block], state: frozenset[A]) -> frozenset[A]:
        """Of blocks that jump to each other the state is that of the last; each is left by what comes in."""
        entering: dict[str, frozenset[A]] = {}
        while True:
            before = dict(entering)
            for number, block in enumerate(blocks):
                come_in = (state if number == 0 else self.nothing) | entering.get(block.label, self.nothing)
                left = self._block(block, come_in, entering)
            if before == entering:
                return left

    def _block(self, block: Block, state: frozenset[A], entering: dict[str, frozenset[A]]) -> frozenset[A]:
        for operation in self.rules.steps(block):
            state = self._operation(operation, state)
            for label in operation.successors:
                entering[label] = entering.get(label, self.nothing) | state
        return state

    def _operation(self, operation: Operation, state: frozenset[A]) -> frozenset[A]:
        if (operation.line, BEFORE) in self.barriers:
            state = self.nothing
        if operation.name in BARRIERS:
            return self.nothing
        accesses = self.rules.events.get(operation, ())
        if state and any(self.rules.meets(state, new) for new in accesses):
            self.found.add(operation)
            state = self.nothing if self.ordered_by_itself else state
        state |= {access for access in accesses if access.lasts}
        if operation.regions:
            state = self._regions(operation, state)
        return self.nothing if (operation.end, AFTER) in self.barriers else state

    def _regions(self, operation: Operation, state: frozenset[A]) -> frozenset[A]:
        if operation.name in LOOPS:
            while (joined := state | self._one_after_the_other(operation, state)) != state:
                state = joined
            return state
        if operation.name.startswith("ttg.warp_specialize"):
            # A partition's barriers are its own; all threads meet when the partitions begin and end.
            for region in operation.regions:
                self.region(region, self.nothing)
            return self.nothing
        left = [self.region(region, state) for region in operation.regions if region and region[0].operations]
        complete = operation.name != "scf.if" or len(left) > 1
        return self.nothing.union(*left) if complete and left else state.union(*left)

    def _one_after_the_other(self, operation: Operation, state: frozenset[A]) -> frozenset[A]:
        for region in operation.regions:
            state = self.region(region, state)
        return state
