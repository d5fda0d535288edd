"""Follow the ways through a kernel with the accesses since the last block barrier, and choose where barriers stand.

What an access is, and which two must not meet without a barrier, the caller says by ``Rules``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Generic, Protocol, TypeVar

from tle_raw.linker.mlir.generic_tree import Block, Operation
from tle_raw.linker.mlir.text import OPERATION
from tle_raw.regions.clusters import GRID_BARRIER, MEET, WAIT

BEFORE, AFTER = "before", "after"
BARRIERS = ("gpu.barrier", "ttg.barrier", "nvvm.barrier0")
LOOPS = ("scf.for", "scf.while")
Barrier = tuple[int, str]
_ALL_MEET = "ttg.warp_specialize"  # where partitions begin and end
_MAY_BE_BARRIERS = frozenset((*BARRIERS, OPERATION))
_MEETS = re.compile(rf'symbol = "(?:{"|".join(map(re.escape, (WAIT, MEET, GRID_BARRIER)))})"')


def is_barrier(operation: Operation) -> bool:
    """Whether all threads of the block meet: at a barrier of the block, of its cluster or of the grid."""
    return operation.name in BARRIERS or (operation.name == OPERATION and _MEETS.search(operation.details) is not None)


class Access(Protocol):
    """Anything that can be put into sets."""

    @property
    def lasts(self) -> bool:
        """False of what somebody else waits for: it must not begin too early, and orders nothing afterwards."""


A = TypeVar("A", bound=Access)


@dataclass(eq=False, slots=True)
class _Step:
    """An operation at which anything happens, or may: the numbers of its accesses, and the set of those that last.

    ``conflicting`` are the earlier accesses that conflict with one of its own, of those that were asked about.
    """

    operation: Operation
    is_barrier: bool
    accesses: tuple[int, ...]
    lasting: int
    asked: int = 0
    conflicting: int = 0


@dataclass(frozen=True)
class Rules(Generic[A]):
    """All operations of a module, what they access, and which of two accesses, one after the other, want a barrier.

    ``anything`` is what callers of a function may have done; ``lines`` are those where barriers stand or are proposed.

    The walk goes through a kernel many times, so that accesses have numbers here, and a set of them is the bits of one.
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

    def bits(self, accesses: Iterable[A]) -> int:
        """A set of accesses."""
        found = 0
        for access in accesses:
            found |= 1 << self._number(access)
        return found

    def steps(self, block: Block) -> list[_Step]:
        """The operations of a block at which anything happens, or may."""
        found = self._steps.get(id(block))
        if found is None:
            counting = self._counting
            found = self._steps[id(block)] = [self._step(each) for each in block.operations if each in counting]
        return found

    def meets(self, state: int, step: _Step) -> bool:
        """Whether an operation's accesses conflict with an earlier one. Each pair is asked about once."""
        if unasked := state & ~step.asked:
            step.asked |= unasked
            for new in step.accesses:
                step.conflicting |= self._conflicting_with(new, unasked)
        return bool(state & step.conflicting)

    def _conflicting_with(self, new: int, old: int) -> int:
        asked, conflicting = self._conflicts[new]
        if unasked := old & ~asked:
            access = self._accesses[new]
            conflicting |= sum(1 << each for each in _numbers(unasked) if self.conflict(self._accesses[each], access))
            self._conflicts[new] = asked | unasked, conflicting
        return conflicting

    def _step(self, operation: Operation) -> _Step:
        accesses = self.events.get(operation, ())
        lasting = self.bits(access for access in accesses if access.lasts)
        numbers = tuple(self._number(access) for access in accesses)
        return _Step(operation, is_barrier(operation), numbers, lasting)

    def _number(self, access: A) -> int:
        number = self._numbered.setdefault(access, len(self._accesses))
        if number == len(self._accesses):
            self._accesses.append(access)
            self._conflicts.append((0, 0))
        return number

    @cached_property
    def walks(self) -> dict[tuple[int, frozenset[Barrier], int, bool], tuple[int, set[Operation]]]:
        """Ways through lines with the same barriers and the same accesses before them end alike: see ``_Walk``."""
        return {}

    @cached_property
    def _numbered(self) -> dict[A, int]:
        return {}

    @cached_property
    def _accesses(self) -> list[A]:
        """By their numbers."""
        return []

    @cached_property
    def _conflicts(self) -> list[tuple[int, int]]:
        """Of each access the earlier ones that were asked about, and those of them that conflict with it."""
        return []

    @cached_property
    def _steps(self) -> dict[int, list[_Step]]:
        return {}

    @cached_property
    def _counting(self) -> set[Operation]:
        """The operations at which anything happens, and those that they stand in. The others leave all as it is."""
        found = set[Operation]()
        for each in self.operations:
            if self._counts(each) and each not in found:
                found.add(each)
                above = each.above
                while above is not None and above not in found:
                    found.add(above)
                    above = above.above
        return found

    def _counts(self, operation: Operation) -> bool:
        if (
            operation in self.events
            or operation.successors
            or not self.lines.isdisjoint((operation.line, operation.end))
        ):
            return True
        name = operation.name
        return (name in _MAY_BE_BARRIERS and is_barrier(operation)) or name.startswith(_ALL_MEET)


