"""The threads of a block: what every one of them does outside of parallel loops, and branches that some of them take.

A tile operation belongs to all threads that reach it: under a condition on the thread's index it is the same operation,
done by fewer. What one thread keeps to itself has no counterpart here, and so nothing that such a branch leaves in
registers may be seen behind it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tle_raw.adapters.tilelang.program import Program, is_call, variables_of
from tle_raw.adapters.tilelang.regions import constant
from tle_raw.adapters.tilelang.tir_types import Expression, Node
from tle_raw.adapters.tilelang.traced.effects import Walk, holds
from tle_raw.adapters.tilelang.traced.tracer import Tracer

DEFAULT = (128, 1, 1)
OF_ONE_THREAD = ("local", "local.var", "local.fragment")


def bind_thread_indices(tracer: Tracer, program: Program) -> None:
    """Tell the tracer which variables hold a thread's index: one for each axis of the block, and other names of it."""
    from tvm.tirx.stmt_functor import post_order_visit

    sizes = (*(program.threads or DEFAULT), 1, 1)
    first: dict[int, Any] = {}

    def visit(node: Node) -> None:
        if type(node).__name__ == "Bind" and is_call(node.value, "tl.launch_thread_idx"):
            axis = int(constant(node.value.args[0]) or 0)
            if axis in first:
                tracer.expressions[node.var] = first[axis]
            else:
                first[axis] = node.var

    post_order_visit(program.prim_func.body, visit)
    tracer.threads = {variable: sizes[axis] for axis, variable in first.items()}
    tracer.active = math.prod(sizes)


def takers(tracer: Tracer, condition: Expression) -> int | None:
    """How many of the threads that run here a condition holds for; None where it asks for more than their indices."""
    from tvm.tirx.stmt_functor import substitute

    used = variables_of(condition)
    if not used or any(not holds(tracer.threads, variable) for variable in used):
        return None
    every, asked = list(tracer.threads), [*tracer.thread_conditions, condition]
    count = 0
    for numbers in itertools.product(*(range(tracer.threads[v]) for v in every)):
        at = dict(zip(every, numbers))
        known = [constant(tracer.analyzer.simplify(substitute(c, at))) for c in asked]
        if None in known:
            return None
        count += all(known)
    return count


@contextmanager
def some_threads(tracer: Tracer, condition: Expression, count: int, body: Any) -> Iterator[None]:
    """The statements inside are run by ``count`` threads: what they alone keep in registers is not seen later."""
    written = [m for m in Walk(tracer.named).block([body]).effects.written if _is_private(tracer, m)]
    later = _seen_later(tracer)
    kept = next((m for m in written if holds(later, m)), None)
    if kept is not None:
        raise tracer.fail(
            f"`{kept.name}`, which some of the threads write and all of them read",
            hint="keep it in shared memory",
        )
    before, threads = dict(tracer.tiles), tracer.active
    tracer.active = count
    tracer.thread_conditions.append(condition)
    try:
        yield
    finally:
        tracer.active = threads
        tracer.thread_conditions.pop()
        for memory in written:
            tracer.tiles.pop(memory, None)
            if memory in before:
                tracer.tiles[memory] = before[memory]


def _is_private(tracer: Tracer, memory: Any) -> bool:
    home = tracer.homes.get(memory)
    return home is None or str(home.scope()) in OF_ONE_THREAD


def _seen_later(tracer: Tracer) -> list[Any]:
    found: list[Any] = []
    for sequence in tracer.later:
        found += Walk(tracer.named).block(list(sequence)).effects.seen
    return found
