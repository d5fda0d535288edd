"""Reads loops: `while` and `for … in range(…)` as regions of scf, or as blocks where a path jumps out of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from tle_raw.adapters.mlir.edsl.frames import Loop
from tle_raw.adapters.mlir.edsl.merging import Carried, Edge, Environment
from tle_raw.adapters.mlir.edsl.operators import binary, common_type
from tle_raw.adapters.mlir.edsl.outer import BindingIterator
from tle_raw.adapters.mlir.edsl.ranges import Range
from tle_raw.adapters.mlir.edsl.statements import Statements
from tle_raw.adapters.mlir.edsl.types import BOOL, I32, I64, INDEX, Number, literal_type
from tle_raw.adapters.mlir.edsl.values import Conflict, EdslValue, Undefined, is_positive
from tle_raw.errors import Row

MOST_UNROLLED = 4096


@dataclass(frozen=True)
class Counted:
    """A range as a loop that counts upwards: ``value`` turns the counter into what the name gets."""

    start: EdslValue
    stop: EdslValue
    step: EdslValue
    value: Callable[[EdslValue], EdslValue]


class Loops(Statements):
    """The part of the reader that reads loops."""

    # --- what a loop carries -----------------------------------------------------------------------------------

    def _carried(self, node: ast.For | ast.While) -> Carried:
        """The names that have a value here and get another one in the loop."""
        environment = self.frame.environment
        names = [
            name
            for name in self._assigned(node)
            if name in environment and not isinstance(environment[name], (Undefined, Conflict))
        ]
        return Carried.of(names, environment)

    def _assigned(self, node: ast.For | ast.While) -> list[str]:
        return list(self.frame.code.facts.stores[node])

    def _settle(self, node: ast.For | ast.While, carried: Carried, environment: Environment) -> bool:
        """Whether the loop must be read again, with the types that it gave to what began as literals."""
        changed, problem = carried.settle(environment)
        if isinstance(problem, Conflict) and not problem.location.line:
            self._changes_type(node, problem)
        if problem is not None:
            self._no_value(problem)
        return changed

    def _changes_type(self, node: ast.For | ast.While, problem: Conflict) -> NoReturn:
        stores = [
            n
            for n in ast.walk(node)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id == problem.name
        ]
        self.emit.fail(
            f"`{problem.name}` changes its type in the loop",
            [Row(problem.name, problem.one, problem.other)],
            f"convert it, for example before the loop: {problem.name} = f32({problem.name})",
            node=stores[-1] if stores else node,
        )

    def _after(
        self, node: ast.For | ast.While, before: Environment, carried: Carried, values: Iterator[EdslValue]
    ) -> None:
        """The names after a loop: those that only the loop assigns have no value, it may run no round."""
        environment = dict(before)
        carried.bind(environment, values)
        for name in self._assigned(node):
            if name not in carried.forms:
                environment[name] = Undefined(name, self.emit.location, "the loop may run no round")
        self.frame.environment = environment

    # --- while ---------------------------------------------------------------------------------------------------

    def _run_while(self, node: ast.While) -> None:
        if node.orelse:
            self.emit.fail("`else` after a loop is not supported in the mlir dialect", node=node.orelse[0])
        if self.jumps(node):
            self._while_in_blocks(node)
        else:
            self._while_in_regions(node)

    def _while_in_regions(self, node: ast.While) -> None:
        emit, builder, frame = self.emit, self.emit.builder, self.frame
        before, carried = frame.environment, self._carried(node)
        if self._never_runs(node):
            return
        while True:
            regions = [builder.region(), builder.region()]
            test = builder.block(regions[0], carried.types)
            with builder.inside(test):
                self._enter(before, carried, test)
                condition = self._condition(node)
                if not isinstance(condition, EdslValue):
                    if condition:
                        emit.fail("this loop never ends", hint="leave it by break or return", node=node.test)
                    condition = emit.constant(False)
                if self._settle(node, carried, frame.environment):
                    continue
                values = carried.values(emit, frame.environment)
                named = self._named_in_test(node, carried)
                emit.do("scf.condition", (condition, *values, *named.values()))
            types = [*carried.types, *(v.type.mlir for v in named.values())]
            body = builder.block(regions[1], types)
            with builder.inside(body):
                self._enter(frame.environment, carried, body)
                frame.environment.update(self._rest(named, builder.arguments(body)))
                self.run(node.body)
                emit.node = node
                if self._settle(node, carried, frame.environment):
                    continue
                emit.do("scf.yield", carried.values(emit, frame.environment))
            break
        initial = carried.values(emit, before)
        results = builder.create("scf.while", [v.handle for v in initial], types, None, regions)
        self._after(node, before, carried, self._leaves(carried, results))
        frame.environment.update(self._rest(named, results))

    def _named_in_test(self, node: ast.While, carried: Carried) -> dict[str, EdslValue]:
        """What only the condition names, by ``:=``: it has a value after the loop too."""
        names = [n.target.id for n in ast.walk(node.test) if isinstance(n, ast.NamedExpr)]
        found = {name: self.frame.environment.get(name) for name in names if name not in carried.forms}
        return {name: value for name, value in found.items() if isinstance(value, EdslValue)}

    def _rest(self, named: dict[str, EdslValue], handles: Any) -> dict[str, EdslValue]:
        """The last of the handles, for those names."""
        first = len(handles) - len(named)
        return {name: EdslValue(h, v.type) for (name, v), h in zip(named.items(), list(handles)[first:])}

    def _never_runs(self, node: ast.While) -> bool:
        """``while False``."""
        return isinstance(node.test, ast.Constant) and not node.test.value

    def _condition(self, node: ast.While) -> Any:
        test = self.read(node.test)
        self.emit.node = node.test
        return self.emit.truth(test) if isinstance(test, EdslValue) else test

    def _enter(self, environment: Environment, carried: Carried, block: Any) -> None:
        self.frame.environment = dict(environment)
        carried.bind(self.frame.environment, self._leaves(carried, self.emit.builder.arguments(block)))

    def _leaves(self, carried: Carried, handles: Any) -> Iterator[EdslValue]:
        return iter([EdslValue(handle, leaf.type) for handle, leaf in zip(handles, carried.leaves)])

    def _while_in_blocks(self, node: ast.While) -> None:
        emit, builder, frame = self.emit, self.emit.builder, self.frame
        if self._never_runs(node):
            return
        before, carried = frame.environment, self._carried(node)

        def head() -> Edge | None:
            condition = self._condition(node)
            if not isinstance(condition, EdslValue):
                frame.alive = bool(condition)
                return None if condition else self.edge()
            body, leave = builder.block(frame.region), builder.block(frame.region)
            self.cond_br(condition, body, leave)
            builder.move_to(body)
            return Edge(leave, dict(frame.environment), emit.location)

        self._try(node, carried, head)
        header = builder.block(frame.region, carried.types)
        self._br(header, carried.values(emit, before))
        builder.move_to(header)
        self._enter(before, carried, header)
        leaving = head()
        loop = self._body(node)
        if self._latch(node, carried, loop):
            self._br(header, carried.values(emit, frame.environment))
        self.join([*([leaving] if leaving else []), *loop.breaks])

    def _latch(self, node: ast.For | ast.While, carried: Carried, loop: Loop) -> bool:
        """Go where all paths to the next round meet; False where there is none."""
        for back in loop.continues:
            self._settle(node, carried, back.environment)
            with self.emit.builder.inside(back.block):
                carried.bind(back.environment, iter(carried.values(self.emit, back.environment)))
        self.join(loop.continues)
        return self.frame.alive

    def _body(self, node: ast.For | ast.While) -> Loop:
        """Read the body; the end of the body is one more of its continues."""
        loop = Loop()
        self.frame.loops.append(loop)
        if self.frame.alive:
            self.run(node.body)
        self.frame.loops.pop()
        self.emit.node = node
        if self.frame.alive:
            loop.continues.append(self.edge())
        return loop

    def _br(self, block: Any, values: list[EdslValue]) -> None:
        self.emit.builder.create("cf.br", [v.handle for v in values], (), None, (), (block,))

    def _try(self, node: ast.For | ast.While, carried: Carried, head: Callable[[], Any]) -> None:
        """Read a loop into blocks that are thrown away, until what began as literals has its types."""
        builder, frame = self.emit.builder, self.frame
        before = frame.environment
        while any(leaf.from_literal for leaf in carried.leaves):
            changed = False
            with self._thrown_away():
                block = builder.block(frame.region, carried.types)
                with builder.inside(block):
                    self._enter(before, carried, block)
                    head()
                    for back in self._body(node).continues:
                        changed |= self._settle(node, carried, back.environment)
            frame.environment, frame.alive = before, True
            if not changed:
                return

    @contextmanager
    def _thrown_away(self) -> Iterator[None]:
        """What is read is dropped, and so are the paths that leave it."""
        frame = self.frame
        region, returns = frame.region, list(frame.returns)
        loops = [(loop, list(loop.breaks), list(loop.continues)) for loop in frame.loops]
        frame.region = self.emit.builder.region()
        yield
        frame.region = region
        frame.returns[:] = returns
        for loop, breaks, continues in loops:
            loop.breaks[:], loop.continues[:] = breaks, continues

    # --- for -----------------------------------------------------------------------------------------------------

    def _run_for(self, node: ast.For) -> None:
        if node.orelse:
            self.emit.fail("`else` after a loop is not supported in the mlir dialect", node=node.orelse[0])
        items = self.read(node.iter)
        self.emit.node = node
        if isinstance(items, Range) and not items.unrolled:
            self._for_range(node, items)
        elif isinstance(items, Range):
            self._unroll(node, self._static_items(items))
        elif isinstance(items, tuple):
            self._unroll(node, items)
        elif isinstance(items, BindingIterator):
            with closing(items.items(self.emit)) as rounds:  # an error must not leave the binding inside of the loop
                for item in rounds:
                    self.assign(node.target, item)
                    self.run(node.body)
        else:
            self.emit.mismatch("a loop runs over range(…) or over a tuple", "range(…)", items, "for … in")

    def _static_items(self, items: Range) -> range:
        found = range(items.start, items.stop, items.step)
        if len(found) > MOST_UNROLLED:
            self.emit.mismatch("static_range is too long", f"at most {MOST_UNROLLED}", str(len(found)), "rounds")
        return found

    def _unroll(self, node: ast.For, items: Any) -> None:
        if not self.jumps(node):
            for item in items:
                self.assign(node.target, item)
                self.run(node.body)
                if not self.frame.alive:
                    return
            return
        breaks: list[Edge] = []
        for item in items:
            self.assign(node.target, item)
            loop = self._body(node)
            breaks += loop.breaks
            self.join(loop.continues)
            if not self.frame.alive:
                break
        if breaks:
            self.join([*([self.edge()] if self.frame.alive else []), *breaks])

    def _for_range(self, node: ast.For, items: Range) -> None:
        if all(isinstance(v, int) for v in (items.start, items.stop, items.step)) and not range(
            items.start, items.stop, items.step
        ):
            return
        counted = self._counted(items)
        if self.jumps(node):
            self._for_in_blocks(node, counted)
        else:
            self._for_in_regions(node, counted)

    def _counted(self, items: Range) -> Counted:
        emit = self.emit
        type_ = self._range_type(items)
        # A loop of scf compares as signed.
        inner = type_ if type_.is_signed else I64
        inner = I32 if inner.bits < 32 else inner
        start, stop, step = (emit.convert(emit.convert(v, type_), inner) for v in (items.start, items.stop, items.step))
        if is_positive(items.step):
            return Counted(start, stop, step, lambda counter: emit.convert(counter, type_))
        zero, one = emit.constant(0, inner), emit.constant(1, inner)
        rounds = self._rounds(items, start, stop, step, inner)

        def value(counter: EdslValue) -> EdslValue:
            offset = emit.op("arith.muli", (counter, step), inner)
            return emit.convert(emit.op("arith.addi", (start, offset), inner), type_)

        return Counted(zero, rounds, one, value)

    def _rounds(self, items: Range, start: EdslValue, stop: EdslValue, step: EdslValue, inner: Number) -> EdslValue:
        """How many rounds a range with a step that is negative, or not known, has; none with a step of 0."""
        emit = self.emit
        if isinstance(items.step, int):
            distance, size = binary(emit, "-", start, stop), emit.constant(-items.step, inner)
        else:
            up = binary(emit, ">", step, 0)
            distance = emit.select(up, binary(emit, "-", stop, start), binary(emit, "-", start, stop))
            size = emit.select(up, step, binary(emit, "-", 0, step))
            none = binary(emit, "==", step, 0)
            distance = emit.select(none, emit.constant(0, inner), distance)
            size = emit.select(none, emit.constant(1, inner), size)
        padded = binary(emit, "+", distance, binary(emit, "-", size, 1))
        return emit.op("arith.divsi", (padded, size), inner)

    def _range_type(self, items: Range) -> Number:
        type_: Number | None = None
        literals = [v for v in (items.start, items.stop, items.step) if isinstance(v, int)]
        for value in (items.start, items.stop, items.step):
            if isinstance(value, EdslValue):
                type_ = value.type if type_ is None else common_type(value, EdslValue(None, type_))  # type: ignore[assignment]
        needed = max((literal_type(v) for v in literals), key=lambda t: t.bits, default=I32)
        if type_ is None:
            return needed
        if type_ is not INDEX and type_.bits < 32:
            return I32
        return type_ if type_.bits >= needed.bits else needed

    def _for_in_regions(self, node: ast.For, counted: Counted) -> None:
        emit, builder, frame = self.emit, self.emit.builder, self.frame
        before, carried = frame.environment, self._carried(node)
        counter_type = counted.start.type
        while True:
            region = builder.region()
            block = builder.block(region, [counter_type.mlir, *carried.types])
            with builder.inside(block):
                counter, *arguments = builder.arguments(block)
                frame.environment = dict(before)
                carried.bind(frame.environment, self._leaves(carried, arguments))
                self.assign(node.target, counted.value(EdslValue(counter, counter_type)))
                self.run(node.body)
                emit.node = node
                if self._settle(node, carried, frame.environment):
                    continue
                emit.do("scf.yield", carried.values(emit, frame.environment))
            break
        initial = carried.values(emit, before)
        operands = [v.handle for v in (counted.start, counted.stop, counted.step, *initial)]
        results = builder.create("scf.for", operands, carried.types, None, (region,))
        self._after(node, before, carried, self._leaves(carried, results))

    def _for_in_blocks(self, node: ast.For, counted: Counted) -> None:
        emit, builder, frame = self.emit, self.emit.builder, self.frame
        before, carried = frame.environment, self._carried(node)
        counter_type = counted.start.type
        assert isinstance(counter_type, Number)
        counters: list[EdslValue] = []

        def head() -> Edge:
            """Leave, or go on with the next value."""
            more = emit.op("arith.cmpi", (counters[-1], counted.stop), BOOL, {"predicate": "2 : i64"})
            body, leave = builder.block(frame.region), builder.block(frame.region)
            self.cond_br(more, body, leave)
            leaving = Edge(leave, dict(frame.environment), emit.location)
            builder.move_to(body)
            self.assign(node.target, counted.value(counters[-1]))
            return leaving

        def head_of_trial() -> None:
            counters.append(counted.start)
            head()

        self._try(node, carried, head_of_trial)
        header = builder.block(frame.region, [counter_type.mlir, *carried.types])
        self._br(header, [counted.start, *carried.values(emit, before)])
        builder.move_to(header)
        counter, *arguments = builder.arguments(header)
        counters.append(EdslValue(counter, counter_type))
        frame.environment = dict(before)
        carried.bind(frame.environment, self._leaves(carried, arguments))
        leaving = head()
        loop = self._body(node)
        if self._latch(node, carried, loop):
            following = emit.op("arith.addi", (counters[-1], counted.step), counter_type)
            self._br(header, [following, *carried.values(emit, frame.environment)])
        self.join([leaving, *loop.breaks])
