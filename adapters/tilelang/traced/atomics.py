"""Atomic updates of global memory, of single elements in each lane and of whole tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from triton.language import core

from tle_raw.adapters.tilelang.regions import constant, is_global, is_region, region_of
from tle_raw.adapters.tilelang.tir_types import Buffer, Call
from tle_raw.adapters.tilelang.traced import access, boxes, global_memory
from tle_raw.adapters.tilelang.traced.functions import function
from tle_raw.adapters.tilelang.traced.tracer import Tracer
from tle_raw.adapters.tilelang.traced.types import padded
from tle_raw.regions.shapes import shape_of

_ORDERS = {0: "relaxed", 1: "acquire", 2: "acquire", 3: "release", 4: "acq_rel", 5: "acq_rel"}


def _update(tracer: Tracer, buffer: Buffer, indices: Sequence[Any], value: core.tensor, update: Any, order: str) -> Any:
    """One atomic operation in each lane that exists; what was there before."""
    if not is_global(buffer) or access.named(tracer, buffer):
        raise tracer.fail(f"an atomic update of `{buffer.name}`, which is a block tensor here")
    pointer, inside = global_memory.address(tracer, buffer, indices)
    inside = tracer.both(inside, tracer.lanes_that_exist())
    value = tracer.cast(value, pointer.type.scalar.element_ty)
    # Every lane does its update, also where all of them go to one place; outside of parallel loops every thread does.
    shape = tuple(padded(e) for e in tracer.lanes.extents)
    if not shape and tracer.active != 1:
        shape = (padded(tracer.active),)
        value = tracer.reshape(value, ())
        inside = tracer.both(inside, _threads_that_run(tracer))
        inside = inside if inside is None or shape_of(inside) else tracer.reshape(inside, (1,))
        pointer, value = tracer.reshape(pointer, (1,)), tracer.reshape(value, (1,))
    if shape:
        pointer, value = tracer.spread(pointer, shape), tracer.spread(value, shape)
        inside = None if inside is None else tracer.spread(inside, shape)
    elif shape_of(value):
        value = tracer.reshape(value, ())
    return update(pointer, value, mask=inside, sem=order, _semantic=tracer.semantic)


def _threads_that_run(tracer: Tracer) -> core.tensor | None:
    if tracer.active == padded(tracer.active):
        return None
    number = tracer.number(tracer.active, core.int32)
    return tracer.semantic.less_than(tracer.positions(tracer.active, 0, 1), number)


def _target(tracer: Tracer, call: Call) -> Any:
    target = call.args[0]
    target = target.args[0] if type(target).__name__ == "Call" else target
    if type(target).__name__ != "BufferLoad":
        raise tracer.fail(f"an atomic update at {target}")
    return target


def _one_thread_only(tracer: Tracer) -> None:
    """What was there before is another value for each thread."""
    if not tracer.lanes.extents and tracer.active != 1:
        raise tracer.fail(
            f"an atomic update whose result each of {tracer.active} threads has",
            hint="write it in T.Parallel, or under `if T.get_thread_binding() == 0`",
        )


def _element(tracer: Tracer, call: Call, update: Callable[..., core.tensor]) -> core.tensor:
    target = _target(tracer, call)
    order = constant(call.args[2]) if len(call.args) > 2 else 0
    value = tracer.evaluate(call.args[1])
    return _update(tracer, target.buffer, target.indices, value, update, _ORDERS[order or 0])


def add(tracer: Tracer, call: Call) -> core.tensor:
    return _element(tracer, call, core.atomic_add)


def add_two(tracer: Tracer, call: Call) -> None:
    _neighbours(tracer, call, 2)


def add_four(tracer: Tracer, call: Call) -> None:
    _neighbours(tracer, call, 4)


def _neighbours(tracer: Tracer, call: Call, count: int) -> None:
    """``T.atomic_addx2`` and ``T.atomic_addx4``: elements side by side, each of which is an update of its own."""
    target, source = (argument.args[0] for argument in call.args[:2])
    for number in range(count):
        value = access.load(tracer, source.buffer, _shifted(source, number))
        _update(tracer, target.buffer, _shifted(target, number), value, core.atomic_add, _ORDERS[0])


def _shifted(element: Any, by: int) -> list[Any]:
    *first, last = element.indices
    return [*first, last + by]


def maximum(tracer: Tracer, call: Call) -> core.tensor:
    return _element(tracer, call, core.atomic_max)


def minimum(tracer: Tracer, call: Call) -> core.tensor:
    return _element(tracer, call, core.atomic_min)


def either(tracer: Tracer, call: Call) -> core.tensor:
    return _element(tracer, call, core.atomic_or)


@function("tl.atomic_add_ret_elem_op")
def _add_and_return(tracer: Tracer, call: Call) -> core.tensor:
    _one_thread_only(tracer)
    return add(tracer, call)


@function("tl.atomic_max_ret_elem_op")
def _max_and_return(tracer: Tracer, call: Call) -> core.tensor:
    _one_thread_only(tracer)
    return maximum(tracer, call)


@function("tl.atomic_min_ret_elem_op")
def _min_and_return(tracer: Tracer, call: Call) -> core.tensor:
    _one_thread_only(tracer)
    return minimum(tracer, call)


def _tile(tracer: Tracer, call: Call, update: Callable[..., core.tensor]) -> None:
    """``T.atomic_add(global box, tile)``: the tile's elements one by one."""
    if not all(is_region(a) for a in call.args[:2]):
        raise tracer.fail("an atomic update of a tile by something else than a tile")
    source, target = region_of(call.args[0]), region_of(call.args[1])
    walked = [[d for d, e in enumerate(boxes.sizes(tracer, box)) if e != 1] for box in (source, target)]
    extents = [[boxes.sizes(tracer, box)[d] for d in dims] for box, dims in zip((source, target), walked)]
    if extents[0] != extents[1]:
        raise tracer.fail(f"an atomic update between boxes of the shapes {extents[0]} and {extents[1]}")
    with boxes.walking(tracer, extents[0]) as variables:
        value = access.load(tracer, source.buffer, boxes.indices(source, variables, walked[0]))
        _update(tracer, target.buffer, boxes.indices(target, variables, walked[1]), value, update, "relaxed")


def add_tile(tracer: Tracer, call: Call) -> None:
    _tile(tracer, call, core.atomic_add)


def max_tile(tracer: Tracer, call: Call) -> None:
    _tile(tracer, call, core.atomic_max)


def min_tile(tracer: Tracer, call: Call) -> None:
    _tile(tracer, call, core.atomic_min)
