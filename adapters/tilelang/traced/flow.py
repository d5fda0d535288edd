"""Control flow, reductions and scans: what Triton's compiler and its interpreter do in different ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from triton.language import core

Values = list[core.tensor]


class Flow(Protocol):
    """Values that change inside a construct are carried: they go in as a list and come out as a list.

    ``goes_on`` says whether tracing may go on after something that cannot be traced.
    """

    goes_on: bool

    def loop(
        self,
        tracer: Any,
        low: core.tensor,
        high: core.tensor,
        stages: int,
        carried: Values,
        body: Callable[..., Values],
    ) -> Values:
        """``for i in range(low, high)``; ``body(i, carried)`` gives the carried values anew."""

    def repeat(self, tracer: Any, carried: Values, condition: Callable, body: Callable[..., Values]) -> Values:
        """``while condition(carried)``."""

    def branch(
        self, tracer: Any, condition: core.tensor, yes: Callable[[], Values], no: Callable[[], Values]
    ) -> Values:
        """``if condition``."""

    def reduce(self, tracer: Any, value: core.tensor, axis: int, kind: str) -> core.tensor:
        """Combine along an axis, which goes away."""

    def scan(self, tracer: Any, value: core.tensor, axis: int, kind: str, reverse: bool) -> core.tensor:
        """Combine what lies before each element."""


def combine(tracer: Any, kind: str, a: core.tensor, b: core.tensor) -> core.tensor:
    """Two elements of a reduction."""
    semantic = tracer.semantic
    if kind == "sum":
        return semantic.add(a, b, False)
    if kind in ("max", "min"):
        choose = semantic.maximum if kind == "max" else semantic.minimum
        return choose(a, b, core.PropagateNan.NONE)
    if kind == "bitand":
        return semantic.and_(a, b)
    if kind == "bitxor":
        return semantic.xor_(a, b)
    assert kind == "bitor", kind
    return semantic.or_(a, b)


class CompiledFlow:
    """Operations of the scf dialect, written with Triton's builder."""

    goes_on = True

    def loop(self, tracer, low, high, stages, carried, body) -> Values:
        builder = tracer.semantic.builder
        place, location = builder.get_insertion_point(), builder.get_loc()
        one = tracer.number(1, low.dtype)
        loop = builder.create_for_op(low.handle, high.handle, one.handle, [v.handle for v in carried])
        if stages:
            loop.set_attr("tt.num_stages", builder.get_int32_attr(stages))
        block = loop.get_body(0)
        builder.set_insertion_point_to_start(block)
        inside = [core.tensor(block.arg(i + 1), v.type) for i, v in enumerate(carried)]
        results = body(core.tensor(loop.get_induction_var(), low.type), inside)
        _check_same(tracer, carried, results)
        if carried:
            builder.create_yield_op([v.handle for v in results])
        _back(builder, place, location)
        return [core.tensor(loop.get_result(i), v.type) for i, v in enumerate(carried)]

    def repeat(self, tracer, carried, condition, body) -> Values:
        builder = tracer.semantic.builder
        place, location = builder.get_insertion_point(), builder.get_loc()
        types = [v.handle.get_type() for v in carried]
        loop = builder.create_while_op(types, [v.handle for v in carried])
        before = builder.create_block_with_parent(loop.get_before(), types)
        builder.set_insertion_point_to_start(before)
        arguments = [core.tensor(before.arg(i), v.type) for i, v in enumerate(carried)]
        holds = condition(arguments)
        builder.create_condition_op(holds.handle, [v.handle for v in arguments])
        after = builder.create_block_with_parent(loop.get_after(), types)
        builder.set_insertion_point_to_start(after)
        results = body([core.tensor(after.arg(i), v.type) for i, v in enumerate(carried)])
        _check_same(tracer, carried, results)
        builder.create_yield_op([v.handle for v in results])
        _back(builder, place, location)
        return [core.tensor(loop.get_result(i), v.type) for i, v in enumerate(carried)]

    def branch(self, tracer, condition, yes, no) -> Values:
        builder = tracer.semantic.builder
        place, location = builder.get_insertion_point(), builder.get_loc()
        blocks, values = [], []
        for side in (yes, no):
            block = builder.create_block()
            builder.set_insertion_point_to_start(block)
            values.append(side())
            blocks.append(block)
        _back(builder, place, location)
        _check_same(tracer, values[0], values[1])
        types = [v.handle.get_type() for v in values[0]]
        branch = builder.create_if_op(types, condition.handle, True)
        for block, target, results in zip(blocks, (branch.get_then_block(), branch.get_else_block()), values):
            block.merge_block_before(target)
            builder.set_insertion_point_to_end(target)
            if types:
                builder.create_yield_op([v.handle for v in results])
        _back(builder, place, location)
        return [core.tensor(branch.get_result(i), v.type) for i, v in enumerate(values[0])]

    def reduce(self, tracer, value, axis, kind) -> core.tensor:
        (result,) = tracer.semantic.reduction([value], axis, self._region(tracer, value, kind, "create_reduce_ret"))
        return result

    def scan(self, tracer, value, axis, kind, reverse) -> core.tensor:
        region = self._region(tracer, value, kind, "create_scan_ret")
        (result,) = tracer.semantic.associative_scan([value], axis, region, reverse)
        return result

    def _region(self, tracer: Any, value: core.tensor, kind: str, end: str) -> Callable[[Any], None]:
        builder, element = tracer.semantic.builder, value.type.scalar

        def fill(operation: Any) -> None:
            place, location = builder.get_insertion_point(), builder.get_loc()
            block = builder.create_block_with_parent(operation.get_region(0), [element.to_ir(builder)] * 2)
            builder.set_insertion_point_to_start(block)
            a, b = (core.tensor(block.arg(i), element) for i in range(2))
            getattr(builder, end)(combine(tracer, kind, a, b).handle)
            _back(builder, place, location)

        return fill


