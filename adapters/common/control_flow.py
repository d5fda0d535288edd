"""Control flow, reductions and scans for adapters that trace a fragment into Triton IR.

Triton's compiler and its interpreter do these in different ways. A ``tracer`` is what an adapter knows while it traces:
``semantic`` is Triton's, and ``fail(message)`` gives the error to raise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from triton.language import core

from tle_raw.triton_types import Builder, Semantic

Values = list[core.tensor]
Combine = Callable[[Values, Values], Values]


class Flow(Protocol):
    """Values that change inside a construct are carried: they go in as a list and come out as a list."""

    is_compiled: bool

    def loop(
        self,
        tracer: Any,
        bounds: Sequence[core.tensor],
        carried: Values,
        body: Callable[[core.tensor, Values], Values],
        stages: int = 0,
    ) -> Values:
        """``for i in range(*bounds)``; ``body(i, carried)`` gives the carried values anew.

        The bounds are start, stop and step. ``stages`` of 0 leaves to Triton how deep the loop is pipelined.
        """

    def repeat(
        self,
        tracer: Any,
        carried: Values,
        condition: Callable[[Values], core.tensor],
        body: Callable[[Values], Values],
    ) -> Values:
        """``while condition(carried)``."""

    def branch(
        self, tracer: Any, condition: core.tensor, yes: Callable[[], Values], no: Callable[[], Values]
    ) -> Values:
        """``if condition``."""

    def run_if(self, tracer: Any, condition: core.tensor, yes: Callable[[], Values], otherwise: Values) -> Values:
        """``yes()`` where the condition holds, else these values, of the same types."""

    def reduce(self, tracer: Any, values: Values, axis: int, combine: Combine) -> Values:
        """Combine along an axis, which goes away."""

    def scan(self, tracer: Any, values: Values, axis: int, combine: Combine, reverse: bool) -> Values:
        """Combine what lies before each element with it."""


class CompiledFlow:
    """Operations of the scf dialect, written with Triton's builder."""

    is_compiled = True

    def loop(
        self,
        tracer: Any,
        bounds: Sequence[core.tensor],
        carried: Values,
        body: Callable[[core.tensor, Values], Values],
        stages: int = 0,
    ) -> Values:
        builder = tracer.semantic.builder
        place, location = builder.get_insertion_point(), builder.get_loc()
        loop = builder.create_for_op(*(b.handle for b in bounds), [v.handle for v in carried])
        if stages:
            loop.set_attr("tt.num_stages", builder.get_int32_attr(stages))
        block = loop.get_body(0)
        builder.set_insertion_point_to_start(block)
        inside = _like(carried, lambda i: block.arg(i + 1))
        results = body(core.tensor(loop.get_induction_var(), bounds[0].type), inside)
        _check_same(tracer, carried, results)
        if carried:
            builder.create_yield_op([v.handle for v in results])
        _back(builder, place, location)
        return _like(carried, loop.get_result)

    def repeat(
        self,
        tracer: Any,
        carried: Values,
        condition: Callable[[Values], core.tensor],
        body: Callable[[Values], Values],
    ) -> Values:
        builder = tracer.semantic.builder
        place, location = builder.get_insertion_point(), builder.get_loc()
        types = [v.handle.get_type() for v in carried]
        loop = builder.create_while_op(types, [v.handle for v in carried])
        before = builder.create_block_with_parent(loop.get_before(), types)
        builder.set_insertion_point_to_start(before)
        arguments = _like(carried, before.arg)
        holds = condition(arguments)
        builder.create_condition_op(holds.handle, [v.handle for v in arguments])
        after = builder.create_block_with_parent(loop.get_after(), types)
        builder.set_insertion_point_to_start(after)
        results = body(_like(carried, after.arg))
        _check_same(tracer, carried, results)
        builder.create_yield_op([v.handle for v in results])
        _back(builder, place, location)
        return _like(carried, loop.get_result)

    def branch(
        self, tracer: Any, condition: core.tensor, yes: Callable[[], Values], no: Callable[[], Values]
    ) -> Values:
        builder = tracer.semantic.builder
        place, location = builder.get_insertion_point(), builder.get_loc()
        blocks, values = [], []
        for side in (yes, no):
            block = builder.create_block()
            builder.set_insertion_point_to_start(block)
            values.append(side())
            blocks.append(block)
        _back(builder, place, location)
        _check_same(tracer, *values)
        types = [v.handle.get_type() for v in values[0]]
        branch = builder.create_if_op(types, condition.handle, True)
        for block, target, results in zip(blocks, (branch.get_then_block(), branch.get_else_block()), values):
            block.merge_block_before(target)
            builder.set_insertion_point_to_end(target)
            if types:
                builder.create_yield_op([v.handle for v in results])
        _back(builder, place, location)
        return _like(values[0], branch.get_result)

    def run_if(self, tracer: Any, condition: core.tensor, yes: Callable[[], Values], otherwise: Values) -> Values:
        builder = tracer.semantic.builder
        place, location = builder.get_insertion_point(), builder.get_loc()
        branch = builder.create_if_op([v.handle.get_type() for v in otherwise], condition.handle, True)
        for block, results in ((branch.get_then_block(), yes), (branch.get_else_block(), lambda: otherwise)):
            builder.set_insertion_point_to_start(block)
            values = results()
            _check_same(tracer, otherwise, values)
            builder.create_yield_op([v.handle for v in values])
        _back(builder, place, location)
        return _like(otherwise, branch.get_result)

    def reduce(self, tracer: Any, values: Values, axis: int, combine: Combine) -> Values:
        fill = self._region(tracer, values, combine, "create_reduce_ret")
        return list(tracer.semantic.reduction(values, axis, fill))

    def scan(self, tracer: Any, values: Values, axis: int, combine: Combine, reverse: bool) -> Values:
        fill = self._region(tracer, values, combine, "create_scan_ret")
        return list(tracer.semantic.associative_scan(values, axis, fill, reverse))

    def _region(self, tracer: Any, values: Values, combine: Combine, end: str) -> Callable[[Any], None]:
        """Its block takes all values of the one side, then all of the other."""
        builder, elements = tracer.semantic.builder, [v.type.scalar for v in values]

        def fill(operation: Any) -> None:
            place, location = builder.get_insertion_point(), builder.get_loc()
            types = [e.to_ir(builder) for e in elements] * 2
            block = builder.create_block_with_parent(operation.get_region(0), types)
            builder.set_insertion_point_to_start(block)
            sides = [core.tensor(block.arg(i), e) for i, e in enumerate(elements * 2)]
            results = combine(sides[: len(values)], sides[len(values) :])
            getattr(builder, end)(*(r.handle for r in results))
            _back(builder, place, location)

        return fill


