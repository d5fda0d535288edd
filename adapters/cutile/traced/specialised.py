"""Loops over tiles by specialised warps: one warp copies tiles ahead, the kernel's own multiply them.

``specialise/plan.py`` says of which kernels, ``tile_copies.py`` what the other warp does, and the files in
``adapters/common`` where the tiles lie and when products are waited for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from triton.language import core

from tle_raw.adapters.common.background import Background, Sum
from tle_raw.adapters.common.rings import Rings, Turn
from tle_raw.adapters.cutile.ir_types import Operation, Variable
from tle_raw.adapters.cutile.specialise.meetings import Meeting, Turns
from tle_raw.adapters.cutile.specialise.plan import Plan
from tle_raw.adapters.cutile.specialise.products import Product
from tle_raw.adapters.cutile.specialise.tile_rings import Operand
from tle_raw.adapters.cutile.traced.control import run_operation, run_operations
from tle_raw.adapters.cutile.traced.limits import note_index
from tle_raw.adapters.cutile.traced.ring_uses import RingUses
from tle_raw.adapters.cutile.traced.tile_copies import TileCopies, captured_values
from tle_raw.adapters.cutile.traced.tracer import Tracer
from tle_raw.adapters.cutile.traced.types import is_token, without_tokens
from tle_raw.adapters.cutile.traced.values import constant, reshape, without_unit_axes
from tle_raw.regions.notes import note
from tle_raw.regions.shapes import shape_of
from tle_raw.regions.structure import Structure

_WARPS, _REGISTERS = 1, 24  # of those that copy
Values = list[Any]


@dataclass(frozen=True)
class Result:
    """A product's result, by the name of cuTile's variable."""

    name: str

    def same_as(self, other: object) -> bool:
        return self == other


class Specialised:
    """A kernel with a plan while it is traced; ``descriptors`` are by their names."""

    def __init__(self, tracer: Tracer, plan: Plan, structure: Structure, descriptors: Mapping[str, Any]) -> None:
        self._tracer, self._plan, self._structure = tracer, plan, structure
        self._descriptors = descriptors
        tracer.keeps_matrices = True
        tracer.described = {place: descriptors[store.descriptor] for place, store in plan.stores.items()}
        self._rings = Rings(tracer.semantic, structure)
        self._matrices: dict[Any, core.tensor] = {}  # of products that are not known to be done, by their results
        self._products = Background(lambda: self._matrices, structure)
        self._under_way: dict[str, Result] = {}  # what stands for a variable whose value is not there yet
        self._results = dict(_variables(plan))
        self._turns: dict[frozenset[int], Turn] = {}
        self._always = Turn(constant(tracer, 0, core.int32), set())

    def run(self, block: Any) -> Values:
        """The function; what its end gives."""
        operations, plan = list(block), self._plan
        for op in operations[: plan.start]:
            if id(op) not in plan.hidden:
                run_operation(self._tracer, op)
        span = operations[plan.start : plan.stop]
        for op in span:
            if id(op) in plan.early:
                run_operation(self._tracer, op)
        late = [op for op in span if id(op) not in plan.early]
        self._specialise(operations[: plan.stop], late, _read_in(operations[plan.stop :]))
        return run_operations(self._tracer, operations[plan.stop :])

    def _specialise(self, every: Sequence[Operation], late: Sequence[Operation], read: set[str]) -> None:
        """``late`` by the kernel's own warps; of ``every`` operation up to there what the other warp needs."""
        tracer, plan = self._tracer, self._plan
        own = {
            ring: self._rings.add(ring, core.dtype(ring.triton_dtype), ring.slots, ring.stays) for ring in plan.rings
        }
        results = [v for op in late for v in without_tokens(op.result_vars) if v.name in read]
        outside = captured_values(tracer, plan)
        note_plan(plan)

        def main() -> Values:
            self._uses = RingUses(tracer, plan)
            self._own = own
            self._rings.await_resident()
            self._run(late)
            self._products.settle()
            if not all(isinstance(tracer.value(v), core.tensor) for v in results):
                raise tracer.fail("an array that is made behind a loop over tiles, by specialised warps")
            return [without_unit_axes(tracer, tracer.value(v)) for v in results]

        def worker(values: list[Any]) -> None:
            given = iter(values)
            tracer.values = {name: next(given) for name in outside}
            descriptors = {ring: next(given) for ring in plan.rings}
            rings = {ring: own[ring].captured(given) for ring in plan.rings}
            TileCopies(tracer, plan, self._rings, rings, descriptors).run(every)

        captured = [*outside.values(), *(self._descriptors[ring.descriptor] for ring in plan.rings)]
        captured += [value for ring in plan.rings for value in own[ring].values]
        known = dict(tracer.values)
        after = self._structure.specialise(main, worker, captured, _WARPS, _REGISTERS)
        tracer.values = known
        tracer.bind(results, [reshape(tracer, value, v.get_type().shape) for v, value in zip(results, after)])

    # --- operations, in order -----------------------------------------------------------------------------------

    def _run(self, operations: Iterable[Operation]) -> None:
        for op in operations:
            self._tracer.stands_at(op)
            if id(op) in self._plan.products:
                self._multiply(self._plan.products[id(op)])
            elif id(op) in self._plan.turns:
                self._products.settle()
                self._loop_of_products(self._plan.turns[id(op)])
            elif id(op) in self._plan.around:
                self._products.settle()
                self._loop_around(op)
            elif id(op) in self._plan.hidden:
                self._await(op)
            else:
                self._run_other(op)

    def _run_other(self, op: Operation) -> None:
        """An operation waits for what it reads; nothing is under way where one may be left out or come again."""
        if op.op in ("loop", "ifelse"):
            self._products.settle()
        for variable in op.all_inputs():
            self._needs(variable)
        run_operation(self._tracer, op)

    def _await(self, op: Operation) -> None:
        """A tile that is loaded around the loops that read it is there from here on."""
        ring = self._plan.ring_of.get(id(op))
        if ring is not None and not ring.stays and not self._plan.is_of_turns(ring):
            self._turns[ring.homes] = Turn(self._uses.of(ring), set())
            self._rings.tile(self._own[ring], self._turns[ring.homes], False)

    # --- products -----------------------------------------------------------------------------------------------

    def _multiply(self, product: Product, less: int = 0) -> None:
        """Begin a product of this turn's tiles, or of those of ``less`` turns before."""
        turns = self._turns
        if less:
            turns = {homes: Turn(self._less(turn.use, less), set()) for homes, turn in turns.items()}
        left, total = product.left, self._matrix(product.op.acc)
        x = self._tile(left, turns) if left is not None else self._matrix(product.op.x)
        y = self._tile(product.right, turns)
        key = self._under_way.pop(product.op.acc.name, None) or Result(product.result.name)
        self._under_way[product.result.name] = key
        done = [partial(self._rings.free, self._own[r], turns[r.homes].use) for r in self._plan.freed_by(product)]
        self._products.begin(self._structure.multiply(x, y, total), Sum(key, None, [*done, partial(self._bind, key)]))

    def _needs(self, variable: Variable) -> None:
        if variable.name in self._under_way:
            self._products.needs(self._under_way[variable.name])

    def _bind(self, key: Result) -> None:
        """A sum is there: its result is a value as any other."""
        for name in [name for name, other in self._under_way.items() if other == key]:
            variable = self._results[name]
            value = reshape(self._tracer, self._matrices[key], variable.get_type().shape)
            self._tracer.bind([variable], [value])
            del self._under_way[name]

    def _tile(self, operand: Operand, turns: Mapping[frozenset[int], Turn]) -> Any:
        ring = operand.ring
        turn = self._always if ring.stays else turns[ring.homes]
        return self._rings.tile(self._own[ring], turn, operand.turned)

    def _matrix(self, variable: Variable) -> core.tensor:
        """A value as tensor cores take it, of two dims; a sum that is under way as it is."""
        if variable.name in self._under_way:
            return self._matrices[self._under_way[variable.name]]
        value = self._tracer.value(variable)
        return reshape(self._tracer, value, shape_of(value)[-2:])

    def _less(self, value: core.tensor, by: int) -> core.tensor:
        return self._tracer.make("create_sub", value.type, value, constant(self._tracer, by, value.type))

    # --- loops --------------------------------------------------------------------------------------------------

    def _loop_around(self, op: Operation) -> None:
        """A loop in whose body such loops stand."""
        kept = _places(op)

        def body(index: core.tensor, values: Values) -> Values:
            self._enter(op, index, kept, values)
            self._run(list(op.body)[:-1])
            self._products.settle()
            for ring in self._plan.rings:
                if id(op.body) in ring.homes:
                    self._rings.free(self._own[ring], self._uses.of(ring))
            return self._left(op, kept)

        self._write_loop(op, kept, body)

    def _loop_of_products(self, turns: Turns) -> None:
        ways = {Meeting.NONE: self._in_order, Meeting.SUM: self._adding, Meeting.BEFORE: self._overlapping}
        ways[turns.meeting](turns)

    def _in_order(self, turns: Turns) -> None:
        """The operations as they stand."""
        op, kept = turns.loop, _places(turns.loop)

        def body(index: core.tensor, values: Values) -> Values:
            self._enter(op, index, kept, values)
            self._run(list(op.body)[:-1])
            self._products.settle()
            return self._left(op, kept)

        self._write_loop(op, kept, body)

    def _adding(self, turns: Turns) -> None:
        """Products are added to sums while those of the turn before run; the first turn stands before the loop."""
        op, count = turns.loop, len(turns.products)
        places = {each.place: each for each in turns.sums}
        kept = [place for place in _places(op) if place not in places]
        keys = [Result(op.body_vars[place].name) for place in places]

        def turn(index: core.tensor, values: Values, sums: Values) -> Values:
            self._enter(op, index, kept, values)
            for key, total in zip(keys, sums):
                self._under_way[key.name], self._matrices[key] = key, total
            self._run(list(op.body)[:-1])
            self._products.forget()
            for each in turns.products:
                self._under_way.pop(each.result.name, None)
            return []

        def all_turns() -> Values:
            first, start, bounds = self._first(op)
            sums = [self._matrix(op.initial_values[place]) for place in places]
            turn(first, [*(self._tracer.value(op.initial_values[p]) for p in kept), *self._uses.carried(op)], sums)

            def body(index: core.tensor, values: Values) -> Values:
                turn(index, values[len(keys) :], values[: len(keys)])
                for key in keys:
                    self._products.wait_in_loop(key, count)
                self._free_all(turns, less=1)
                return [*(self._matrices[key] for key in keys), *self._left(op, kept)]

            before = [*(self._matrices[key] for key in keys), *self._left(op, kept)]
            after = self._tracer.flow.loop(self._tracer, [start, *bounds], before, body)
            for key, total in zip(keys, after):
                self._matrices[key] = total
                self._products.wait_in_loop(key, 0)
            rest = after[len(keys) :]
            self._uses.enter(op, rest[len(kept) :])
            self._take_turn(op)
            self._free_all(turns, less=1)
            found = dict(zip(kept, rest))
            for place, key in zip(places, keys):
                found[place] = reshape(self._tracer, self._matrices[key], op.result_vars[place].get_type().shape)
            return [*(found[place] for place in _places(op)), *self._uses.carried(op)]

        self._if_it_runs(turns, all_turns)

    def _free_all(self, turns: Turns, less: int) -> None:
        """The tiles of an earlier turn."""
        for each in turns.products:
            for ring in self._plan.freed_by(each):
                self._rings.free(self._own[ring], self._less(self._turns[ring.homes].use, less))

    def _overlapping(self, turns: Turns) -> None:
        """The last product of a turn beside the first ones of the next; the first turn stands before the loop."""
        op, last = turns.loop, turns.products[-1]
        body_operations = list(op.body)[:-1]
        rest = [each for each in body_operations[turns.head :] if each is not last.op]
        kept = [place for place in _places(op) if place != turns.place]
        operands = [last.op.acc, *([last.op.x] if last.left is None else [])]

        def put_off() -> Values:
            """What the product will read, then what the loop carries."""
            for variable in operands:
                self._needs(variable)
            self._products.settle()
            return [*(self._tracer.value(v) for v in operands), *self._left(op, kept)]

        def begin(values: Values) -> None:
            """The product of the turn before; what it gives is the carried value."""
            for variable, value in zip(operands, values):
                self._tracer.values[variable.name] = value
            self._multiply(last, less=1)
            name = op.body_vars[turns.place].name
            self._under_way[name] = self._under_way.pop(last.result.name)

        def body(index: core.tensor, values: Values) -> Values:
            self._enter(op, index, kept, values[len(operands) :])
            begin(values[: len(operands)])
            self._run(body_operations[: turns.head])
            self._needs(op.body_vars[turns.place])  # its tiles are free
            self._run(rest)
            return put_off()

        def all_turns() -> Values:
            first, start, bounds = self._first(op)
            values = [self._tracer.value(op.initial_values[place]) for place in kept]
            self._tracer.bind([op.body_vars[turns.place]], [self._tracer.value(op.initial_values[turns.place])])
            self._enter(op, first, kept, [*values, *self._uses.carried(op)])
            self._run(body_operations[: turns.head])
            self._run(rest)
            after = self._tracer.flow.loop(self._tracer, [start, *bounds], put_off(), body)
            self._uses.enter(op, after[len(operands) + len(kept) :])
            self._take_turn(op)
            begin(after[: len(operands)])
            self._needs(op.body_vars[turns.place])
            found = dict(zip(kept, after[len(operands) :]))
            found[turns.place] = self._tracer.value(op.body_vars[turns.place])
            return [*(found[place] for place in _places(op)), *self._uses.carried(op)]

        self._if_it_runs(turns, all_turns)

    def _first(self, op: Operation) -> tuple[core.tensor, core.tensor, list[core.tensor]]:
        """The first index, the second one, and the loop's end and step."""
        first, stop, step = (self._tracer.value(v) for v in (op.start, op.stop, op.step))
        return first, self._tracer.make("create_add", first.type, first, step), [stop, step]

    def _if_it_runs(self, turns: Turns, all_turns: Any) -> None:
        """Where the loop may have no turn, what it carries goes on as it is."""
        op, tracer, places = turns.loop, self._tracer, _places(turns.loop)
        if turns.runs:
            after = all_turns()
        else:
            start, stop = tracer.value(op.start), tracer.value(op.stop)
            is_below = tracer.make("create_icmpSLT", core.int1, start, stop)
            before = [*(tracer.value(op.initial_values[place]) for place in places), *self._uses.carried(op)]
            after = tracer.flow.run_if(tracer, is_below, all_turns, before)
        self._finish(op, places, after)

    def _write_loop(self, op: Operation, kept: Sequence[int], body: Any) -> None:
        tracer = self._tracer
        before = [*(tracer.value(op.initial_values[place]) for place in kept), *self._uses.carried(op)]
        bounds = [tracer.value(v) for v in (op.start, op.stop, op.step)]
        self._finish(op, kept, tracer.flow.loop(tracer, bounds, before, body))

    def _finish(self, op: Operation, kept: Sequence[int], after: Values) -> None:
        self._tracer.bind([op.result_vars[place] for place in kept], after[: len(kept)])
        self._uses.enter(op, after[len(kept) :])

    def _enter(self, op: Operation, index: core.tensor, kept: Sequence[int], values: Values) -> None:
        """A turn of a loop, with what it carries."""
        tracer = self._tracer
        tracer.values[op.induction_var.name] = index
        note_index(tracer, op, index, tracer.value(op.stop))
        tracer.bind([op.body_vars[place] for place in kept], values[: len(kept)])
        self._uses.enter(op, values[len(kept) :])
        self._take_turn(op)

    def _take_turn(self, op: Operation) -> None:
        for ring in self._plan.rings:
            if id(op.body) in ring.homes:
                self._turns[ring.homes] = Turn(self._uses.of(ring), set())

    def _left(self, op: Operation, kept: Sequence[int]) -> Values:
        """What a turn gives to the next one."""
        jump = list(op.body)[-1]
        self._uses.advance(op)
        return [*(self._tracer.value(jump.values[place]) for place in kept), *self._uses.carried(op)]


def _places(op: Operation) -> list[int]:
    """Those of what a loop carries, but for tokens."""
    return [place for place, variable in enumerate(op.body_vars) if not is_token(variable)]


def _variables(plan: Plan) -> Iterable[tuple[str, Variable]]:
    """What may be a sum that is under way."""
    for turns in plan.turns.values():
        found = [*(p.result for p in turns.products), *without_tokens(turns.loop.body_vars)]
        yield from ((v.name, v) for v in found)


def _read_in(operations: Iterable[Operation]) -> set[str]:
    found: set[str] = set()
    for op in operations:
        found |= {v.name for v in op.all_inputs()}
        for block in op.nested_blocks:
            found |= _read_in(block)
    return found


def note_plan(plan: Plan) -> None:
    """For the report."""
    slots = ", ".join(f"{ring.array} {ring.slots}" for ring in plan.rings)
    note(f"one warp copies alone; tiles at a time: {slots}")
    for meeting in dict.fromkeys(turns.meeting for turns in plan.turns.values()):
        note(f"the last product of a turn: {meeting.value}")
