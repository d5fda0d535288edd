"""Arrays, and loads and stores of their tiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from triton.language import core

from tle_raw.adapters.cutile.traced import accesses, descriptors
from tle_raw.adapters.cutile.traced.tracer import Tracer, View, operation
from tle_raw.adapters.cutile.traced.types import block_type
from tle_raw.adapters.cutile.traced.values import along, cast, constant, join_conditions, positions, spread

_PADDING = {"ZERO": 0.0, "NEG_ZERO": -0.0, "NAN": math.nan, "POS_INF": math.inf, "NEG_INF": -math.inf}


@operation("make_tensor_view")
def make_array(tracer: Tracer, op: Any) -> View:
    shape, strides = (tuple(tracer.value(v) for v in vs) for vs in (op.shape, op.strides))
    return View(tracer.value(op.base_ptr), shape, strides, op.result_var.get_type())


@operation("make_partition_view", "make_strided_view", "make_gather_scatter_view")
def make_view(tracer: Tracer, op: Any) -> View:
    array = tracer.value(op.array)
    return View(array.pointer, array.shape, array.strides, op.result_var.get_type())


@operation("num_tiles")
def number_of_tiles(tracer: Tracer, op: Any) -> tuple[core.tensor, ...]:
    """How many tiles begin inside the array, along each axis of the tile."""
    view = tracer.value(op.view)
    counts = []
    for axis, step in enumerate(steps_of(view)):
        size = view.shape[order_of(view)[axis]]
        less = tracer.make("create_add", size.type, size, constant(tracer, step - 1, size.type))
        count = tracer.make("create_sdiv", size.type, less, constant(tracer, step, size.type))
        counts.append(cast(tracer, count, core.int32))
    return tuple(counts)


def order_of(view: View) -> tuple[int, ...]:
    """For each axis of the tile the dim of the array that it walks."""
    return tuple(getattr(view.type, "order", range(len(view.shape))))


def steps_of(view: View) -> tuple[int, ...]:
    """How far one tile is from the next."""
    return tuple(getattr(view.type, "traversal_steps", view.type.tile_shape))


@operation("tile_load")
def load(tracer: Tracer, op: Any) -> core.tensor:
    view, index = tracer.value(op.view), [tracer.value(v) for v in op.index]
    if descriptors.is_of_descriptor(view):
        return descriptors.load(tracer, op, view, index)
    pointers, inside = elements(tracer, view, index, op.inbounds)
    type_ = tracer.type_of(op.result_vars[0])
    padding = None
    if inside is not None and view.type.padding_mode.name in _PADDING:
        padding = constant(tracer, _padding_value(tracer, view, type_), type_)
    return accesses.load(tracer, pointers, inside, padding, op.memory_order.name, op.memory_scope.name)


def _padding_value(tracer: Tracer, view: View, type_: core.dtype) -> float:
    name = view.type.padding_mode.name
    if name != "ZERO" and not type_.scalar.is_floating():
        raise tracer.fail(f"{name} as padding of {type_.scalar}")
    return _PADDING[name]


@operation("tile_store")
def store(tracer: Tracer, op: Any) -> None:
    view, index = tracer.value(op.view), [tracer.value(v) for v in op.index]
    if descriptors.is_of_descriptor(view):
        descriptors.store(tracer, op, view, index, tracer.value(op.tile))
        return
    pointers, inside = elements(tracer, view, index, op.inbounds)
    accesses.store(tracer, pointers, tracer.value(op.tile), inside, op.memory_order.name, op.memory_scope.name)


def elements(
    tracer: Tracer, view: View, index: Sequence[core.tensor], inbounds: Sequence[bool] = ()
) -> tuple[core.tensor, core.tensor | None]:
    """The addresses of a tile's elements, and which of them lie inside the array; None where all are said to.

    Offsets have 64 bits, as cuTile's.
    """
    if descriptors.is_of_descriptor(view):
        raise descriptors.refuse(tracer)
    shape = tuple(view.type.tile_shape)
    offsets, inside = None, None
    for axis, dim in enumerate(order_of(view)):
        place = along(tracer, _places(tracer, view, axis, index[axis]), axis, len(shape))
        stride = cast(tracer, view.strides[dim], core.int64)
        step = tracer.make("create_mul", place.type, place, spread(tracer, stride, _shape(place)))
        step = spread(tracer, step, shape)
        offsets = step if offsets is None else tracer.make("create_add", step.type, offsets, step)
        if not (axis < len(inbounds) and inbounds[axis]):
            here = _is_inside(tracer, place, view.shape[dim])
            inside = join_conditions(tracer, inside, spread(tracer, here, shape))
    base = spread(tracer, view.pointer, shape)
    return tracer.make("create_addptr", base.type, base, offsets), inside


def _shape(value: core.tensor) -> tuple[int, ...]:
    return tuple(int(core._unwrap_if_constexpr(d)) for d in value.type.shape)


def _places(tracer: Tracer, view: View, axis: int, index: core.tensor) -> core.tensor:
    """Where in the array a tile's elements lie along one axis."""
    extent = view.type.tile_shape[axis]
    sparse = getattr(view.type, "sparse_dim", None)
    if sparse == axis:  # the index gives the place of each row itself
        return cast(tracer, index, core.int64)
    start = cast(tracer, index, core.int64)
    if sparse is None:  # else it is a place too, and not a tile's number
        start = tracer.make("create_mul", core.int64, start, constant(tracer, steps_of(view)[axis], core.int64))
    at = positions(tracer, extent, core.int64)
    return tracer.make("create_add", at.type, at, spread(tracer, start, (extent,)))


def _is_inside(tracer: Tracer, place: core.tensor, size: core.tensor) -> core.tensor:
    """A place below zero is outside, too."""
    truth = block_type(core.int1, _shape(place))
    limit = spread(tracer, cast(tracer, size, core.int64), _shape(place))
    return tracer.make("create_icmpULT", truth, place, limit)
