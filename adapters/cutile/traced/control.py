"""Loops, branches and jumps: cuTile's leave a body anywhere, Triton's only at its end.

A branch that jumps gives what the loop carries; what follows it in the body moves into the branches that do not jump.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from triton.language import core

from tle_raw.adapters.cutile.ir_types import Block, Operation
from tle_raw.adapters.cutile.traced.distances import counts_wide, note_count
from tle_raw.adapters.cutile.traced.limits import note_index
from tle_raw.adapters.cutile.traced.tracer import OPERATIONS, Tracer, operation, results_of
from tle_raw.adapters.cutile.traced.types import is_token, without_tokens
from tle_raw.adapters.cutile.traced.values import cast, constant
from tle_raw.adapters.cutile.typed_ir import END

JUMPS = ("continue", "break")
MOST_COPIES = 64

Values = list[Any]
End = Callable[[Values], Values]


def run_block(tracer: Tracer, block: Block) -> Values:
    """A block without jumps; what its end gives."""
    return _run(tracer, list(block), lambda outputs: outputs, None)


def run_operations(tracer: Tracer, operations: Sequence[Any]) -> Values:
    """The end of a block without jumps; what its own end gives."""
    return _run(tracer, operations, lambda outputs: outputs, None)


def _run(tracer: Tracer, operations: Sequence[Any], end: End, jump: Callable[[str, Values], Values] | None) -> Values:
    """The operations, then ``end`` with the outputs of the last, or ``jump`` with what a jump carries."""
    for number, op in enumerate(operations):
        tracer.stands_at(op)
        if op.op in JUMPS:
            assert jump is not None
            return jump(op.op, [tracer.value(v) for v in without_tokens(op.values)])
        if op.op == END:
            return [tracer.values.get(v.name) for v in op.outputs]
        if op.op == "end_branch":
            return end([tracer.value(v) for v in without_tokens(op.outputs)])
        if op.op == "ifelse" and _jumps(op):
            return _run_jumping_branch(tracer, op, operations[number + 1 :], end, jump)
        run_operation(tracer, op)
    return end([])


def run_operation(tracer: Tracer, op: Operation) -> None:
    """One operation that goes on to the next."""
    handler = OPERATIONS.get(op.op)
    if handler is None:
        raise tracer.fail(f"cuTile's operation {op.op}")
    if id(op) in tracer.barriers:
        tracer.semantic.debug_barrier()
    try:
        made = handler(tracer, op)
    except (AssertionError, TypeError, ValueError) as e:  # what Triton's own checks raise
        raise tracer.fail(f"cuTile's operation {op.op}: {e}") from e
    tracer.bind(op.result_vars, results_of(made))


def _jumps(op: Operation) -> bool:
    return any(inner.op in JUMPS or (inner.op == "ifelse" and _jumps(inner)) for b in op.nested_blocks for inner in b)


def _falls_through(block: Block) -> bool:
    last = block[-1]
    return last.op not in JUMPS


def _run_jumping_branch(tracer: Tracer, op: Operation, rest: Sequence[Any], end: End, jump: Any) -> Values:
    """Both sides give what the loop carries; a side that does not jump runs the rest of the body."""
    condition = tracer.value(op.cond)

    def side(block: Block) -> Callable[[], Values]:
        def go_on(outputs: Values) -> Values:
            tracer.bind(op.result_vars, outputs)
            return _run(tracer, rest, end, jump)

        return lambda: _run(tracer, list(block), go_on, jump)

    if not tracer.is_interpreted and all(map(_falls_through, (op.then_block, op.else_block))):
        tracer.copies *= 2
        if tracer.copies > MOST_COPIES:
            raise tracer.fail("so many branches of which some paths leave the loop and others do not")
    return tracer.flow.branch(tracer, condition, side(op.then_block), side(op.else_block))


@operation("ifelse")
def branch(tracer: Tracer, op: Operation) -> tuple[Any, ...]:
    condition = tracer.value(op.cond)
    return tuple(
        tracer.flow.branch(
            tracer,
            condition,
            lambda: run_block(tracer, op.then_block),
            lambda: run_block(tracer, op.else_block),
        )
    )


@operation("loop")
def loop(tracer: Tracer, op: Operation) -> tuple[Any, ...]:
    """A loop over a range, or one that goes on until it breaks."""
    kept = [i for i, v in enumerate(op.body_vars) if not is_token(v)]
    carried = [tracer.value(op.initial_values[i]) for i in kept]
    inside = [op.body_vars[i] for i in kept]
    copies, tracer.copies = tracer.copies, 1
    made = _for(tracer, op, inside, carried) if op.is_for_loop else _while(tracer, op, inside, carried)
    tracer.copies = copies
    return tuple(made)


def _for(tracer: Tracer, op: Operation, inside: list[Any], carried: Values) -> Values:
    bounds = [tracer.value(v) for v in (op.start, op.stop, op.step)]
    wide = counts_wide(tracer, op, bounds)

    def body(count: core.tensor, values: Values) -> Values:
        index = cast(tracer, count, bounds[0].type)
        tracer.values[op.induction_var.name] = index
        note_index(tracer, op, index, bounds[1])
        if wide:
            note_count(tracer, index, count)
        tracer.bind(inside, values)
        return _run(tracer, list(op.body), lambda outputs: outputs, lambda kind, values: values)

    counted = [cast(tracer, bound, core.int64) for bound in bounds] if wide else bounds
    return tracer.flow.loop(tracer, counted, carried, body)


def _while(tracer: Tracer, op: Operation, inside: list[Any], carried: Values) -> Values:
    def jump(kind: str, values: Values) -> Values:
        return [constant(tracer, kind == "continue", core.int1), *values]

    def body(values: Values) -> Values:
        tracer.bind(inside, values[1:])
        return _run(tracer, list(op.body), lambda outputs: outputs, jump)

    running = constant(tracer, True, core.int1)
    return tracer.flow.repeat(tracer, [running, *carried], lambda values: values[0], body)[1:]
