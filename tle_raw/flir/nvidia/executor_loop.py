"""The loop of one executor: its operations, with what takes values out of slots and puts them into others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tle_raw.flir.loop_body import FOR
from tle_raw.flir.nvidia.executor_products import HOPPER, TURNED, Products
from tle_raw.flir.nvidia.executor_rings import Ring, RingText
from tle_raw.flir.nvidia.executor_slots import COPY, STORE, TMA, Field, barrier_type, copy_line
from tle_raw.flir.nvidia.executor_text import (
    AT_LEAST,
    EQUAL,
    MORE,
    ONE,
    SLOTS,
    ZERO,
    ExecutorText,
    Named,
    listed,
    renamed,
    results,
)
from tle_raw.flir.split_executors import Part, Split
from tle_raw.linker.mlir.generic_operation import GenericOperation, read_generic
from tle_raw.linker.mlir.generic_tree import Value


@dataclass(frozen=True)
class Loops:
    """What the executors of a loop have in common.

    Attributes
    ----------
    lines : of the module.
    uses : of each operation of the body the values that it uses.
    under_way : the place of the product of each executor that may be under way.
    barrier : an operation at which all threads of a partition meet.
    """

    lines: list[str]
    split: Split
    uses: Sequence[set[Value]]
    rings: list[Ring]
    products: Products
    under_way: dict[int, int | None]
    text: ExecutorText
    ring_text: RingText
    capability: int
    barrier: str


@dataclass
class WrittenLoop:
    """The lines of an executor's loop, and the names and types of what it gives."""

    lines: list[str]
    names: list[str]
    types: list[str]


def write_loop(loops: Loops, part: Part) -> WrittenLoop:
    """An executor's loop. Its results are the variables of the loop that it has, in their order, and more."""
    return _Writer(loops, part).written()


@dataclass
class _Body:
    """What is put around the operations of the body."""

    before: dict[int, list[str]] = field(default_factory=dict)
    after: dict[int, list[str]] = field(default_factory=dict)
    instead: dict[int, list[str]] = field(default_factory=dict)
    last: list[str] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)  # the loop


