"""Decide where block barriers order copies, products and mbarriers, and which of Triton's a kernel can do without.

Triton's own pass for barriers knows memory, not mbarriers: it takes the slots of one allocation for one piece, and puts
a barrier between a copy into a slot and whatever touches the next one, between two steps of one mbarrier, and before
each wait. Here the same operations have rules of their own:

* What a copy in the background writes is ordered by the wait for its mbarrier, which all threads do; no block barrier
  makes it arrive. But it must not begin before all threads are done with what was there.
* Arrivals, expected bytes and waits are atomic: they are ordered against the mbarrier's creation and end alone. Only a
  new phase must not begin while threads may still wait for the one before.
* Another access is ordered against each access to the same memory where one of the two writes.
* A thread that arrives for the block comes after all that the block did.

An operation that has such rules is called known; Triton's barriers between the others stay its own. A barrier that
Triton would put before a known operation is left out if nothing else was touched since the last barrier: then nothing
but known operations can have asked for it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tle_raw.flir.nvidia.barrier_walk import AFTER, BARRIERS, BEFORE, LOOPS, Barrier, Rules, choose_barriers, unordered
from tle_raw.flir.nvidia.partitions import SPECIALIZE
from tle_raw.flir.nvidia.pointer_order import WAITS, is_followed
from tle_raw.flir.nvidia.shared_pointers import ACCESSES, ATOMICS, SharedPointers
from tle_raw.flir.nvidia.within_warps import is_within_warps, keeps_rows
from tle_raw.linker.mlir.generic_tree import Operation, Value
from tle_raw.regions.clusters import CLUSTER
from tle_raw.regions.structure import TRACED_BUFFER

# Kinds of accesses. The first three are to memory, by threads or by products; the rest is what mbarriers are for.
READ, WRITE, COPY = "read", "write", "copy"
ARRIVE, WAIT, COUNT = "arrive", "wait", "count"
RELEASE = "release"
SCRATCH = "scratch"  # memory that Triton takes where no buffer lives
_ANYWHERE = 0
POINTER = "pointer"  # an access by a pointer: to global memory, or one that `pointer_order` looks after
_MEMDESC = "!ttg.memdesc<"
_MBARRIERS = {
    "ttng.init_barrier": WRITE,
    "ttng.inval_barrier": WRITE,
    "ttng.barrier_expect": ARRIVE,
    "ttng.async_copy_mbarrier_arrive": ARRIVE,
    "ttng.wait_barrier": WAIT,
}
_COPIES = ("ttng.async_tma_copy_global_to_local", "ttng.async_tma_gather")
_KNOWN = {"ttg.local_load": READ, "ttg.local_store": WRITE, "ttng.warp_group_dot": READ}
_OTHERS = {
    "ttg.local_alloc": WRITE,
    "ttg.async_copy_global_to_local": WRITE,
    "ttng.async_tma_copy_local_to_global": READ,
    "ttng.async_tma_reduce": READ,
    "ttng.async_tma_scatter": READ,
}
PRODUCTS_DONE = "ttng.warp_group_dot_wait"
_ARRIVE = "ttng.arrive_barrier"
_FAMILIES = ("arith.", "math.", "scf.", "cf.", "ub.", "llvm.intr.", "tti.", "ttg.memdesc_", "builtin.")
# Operations that need no shared memory for themselves.
_ELSEWHERE = {
    *("tt.func", "tt.return", "tt.addptr", "tt.splat", "tt.broadcast", "tt.expand_dims"),
    *("tt.unsplat", "tt.make_range", "tt.get_program_id", "tt.get_num_programs", "tt.int_to_ptr", "tt.ptr_to_int"),
    *("tt.bitcast", "tt.fp_to_fp", "tt.clampf", "tt.mulhiui", "tt.precise_sqrt", "tt.precise_divf", "tt.join"),
    *(
        "tt.reshape",
        "tt.trans",
        "tt.split",
        "tt.elementwise_inline_asm",
        "tt.extern_elementwise",
        "tt.assert",
        "tt.print",
    ),
    *WAITS,
    *(
        "ttg.local_dealloc",
        "ttg.async_commit_group",
        "ttng.fence_async_shared",
        "ttng.fence_mbarrier_init_release_cluster",
    ),
}
_ABSENT = ("tt.call",)  # kernels with these are left to Triton
_PARTITIONS = (SPECIALIZE, "ttg.warp_yield", "ttg.warp_return")
_INDEX = "ttg.memdesc_index"
_NUMBER = re.compile(r"value = (-?\d+) :")


class Access(NamedTuple):
    """``buffer`` is None of memory that no buffer has; ``line`` then is one at which the same buffers live.

    ``slot`` is the number of the slot of its buffer that is touched, where that is constant. Accesses that are alike
    are equal, wherever they stand: the pairs of those that are not are what takes time.
    """

    kind: str
    buffer: Value | None
    slot: int | None
    line: int
    known: bool

    @property
    def lasts(self) -> bool:
        return self.kind != COPY


class Decision(NamedTuple):
    """Barriers that are missing, those of them that want a fence before, and where Triton's are not wanted.

    Behind a fence, copies see that threads are done with a buffer. Triton would put one right before the copy.
    """

    barriers: set[Barrier]
    fenced: set[Barrier]
    left_out: list[Operation]


def decide_copies(pointers: SharedPointers, aliases: Mapping[str, str]) -> Decision:
    """The barriers of a kernel's copies, products and mbarriers. ``aliases`` are the layouts of its text, by name.

    Nothing, where it has functions, or a buffer of which nobody knows where it was allocated.
    """
    operations = pointers.walk()
    described = [each for each in operations if _MEMDESC in each.typed]
    if pointers.beginning(*_ABSENT) or any(_is_unclear(each, pointers) for each in described):
        return Decision(set(), set(), [])
    reader = _Reader(pointers, operations, aliases)
    touching = [each for each in operations if not each.name.startswith(_FAMILIES)]
    events = {each: found for each in touching if (found := list(reader.accesses(each)))}
    waits = {(each.end, AFTER) for each in operations if each.name in WAITS and not is_followed(each)}
    if reader.has_partitions:
        waits |= _behind_scratch(events)
    proposed = _after_creation(operations)
    lines = frozenset(line for line, _ in waits | proposed)
    rules = Rules(pointers.operations, events, reader.lifetimes.conflict, frozenset(), lines)
    barriers = choose_barriers(rules, waits, proposed)
    asked = {each: [_pending(found)] for each, found in events.items()}
    pending = Rules(pointers.operations, asked, _is_before, frozenset(), lines)
    stay = set(unordered(pending, barriers, ordered_by_itself=False))
    known = [each for each in events if each not in stay and (reader.is_known(each) or each.name == PRODUCTS_DONE)]
    return Decision(barriers, _fenced(barriers - waits, events), known)


def _is_unclear(operation: Operation, pointers: SharedPointers) -> bool:
    """Whether it works on a buffer of which nobody knows where it was allocated."""
    return any(_is_buffer(value) and not pointers.of(value) for value in operation.operands)


def _fenced(barriers: set[Barrier], events: Mapping[Operation, Sequence[Access]]) -> set[Barrier]:
    """Those in whose block a copy follows into what threads read or write themselves."""
    by_threads = {
        access.buffer
        for operation, accesses in events.items()
        for access in accesses
        if not operation.name.startswith("ttng.") and access.kind in (READ, WRITE)
    }
    copies = [
        operation
        for operation, accesses in events.items()
        if any(access.kind == COPY and access.buffer in by_threads for access in accesses)
    ]
    found = set()
    for line, side in barriers:
        blocks = {id(each.parent) for each in events if each.line == line and side == BEFORE}
        if any(id(copy.parent) in blocks and copy.line >= line for copy in copies):
            found.add((line, side))
    return found


def _after_creation(operations: Sequence[Operation]) -> set[Barrier]:
    """Behind the last of mbarriers that are created side by side: one barrier serves all that follows."""
    created = [each for each in operations if each.name == "ttng.init_barrier"]
    last = {id(each.parent): each for each in created}
    return {(each.end, AFTER) for each in last.values()}


def _behind_scratch(events: Mapping[Operation, Sequence[Access]]) -> set[Barrier]:
    """Behind the last operation of a block that Triton looks after, beside a loop of others.

    One barrier there, as at the end of a tile, takes the place of those that Triton would put into the inner loop.
    """
    others = [each for each, accesses in events.items() if not all(access.known for access in accesses)]
    last = {id(each.parent): each for each in sorted(others, key=lambda each: each.line)}
    known = [each for each in events if each not in set(others)]
    beside = {id(above.parent) for each in known for above in each.ancestors() if above.name in LOOPS}
    return {(each.end, AFTER) for each in last.values() if id(each.parent) in beside and _is_in_loop(each)}


def _is_in_loop(operation: Operation) -> bool:
    return any(above.name in LOOPS for above in operation.ancestors())


def _pending(accesses: Sequence[Access]) -> Access:
    """All that counts is whether Triton looks after an operation alone."""
    known = all(access.known for access in accesses)
    return Access(COPY if known else WRITE, None, None, _ANYWHERE, known)


def _is_before(old: Access, new: Access) -> bool:
    return new.known and not old.known


class _Reader:
    """What operations do to memory."""

    def __init__(self, pointers: SharedPointers, operations: Sequence[Operation], aliases: Mapping[str, str]) -> None:
        self.pointers, self.lifetimes, self.aliases = pointers, Lifetimes(pointers, operations), aliases
        self.has_partitions = any(each.name == SPECIALIZE for each in operations)
        self.is_traced = any(each.name == "ttg.local_alloc" and TRACED_BUFFER in each.details for each in operations)
        dots = [each for each in operations if each.name == "ttng.warp_group_dot"]
        self.multiplied = sorted({a.buffer for dot in dots for a in self._of(dot, READ, True)}, key=_line)

    def is_known(self, operation: Operation) -> bool:
        name = operation.name
        return name in _MBARRIERS or name in _KNOWN or name == _ARRIVE or name.startswith(_COPIES)

    def accesses(self, operation: Operation) -> Iterator[Access]:
        """Of an operation that is none of the families which touch no memory."""
        name, is_known = operation.name, self.is_known(operation)
        if name in ACCESSES:
            yield Access(POINTER, None, None, _ANYWHERE, True)
            if name in ATOMICS:  # what they give goes through scratch memory
                yield self._scratch(operation)
        elif name == PRODUCTS_DONE:
            yield from (Access(READ, buffer, None, _ANYWHERE, True) for buffer in self.multiplied)
        elif name in _MBARRIERS:
            yield from self._of(operation, _MBARRIERS[name], is_known, operation.operands[:1])
        elif name.startswith(_COPIES):
            yield from self._of(operation, COPY, is_known)
        elif name in _KNOWN:
            yield from self._of(operation, _KNOWN[name], is_known)
        elif name == _ARRIVE:
            yield Access(RELEASE, None, None, _ANYWHERE, True)
            yield from self._of(operation, ARRIVE, True, operation.operands[:1])
        elif name == "ttg.local_alloc":
            yield from self._of(operation, WRITE, False, operation.results if operation.operands else [])
        elif not self._is_elsewhere(operation):
            kind = next((kind for other, kind in _OTHERS.items() if name.startswith(other)), WRITE)
            found = list(self._of(operation, kind, False))
            yield from found or [self._scratch(operation)]
        elif name == "tt.extern_elementwise" and CLUSTER not in operation.details:  # those have their own barriers
            for buffer in sorted(frozenset().union(*map(self.pointers.of, operation.operands)), key=_line):
                yield Access(WRITE, buffer, None, _ANYWHERE, False)

    def _scratch(self, operation: Operation) -> Access:
        return Access(SCRATCH, None, None, self.lifetimes.alike(operation.line), False)

    def _is_elsewhere(self, operation: Operation) -> bool:
        """Whether it touches no shared memory."""
        name = operation.name
        if self.has_partitions and (name.startswith(_PARTITIONS) or is_within_warps(operation, self.aliases)):
            return True
        if self.is_traced and keeps_rows(operation, self.aliases):
            return True
        return name in _ELSEWHERE or name in BARRIERS or not operation.above

    def _of(
        self, operation: Operation, kind: str, known: bool, values: Sequence[Value] | None = None
    ) -> Iterator[Access]:
        for value in operation.operands if values is None else values:
            if not _is_buffer(value):
                continue
            slot = _slot(value)
            for buffer in sorted(self.pointers.of(value), key=_line):
                is_count = kind == COPY and buffer in self.lifetimes.mbarriers
                yield Access(COUNT if is_count else kind, buffer, slot, _ANYWHERE, known)


def _is_buffer(value: Value) -> bool:
    return value.type.startswith(_MEMDESC) and "tensor_memory" not in value.type


def _line(buffer: Value | None) -> int:
    return buffer.definition.line if buffer is not None and buffer.definition else -1


def _slot(value: Value) -> int | None:
    """Of a view: the constant number of its slot, if the slots are the allocation's own."""
    while (operation := value.definition) is not None and operation.name != "ttg.local_alloc":
        above = operation.operands[0].definition if operation.operands else None
        if operation.name == _INDEX and above is not None and above.name == "ttg.local_alloc":
            number = operation.operands[1].definition
            found = _NUMBER.search(number.details) if number is not None and number.name == "arith.constant" else None
            return int(found[1]) if found else None
        if not operation.name.startswith("ttg.memdesc_"):
            return None
        value = operation.operands[0]
    return None


