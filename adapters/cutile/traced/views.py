"""Arrays, and loads and stores of their tiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from triton.language import core

from tle_raw.adapters.cutile.ir_types import Operation
from tle_raw.adapters.cutile.traced import accesses, descriptors, distances, limits
from tle_raw.adapters.cutile.traced.tracer import Tracer, View, operation
from tle_raw.adapters.cutile.traced.values import (
    along,
    cast,
    choose,
    constant,
    join_conditions,
    like,
    positions,
    reshape,
    spread,
    without_unit_axes,
)
from tle_raw.regions.shapes import shape_of

_PADDING = {"ZERO": 0.0, "NEG_ZERO": -0.0, "NAN": math.nan, "POS_INF": math.inf, "NEG_INF": -math.inf}


@operation("make_tensor_view")
def make_array(tracer: Tracer, op: Operation) -> View:
    shape, strides = (tuple(tracer.value(v) for v in vs) for vs in (op.shape, op.strides))
    multiples = tuple(tracer.multiples.get(v.name, 1) for v in op.shape)
    return View(tracer.value(op.base_ptr), shape, strides, op.result_var.get_type(), multiples)


@operation("make_partition_view", "make_strided_view", "make_gather_scatter_view")
def make_view(tracer: Tracer, op: Operation) -> View:
    array: View = tracer.value(op.array)
    return replace(array, type=op.result_var.get_type())


@operation("num_tiles")
def number_of_tiles(tracer: Tracer, op: Operation) -> tuple[core.tensor, ...]:
    """How many tiles begin inside the array, along each axis of the tile."""
    view = tracer.value(op.view)
    counts = []
    for axis, step in enumerate(steps_of(view)):
        size = view.shape[order_of(view)[axis]]
        less = tracer.make("create_add", size.type, size, constant(tracer, step - 1, size.type))
        count = tracer.make("create_sdiv", size.type, less, constant(tracer, step, size.type))
        counts.append(cast(tracer, count, core.int32))
        limits.note(tracer, counts[-1], size, step, whole=False)
    return tuple(counts)


def order_of(view: View) -> tuple[int, ...]:
    """For each axis of the tile the dim of the array that it walks."""
    return tuple(getattr(view.type, "order", range(len(view.shape))))


def steps_of(view: View) -> tuple[int, ...]:
    """How far one tile is from the next."""
    return tuple(getattr(view.type, "traversal_steps", view.type.tile_shape))


@operation("tile_load")
def load(tracer: Tracer, op: Operation) -> core.tensor:
    view, index = tracer.value(op.view), [tracer.value(v) for v in op.index]
    if descriptors.is_of_descriptor(view):
        return descriptors.load(tracer, op, view, index)
    shape = tuple(view.type.tile_shape)
    if op.result_vars[0].name in tracer.bare:
        shape = tuple(n for n in shape if n != 1)
    pointers, inside = elements(tracer, view, index, shape, op.inbounds)
    type_ = like(pointers, tracer.type_of(op.result_vars[0]).scalar)
    padding = None
    if inside is not None and view.type.padding_mode.name in _PADDING:
        padding = constant(tracer, _padding_value(tracer, view, type_), type_)
    loaded = accesses.load(tracer, pointers, inside, padding, op.memory_order.name, op.memory_scope.name)
    return reshape(tracer, loaded, view.type.tile_shape)


def _padding_value(tracer: Tracer, view: View, type_: core.dtype) -> float:
    name = view.type.padding_mode.name
    if name != "ZERO" and not type_.scalar.is_floating():
        raise tracer.fail(f"{name} as padding of {type_.scalar}")
    return _PADDING[name]


@operation("tile_store")
def store(tracer: Tracer, op: Operation) -> None:
    view, index = tracer.value(op.view), [tracer.value(v) for v in op.index]
    if descriptors.is_of_descriptor(view):
        descriptors.store(tracer, op, view, index, tracer.value(op.tile))
        return
    if id(op) in tracer.described:
        descriptors.store_inside(tracer, view, index, tracer.described[id(op)], tracer.value(op.tile))
        return
    tile = without_unit_axes(tracer, tracer.value(op.tile))
    pointers, inside = elements(tracer, view, index, shape_of(tile), op.inbounds)
    accesses.store(tracer, pointers, tile, inside, op.memory_order.name, op.memory_scope.name)


def elements(
    tracer: Tracer, view: View, index: Sequence[core.tensor], shape: tuple[int, ...], inbounds: Sequence[bool] = ()
) -> tuple[core.tensor, core.tensor | None]:
    """The addresses of a tile's elements, and which of them lie inside the array; None where all are said to.

    ``shape`` is the tile's with all of its axes, or without those of size 1. Offsets have 64 bits, as cuTile's; what an
    index changes is one number, so that a loop computes little anew.
    """
    if descriptors.is_of_descriptor(view):
        raise descriptors.refuse(tracer)
    extents = tuple(view.type.tile_shape)
    kept = [axis for axis, n in enumerate(extents) if n != 1 or len(shape) == len(extents)]
    pointer, offsets, inside = view.pointer, None, None
    for axis, dim in enumerate(order_of(view)):
        first, lanes = _places(tracer, view, axis, index[axis])
        stride = cast(tracer, view.strides[dim], core.int64)
        checked = not ((axis < len(inbounds) and inbounds[axis]) or _lies_inside(tracer, view, axis, dim, index[axis]))
        begins = _begins_inside(tracer, view, axis, dim, index[axis]) if checked and _is_narrow(first) else None
        if first is not None:
            skipped = _distance(tracer, view, axis, index[axis], begins, first)
            pointer = tracer.make("create_addptr", pointer.type, pointer, skipped)
        if lanes is not None:
            wide = along(tracer, cast(tracer, lanes, core.int64), kept.index(axis), len(shape))
            step = tracer.make("create_mul", wide.type, wide, spread(tracer, stride, shape_of(wide)))
            step = spread(tracer, step, shape)
            offsets = step if offsets is None else tracer.make("create_add", step.type, offsets, step)
        if checked:
            here = _inside(tracer, view, axis, dim, begins, first, lanes)
            if not isinstance(here, bool):
                here = along(tracer, here, kept.index(axis), len(shape)) if here.type.is_block() else here
                inside = join_conditions(tracer, inside, spread(tracer, here, shape))
    base = spread(tracer, pointer, shape)
    return base if offsets is None else tracer.make("create_addptr", base.type, base, offsets), inside


def _places(tracer: Tracer, view: View, axis: int, index: core.tensor) -> tuple[core.tensor | None, core.tensor | None]:
    """Where a tile's elements lie along one axis: its first, and how far the others are from it.

    There is no first one where the index gives the place of each, and there are no others in an axis of size 1.
    """
    extent = view.type.tile_shape[axis]
    sparse = getattr(view.type, "sparse_dim", None)
    if sparse == axis:
        return (cast(tracer, reshape(tracer, index, ()), core.int64), None) if extent == 1 else (None, index)
    lanes = None if extent == 1 else positions(tracer, extent)
    if sparse is not None:  # a place too, and not a tile's number
        return cast(tracer, index, core.int64), lanes
    size = view.shape[order_of(view)[axis]]
    narrow = max(size.type.primitive_bitwidth, index.type.primitive_bitwidth) <= 32 and not _may_overlap(view, axis)
    type_ = core.int32 if narrow else core.int64  # 32 bits tell where a tile begins that begins inside
    step = constant(tracer, steps_of(view)[axis], type_)
    return tracer.make("create_mul", type_, cast(tracer, index, type_), step), lanes


def _is_narrow(first: core.tensor | None) -> bool:
    return first is not None and first.type == core.int32


def _distance(
    tracer: Tracer, view: View, axis: int, index: core.tensor, begins: core.tensor | bool | None, first: core.tensor
) -> core.tensor:
    """How many elements of the array lie before a tile along one axis; zero where the tile is not there."""
    stride = cast(tracer, view.strides[order_of(view)[axis]], core.int64)
    if _is_narrow(first) and (begins is None or begins is True):
        size = max(view.pointer.type.element_ty.primitive_bitwidth, 8) // 8
        counted = distances.counted(tracer, index, steps_of(view)[axis], stride, size)
        if counted is not None:
            return counted
    near = first if begins is None else _or_zero(tracer, begins, first)
    return tracer.make("create_mul", core.int64, cast(tracer, near, core.int64), stride)


def _or_zero(tracer: Tracer, condition: core.tensor | bool, value: core.tensor) -> core.tensor:
    """For a tile that is not there, zero. LLVM then advances one number in a loop, and not an address per element."""
    if condition is True:
        return value
    return choose(tracer, condition, value, constant(tracer, 0, value.type))


def _may_overlap(view: View, axis: int) -> bool:
    """Else all of a tile with a negative number lies outside."""
    return getattr(view.type, "sparse_dim", None) is not None or steps_of(view)[axis] < view.type.tile_shape[axis]


def _inside(
    tracer: Tracer,
    view: View,
    axis: int,
    dim: int,
    begins: core.tensor | bool | None,
    first: core.tensor | None,
    lanes: core.tensor | None,
) -> core.tensor | bool:
    """Which elements lie inside along one axis, or whether all do; a place below zero is outside, too.

    ``begins`` says whether the tile begins inside, where that is enough to know.
    """
    size = view.shape[dim]
    if begins is not None:
        if lanes is None or _is_whole(view, axis, dim):
            return begins
        left = _or_zero(tracer, begins, tracer.make("create_sub", size.type, size, first))
        return tracer.make("create_icmpSLT", like(lanes, core.int1), lanes, spread(tracer, left, shape_of(lanes)))
    place = first if lanes is None else cast(tracer, lanes, core.int64)
    assert place is not None
    if first is not None and lanes is not None:
        place = tracer.make("create_add", place.type, place, spread(tracer, first, shape_of(place)))
    limit = spread(tracer, cast(tracer, size, core.int64), shape_of(place))
    return tracer.make("create_icmpULT", like(place, core.int1), place, limit)


def _is_whole(view: View, axis: int, dim: int) -> bool:
    """Whether a tile that begins inside ends there: places of tiles and the array's end are multiples of its size."""
    size = view.type.tile_shape[axis]
    return bool(view.multiples[dim] % size == 0 and steps_of(view)[axis] % size == 0)


def _lies_inside(tracer: Tracer, view: View, axis: int, dim: int, index: core.tensor) -> bool:
    """Whether the tile is known to have no element outside, and needs no check."""
    size, step, extent = view.shape[dim], steps_of(view)[axis], view.type.tile_shape[axis]
    sparse = getattr(view.type, "sparse_dim", None) is not None
    return not sparse and limits.lies_inside(tracer, index, size, step, extent)


def _begins_inside(tracer: Tracer, view: View, axis: int, dim: int, index: core.tensor) -> core.tensor | bool:
    """Whether there is a tile of that number: its elements lie inside, but for those behind the array's end."""
    count, step = view.shape[dim], steps_of(view)[axis]
    if limits.begins_inside(tracer, index, count, step):
        return True
    if step > 1:
        if view.multiples[dim] % step:
            count = tracer.make("create_add", count.type, count, constant(tracer, step - 1, count.type))
        count = tracer.make("create_udiv", count.type, count, constant(tracer, step, count.type))
    return tracer.make("create_icmpULT", core.int1, cast(tracer, index, core.int32), cast(tracer, count, core.int32))