def _check_same(tracer: Any, before: Values, after: Values) -> None:
    """MLIR would end the process at a value that changes its type."""
    for a, b in zip(before, after):
        if a.type != b.type:
            raise tracer.fail(f"a value that is {a.type} before and {b.type} after")


def _back(builder: Any, place: Any, location: Any) -> None:
    builder.restore_insertion_point(place)
    builder.set_loc(location)


class InterpretedFlow:
    """Triton's interpreter runs operations at once, on NumPy arrays: control flow is Python's own."""

    goes_on = False

    def loop(self, tracer, low, high, stages, carried, body) -> Values:
        for i in range(_integer(low), _integer(high)):
            carried = body(tracer.number(i, low.dtype), carried)
        return carried

    def repeat(self, tracer, carried, condition, body) -> Values:
        while _integer(condition(carried)):
            carried = body(carried)
        return carried

    def branch(self, tracer, condition, yes, no) -> Values:
        return yes() if _integer(condition) else no()

    def reduce(self, tracer, value, axis, kind) -> core.tensor:
        return _fold(tracer, value, axis, kind, keep=False, reverse=False)

    def scan(self, tracer, value, axis, kind, reverse) -> core.tensor:
        return _fold(tracer, value, axis, kind, keep=True, reverse=reverse)


def _integer(value: core.tensor) -> int:
    return int(value.handle.data.reshape(-1)[0])


def _fold(tracer: Any, value: core.tensor, axis: int, kind: str, keep: bool, reverse: bool) -> core.tensor:
    """Slice by slice with the operations themselves, so that every dtype is treated as the interpreter treats it."""
    import numpy as np
    from triton.runtime.interpreter import TensorHandle

    element, data = value.type.scalar, value.handle.data
    slices = [np.ascontiguousarray(s) for s in np.moveaxis(data, axis, 0)]
    slices = slices[::-1] if reverse else slices
    made: list[Any] = []
    for piece in slices:
        current = _tensor(core, TensorHandle, piece, element)
        made.append(combine(tracer, kind, made[-1], current) if made else current)
    if not keep:
        return made[-1]
    shape = [s for a, s in enumerate(data.shape) if a != axis]
    arrays = [m.handle.data.reshape(shape) for m in (made[::-1] if reverse else made)]
    return _tensor(core, TensorHandle, np.stack(arrays, axis), element)


def _tensor(core_: Any, handle: Any, array: Any, element: core.dtype) -> core.tensor:
    if array.ndim == 0:
        return core_.tensor(handle(array.reshape(1), element), element)
    return core_.tensor(handle(array, element), core_.block_type(element, list(array.shape)))


def flow_of(semantic: Any) -> Flow:
    return InterpretedFlow() if type(semantic.builder).__name__ == "InterpreterBuilder" else CompiledFlow()