class _Writer:
    def __init__(self, loops: Loops, part: Part) -> None:
        self.loops, self.part, self.split = loops, part, loops.split
        self.text, self.rings = loops.text, loops.ring_text
        prefix = f"{loops.text.prefix}_e{part.number}"
        self.slot, self.phase, self.turn = f"{prefix}_slot", f"{prefix}_phase", f"{prefix}_turn"
        self.result, self.has_turn = prefix, False
        self.body = _Body()

    def written(self) -> WrittenLoop:
        """The loop."""
        text, part, split = self.text, self.part, self.split
        own = [ring for ring in self.loops.rings if part.number in (ring.writer, *ring.readers)]
        for ring in self.loops.rings:
            if ring.writer == part.number:
                self._write(ring)
            if part.number in ring.readers:
                self._read(ring)
        product = self.loops.under_way[part.number]
        waited = self._leave_under_way(product) if product is not None else -1
        carried, arguments = sorted(part.carried), split.body.arguments
        variables = [(arguments[1 + number].name, arguments[1 + number].type) for number in carried]
        initial = [split.loop.operands[3 + number].name for number in carried]
        handed = [split.yielded[number].name for number in carried]
        step: list[str] = []
        if own:
            variables += [(self.slot, "i32"), (self.phase, "i32")]
            initial += [ZERO, ZERO]
            handed += self._next(step)
        if self.has_turn:
            variables.append((self.turn, "i32"))
            initial.append(ZERO)
            handed.append(text.binary(step, "arith.addi", self.turn, ONE))
        types = [kind for _, kind in variables]
        left, names = results(self.result, len(types))
        lines = [
            *self._head(left, initial, variables),
            *self._operations(),
            *step,
            text.line(GenericOperation("scf.yield", tuple(handed), tuple(types))),
            f"}}) : ({', '.join([*(arguments[0].type,) * 3, *types])}) -> {listed(types)}{text.location}",
        ]
        after = {self.slot: names[len(carried)], self.turn: names[-1]} if own else {}
        lines += renamed(self.body.behind, after)
        if waited in carried:
            place, done = carried.index(waited), text.name()
            lines.append(self._wait_for_products(done, (names[place], types[place]), 0))
            names[place] = done
        return WrittenLoop(lines, names, types)

    def _head(self, left: str, initial: Sequence[str], variables: Sequence[Named]) -> list[str]:
        loop, counter = self.split.loop, self.split.body.arguments[0]
        given = ", ".join([*(each.name for each in loop.operands[:3]), *initial])
        labels = ", ".join(f"{name}: {kind}" for name, kind in [(counter.name, counter.type), *variables])
        return [f'{left}"{FOR}"({given}) {loop.details}', f"^bb0({labels}):"]

    def _operations(self) -> list[str]:
        made: list[str] = []
        for place in sorted(self.part.places):
            operation = self.split.operations[place]
            made += self.body.before.get(place, [])
            made += self.body.instead.get(place, self.loops.lines[operation.line : operation.end + 1])
            made += self.body.after.get(place, [])
        return [*made, *self.body.last]

    def _next(self, made: list[str]) -> list[str]:
        """The slot and the phase of the next iteration."""
        following = self.text.binary(made, "arith.addi", self.slot, ONE)
        is_over = self.text.compare(made, EQUAL, following, SLOTS)
        turned = self.text.binary(made, "arith.xori", self.phase, ONE)
        slot = self.text.select(made, is_over, ZERO, following)
        return [slot, self.text.select(made, is_over, turned, self.phase)]

    def _slot_behind(self, made: list[str], count: int) -> str:
        """The slot so many behind that of this iteration."""
        later = self.text.binary(made, "arith.addi", self.slot, self.text.number(made, count))
        return self.text.binary(made, "arith.remui", later, SLOTS)

    # --- what comes in ----------------------------------------------------------------------------------------------

    def _read(self, ring: Ring) -> None:
        part, body, end = self.part, self.body, len(self.split.operations)
        full, empty = self.rings.barriers(ring)
        first: dict[Field, int] = {}
        last = -1
        for each in (each for each in ring.fields if each.value in part.reads):
            first[each] = min([*self._users(each), end])
            last = max(last, end if self._is_handed_on(each) else self.loops.products.last_use(part, each.value))
        for number, (each, place) in enumerate(sorted(first.items(), key=lambda found: found[1])):
            made: list[str] = []
            if not number:
                self.rings.wait(made, self.rings.barrier(made, full, self.slot), self.phase)
            self._take(ring, each, made)
            (body.before.setdefault(place, []) if place < end else body.last).extend(made)
        closed = body.after.setdefault(last, []) if last < end else body.last
        if self.loops.products.reads(part, self.loops.under_way[part.number], ring):
            self._give_back_later(empty, closed)
        else:
            self.rings.arrive(closed, self.rings.barrier(closed, empty, self.slot))

    def _users(self, each: Field) -> list[int]:
        return [place for place in sorted(self.part.places) if each.value in self.loops.uses[place]]

    def _is_handed_on(self, each: Field) -> bool:
        return any(self.split.yielded[number] is each.value for number in self.part.carried)

    def _take(self, ring: Ring, each: Field, made: list[str]) -> None:
        """Load a value from its slot. One that is only transposed is loaded through a view."""
        buffer, users = self.rings.place(made, ring, each, self.slot), self._users(each)
        is_turned = each.swizzle > 0 and bool(users) and all(map(self.loops.products.is_turned, users))
        if not is_turned or self._is_handed_on(each):
            self.rings.load(made, each, buffer)
            return
        for place in users:
            view, loaded = self.text.name(), self.split.operations[place].results[0]
            kind = each.type(transposed=True)
            self.body.instead[place] = [
                self.text.make(view, "ttg.memdesc_trans", [(buffer, each.type())], kind, TURNED),
                self.text.make(loaded.name, "ttg.local_load", [(view, kind)], loaded.type),
            ]

    def _give_back_later(self, empty: str, made: list[str]) -> None:
        """The slot of the iteration before, whose product is done. For the last one nobody waits."""
        self.has_turn, inside = True, list[str]()
        is_there = self.text.compare(made, MORE, self.turn, ZERO)
        before = self._slot_behind(inside, self.rings.slots - 1)
        self.rings.arrive(inside, self.rings.barrier(inside, empty, before))
        end = [self.text.line(GenericOperation("scf.yield")), "}, {", f"}}) : (i1) -> (){self.text.location}"]
        made += [f'"scf.if"({is_there}) ({{', *inside, *end]

    def _leave_under_way(self, product: int) -> int:
        """One product is waited for when the next has begun; the number of the variable that it adds to."""
        operation = self.split.operations[product]
        made, begun = operation.results[0], self.text.name()
        line = read_generic(self.loops.lines[operation.line])
        noted = ", ".join(filter(None, (line.attributes, 'tle.note = "wgmma"')))
        self.body.instead[product] = [
            str(line._replace(results=begun, attributes=noted)),
            self._wait_for_products(made.name, (begun, made.type), 1),
        ]
        return self.split.yielded.index(made)

    def _wait_for_products(self, name: str, value: Named, left: int) -> str:
        return self.text.make(name, "ttng.warp_group_dot_wait", [value], value[1], f"pendings = {left} : i32")

    # --- what goes out ----------------------------------------------------------------------------------------------

    def _write(self, ring: Ring) -> None:
        full, empty = self.rings.barriers(ring)
        places = [self.split.operations.index(each.made) for each in ring.fields]
        for number, (each, place) in enumerate(zip(ring.fields, places)):
            made: list[str] = []
            if not number:
                phase = self.text.binary(made, "arith.xori", self.phase, ONE)
                self.rings.wait(made, self.rings.barrier(made, empty, self.slot), phase)
            buffer = self.rings.place(made, ring, each, self.slot)
            if each.transport == STORE:
                self.rings.store(made, each, buffer)
                self.body.after.setdefault(place, []).extend(made)
                continue
            if each.transport == COPY:
                made.append(f"{self.text.name()} = {copy_line(each, self.loops.lines, buffer)}")
            else:
                self.rings.begin_copy(made, each, buffer, self.rings.barrier(made, full, self.slot))
            self.body.instead[place] = made
        self._hand_over(ring, self.body.after.setdefault(max(places), []))

    def _hand_over(self, ring: Ring, made: list[str]) -> None:
        """Say that a slot is full, or will be when its copies are done."""
        full, _ = self.rings.barriers(ring)
        if COPY in ring.transports:
            in_matrices = any(each.swizzle >= 0 for each in ring.fields if each.transport == COPY)
            if self.loops.capability >= HOPPER and in_matrices:
                made.append(self.text.make(self.text.name(), "ttg.async_commit_group", [], "!ttg.async.token"))
                if TMA not in ring.transports:
                    self._hand_over_later(full, made)
                    return
                self._wait_for_copies(made, 0)
            else:
                one = self.rings.barrier(made, full, self.slot)
                made.append(self.text.do("ttng.async_copy_mbarrier_arrive", [(one, barrier_type())]))
        one = self.rings.barrier(made, full, self.slot)
        if not ring.expected:
            self.rings.arrive(made, one)
            return
        if ring.transports != {TMA}:
            made.append(self.text.do("ttng.fence_async_shared", [], "bCluster = false"))
            made.append(f"{self.loops.barrier}{self.text.location}")
        self.rings.expect(made, one, ring.expected)

    def _hand_over_later(self, full: str, made: list[str]) -> None:
        """``cp.async`` that tensor cores read is waited for by whoever began it, when the next ones are under way.

        One slot is the readers' meanwhile, and where they leave a product under way another one, until they have begun
        the next product: with more copies under way than two slots fewer, each side would wait for the other. With one
        slot to spare neither waits for long: of four slots 696 TFLOP/s with one step's copies under way, 614 with two's
        (bf16, 8192 cubed, tiles of 128 x 256 x 64, by pointers on an H200).
        """
        text, behind, slots = self.text, self.body.behind, self.rings.slots
        ahead = max(slots - 3, min(1, slots - 2), 0)
        self._wait_for_copies(made, ahead)
        if not ahead:
            self.rings.arrive(made, self.rings.barrier(made, full, self.slot))
            return
        self.has_turn = True
        is_there = text.compare(made, AT_LEAST, self.turn, text.number(made, ahead))
        slot = self._slot_behind(made, self.rings.slots - ahead)
        self.rings.arrive(made, self.rings.barrier(made, full, slot), is_there)
        self._wait_for_copies(behind, 0)
        for number in range(ahead):
            is_one = text.compare(behind, AT_LEAST, self.turn, text.number(behind, ahead - number))
            slot = self._slot_behind(behind, self.rings.slots - ahead + number)
            self.rings.arrive(behind, self.rings.barrier(behind, full, slot), is_one)

    def _wait_for_copies(self, made: list[str], left: int) -> None:
        made.append(self.text.make(self.text.name(), "ttg.async_wait", [], "!ttg.async.token", f"num = {left} : i32"))