def _numbers(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


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
        walk.region(function.regions[0], rules.bits(rules.anything) if is_called else _NOTHING)
    return sorted(walk.found, key=lambda operation: operation.line)


def _outside(rules: Rules[A], barrier: Barrier) -> list[Operation]:
    """The loops around the operation that a barrier stands before, the outermost first."""
    line, side = barrier
    operation = next((each for each in rules.events if each.line == line), None)
    if operation is None or side != BEFORE:
        return []
    return [each for each in operation.ancestors() if each.name in LOOPS][::-1]


_NOTHING = 0  # the set of no accesses


class _Walk(Generic[A]):
    """Follows control flow with the set of accesses since the last barrier, on any path."""

    def __init__(self, rules: Rules[A], barriers: Collection[Barrier], ordered_by_itself: bool) -> None:
        self.rules, self.barriers, self.ordered_by_itself = rules, barriers, ordered_by_itself
        self.before = {line for line, side in barriers if side == BEFORE}
        self.after = {line for line, side in barriers if side == AFTER}
        self.found: set[Operation] = set()

    def region(self, blocks: Sequence[Block], state: int) -> int:
        """Of blocks that jump to each other the state is that of the last; each is left by what comes in."""
        if len(blocks) == 1:
            return self._block(blocks[0], state, {})
        entering: dict[str, int] = {}
        while True:
            before = dict(entering)
            for number, block in enumerate(blocks):
                come_in = (state if number == 0 else _NOTHING) | entering.get(block.label, _NOTHING)
                left = self._block(block, come_in, entering)
            if before == entering:
                return left

    def _block(self, block: Block, state: int, entering: dict[str, int]) -> int:
        for step in self.rules.steps(block):
            state = self._step(step, state)
            for label in step.operation.successors:
                entering[label] = entering.get(label, _NOTHING) | state
        return state

    def _step(self, step: _Step, state: int) -> int:
        operation = step.operation
        if step.is_barrier:
            return _NOTHING
        if operation.line in self.before:
            state = _NOTHING
        if state and step.accesses and self.rules.meets(state, step):
            self.found.add(operation)
            state = _NOTHING if self.ordered_by_itself else state
        state |= step.lasting
        if operation.regions:
            state = self._regions(operation, state)
        return _NOTHING if operation.end in self.after else state

    def _regions(self, operation: Operation, state: int) -> int:
        if operation.name in LOOPS:
            return self._apart(
                range(operation.line + 1, operation.end), state, lambda walk: walk._loop(operation, state)
            )
        if operation.name.startswith(_ALL_MEET):
            # A partition's barriers are its own; all threads meet when the partitions begin and end.
            for region in operation.regions:
                self._partition(region)
            return _NOTHING
        left = [self.region(region, state) for region in operation.regions if region and region[0].operations]
        complete = operation.name != "scf.if" or len(left) > 1
        return reduce(or_, left, _NOTHING if complete and left else state)

    def _partition(self, blocks: Sequence[Block]) -> None:
        lines = range(blocks[0].operations[0].line, blocks[-1].operations[-1].end + 1)
        self._apart(lines, _NOTHING, lambda walk: walk.region(blocks, _NOTHING))

    def _apart(self, lines: range, state: int, go: Callable[[_Walk[A]], int]) -> int:
        """Go through lines whose way depends on the barriers in them alone, or know how that ended before."""
        inside = frozenset(barrier for barrier in self.barriers if barrier[0] in lines)
        key = lines.start, inside, state, self.ordered_by_itself
        ended = self.rules.walks.get(key)
        if ended is None:
            walk = _Walk(self.rules, inside, self.ordered_by_itself)
            ended = self.rules.walks[key] = go(walk), walk.found
        self.found |= ended[1]
        return ended[0]

    def _loop(self, operation: Operation, state: int) -> int:
        while (joined := state | self._one_after_the_other(operation, state)) != state:
            state = joined
        return state

    def _one_after_the_other(self, operation: Operation, state: int) -> int:
        for region in operation.regions:
            state = self.region(region, state)
        return state
