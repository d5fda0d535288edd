"""Operations that move elements and compute nothing: bounds and errors stay as they are."""

from __future__ import annotations

import math

from tests.fuzz.building import Builder
from tests.fuzz.values import INTEGERS, NUMBERS, Value

ANY = (*NUMBERS, "int1")
MOST = 2048  # elements of a tile


def reshape(b: Builder) -> Value:
    x = b.value(ANY)
    shapes = [s for s in _shapes_of(x.size) if s != x.shape]
    shape = b.choice(shapes or [x.shape])
    text = b.choice([f"tl.reshape({x.name}, {list(shape)})", f"{x.name}.reshape({', '.join(map(str, shape))})"])
    return b.like(x, text, shape=shape)


def _shapes_of(size: int) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [(size,)]
    powers = [2**i for i in range(size.bit_length())]
    found += [(a, size // a) for a in powers]
    found += [(a, c, size // a // c) for a in powers[:4] for c in powers[:4] if a * c <= size]
    return found


def ravel(b: Builder) -> Value:
    x = b.value(ANY)
    return b.like(x, f"tl.ravel({x.name})", shape=(x.size,))


def permute(b: Builder) -> Value:
    x = b.value(ANY, ranks=(2, 3))
    if len(x.shape) == 2:
        text = b.choice(["tl.trans({})", "{}.T", "tl.permute({}, (1, 0))"]).format(x.name)
        return b.like(x, text, shape=x.shape[::-1])
    order = b.choice([(0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
    text = b.choice([f"tl.permute({x.name}, {order})", f"tl.trans({x.name}, {', '.join(map(str, order))})"])
    return b.like(x, text, shape=tuple(x.shape[i] for i in order))


def expand(b: Builder) -> Value:
    x = b.value(ANY, ranks=(1, 2))
    axis = b.integer(0, len(x.shape))
    shape = (*x.shape[:axis], 1, *x.shape[axis:])
    index = ", ".join("None" if i == axis else ":" for i in range(len(shape)))
    text = b.choice([f"tl.expand_dims({x.name}, {axis})", f"{x.name}[{index}]"])
    return b.like(x, text, shape=shape)


def broadcast(b: Builder) -> Value:
    x = b.value(ANY, where=lambda v: 1 in v.shape)
    shape = tuple(b.choice([2, 4, 8]) if d == 1 else d for d in x.shape)
    if math.prod(shape) > MOST:
        return ravel(b)
    return b.like(x, f"tl.broadcast_to({x.name}, {list(shape)})", shape=shape)


def splat(b: Builder) -> Value:
    """A scalar as a tile, a constant as a tile."""
    shape = b.shape()
    if b.flag():
        dtype = b.choice([*NUMBERS])
        return b.emit(f"tl.full({list(shape)}, {b.integer(0, 100)}, tl.{dtype})", dtype, shape, 100.0)
    x = _scalar(b)
    return b.like(x, f"tl.full({list(shape)}, {x.name}, tl.{x.dtype})", shape=shape)


def _scalar(b: Builder) -> Value:
    """One that is there already: no array gives a scalar. Integers such as `n` are always exact."""
    return b.choice([v for v in b.values if v.shape == () and (v.is_exact or not b.exact_only)])


def join(b: Builder) -> Value:
    x = b.value(ANY, where=lambda v: v.size < MOST and len(v.shape) < 3, ranks=(1, 2))
    x, y = b.matched(x, b.value((x.dtype,), x.shape))
    return _both(b, f"tl.join({x.name}, {y.name})", x, y, (*x.shape, 2))


def interleave(b: Builder) -> Value:
    x = b.value(ANY, where=lambda v: v.size < MOST)
    x, y = b.matched(x, b.value((x.dtype,), x.shape))
    return _both(b, f"tl.interleave({x.name}, {y.name})", x, y, (*x.shape[:-1], 2 * x.shape[-1]))


def cat(b: Builder) -> Value:
    x = b.value(ANY, where=lambda v: v.size < MOST, ranks=(1,))
    x, y = b.matched(x, b.value((x.dtype,), x.shape))
    return _both(b, f"tl.cat({x.name}, {y.name}, can_reorder=True)", x, y, (2 * x.size,))


def _both(b: Builder, text: str, x: Value, y: Value, shape: tuple[int, ...]) -> Value:
    return b.emit(text, x.dtype, shape, max(x.largest, y.largest), max(x.error, y.error))


def split(b: Builder) -> Value:
    x = b.value(ANY, where=lambda v: v.shape[-1] == 2)
    if x.shape[-1] != 2:
        half = x.size // 2
        if not half:
            return ravel(b)
        x = b.like(x, f"tl.reshape({x.name}, {[half, 2]})", shape=(half, 2))
    names = b.name(), b.name()
    b.line(f"{names[0]}, {names[1]} = tl.split({x.name})")
    for name in names:
        b.values.append(Value(name, x.dtype, x.shape[:-1], x.largest, x.error))
    return b.values[-1]


def flip(b: Builder) -> Value:
    x = b.value(NUMBERS, where=lambda v: v.size > 1)
    if x.size == 1:  # Triton cannot
        return splat(b)
    return b.like(x, f"tl.flip({x.name}, {b.integer(0, len(x.shape) - 1)})")


def gather(b: Builder) -> Value:
    """The index has the rank of the source, and its extents but for the axis."""
    x = b.value(NUMBERS)
    axis = b.integer(0, len(x.shape) - 1)
    extent = b.choice([x.shape[axis], 4, 16])
    shape = tuple(extent if i == axis else d for i, d in enumerate(x.shape))
    if math.prod(shape) > MOST:
        return ravel(b)
    index = b.value(("int32", "int64", "uint8"), shape)
    inside = b.emit(f"{index.name}.to(tl.int32) & {x.shape[axis] - 1}", "int32", shape)
    return b.like(x, f"tl.gather({x.name}, {inside.name}, {axis})", shape=shape)


def index_of_element(b: Builder) -> Value:
    shape = b.shape()
    dtype = b.choice(INTEGERS)
    return b.emit(f"({b.offsets(shape, per_program=b.flag())}).to(tl.{dtype})", dtype, shape)


OPERATIONS = (
    reshape,
    permute,
    expand,
    broadcast,
    splat,
    ravel,
    join,
    split,
    interleave,
    cat,
    flip,
    gather,
    index_of_element,
)
