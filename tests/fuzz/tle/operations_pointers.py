"""Pointers into shared buffers: loads, stores and atomics at places that are computed."""

from __future__ import annotations

from tests.fuzz.operations_memory import ATOMICS
from tests.fuzz.tle.building import TleBuilder, View, places
from tests.fuzz.values import INTEGERS, NUMBERS, Value

INDICES = ("int32", "int64", "uint8", "int16")


def at(view: View, indices: list[str]) -> tuple[str, str]:
    """Pointers to elements in both forms."""
    plain = " + ".join(f"({index}) * {stride}" for index, stride in zip(indices, view.strides, strict=True))
    return f"tle.gpu.local_ptr({view.name}, ({', '.join(indices)},))", f"{view.name} + {plain}"


def any_places(b: TleBuilder, view: View, shape: tuple[int, ...]) -> list[str]:
    """An index for each axis: at least one is a tile of this shape."""
    tile = b.integer(0, len(view.shape) - 1)
    indices = []
    for axis, extent in enumerate(view.shape):
        if axis == tile or b.flag():
            index = b.value(INDICES, shape, exact=True)
            indices.append(f"({index.name}.to(tl.int32) & 4095) % {extent}")
        else:
            indices.append(b.choice([f"n % {extent}", f"pid % {extent}", str(b.integer(0, extent - 1))]))
    return indices


def own_places(b: TleBuilder, view: View) -> tuple[list[str], tuple[int, ...]]:
    """Each element of a tile, or of a slot, once, in any order; and the shape."""
    indices, shape = [], view.shape[1:] if view.slots else view.shape
    for axis, extent in enumerate(shape):
        index = f"tl.arange(0, {extent})"
        if b.flag():
            index = b.choice([f"({index} * 5 + 3) % {extent}", f"{extent - 1} - {index}"])
        if len(shape) == 2:
            index = f"({index}){'[:, None]' if axis == 0 else '[None, :]'}"
        indices.append(index)
    slot = [b.choice([f"n % {view.shape[0]}", str(b.integer(0, view.shape[0] - 1))])] if view.slots else []
    return slot + indices, shape


def gather(b: TleBuilder) -> Value:
    view = b.view()
    shape = b.shape((1, 2))
    pointers = at(view, any_places(b, view, shape))
    mask = b.choice(["", f", mask={b.mask(shape)}, other={b.choice(['0', '1'])}"])
    text, plain = (f"tl.load({pointer}{mask})" for pointer in pointers)
    return b.emit_either(text, plain, view.dtype, shape)


def element(b: TleBuilder) -> Value:
    view = b.view()
    indices = [b.choice([f"n % {extent}", str(b.integer(0, extent - 1))]) for extent in view.shape]
    pointers = at(view, indices)
    if b.flag():
        value = b.value((view.dtype,), (), exact=True, ranks=(0,), where=lambda v: v.shape == ()) if b.flag() else None
        stored = value.name if value else "1"
        b.either(*(f"tl.store({pointer}, {stored})" for pointer in pointers))
    text, plain = (f"tl.load({pointer})" for pointer in pointers)
    return b.emit_either(text, plain, view.dtype, ())


def whole(b: TleBuilder) -> Value:
    """Pointers to all elements, made without indices."""
    view = b.view(where=lambda view: not view.slots)
    plain = f"{view.name} + {places(view.shape, view.strides)}"
    if b.flag():
        value = b.value((view.dtype,), view.shape, exact=True)
        mask = f", mask={b.mask(view.shape)}" if b.flag() else ""
        form = f"tl.store({{}}, {value.name}{mask})"
        b.either(form.format(f"tle.gpu.local_ptr({view.name})"), form.format(plain))
    return b.emit_either(f"tl.load(tle.gpu.local_ptr({view.name}))", f"tl.load({plain})", view.dtype, view.shape)


def scatter(b: TleBuilder) -> Value:
    view = b.view()
    indices, shape = own_places(b, view)
    value = b.value((view.dtype,), shape, exact=True)
    mask = f", mask={b.mask(shape)}" if b.flag() else ""
    pointers = at(view, indices)
    b.either(*(f"tl.store({pointer}, {value.name}{mask})" for pointer in pointers))
    text, plain = (f"tl.load({pointer})" for pointer in pointers)
    return b.emit_either(text, plain, view.dtype, shape)