# --- what meets what ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Span:
    """The lines within which an allocation has its memory."""

    begin: int
    end: int


class Lifetimes:
    """Of allocations: two that live at one time have memory of their own, and so has scratch memory beside them."""

    def __init__(self, pointers: SharedPointers, operations: Sequence[Operation]) -> None:
        self.spans: dict[Value, _Span] = {}
        self.mbarriers: set[Value] = set()
        for operation in operations:
            if operation.name == "ttng.init_barrier":
                self.mbarriers |= pointers.of(operation.operands[0])
            if _MEMDESC not in operation.typed:
                continue
            for value in (*operation.operands, *operation.results):
                if value.type.startswith(_MEMDESC):
                    for buffer in pointers.of(value):
                        self._used(buffer, operation)

    def _used(self, buffer: Value, operation: Operation) -> None:
        """Up to the end of the outermost loop that is used in and begun after the allocation."""
        begin, end = _line(buffer), operation.end
        for above in operation.ancestors():
            if above.name in LOOPS and above.line > begin:
                end = max(end, above.end)
        known = self.spans.get(buffer, _Span(begin, begin))
        self.spans[buffer] = _Span(known.begin, max(known.end, end))

    def alike(self, line: int) -> int:
        """The first of the lines around it at which the same allocations have memory."""
        changes = self._changes
        return changes[bisect_right(changes, line) - 1]

    @cached_property
    def _changes(self) -> list[int]:
        return sorted({0, *(line + 1 for span in self.spans.values() for line in (span.begin, span.end))})

    def at(self, line: int) -> list[Value]:
        """The allocations that have memory at a line."""
        return [buffer for buffer, span in self.spans.items() if span.begin < line <= span.end]

    def conflict(self, old: Access, new: Access) -> bool:
        """Whether a block barrier must stand between two accesses; those of Triton's care are not asked for."""
        if not (old.known or new.known) or old.kind == COPY:
            return False
        if RELEASE in (old.kind, new.kind):
            return new.kind == RELEASE and old.kind not in (ARRIVE, COUNT, RELEASE)
        if POINTER in (old.kind, new.kind):
            return False
        if not self._share(old, new):
            return False
        kinds = (old.kind, new.kind)
        if old.buffer is not None and old.buffer is new.buffer and old.buffer in self.mbarriers:
            return WRITE in kinds or kinds == (WAIT, ARRIVE)
        return kinds != (READ, READ)

    def _share(self, old: Access, new: Access) -> bool:
        """Whether the memory of one may be that of the other."""
        a, b = old.buffer, new.buffer
        if a is not None and a is b:
            return old.slot is None or new.slot is None or old.slot == new.slot
        if a is None or b is None:
            buffer, line = (b, old.line) if a is None else (a, new.line)
            return buffer is None or not self._lives(buffer, line)
        return not self._together(a, b)

    def _lives(self, buffer: Value, line: int) -> bool:
        span = self.spans[buffer]
        return span.begin < line <= span.end

    def _together(self, a: Value, b: Value) -> bool:
        first, second = self.spans[a], self.spans[b]
        return first.begin <= second.end and second.begin <= first.end
