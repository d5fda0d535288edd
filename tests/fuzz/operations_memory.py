"""Loads, stores, atomics and descriptors, none of which leaves its array or races with another program."""

from __future__ import annotations

import math

import triton.language as tl

from tests.fuzz.building import Builder
from tests.fuzz.cases import Array
from tests.fuzz.values import FLOATS, FP8, INTEGERS, NUMBERS, Value, bits

ALL = (*NUMBERS, "int1")


def masked_load(b: Builder) -> Value:
    """What is masked out without another value is whatever it is: it is replaced before it is used."""
    dtype, shape = b.choice(NUMBERS), b.shape()
    array = b.array(dtype, b.programs * math.prod(shape))
    mask = b.mask(shape)
    text = f"tl.load({array} + {b.offsets(shape)}, mask={mask}"
    kind = b.choice(["constant", "none", "tile"])
    if kind == "none":
        return b.emit(f"tl.where({mask}, {text}), 3)", dtype, shape, 4.0)
    other = "2" if kind == "constant" else b.bounded(b.value((dtype,), shape, exact=True), 4.0).name
    return b.emit(f"{text}, other={other})", dtype, shape, 4.0)


def bound_load(b: Builder) -> Value:
    """The array ends before the tile does."""
    dtype, shape = b.choice(NUMBERS), b.shape()
    size = math.prod(shape)
    array = b.array(dtype, max(1, b.programs * size - size // 2))
    offsets = f"({b.offsets(shape)})"
    return b.emit(
        f"tl.load({array} + {offsets}, mask={offsets} < {b.arrays[array].size}, other={b.choice(['0', '1'])})",
        dtype, shape, 4.0,
    )  # fmt: skip


def strange_load(b: Builder) -> Value:
    """Backwards, in strides, each element many times, or at computed places."""
    dtype, shape = b.choice((*ALL, *FLOATS)), b.shape()
    size = math.prod(shape)
    array = b.array(dtype, b.programs * size)
    total = b.programs * size
    offsets = f"({b.offsets(shape)})"
    inside = f"({b.offsets(shape, per_program=False)})"
    places = [
        f"{total - 1} - {offsets}",
        f"{offsets} // 2",
        f"{inside} % {max(1, size // 4)}",
        f"pid * {size} + {inside} * 5 % {size}",
    ]
    place = b.choice([*places, "computed"])
    if place == "computed":
        index = b.value(("int32", "int64", "uint8", "int16"), shape)
        place = f"({index.name}.to(tl.int32) & {size - 1})"  # of a size that is a power of two
    return b.emit(f"tl.load({array} + {place})", dtype, shape, 4.0 if dtype in FLOATS else math.inf)


def scalar_load(b: Builder) -> Value:
    dtype = b.choice(ALL)
    array = b.array(dtype, b.programs + 1)
    return b.emit(f"tl.load({array} + pid + {b.integer(0, 1)})", dtype, (), 4.0)


def byte_load(b: Builder) -> Value:
    dtype = b.choice([*FP8, "int1"])
    shape = b.shape()
    value = b.load(dtype, shape, "plain")
    if dtype == "int1":
        return value
    return b.emit(f"{value.name}.to(tl.float32)", "float32", shape, 4.0)


def arranged_store(b: Builder) -> None:
    """A permutation of the places, or only some of them."""
    x = b.value(NUMBERS)
    size = b.programs * x.size
    array = f"q{len(b.arrays)}"
    b.arrays[array] = Array(x.dtype, size, "plain", 7)
    b.tolerances[array] = x.error
    offsets = f"({b.offsets(x.shape)})"
    places = [f"{size - 1} - {offsets}"]
    if size & (size - 1) == 0:
        places.append(f"({offsets} * 5 + 3) % {size}")
    mask = f", mask={b.mask(x.shape)}" if b.flag() else ""
    b.line(f"tl.store({array} + {b.choice(places)}, {x.name}{mask})")


def atomic_in_order(b: Builder) -> Value:
    """Each element has its own place: what was there before is what comes back."""
    name, dtypes = b.choice(ATOMICS)
    x = b.exact_finite(dtypes, 100.0)
    array = _target(b, x.dtype, b.programs * x.size)
    mask = f", mask={b.mask(x.shape)}" if b.flag() else ""
    order = b.choice(["", "", ', sem="relaxed"', ', sem="acquire"', ', sem="release"'])
    text = f"tl.atomic_{name}({array} + {b.offsets(x.shape)}, {x.name}{mask}{order})"
    if mask:  # what comes back for the others is nothing
        b.line(text)
        return x
    return b.emit(text, x.dtype, x.shape, 4.0 if x.is_float else math.inf)


def atomic_in_any_order(b: Builder) -> Value:
    """Several elements and all programs meet at the same places: only what is left at the end is told."""
    name, dtypes = b.choice([a for a in ATOMICS if a[0] != "xchg"])
    x = b.value([d for d in dtypes if d in INTEGERS] or ["int32"])
    places = b.choice([1, 4, 16])
    array = _target(b, x.dtype, places)
    b.line(f"tl.atomic_{name}({array} + ({b.offsets(x.shape, per_program=False)}) % {places}, {x.name})")
    return x


def atomic_of_scalar(b: Builder) -> Value:
    name, dtypes = b.choice([a for a in ATOMICS if a[0] != "xchg"])
    dtype = b.choice([d for d in dtypes if d in INTEGERS])
    array = _target(b, dtype, 1)
    b.line(f"tl.atomic_{name}({array}, (pid + {b.integer(0, 9)}).to(tl.{dtype}))")
    return b.values[0]


def compare_and_swap(b: Builder) -> Value:
    x = b.value(("int32", "int64", "uint32", "uint64"))
    array = _target(b, x.dtype, b.programs * x.size)
    expected = b.value((x.dtype,), x.shape)
    text = f"tl.atomic_cas({array} + {b.offsets(x.shape)}, {expected.name}, {x.name})"
    return b.emit(text, x.dtype, x.shape)


ATOMICS = (
    ("add", ("int32", "uint32", "int64", "uint64", "float32", "float64", "float16")),
    ("max", ("int32", "uint32", "int64", "uint64", "float32", "float64")),
    ("min", ("int32", "uint32", "int64", "uint64", "float32", "float64")),
    ("and", ("int32", "uint32", "int64", "uint64")),
    ("or", ("int32", "uint32", "int64", "uint64")),
    ("xor", ("int32", "uint32", "int64", "uint64")),
    ("xchg", ("int32", "uint32", "int64", "uint64", "float32", "float64")),
)


def _target(b: Builder, dtype: str, size: int, aligned: bool = False) -> str:
    name = b.array(dtype, size, aligned=aligned)
    b.tolerances[name] = 0.0
    return name


def by_descriptor(b: Builder) -> Value:
    """A tile that may reach over the edge of its matrix, read and perhaps written by descriptors."""
    dtype = b.choice(NUMBERS)
    rows, columns = b.choice([(8, 16), (16, 16), (4, 32)])
    height, width = rows * b.programs - b.integer(0, 3), 2 * columns - 16 // (bits(dtype) // 8) * b.integer(0, 1)
    array = b.array(dtype, height * width, aligned=True)
    name = b.name("d")
    b.line(f"{name} = tl.make_tensor_descriptor({array}, [{height}, {width}], [{width}, 1], [{rows}, {columns}])")
    place = f"[pid * {rows}, {b.choice([0, columns])}]"
    value = b.emit(f"{name}.load({place})", dtype, (rows, columns), 4.0)
    if b.flag():
        target = _target(b, dtype, height * width, aligned=True)
        other = b.name("d")
        b.line(f"{other} = tl.make_tensor_descriptor({target}, [{height}, {width}], [{width}, 1], [{rows}, {columns}])")
        b.line(f"{other}.store({place}, {value.name})")
    return value


def rows_by_descriptor(b: Builder) -> Value:
    """Rows at computed places; those outside are zeros."""
    dtype = b.choice(["float32", "int32", "float16", "bfloat16", "uint16"])  # TMA has no wider ones
    count, width = b.choice([8, 16]), b.choice([16, 32])
    height = b.integer(3, 20)
    array = b.array(dtype, height * width, aligned=True)
    name = b.name("d")
    b.line(f"{name} = tl.make_tensor_descriptor({array}, [{height}, {width}], [{width}, 1], [1, {width}])")
    index = b.value(("int32",), (count,))
    places = b.emit(f"{index.name} & 15", "int32", (count,))
    return b.emit(f"{name}.gather({places.name}, 0)", dtype, (count, width), 4.0)


def by_block_pointer(b: Builder) -> Value:
    """Triton before 3.9 has them."""
    if not hasattr(tl, "advance"):
        return by_descriptor(b)
    dtype = b.choice(NUMBERS)
    rows, columns = b.choice([(8, 16), (16, 4), (2, 32)])
    height, width = max(1, rows * b.programs - b.integer(0, 3)), columns + b.integer(-3, 9)
    array = b.array(dtype, height * width)
    name = b.name("d")
    shape = f"({height}, {width}), ({width}, 1), (pid * {rows}, 0), ({rows}, {columns}), (1, 0)"
    b.line(f"{name} = tl.make_block_ptr({array}, {shape})")
    checked = 'boundary_check=(0, 1), padding_option="zero"'
    value = b.emit(f"tl.load({name}, {checked})", dtype, (rows, columns), 4.0)
    if b.flag():
        b.line(f"{name} = tl.advance({name}, (0, {b.choice([1, 3, -2])}))")
        return b.emit(f"tl.load({name}, {checked})", dtype, (rows, columns), 4.0)
    target = _target(b, dtype, height * width)
    b.line(f"{name} = tl.make_block_ptr({target}, {shape})")
    b.line(f"tl.store({name}, {value.name}, boundary_check=(0, 1))")
    return value


def walking_pointers(b: Builder) -> Value:
    """A loop that carries pointers: of a tile, or of one element."""
    dtype = b.choice(INTEGERS)
    shape = b.choice([(), b.shape()])
    size, rounds = math.prod(shape), b.integer(1, 4)
    array = b.array(dtype, b.programs * size * rounds)
    places, total = b.name("a"), b.emit(f"tl.zeros({list(shape)}, tl.{dtype})" if shape else "pid * 0", "int32", ())
    b.values.pop()
    offsets = f"pid * {size * rounds}" + (f" + {b.offsets(shape, per_program=False)}" if shape else "")
    b.line(f"{places} = {array} + {offsets}")
    if not shape:
        b.line(f"{total.name} = {total.name}.to(tl.{dtype})")
    with b.block(f"for {b.name('i')} in {b.choice([f'range({rounds})', f'tl.static_range({rounds})'])}:"):
        b.line(f"{total.name} {b.choice(['+=', '^='])} tl.load({places})")
        b.line(f"{places} += {size}")
    value = Value(total.name, dtype, shape)
    b.values.append(value)
    b.changed.add(value.name)
    return value


OPERATIONS = (
    masked_load,
    walking_pointers,
    by_block_pointer,
    rows_by_descriptor,
    bound_load,
    strange_load,
    scalar_load,
    byte_load,
    arranged_store,
    atomic_in_order,
    atomic_in_any_order,
    atomic_of_scalar,
    compare_and_swap,
    by_descriptor,
)
