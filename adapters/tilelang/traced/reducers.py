"""``T.alloc_reducer``: sums, maxima and minima that every lane of a parallel nest contributes to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.adapters.tilelang.regions import region_of
from tle_raw.adapters.tilelang.tir_types import Buffer, Call, Expression, Node
from tle_raw.adapters.tilelang.traced import access, block_writes, copies
from tle_raw.adapters.tilelang.traced.block_reads import block_shape, extents_of
from tle_raw.adapters.tilelang.traced.combined import combine, reduced
from tle_raw.adapters.tilelang.traced.reductions import neutral
from tle_raw.adapters.tilelang.traced.tracer import Tracer
from tle_raw.adapters.tilelang.traced.types import padded
from tle_raw.regions.shapes import shape_of

_OPERATORS = {"sum": "Add", "max": "Max", "min": "Min"}


def kinds_of(annotations: dict[str, Any]) -> dict[Any, str]:
    """What each reducer's memory combines by: "sum", "max", …"""
    found = {}
    for name in ("reducer_info", "reducer_info_v2"):
        for memory, info in dict(annotations.get(name, {})).items():
            found[memory] = str(info["op"])
    return found


def start(tracer: Tracer, call: Call) -> None:
    """``T.reducer_init(acc)``, with a value that counts once where one is given."""
    target = region_of(call.args[0])
    dtype = tracer.dtype(target.buffer.dtype)
    if len(call.args) > 1:
        value = tracer.cast(tracer.evaluate(call.args[1]), dtype)
    else:
        value = tracer.number(neutral(_kind(tracer, target.buffer), dtype), dtype)
    shape = block_shape(extents_of(tracer, target.buffer))
    block_writes.set_value(tracer, target.buffer, tracer.spread(value, shape), None)


def update(tracer: Tracer, call: Call) -> None:
    """``T.reducer_update(acc[i], value)``."""
    contribute(tracer, call.args[0].buffer, call.args[0].indices, call.args[1])


def finish(tracer: Tracer, call: Call) -> None:
    """``T.finalize_reducer(acc, to)``: block tensors are whole already. Without ``to`` nothing is left to do."""
    if len(call.args) > 1:
        copies.copy(tracer, call)


def updates(tracer: Tracer, statement: Node) -> bool:
    """Whether a store is the older form of an update: ``acc[i] = acc[i] + value``."""
    return bool(tracer.lanes.extents) and statement.buffer.data in tracer.reducers


def update_by_store(tracer: Tracer, statement: Node) -> None:
    from tvm import tirx
    from tvm.ir import structural_equal

    value, operator = statement.value, _OPERATORS.get(_kind(tracer, statement.buffer))
    own = tirx.BufferLoad(statement.buffer, statement.indices)
    if type(value).__name__ == operator:
        for mine, other in ((value.a, value.b), (value.b, value.a)):
            if structural_equal(mine, own):
                contribute(tracer, statement.buffer, statement.indices, other)
                return
    raise tracer.fail(f"a reducer that is not updated by its own operation: {value}")


def contribute(tracer: Tracer, buffer: Buffer, indices: Sequence[Any], expression: Expression) -> None:
    """Combine what the lanes of each element give, then the element with that."""
    kind, dtype = _kind(tracer, buffer), tracer.dtype(buffer.dtype)
    shape = tracer.lanes.shape
    value = tracer.cast(tracer.evaluate(expression), dtype)
    value = value if shape_of(value) else tracer.reshape(value, [1] * len(shape))
    value = tracer.spread(value, shape)
    where = tracer.both(tracer.lanes_that_exist(), tracer.guard())
    if where is not None:
        where = where if shape_of(where) else tracer.reshape(where, [1] * len(shape))
        nothing = tracer.full(shape, neutral(kind, dtype), dtype)
        value = tracer.choose(tracer.spread(where, shape), value, nothing)
    walked = [axis for axis, _, _ in (block_writes.step(tracer, buffer, tracer.simplify(i)) for i in indices)]
    for axis in reversed(range(len(shape))):
        if axis not in walked:
            value = reduced(tracer, value, axis, kind)
    value = tracer.reshape(value, [padded(e) if a in walked else 1 for a, e in enumerate(tracer.lanes.extents)])
    guards, tracer.guards = tracer.guards, []  # they are in the value
    try:
        old = access.load(tracer, buffer, indices)
        old = old if shape_of(old) else tracer.reshape(old, [1] * len(shape))
        access.store(tracer, buffer, indices, combine(tracer, kind, old, value))
    finally:
        tracer.guards = guards


def _kind(tracer: Tracer, buffer: Buffer) -> str:
    kind = tracer.reducers.get(buffer.data)
    if kind is None:
        raise tracer.fail(f"`{buffer.name}`, which is no reducer")
    return kind
