"""Where elements stand: reshape, broadcast, permute, concatenate, pieces; constants and ranges."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.adapters.common import gathers
from tle_raw.adapters.cutile.ir_types import Operation
from tle_raw.adapters.cutile.traced import descriptors
from tle_raw.adapters.cutile.traced.small_floats import NUMBERS, code_of_constant
from tle_raw.adapters.cutile.traced.tracer import Tracer, operation
from tle_raw.adapters.cutile.traced.types import block_type
from tle_raw.adapters.cutile.traced.values import absent, along, cast, choose, constant, positions, reshape, spread
from tle_raw.regions.shapes import shape_of, shape_of_type


@operation("typed_const")
def typed_constant(tracer: Tracer, op: Operation) -> core.tensor:
    type_, dtype = tracer.type_of(op.result_var), op.result_var.get_type().dtype.name
    numbers = _flattened(op.value) if isinstance(op.value, tuple) else [op.value]
    if dtype in NUMBERS:
        numbers = [code_of_constant(tracer, n, dtype) for n in numbers]
    return _dense(tracer, numbers, type_) if isinstance(op.value, tuple) else constant(tracer, numbers[0], type_)


def _flattened(value: Any) -> list[Any]:
    return [x for item in value for x in _flattened(item)] if isinstance(value, tuple) else [value]


def _dense(tracer: Tracer, numbers: list[Any], type_: core.dtype) -> core.tensor:
    """Triton's builder has no constant of different elements: they are chosen one by one."""
    flat = block_type(type_.scalar, (len(numbers),))
    at = positions(tracer, len(numbers))
    made = constant(tracer, numbers[0], flat)
    for index, number in enumerate(numbers[1:], start=1):
        here = tracer.make("create_icmpEQ", block_type(core.int1, shape_of(at)), at, constant(tracer, index, at.type))
        made = choose(tracer, here, constant(tracer, number, flat), made)
    return reshape(tracer, made, shape_of_type(type_))


@operation("make_dummy")
def undefined(tracer: Tracer, op: Operation) -> core.tensor | None:
    from cuda.tile._ir.type import TokenTy

    if isinstance(op.result_var.get_type(), TokenTy):
        return None
    return absent(tracer, tracer.type_of(op.result_var))


@operation("assign")
def assign(tracer: Tracer, op: Operation) -> Any:
    return tracer.value(op.value)


@operation("tile_arange")
def count_up(tracer: Tracer, op: Operation) -> core.tensor:
    type_ = op.result_var.get_type()
    return positions(tracer, type_.shape[0], tracer.dtype(type_.dtype))


@operation("tile_reshape")
def change_shape(tracer: Tracer, op: Operation) -> core.tensor:
    value = tracer.value(op.x)
    if not isinstance(value, core.tensor):
        raise descriptors.refuse(tracer)
    return reshape(tracer, value, op.result_var.get_type().shape)


@operation("tile_broadcast")
def broadcast(tracer: Tracer, op: Operation) -> core.tensor:
    return spread(tracer, tracer.value(op.x), op.result_var.get_type().shape)


@operation("tile_permute")
def permute(tracer: Tracer, op: Operation) -> core.tensor:
    value = tracer.value(op.x)
    return value if list(op.axes) == sorted(op.axes) else tracer.semantic.permute(value, tuple(op.axes))


@operation("tile_cat")
def concatenate(tracer: Tracer, op: Operation) -> core.tensor:
    """Triton's own tt.cat may reorder: the tiles are joined along a new last axis that moves before theirs."""
    x, y, axis = tracer.value(op.x), tracer.value(op.y), op.axis
    shape = list(shape_of(x))
    joined = tracer.semantic.join(x, y)
    rank = len(shape)
    joined = tracer.semantic.permute(joined, (*range(axis), rank, *range(axis, rank)))
    shape[axis] *= 2
    return reshape(tracer, joined, shape)


@operation("tile_extract")
def extract(tracer: Tracer, op: Operation) -> core.tensor:
    """A piece of a tile at an index that may be known at run time only: a gather along each axis that is cut."""
    value = tracer.value(op.x)
    for axis, size in enumerate(op.shape):
        shape = shape_of(value)
        if shape[axis] == size:
            continue
        at = _from(tracer, tracer.value(op.index[axis]), size)
        wanted = [size if a == axis else s for a, s in enumerate(shape)]
        value = gather(tracer, value, spread(tracer, along(tracer, at, axis, len(shape)), wanted), axis)
    return value


def _from(tracer: Tracer, index: core.tensor, size: int) -> core.tensor:
    """The places of a piece along its axis."""
    index = cast(tracer, index, core.int32)
    start = tracer.make("create_mul", core.int32, index, constant(tracer, size, core.int32))
    at = positions(tracer, size)
    return tracer.make("create_add", at.type, at, spread(tracer, start, (size,)))


def gather(tracer: Tracer, value: core.tensor, at: core.tensor, axis: int) -> core.tensor:
    """Elements along an axis; a bool is a byte on the way, a pointer a number."""
    element = value.type.scalar
    if element.is_ptr():
        return cast(tracer, gathers.gather(tracer.semantic, cast(tracer, value, core.int64), at, axis), element)
    if not element.is_int1():
        return gathers.gather(tracer.semantic, value, at, axis)
    return cast(tracer, gathers.gather(tracer.semantic, cast(tracer, value, core.int8), at, axis), core.int1)


@operation("tile_insert")
def insert(tracer: Tracer, op: Operation) -> core.tensor:
    """A tile with one of its pieces replaced."""
    whole, piece = tracer.value(op.x), tracer.value(op.value)
    shape, inside = shape_of(whole), None
    for axis, (size, part) in enumerate(zip(shape, shape_of(piece))):
        if size == part:
            continue
        here, within = _places_of_piece(tracer, tracer.value(op.index[axis]), size, part)
        here = spread(tracer, along(tracer, here, axis, len(shape)), shape)
        inside = here if inside is None else tracer.make("create_and", here.type, inside, here)
        wanted = [size if a == axis else s for a, s in enumerate(shape_of(piece))]
        if part == 1:
            piece = spread(tracer, piece, wanted)
        else:
            piece = gather(tracer, piece, spread(tracer, along(tracer, within, axis, len(shape)), wanted), axis)
    return piece if inside is None else choose(tracer, inside, piece, whole)


def _places_of_piece(tracer: Tracer, index: core.tensor, size: int, part: int) -> tuple[core.tensor, core.tensor]:
    """For each place along an axis whether it lies in the piece, and where there."""
    at = positions(tracer, size)
    of_piece = constant(tracer, part.bit_length() - 1, at.type)  # sizes are powers of two
    number = tracer.make("create_ashr", at.type, at, of_piece)
    wanted = spread(tracer, cast(tracer, index, core.int32), (size,))
    here = tracer.make("create_icmpEQ", block_type(core.int1, (size,)), number, wanted)
    return here, tracer.make("create_and", at.type, at, constant(tracer, part - 1, at.type))