def _like(values: Values, handle: Callable[[int], Any]) -> Values:
    """A construct's arguments or results, by their number: they have the types of the values that it carries."""
    return [core.tensor(handle(i), v.type) for i, v in enumerate(values)]


def _check_same(tracer: Any, before: Values, after: Values) -> None:
    """MLIR would end the process at a value that changes its type."""
    for a, b in zip(before, after, strict=True):
        if a.type != b.type:
            raise tracer.fail(f"a value that is {a.type} before and {b.type} after")


def _back(builder: Builder, place: Any, location: Any) -> None:
    builder.restore_insertion_point(place)
    builder.set_loc(location)


class InterpretedFlow:
    """Triton's interpreter runs operations at once, on NumPy arrays: control flow is Python's own."""

    is_compiled = False

    def loop(
        self,
        tracer: Any,
        bounds: Sequence[core.tensor],
        carried: Values,
        body: Callable[[core.tensor, Values], Values],
        stages: int = 0,
    ) -> Values:
        for i in range(*map(_integer, bounds)):
            carried = body(tracer.semantic.scalar_constant(i, bounds[0].type), carried)
        return carried

    def repeat(
        self,
        tracer: Any,
        carried: Values,
        condition: Callable[[Values], core.tensor],
        body: Callable[[Values], Values],
    ) -> Values:
        while _integer(condition(carried)):
            carried = body(carried)
        return carried

    def branch(
        self, tracer: Any, condition: core.tensor, yes: Callable[[], Values], no: Callable[[], Values]
    ) -> Values:
        return yes() if _integer(condition) else no()

    def run_if(self, tracer: Any, condition: core.tensor, yes: Callable[[], Values], otherwise: Values) -> Values:
        return yes() if _integer(condition) else otherwise

    def reduce(self, tracer: Any, values: Values, axis: int, combine: Combine) -> Values:
        return _fold(values, axis, combine)[-1]

    def scan(self, tracer: Any, values: Values, axis: int, combine: Combine, reverse: bool) -> Values:
        import numpy as np

        shape = values[0].handle.data.shape
        rest = [s for a, s in enumerate(shape) if a != axis]
        made = _fold(values, axis, combine, reverse)
        made = made[::-1] if reverse else made
        columns = [[step[i].handle.data.reshape(rest) for step in made] for i in range(len(values))]
        return [_tensor(np.stack(column, axis), v.type.scalar) for column, v in zip(columns, values)]


def _integer(value: core.tensor) -> int:
    return int(value.handle.data.reshape(-1)[0])


def _fold(values: Values, axis: int, combine: Combine, reverse: bool = False) -> list[Values]:
    """Slice by slice with the operations themselves, so that every dtype is treated as the interpreter treats it."""
    import numpy as np

    count = values[0].handle.data.shape[axis]
    made: list[Values] = []
    for i in reversed(range(count)) if reverse else range(count):
        piece = [_tensor(np.array(np.take(v.handle.data, i, axis)), v.type.scalar) for v in values]
        made.append(combine(made[-1], piece) if made else piece)
    return made


def _tensor(array: Any, element: core.dtype) -> core.tensor:
    from triton.runtime.interpreter import TensorHandle

    if array.ndim == 0:
        return core.tensor(TensorHandle(array.reshape(1), element), element)
    return core.tensor(TensorHandle(array, element), core.block_type(element, list(array.shape)))


def flow_of(semantic: Semantic) -> Flow:
    """How this trace writes control flow: as scf operations, or, in Triton's interpreter, as Python's own."""
    return InterpretedFlow() if type(semantic.builder).__name__ == "InterpreterBuilder" else CompiledFlow()
