"""Shared buffers: their content as tiles, and views of them."""

from __future__ import annotations

import math
from dataclasses import replace

from tests.fuzz.tle.building import TleBuilder, View, places, row_strides
from tests.fuzz.values import NUMBERS, Value, bits


def is_tile(view: View) -> bool:
    return not view.slots


def new_buffer(b: TleBuilder) -> View:
    return b.filled()


def load(b: TleBuilder) -> Value:
    return b.load_tile(b.view(where=is_tile))


def store(b: TleBuilder) -> View:
    view = b.view(where=is_tile)
    if b.integer(0, 4):
        b.store_tile(view)
        return view
    b.fill_tile(view, b.choice(["0", "2"]))
    return view


def store_and_load(b: TleBuilder) -> Value:
    view = store(b)
    return b.load_tile(view)


def slot(b: TleBuilder) -> Value:
    view = b.view(where=lambda view: view.slots)
    return b.load_tile(_slot(b, view))


def _slot(b: TleBuilder, view: View) -> View:
    index = b.choice([str(b.integer(0, view.shape[0] - 1)), f"n % {view.shape[0]}", f"(pid + 1) % {view.shape[0]}"])
    new = b.part(view, view.shape[1:], view.strides[1:])
    b.slot_line(view, new, index)
    b.views.append(new)
    if b.flag():
        b.store_tile(new)
    return new


def subslice(b: TleBuilder) -> Value:
    view = b.view(where=lambda view: is_tile(view) and view.cut != ())
    if not view.cut:
        return b.load_tile(view)
    axis = b.integer(0, len(view.shape) - 1)
    lengths = [length for length in (1, 2, 4, 8, 16, 32, 64) if view.cut[axis] <= length <= view.shape[axis]]
    length = b.choice(lengths or [view.shape[axis]])
    start = length * b.integer(0, view.shape[axis] // length - 1)
    shape = tuple(length if i == axis else dim for i, dim in enumerate(view.shape))
    new = replace(view, name=b.name("u"), shape=shape, rows=view.rows and shape == view.shape)  # parts keep their shape
    dim = f", dim={axis - len(shape)}" if axis < len(shape) - 1 or b.flag() else ""
    b.either(
        f"{new.name} = {view.name}.subslice({start}, {length}{dim})",
        f"{new.name} = {view.name} + {start * view.strides[axis]}",
    )
    return _used(b, new)


def _used(b: TleBuilder, new: View) -> Value:
    b.views.append(new)
    if b.flag():
        b.store_tile(new)
    return b.load_tile(new)


def permuted(b: TleBuilder) -> Value:
    view = b.view(where=lambda view: not view.slots and len(view.shape) == 2)
    name = b.name("u")
    form = b.choice([f"{view.name}.trans()", f"{view.name}.permute(1, 0)"])
    b.either(f"{name} = {form}", f"{name} = {view.name}")
    rest = {"strides": view.strides[::-1], "cut": view.cut[::-1]}
    return _used(b, replace(view, name=name, shape=view.shape[::-1], **rest))


def reshaped(b: TleBuilder) -> Value:
    view = b.view(where=lambda view: not view.slots and view.rows and view.is_contiguous)
    if not (view.rows and view.is_contiguous):
        view = b.buffer(view.dtype, b.choice([(64,), (8, 16), (32, 32)]), init="1", layout="rows")
    size = math.prod(view.shape)
    columns = b.choice([c for c in (1, 4, 16, 64) if c <= size])
    shape = b.choice([(size,), (size // columns, columns)])
    new = replace(view, name=b.name("u"), shape=shape, strides=row_strides(shape), cut=(1,) * len(shape))
    b.either(f"{new.name} = {view.name}.reshape({list(shape)})", f"{new.name} = {view.name}")
    return _used(b, new)


def aliased(b: TleBuilder) -> Value:
    """Half of a buffer's memory under another name, and perhaps another type of as many bits."""
    size = b.choice([32, 128])
    base = b.filled(("int32", "float32", "int16", "uint64", "int8"), (size,))
    same = [dtype for dtype in NUMBERS if bits(dtype) == bits(base.dtype) and not dtype.startswith("float")]
    dtype, half = b.choice(same), b.integer(0, 1)
    new = View(b.name("u"), dtype, (size // 2,), (1,), False, True, (1,))
    offset = half * size // 2 * bits(dtype) // 8
    b.either(
        f"{new.name} = tle.gpu.alloc([{size // 2}], tl.{dtype}, alias={base.name}, alias_offset_bytes={offset})",
        f"{new.name} = ({base.name} + {half * size // 2}).to(tl.pointer_type(tl.{dtype}), bitcast=True)",
    )
    value = _used(b, new)
    b.load_tile(base)
    return value


def carried(b: TleBuilder) -> Value:
    """Two slots that change places in each iteration of a loop."""
    dtype = b.choice(NUMBERS)
    view = b.buffer(dtype, (2, *b.choice([(16, 32), (8, 16), (4, 4)])), slots=True, init="1")
    first, second = (b.part(view, view.shape[1:], view.strides[1:]) for _ in range(2))
    b.slot_line(view, first, "0"), b.slot_line(view, second, "1")
    b.store_tile(first)
    with b.exactly(), b.block(f"for {b.name('i')} in range({b.choice(['3', 'n % 4', '0'])}):"):
        value = b.load_tile(first)
        b.store_tile(second, b.emit(f"{value.name} + {value.name}", dtype, value.shape))
        b.line(f"{first.name}, {second.name} = {second.name}, {first.name}")
    b.load_tile(second)
    return b.load_tile(first)


def in_function(b: TleBuilder) -> Value:
    """A function that gets a buffer and stores into it."""
    view = b.view(where=is_tile)
    value = b.value((view.dtype,), view.shape, exact=True)
    u = b.name("given")  # a name of its own: the plain form's body is one for this shape
    plain = f"    tl.store({u} + {places(view.shape, view.strides)}, x)"
    b.line(f"{b.either_helper('keep', f'{u}, x', f'    {u}.store(x)', plain)}({view.name}, {value.name})")
    return b.load_tile(view)


OPERATIONS = (
    new_buffer,
    load,
    store,
    store_and_load,
    slot,
    subslice,
    permuted,
    reshaped,
    aliased,
    carried,
    in_function,
)
# What may stand within loops and conditions.
INSIDE = (load, store, store_and_load, subslice, permuted, reshaped, slot)
