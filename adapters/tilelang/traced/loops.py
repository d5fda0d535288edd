"""Loops and branches: parallel nests become axes of block tensors, the others Triton's own control flow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from triton.language import core

from tle_raw.adapters.tilelang.regions import UNROLLED, constant, is_parallel, nest_of, uses
from tle_raw.adapters.tilelang.tir_types import Node
from tle_raw.adapters.tilelang.traced.block_reads import current
from tle_raw.adapters.tilelang.traced.effects import Walk, holds
from tle_raw.adapters.tilelang.traced.tracer import Tracer
from tle_raw.regions.shapes import shape_of

MOST_UNROLLED = 64


def parallel(tracer: Tracer, loop: Node) -> None:
    """A nest of parallel loops: its statements run once, for all points at the same time."""
    if tracer.lanes.extents:
        _inner_parallel(tracer, loop)
        return
    nest = list(nest_of(loop))
    every = [*nest, *_parallel_loops(nest[-1].body)]
    for each in every:
        if constant(tracer.simplify(each.min)) != 0:
            raise tracer.fail("a parallel loop that does not start at 0")
    extents = [tracer.size(each.extent, f"the loop over `{each.loop_var.name}`") for each in every]
    with tracer.parallel([each.loop_var for each in every], extents):
        tracer.run_body(nest[-1].body)


def _inner_parallel(tracer: Tracer, loop: Node) -> None:
    """Its axis is there already: the outermost nest gave one to every parallel loop inside it."""
    if tracer.lanes.axis(loop.loop_var) is None:
        raise tracer.fail("a parallel loop inside a loop inside a parallel loop")
    tracer.run_body(loop.body)


def _parallel_loops(body: Any) -> list[Any]:
    from tvm.tirx.stmt_functor import post_order_visit

    found: list[Any] = []
    post_order_visit(
        body, lambda node: found.append(node) if type(node).__name__ == "For" and is_parallel(node) else None
    )
    return found


def serial(tracer: Tracer, loop: Node) -> None:
    """A loop that goes in order: unrolled where the source says so, else an scf.for."""
    if tracer.specialised is not None and tracer.specialised.is_loop(loop):
        tracer.specialised.run(loop)
        return
    low, extent = tracer.simplify(loop.min), tracer.simplify(loop.extent)
    count, step = constant(extent), constant(getattr(loop, "step", None) or 1)
    if step != 1:
        raise tracer.fail("a loop with a step of its own")
    unroll = int(loop.kind) == UNROLLED and count is not None and count <= MOST_UNROLLED
    if count is not None and (unroll or count <= 1 or (tracer.lanes.extents and count <= MOST_UNROLLED)):
        for number in range(count):
            tracer.expressions[loop.loop_var] = tracer.simplify(low + number)
            with tracer.before([loop.body] if number + 1 < count else []):
                tracer.run_body(loop.body)
        tracer.expressions.pop(loop.loop_var, None)
        return
    if uses(extent, tracer.lanes.variables) or uses(low, tracer.lanes.variables):
        raise tracer.fail("a loop whose bounds differ from lane to lane")
    first, end = tracer.integer(low), tracer.integer(tracer.simplify(loop.min + loop.extent))
    dtype = tracer.dtype(loop.loop_var.dtype)
    stages = constant(loop.annotations["num_stages"]) if "num_stages" in loop.annotations else None
    tracer.bind_range(loop.loop_var, low, extent)

    def body(index: core.tensor) -> None:
        tracer.scalars[loop.loop_var] = index
        tracer.run_body(loop.body)

    def again(carried: list[core.tensor], run: Callable[..., list[core.tensor]]) -> list[core.tensor]:
        bounds = [tracer.cast(first, dtype), tracer.cast(end, dtype), tracer.number(1, dtype)]
        return tracer.flow.loop(tracer, bounds, carried, run, stages or 0)

    _carrying(tracer, loop.body, body, again)
    tracer.scalars.pop(loop.loop_var, None)


def repeat(tracer: Tracer, loop: Node) -> None:
    """``while``: the condition is read anew each time."""
    if tracer.lanes.extents:
        raise tracer.fail("a while loop inside a parallel loop")
    memories = visible(tracer, loop.body, condition=loop.condition)
    before = [value_of(tracer, m) for m in memories]

    def condition(carried: list[core.tensor]) -> core.tensor:
        put_back(tracer, memories, carried)
        return tracer.evaluate(loop.condition)

    def body(carried: list[core.tensor]) -> list[core.tensor]:
        put_back(tracer, memories, carried)
        with tracer.before([loop.body]):
            tracer.run_body(loop.body)
        return [value_of(tracer, m) for m in memories]

    after = tracer.flow.repeat(tracer, before, condition, body)
    reset_written(tracer, loop.body)
    put_back(tracer, memories, after)


def branch(tracer: Tracer, statement: Node, held: core.tensor) -> None:
    """``if`` on a scalar: what either side writes comes out as a value."""
    written = Walk(tracer.named).block([s for s in (statement.then_case, statement.else_case) if s is not None])
    seen = _seen_later(tracer)
    memories = [m for m in written.effects.written if holds(seen, m) and m not in tracer.shared]
    before = dict(tracer.tiles)

    def side(body: Any) -> list[core.tensor]:
        tracer.tiles = dict(before)
        if body is not None:
            tracer.run_body(body)
        return [value_of(tracer, m) for m in memories]

    after = tracer.flow.branch(tracer, held, lambda: side(statement.then_case), lambda: side(statement.else_case))
    tracer.tiles = dict(before)
    for memory in written.effects.written:
        tracer.tiles.pop(memory, None)
    put_back(tracer, memories, after)


def _carrying(tracer: Tracer, body: Any, run: Callable[[core.tensor], None], loop: Callable[..., Any]) -> None:
    memories = visible(tracer, body)
    before = [value_of(tracer, m) for m in memories]

    def once(index: core.tensor, carried: list[core.tensor]) -> list[core.tensor]:
        put_back(tracer, memories, carried)
        with tracer.before([body]):
            run(index)
        return [value_of(tracer, m) for m in memories]

    after = loop(before, once)
    reset_written(tracer, body)
    put_back(tracer, memories, after)


def visible(tracer: Tracer, body: Any, condition: Any = None) -> list[Any]:
    """Memory that the body writes and whose value is seen by its next turn, or after the loop."""
    walk = Walk(tracer.named)
    if condition is not None:
        walk.expression(condition)
    effects = walk.block([body]).effects
    later = _seen_later(tracer)
    kept = [m for m in effects.written if m not in tracer.shared]
    return [m for m in kept if holds(effects.seen, m) or holds(later, m)]


def _seen_later(tracer: Tracer) -> list[Any]:
    found: list[Any] = [tile.buffer.data for tile in tracer.named.values()]
    for sequence in tracer.later:
        found += Walk(tracer.named).block(list(sequence)).effects.seen
    return found


def value_of(tracer: Tracer, memory: Any) -> core.tensor:
    """The present value; zeros where nothing was written yet. Inside parallel loops one element may differ by lane."""
    found = _present(tracer, memory)
    home = tracer.homes.get(memory)
    if tracer.lanes.extents and home is not None and str(home.scope()) in ("local", "local.var"):
        shape = tracer.lanes.shape
        if shape_of(current(tracer, home)) == () or memory in tracer.of_lanes:
            tracer.of_lanes.add(memory)
            found = found if shape_of(found) else tracer.reshape(found, [1] * len(shape))
            tracer.tiles[memory] = found = tracer.spread(found, shape)
    return found


def _present(tracer: Tracer, memory: Any) -> core.tensor:
    tracer.needs(memory)
    if memory in tracer.tiles:
        return tracer.tiles[memory]
    home = next((t.buffer for t in tracer.named.values() if t.buffer.data.same_as(memory)), None)
    home = home if home is not None else tracer.homes.get(memory)
    if home is None:
        raise tracer.fail(f"memory that the kernel does not allocate: `{memory.name}`")
    return current(tracer, home)


def put_back(tracer: Tracer, memories: Sequence[Any], values: Sequence[core.tensor]) -> None:
    """The values of these memories from here on."""
    for memory, value in zip(memories, values):
        tracer.tiles[memory] = value


def reset_written(tracer: Tracer, body: Any) -> None:
    """What a loop's body made is gone when the loop ends, unless it was carried out."""
    for memory in Walk(tracer.named).block([body]).effects.written:
        tracer.tiles.pop(memory, None)
