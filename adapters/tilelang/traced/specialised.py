"""A pipelined loop by specialised warps: one warp copies tiles ahead, the kernel's own multiply them.

``warp_plan.py`` says of which programs, ``rings.py`` where the tiles lie, and ``background.py`` when products are
waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from triton.language import core

from tle_raw.adapters.common.background import Background, Sum
from tle_raw.adapters.common.rings import Ring, Rings, Turn
from tle_raw.adapters.tilelang.program import variables_of
from tle_raw.adapters.tilelang.regions import constant, region_of
from tle_raw.adapters.tilelang.tir_types import Call, Node
from tle_raw.adapters.tilelang.traced import loops
from tle_raw.adapters.tilelang.traced.block_reads import current
from tle_raw.adapters.tilelang.traced.pipelined_body import CLEAR, TURN_A, TURN_B, A, B, C, is_straight
from tle_raw.adapters.tilelang.traced.product_meetings import Meeting
from tle_raw.adapters.tilelang.traced.tile_places import place_of
from tle_raw.adapters.tilelang.traced.tracer import Tracer
from tle_raw.adapters.tilelang.traced.warp_plan import Plan
from tle_raw.regions.notes import note
from tle_raw.regions.structure import Structure

_WARPS, _REGISTERS = 1, 24  # of those that copy
Values = list[core.tensor]


class Specialised:
    """What a region knows of its loop while it is traced."""

    def __init__(self, tracer: Tracer, plan: Plan, structure: Structure, descriptors: Mapping[str, Any]) -> None:
        self._tracer, self._plan, self._structure, self._descriptors = tracer, plan, structure, descriptors
        self._rings = Rings(tracer.semantic, structure)
        self._products = Background(lambda: tracer.tiles, structure)
        self._turn: Turn | None = None

    # --- what the tracer asks -----------------------------------------------------------------------------------

    def is_loop(self, loop: Node) -> bool:
        return bool(self._plan.loop.same_as(loop))

    def copies(self, call: Call) -> bool:
        """Whether a copy is the other warp's."""
        return self._plan.is_load(call)

    def needs(self, memory: Any) -> None:
        """The value of a buffer is about to be read."""
        self._products.needs(memory)

    def replaces(self, memory: Any, value: core.tensor) -> None:
        """A buffer is about to get another value."""
        self._products.replaces(memory, value)

    def multiply(self, call: Call) -> None:
        """``C += A @ B``, begun."""
        a, b, c = (region_of(call.args[which]).buffer for which in (A, B, C))
        total, turn = self._total(call, c), self._turn
        left, right = self._ring_of(a.data), self._ring_of(b.data)
        assert turn is not None and right is not None
        if left is None:
            x, operand = current(self._tracer, a), a.data
        else:
            x, operand = self._rings.tile(left, turn, bool(constant(call.args[TURN_A]))), None
        y = self._rings.tile(right, turn, bool(constant(call.args[TURN_B])))
        frees = [partial(self._rings.free, ring, turn.use) for ring in self._read_last_by(call)]
        self._products.begin(self._structure.multiply(x, y, total), Sum(c.data, operand, frees))

    def _ring_of(self, memory: Any) -> Ring | None:
        """The ring that stands for a shared buffer."""
        return next((r for r in self._rings.every if r.load.target.data.same_as(memory)), None)

    def _read_last_by(self, call: Call) -> list[Ring]:
        """The rings whose tile of a turn is free behind a product."""
        return [r for r in self._rings.every if not r.stays and self._plan.reads_last(call, r.load)]

    def _total(self, call: Call, buffer: Any) -> core.tensor:
        tracer, clear = self._tracer, constant(self._tracer.simplify(call.args[CLEAR]))
        if clear is None:
            raise tracer.fail("a product that begins with zeros or not, in the background")
        if clear or not self._products.can_add_to(buffer.data):
            self._products.needs(buffer.data)
        found = tracer.tiles.get(buffer.data)
        if clear or found is None:
            return tracer.full(tuple(map(int, buffer.shape)), 0, core.float32)
        return found

    # --- the loop -----------------------------------------------------------------------------------------------

    def run(self, loop: Node) -> None:
        """The whole loop, with the warp that copies for it."""
        tracer, plan, rings = self._tracer, self._plan, self._rings
        low, extent = tracer.simplify(loop.min), tracer.simplify(loop.extent)
        if constant(getattr(loop, "step", None) or 1) != 1 or tracer.lanes.extents or tracer.guards:
            raise tracer.fail("a pipelined loop with a step of its own, or inside a branch")
        tracer.bind_range(loop.loop_var, low, extent)
        places = [place_of(tracer, load) for load in plan.loads]
        inner = self._variables(loop, places)
        first, end = (
            tracer.cast(tracer.integer(n), core.int32) for n in (low, tracer.simplify(loop.min + loop.extent))
        )
        for load in plan.loads:
            rings.add(load, tracer.dtype(load.target.dtype), plan.slots, stays=load in plan.resident)
        kept = loops.visible(tracer, loop.body)
        before = [loops.value_of(tracer, memory) for memory in kept]
        write = self._way(extent)

        def main() -> Values:
            loops.put_back(tracer, kept, before)
            rings.await_resident()
            write(loop, first, end, kept)
            return [loops.value_of(tracer, memory) for memory in kept]

        def worker(values: list[Any]) -> None:
            given = iter(values)
            tracer.scalars = {v: next(given) for v in inner}
            bounds = next(given), next(given)
            descriptors = [next(given) for _ in rings.every]
            own = [ring.captured(given) for ring in rings.every]
            self._copy_all(loop, bounds, list(zip(own, descriptors, places)))

        captured = [*(tracer.scalars[v] for v in inner), first, end]
        captured += [self._descriptors[load.descriptor] for load in plan.loads]
        captured += [value for ring in rings.every for value in ring.values]
        with self._own_names():
            after = self._structure.specialise(main, worker, captured, _WARPS, _REGISTERS)
        loops.reset_written(tracer, loop.body)
        loops.put_back(tracer, kept, after)

    def _variables(self, loop: Node, places: Sequence[tuple[Any, Any]]) -> list[Any]:
        """The scalars that say where tiles begin."""
        found: list[Any] = []
        for expression in (part for place in places for part in place):
            found += [v for v in variables_of(expression) if not any(v.same_as(known) for known in found)]
        found = [v for v in found if not v.same_as(loop.loop_var)]
        for variable in found:
            if variable not in self._tracer.scalars or self._tracer.scalars[variable].type.is_block():
                raise self._tracer.fail(f"a tile that begins at `{variable.name}`, which is no scalar of the program")
        return found

    def _way(self, extent: Any) -> Callable[..., None]:
        meeting = self._plan.meeting if self._tracer.proves(extent >= 1) else Meeting.NONE
        note(f"one warp copies alone, {self._plan.slots} tiles ahead; the last product of a turn: {meeting.value}")
        ways = {Meeting.NONE: self._in_order, Meeting.SUM: self._adding}
        return ways.get(meeting, self._overlapping)

    @contextmanager
    def _own_names(self) -> Iterator[None]:
        """What is computed within the partitions has no meaning behind them."""
        tracer = self._tracer
        scalars, expressions = dict(tracer.scalars), dict(tracer.expressions)
        yield
        tracer.scalars, tracer.expressions = scalars, expressions
        self._turn = None
        self._products.forget()

    def _in_order(self, loop: Node, first: core.tensor, end: core.tensor, kept: Sequence[Any]) -> None:
        """The statements as they stand."""

        def once(turn: Turn) -> None:
            self._run(loop, 0, len(self._plan.body))
            self._products.settle()

        self._loop(loop, first, first, end, kept, once)

    def _adding(self, loop: Node, first: core.tensor, end: core.tensor, kept: Sequence[Any]) -> None:
        """A product is added to a sum while the one of the turn before runs; the first turn stands before the loop."""
        product = self._plan.body[-1].value
        total = region_of(product.args[C]).buffer.data

        def once(turn: Turn) -> None:
            self._run(loop, 0, len(self._plan.body))
            self._products.forget()
            self._products.wait_in_loop(total, left=1)
            for ring in self._read_last_by(product):
                self._rings.free(ring, self._less(turn.use, 1))

        self._take_turn(loop, first, first)
        self._run(loop, 0, len(self._plan.body))
        self._products.forget()
        self._loop(loop, first, self._less(first, -1), end, kept, once)
        self._products.wait_in_loop(total, left=0)

    def _overlapping(self, loop: Node, first: core.tensor, end: core.tensor, kept: Sequence[Any]) -> None:
        """The last product of a turn beside the first ones of the next; the first turn stands before the loop."""
        head, last = self._plan.head, len(self._plan.body) - 1
        product = self._plan.body[last].value
        operand, total = (region_of(product.args[which]).buffer.data for which in (A, C))
        carried = [*kept] if self._ring_of(operand) is not None else [*kept, operand]

        def once(turn: Turn) -> None:
            before = Turn(self._less(turn.use, 1), set())
            if self._plan.meeting is Meeting.BEFORE:
                self._multiply_in(before, product)
                self._run(loop, 0, head)
                self._products.needs(total)  # its tiles are free
            else:
                self._run(loop, 0, head)
                self._multiply_in(before, product)
            self._run(loop, head, last)
            self._products.settle()

        self._take_turn(loop, first, first)
        self._run(loop, 0, last)
        self._products.settle()
        self._loop(loop, first, self._less(first, -1), end, carried, once)
        self._multiply_in(Turn(self._less(self._tracer.semantic.sub(end, first, False), 1), set()), product)
        self._products.settle()

    def _multiply_in(self, turn: Turn, product: Call) -> None:
        """A product of another turn than the present one."""
        present, self._turn = self._turn, turn
        self.multiply(product)
        self._turn = present

    def _less(self, value: core.tensor, by: int) -> core.tensor:
        tracer = self._tracer
        return tracer.semantic.sub(value, tracer.number(by, core.int32), False)

    def _loop(
        self,
        loop: Node,
        first: core.tensor,
        start: core.tensor,
        end: core.tensor,
        carried: Sequence[Any],
        once: Callable[[Turn], None],
    ) -> None:
        """``once`` for each turn from ``start`` to ``end``; the loop's own first is ``first``."""
        tracer = self._tracer

        def body(index: core.tensor, values: Values) -> Values:
            loops.put_back(tracer, carried, values)
            once(self._take_turn(loop, index, first))
            return [loops.value_of(tracer, memory) for memory in carried]

        before = [loops.value_of(tracer, memory) for memory in carried]
        after = tracer.flow.loop(tracer, [start, end, tracer.number(1, core.int32)], before, body)
        loops.reset_written(tracer, loop.body)
        loops.put_back(tracer, carried, after)
        self._products.forget_latest()

    def _take_turn(self, loop: Node, index: core.tensor, first: core.tensor) -> Turn:
        tracer = self._tracer
        tracer.scalars[loop.loop_var] = tracer.cast(index, tracer.dtype(loop.loop_var.dtype))
        self._turn = Turn(tracer.semantic.sub(index, first, False), set())
        self._products.forget_latest()
        return self._turn

    def _run(self, loop: Node, start: int, stop: int) -> None:
        """Some of the body's statements. Nothing is under way where one may be left out or come again."""
        body = self._plan.body
        for number in range(start, stop):
            straight = is_straight(body[number])
            if not straight:
                self._products.settle()
            with self._tracer.before([loop.body]), self._tracer.before(body[number + 1 :]):
                self._tracer.run_body(body[number])
            if not straight:
                self._products.forget_latest()

    def _copy_all(
        self, loop: Node, bounds: tuple[core.tensor, core.tensor], copies: Sequence[tuple[Ring, Any, tuple[Any, Any]]]
    ) -> None:
        """What the other warp does."""
        tracer, (first, end) = self._tracer, bounds

        def copy(use: core.tensor | None) -> None:
            for ring, descriptor, place in copies:
                if ring.stays == (use is None):
                    at = [tracer.cast(tracer.integer(part), core.int32) for part in place]
                    self._rings.fill(ring, use, descriptor, at)

        def body(index: core.tensor, values: Values) -> Values:
            tracer.scalars[loop.loop_var] = tracer.cast(index, tracer.dtype(loop.loop_var.dtype))
            copy(tracer.semantic.sub(index, first, False))
            return values

        copy(None)
        tracer.flow.loop(tracer, [first, end, tracer.number(1, core.int32)], [], body)
