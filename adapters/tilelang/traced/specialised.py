"""A pipelined loop by specialised warps: one warp copies tiles ahead, the kernel's own multiply them.

``warp_plan.py`` says of which programs. Each copy of the loop has a ring of slots in shared memory, and for each slot
two barriers: one tells that a tile has arrived, the other that all products have read it. The copies are the copy
engine's (TMA); a product is one in the background, and is waited for where its result is read or replaced, or where
an operand in registers is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from triton.language import core

from tle_raw.adapters.tilelang.program import variables_of
from tle_raw.adapters.tilelang.regions import constant, region_of
from tle_raw.adapters.tilelang.tir_types import Call, Node
from tle_raw.adapters.tilelang.traced import loops
from tle_raw.adapters.tilelang.traced.block_reads import current
from tle_raw.adapters.tilelang.traced.tracer import Tracer
from tle_raw.adapters.tilelang.traced.warp_plan import (
    CLEAR,
    TURN_A,
    TURN_B,
    A,
    B,
    C,
    Load,
    Meeting,
    Plan,
    is_straight,
)
from tle_raw.regions.notes import note
from tle_raw.regions.shapes import shape_of
from tle_raw.regions.structure import Structure

_WARPS, _REGISTERS = 1, 24  # of those that copy


@dataclass
class _Ring:
    """The tiles of one copy: ``slots`` of them, and the barriers of each."""

    load: Load
    slots: int
    tiles: Any
    full: Any
    empty: Any = None  # of tiles that stay there is none


@dataclass
class _Turn:
    """One turn of the loop: which use of the rings it is, and which tiles are known to be there."""

    use: core.tensor
    arrived: set[int]


@dataclass
class _Product:
    """A sum in the background: the memory of its result and of an operand in registers; the tiles that are free behind
    it, each with the turn; how many products it is made of."""

    result: Any
    operand: Any
    frees: list[tuple[_Ring, core.tensor]]
    count: int = 1


class Specialised:
    """What a region knows of its loop while it is traced."""

    def __init__(self, tracer: Tracer, plan: Plan, structure: Structure, descriptors: Mapping[str, Any]) -> None:
        self._tracer, self._plan, self._structure, self._descriptors = tracer, plan, structure, descriptors
        self._rings: list[_Ring] = []
        self._turn: _Turn | None = None
        self._under_way: list[_Product] = []
        self._latest: core.tensor | None = None  # what was computed last

    # --- what the tracer asks -----------------------------------------------------------------------------------

    def is_loop(self, loop: Node) -> bool:
        return bool(self._plan.loop.same_as(loop))

    def copies(self, call: Call) -> bool:
        """Whether a copy is the other warp's."""
        return self._plan.is_load(call)

    def needs(self, memory: Any) -> None:
        """The value of a buffer is about to be read."""
        self._wait([p for p in self._under_way if p.result.same_as(memory)])

    def replaces(self, memory: Any, value: core.tensor) -> None:
        """A buffer is about to get another value."""
        products = [
            p
            for p in self._under_way
            if p.result.same_as(memory) or (p.operand is not None and p.operand.same_as(memory))
        ]
        self._wait(products, behind=self._latest)
        if value.type.is_block() and value.type.scalar == core.float32:
            self._latest = value

    def multiply(self, call: Call) -> None:
        """``C += A @ B``, begun."""
        a, b, c = (region_of(call.args[which]).buffer for which in (A, B, C))
        total = self._total(call, c)
        left = self._ring(a.data)
        if left is None:
            x, operand = current(self._tracer, a), a.data
        else:
            x, operand = self._tile(left, bool(constant(call.args[TURN_A]))), None
        right = self._ring(b.data)
        assert right is not None and self._turn is not None
        y = self._tile(right, bool(constant(call.args[TURN_B])))
        made = self._structure.multiply(x, y, total)
        turn = self._turn.use
        frees = [(r, turn) for r in self._rings if r.empty is not None and self._plan.reads_last(call, r.load)]
        before = [p for p in self._under_way if p.result.same_as(c.data)]
        for product in before:  # it goes on with the same sum
            self._under_way.remove(product)
            frees = [*product.frees, *frees]
        self._under_way.append(_Product(c.data, operand, frees, 1 + sum(p.count for p in before)))
        self._tracer.tiles[c.data] = made

    def _total(self, call: Call, buffer: Any) -> core.tensor:
        tracer = self._tracer
        shape, clear = tuple(map(int, buffer.shape)), constant(tracer.simplify(call.args[CLEAR]))
        if clear is None:
            raise tracer.fail("a product that begins with zeros or not, in the background")
        chained = [p for p in self._under_way if p.result.same_as(buffer.data)]
        if chained and (clear or any(p.operand is not None for p in chained)):
            self.needs(buffer.data)
        found = tracer.tiles.get(buffer.data)
        if clear or found is None:
            return tracer.full(shape, 0, core.float32)
        assert shape_of(found) == shape
        return found

    # --- products -----------------------------------------------------------------------------------------------

    def _wait(self, products: Sequence[_Product], behind: core.tensor | None = None) -> None:
        """Until these are done, and so all that began before; later ones go on."""
        if not products:
            return
        last = max(self._under_way.index(p) for p in products)
        for number in range(last + 1):
            product, left = self._under_way[number], sum(p.count for p in self._under_way[number + 1 :])
            value = self._tracer.tiles[product.result]
            value = self._structure.wait_for_products(value, left, behind if number == last else None)
            self._tracer.tiles[product.result] = value
            for ring, use in product.frees:
                self._structure.arrive(ring.empty, self._number(ring, use), self._round(ring, use))
        del self._under_way[: last + 1]

    def _settle(self) -> None:
        self._wait(list(self._under_way))

    def _ring(self, memory: Any) -> _Ring | None:
        return next((r for r in self._rings if r.load.target.data.same_as(memory)), None)

    def _tile(self, ring: _Ring, turned: bool) -> Any:
        """A tile that has arrived."""
        if ring.empty is None:
            tile = self._structure.slot(ring.tiles, 0)
        else:
            assert self._turn is not None
            use = self._turn.use
            number = self._number(ring, use)
            if id(ring) not in self._turn.arrived:
                self._turn.arrived.add(id(ring))
                self._structure.wait(ring.full, number, self._round(ring, use))
            tile = self._structure.slot(ring.tiles, number)
        return self._structure.turned(tile) if turned else tile

    def _number(self, ring: _Ring, use: core.tensor) -> core.tensor:
        semantic = self._tracer.semantic
        return semantic.mod(use, self._tracer.number(ring.slots, core.int32))

    def _round(self, ring: _Ring, use: core.tensor) -> core.tensor:
        semantic = self._tracer.semantic
        return semantic.floordiv(use, self._tracer.number(ring.slots, core.int32))

    # --- the loop -----------------------------------------------------------------------------------------------

    def run(self, loop: Node) -> None:
        """The whole loop, with the warp that copies for it."""
        tracer, structure = self._tracer, self._structure
        low, extent = tracer.simplify(loop.min), tracer.simplify(loop.extent)
        if constant(getattr(loop, "step", None) or 1) != 1 or tracer.lanes.extents or tracer.guards:
            raise tracer.fail("a pipelined loop with a step of its own, or inside a branch")
        tracer.bind_range(loop.loop_var, low, extent)
        places = [self._places(load) for load in self._plan.loads]
        first, end = (
            tracer.cast(tracer.integer(n), core.int32) for n in (low, tracer.simplify(loop.min + loop.extent))
        )
        self._rings = [self._allocated(load) for load in self._plan.loads]
        inner = [v for v in _variables(places) if not v.same_as(loop.loop_var)]
        missing = [v for v in inner if v not in tracer.scalars or tracer.scalars[v].type.is_block()]
        if missing:
            raise tracer.fail(f"a tile that begins at `{missing[0].name}`, which is no scalar of the program")
        kept = loops.visible(tracer, loop.body)
        before = [loops.value_of(tracer, memory) for memory in kept]
        meeting = self._plan.meeting if tracer.proves(extent >= 1) else Meeting.NONE
        ways = {Meeting.NONE: self._in_order, Meeting.SUM: self._adding}
        write = ways.get(meeting, self._overlapping)
        note(f"one warp copies alone, {self._plan.slots} tiles ahead; the last product of a turn: {meeting.value}")

        def main() -> list[core.tensor]:
            loops.put_back(tracer, kept, before)
            for ring in self._rings:
                if ring.empty is None:
                    structure.wait(ring.full, 0, 0)
            write(loop, first, end, kept)
            return [loops.value_of(tracer, memory) for memory in kept]

        def worker(values: list[Any]) -> None:
            given = iter(values)
            tracer.scalars = {v: next(given) for v in inner}
            bounds = [next(given), next(given)]
            descriptors = [next(given) for _ in self._rings]
            rings = [
                _Ring(r.load, r.slots, next(given), next(given), None if r.empty is None else next(given))
                for r in self._rings
            ]
            self._copy_all(loop, bounds, rings, descriptors, places)

        captured = [*(tracer.scalars[v] for v in inner), first, end]
        captured += [self._descriptors[load.descriptor] for load in self._plan.loads]
        for ring in self._rings:
            captured += [ring.tiles, ring.full] if ring.empty is None else [ring.tiles, ring.full, ring.empty]
        with self._own_names():
            after = structure.specialise(main, worker, captured, _WARPS, _REGISTERS)
        loops.reset_written(tracer, loop.body)
        loops.put_back(tracer, kept, after)

    @contextmanager
    def _own_names(self) -> Iterator[None]:
        """What is computed within the partitions has no meaning behind them."""
        tracer = self._tracer
        scalars, expressions = dict(tracer.scalars), dict(tracer.expressions)
        yield
        tracer.scalars, tracer.expressions = scalars, expressions
        self._turn, self._latest = None, None

    def _allocated(self, load: Load) -> _Ring:
        slots = 1 if load in self._plan.resident else self._plan.slots
        structure, dtype = self._structure, self._tracer.dtype(load.target.dtype)
        ring = _Ring(load, slots, structure.buffer(slots, load.tile, dtype), None)
        ring.full = structure.barriers(slots, expect_bytes=load.bytes)
        if load in self._plan.ring:
            ring.empty = structure.barriers(slots, ready=True)
        return ring

    def _in_order(self, loop: Node, first: core.tensor, end: core.tensor, kept: Sequence[Any]) -> None:
        """The statements as they stand."""

        def once(index: core.tensor, carried: list[core.tensor]) -> list[core.tensor]:
            loops.put_back(self._tracer, kept, carried)
            self._take_turn(loop, index, first)
            self._run(loop, 0, len(self._plan.body))
            self._settle()
            return [loops.value_of(self._tracer, memory) for memory in kept]

        self._loop(loop, first, end, kept, once)

    def _adding(self, loop: Node, first: core.tensor, end: core.tensor, kept: Sequence[Any]) -> None:
        """A sum to which a product is added while the one of the turn before runs; the first turn stands before."""
        tracer, last = self._tracer, len(self._plan.body) - 1
        total, one = region_of(self._plan.body[last].value.args[C]).buffer.data, tracer.number(1, core.int32)

        def once(index: core.tensor, carried: list[core.tensor]) -> list[core.tensor]:
            loops.put_back(tracer, kept, carried)
            turn = self._take_turn(loop, index, first)
            self._run(loop, 0, last + 1)
            self._under_way = []
            tracer.tiles[total] = self._structure.wait_for_products(tracer.tiles[total], 1)
            before = tracer.semantic.sub(turn.use, one, False)
            for ring in self._rings:
                if ring.empty is not None:
                    self._structure.arrive(ring.empty, self._number(ring, before), self._round(ring, before))
            return [loops.value_of(tracer, memory) for memory in kept]

        self._take_turn(loop, first, first)
        self._run(loop, 0, last + 1)
        self._under_way = []
        self._loop(loop, tracer.semantic.add(first, one, False), end, kept, once)
        tracer.tiles[total] = self._structure.wait_for_products(tracer.tiles[total], 0)

    def _overlapping(self, loop: Node, first: core.tensor, end: core.tensor, kept: Sequence[Any]) -> None:
        """The last product of a turn beside the first ones of the next; the first turn stands before the loop."""
        tracer, head, last = self._tracer, self._plan.head, len(self._plan.body) - 1
        product = self._plan.body[last].value
        operand, total = (region_of(product.args[which]).buffer.data for which in (A, C))
        carried_too = [*kept] if self._ring(operand) is not None else [*kept, operand]
        one = tracer.number(1, core.int32)
        self._take_turn(loop, first, first)
        self._run(loop, 0, last)
        self._settle()

        def once(index: core.tensor, carried: list[core.tensor]) -> list[core.tensor]:
            loops.put_back(tracer, carried_too, carried)
            turn = self._take_turn(loop, index, first)
            before = _Turn(tracer.semantic.sub(turn.use, one, False), set())
            if self._plan.meeting is Meeting.BEFORE:
                self._multiply_in(before, product)
                self._run(loop, 0, head)
                self.needs(total)  # its tiles are free
            else:
                self._run(loop, 0, head)
                self._multiply_in(before, product)
            self._run(loop, head, last)
            self._settle()
            return [loops.value_of(tracer, memory) for memory in carried_too]

        self._loop(loop, tracer.semantic.add(first, one, False), end, carried_too, once)
        turns = tracer.semantic.sub(end, first, False)
        self._multiply_in(_Turn(tracer.semantic.sub(turns, one, False), set()), product)
        self._settle()

    def _multiply_in(self, turn: _Turn, product: Call) -> None:
        """A product of another turn than the present one."""
        present, self._turn = self._turn, turn
        self.multiply(product)
        self._turn = present

    def _loop(self, loop: Node, first: core.tensor, end: core.tensor, carried: Sequence[Any], once: Any) -> None:
        tracer = self._tracer
        before = [loops.value_of(tracer, memory) for memory in carried]
        bounds = [first, end, tracer.number(1, core.int32)]
        after = tracer.flow.loop(tracer, bounds, before, once)
        loops.reset_written(tracer, loop.body)
        loops.put_back(tracer, list(carried), after)

    def _take_turn(self, loop: Node, index: core.tensor, first: core.tensor) -> _Turn:
        tracer = self._tracer
        tracer.scalars[loop.loop_var] = tracer.cast(index, tracer.dtype(loop.loop_var.dtype))
        self._turn, self._latest = _Turn(tracer.semantic.sub(index, first, False), set()), None
        return self._turn

    def _run(self, loop: Node, start: int, stop: int) -> None:
        """Some of the body's statements. Nothing is under way where one may be left out or come again."""
        body = self._plan.body
        for number in range(start, stop):
            straight = is_straight(body[number])
            if not straight:
                self._settle()
            with self._tracer.before([loop.body]), self._tracer.before(body[number + 1 :]):
                self._tracer.run_body(body[number])
            if not straight:
                self._latest = None  # what was computed last may have no meaning here

    # --- copies -------------------------------------------------------------------------------------------------

    def _copy_all(
        self,
        loop: Node,
        bounds: Sequence[core.tensor],
        rings: Sequence[_Ring],
        descriptors: Sequence[Any],
        places: Sequence[tuple[Any, Any]],
    ) -> None:
        tracer, structure = self._tracer, self._structure
        first, end = bounds
        every = list(zip(rings, descriptors, places))
        for ring, descriptor, place in every:
            if ring.empty is None:
                structure.copy(descriptor, structure.slot(ring.tiles, 0), self._at(place), ring.full, 0)

        def once(index: core.tensor, carried: list[core.tensor]) -> list[core.tensor]:
            tracer.scalars[loop.loop_var] = tracer.cast(index, tracer.dtype(loop.loop_var.dtype))
            use = tracer.semantic.sub(index, first, False)
            for ring, descriptor, place in every:
                if ring.empty is not None:
                    number = self._number(ring, use)
                    structure.wait(ring.empty, number, self._round(ring, use))
                    structure.copy(descriptor, structure.slot(ring.tiles, number), self._at(place), ring.full, number)
            return carried

        tracer.flow.loop(tracer, [first, end, tracer.number(1, core.int32)], [], once)

    def _at(self, place: tuple[Any, Any]) -> list[core.tensor]:
        return [self._tracer.cast(self._tracer.integer(n), core.int32) for n in place]

    def _places(self, load: Load) -> tuple[Any, Any]:
        """Row and column of a tile in its array's matrix, where it lies inside the array, or beyond the matrix."""
        tracer, box = self._tracer, load.source
        shape, walked = list(box.buffer.shape), (load.split - 1, len(box.buffer.shape) - 1)
        for dim, (origin, extent, size) in enumerate(zip(box.origin, box.extents, shape)):
            is_edge = dim in walked and (dim == 0 or dim == load.split)
            origin = tracer.simplify(origin)
            if not is_edge and not (tracer.proves(origin >= 0) and tracer.proves(origin + extent <= size)):
                raise tracer.fail(f"a tile of `{load.array}` that may go over the end of a dim")
        parts = (range(load.split), range(load.split, len(shape)))
        row, column = (_flat([box.origin[d] for d in dims], [shape[d] for d in dims]) for dims in parts)
        return tracer.simplify(row), tracer.simplify(column)


def _flat(origins: Sequence[Any], shape: Sequence[Any]) -> Any:
    """The number of an element, row by row."""
    number: Any = 0
    for origin, size in zip(origins, shape):
        number = number * size + origin
    return number


def _variables(places: Sequence[tuple[Any, Any]]) -> list[Any]:
    found: list[Any] = []
    for expression in (part for place in places for part in place):
        found += [v for v in variables_of(expression) if not any(v.same_as(known) for known in found)]
    return found