def atomic_in_order(b: TleBuilder) -> Value:
    """Each element has its own place: what was there before is what comes back."""
    name, dtypes = b.choice(ATOMICS)
    view = b.view([d for d in dtypes if name not in ("min", "max") or d in INTEGERS])
    indices, shape = own_places(b, view)
    value = b.value((view.dtype,), shape, exact=True)
    mask = f", mask={b.mask(shape)}" if b.flag() else ""
    order = b.choice(["", "", ', sem="relaxed"', ', sem="acquire"', ', sem="release"'])
    forms = [f"tl.atomic_{name}({pointer}, {value.name}{mask}{order})" for pointer in at(view, indices)]
    if mask:
        b.either(*forms)
    else:
        b.emit_either(*forms, view.dtype, shape)
    text, plain = (f"tl.load({pointer})" for pointer in at(view, indices))
    return b.emit_either(text, plain, view.dtype, shape)


def atomic_in_any_order(b: TleBuilder) -> Value:
    """Elements meet at the same places: only what is left at the end is told."""
    name, dtypes = b.choice([a for a in ATOMICS if a[0] != "xchg"])
    view = b.view([d for d in dtypes if d in INTEGERS])
    shape = b.shape((1, 2))
    value = b.value((view.dtype,), shape, exact=True)
    mask = f", mask={b.mask(shape)}" if b.flag() else ""
    pointers = at(view, any_places(b, view, shape))
    b.either(*(f"tl.atomic_{name}({pointer}, {value.name}{mask})" for pointer in pointers))
    return gather(b)


def places_by_atomics(b: TleBuilder) -> Value:
    """A histogram whose counts come back: their sum over the elements is known, the order is not."""
    x = b.value(INDICES, b.shape((1,)), exact=True)
    bins = b.choice([4, 16, 64])
    view = b.buffer("int32", (bins,), init="0")
    pointers = at(view, [f"{x.name}.to(tl.int32) & {bins - 1}"])
    place = b.name("place")
    mask = f", mask={b.mask(x.shape)}" if b.flag() else ""
    b.either(*(f"{place} = tl.atomic_add({pointer}, 1{mask})" for pointer in pointers))
    b.emit(f"tl.sum(tl.where({mask.removeprefix(', mask=') or 'n > 0'}, {place}, 0), 0)", "int32", ())
    return b.load_tile(view)


def compare_and_swap(b: TleBuilder) -> Value:
    view = b.view(("int32", "int64", "uint32", "uint64"))
    indices, shape = own_places(b, view)
    old, new = (b.value((view.dtype,), shape, exact=True) for _ in range(2))
    forms = (f"tl.atomic_cas({pointer}, {old.name}, {new.name})" for pointer in at(view, indices))
    b.emit_either(*forms, view.dtype, shape)
    text, plain = (f"tl.load({pointer})" for pointer in at(view, indices))
    return b.emit_either(text, plain, view.dtype, shape)


def walking(b: TleBuilder) -> Value:
    """A loop that carries a pointer from element to element."""
    view = b.filled(tuple(d for d in NUMBERS if d in INTEGERS), (b.choice([16, 64]),))
    pointer, total = b.name("q"), b.emit("pid * 0", "int32", ())
    b.values.pop()
    b.either(f"{pointer} = tle.gpu.local_ptr({view.name}, (pid % 4,))", f"{pointer} = {view.name} + pid % 4")
    with b.block(f"for {b.name('i')} in range({b.integer(1, 8)}):"):
        b.line(f"{total.name} += tl.load({pointer}).to(tl.int32)")
        b.line(f"{pointer} += 1")
    b.values.append(total)
    b.changed.add(total.name)
    return total


OPERATIONS = (gather, element, whole, scatter, atomic_in_order, atomic_in_any_order, places_by_atomics,
              compare_and_swap, walking)  # fmt: skip
INSIDE = (gather, element, whole, scatter, atomic_in_order, atomic_in_any_order)
