"""TLE-Lite: tiles of block tensors, exclusive sums, asynchronous loads, loops in stages; layouts in registers."""

from __future__ import annotations

import math

from tests.fuzz.operations_reductions import sum_error
from tests.fuzz.tle.building import TleBuilder, places, row_strides
from tests.fuzz.values import FLOATS, INTEGERS, NUMBERS, Value


def _tile(b: TleBuilder, shape: tuple[int, ...]) -> tuple[tuple[int, ...], str, list[str]]:
    """A tile's shape, the argument that says which, and the places of its first element along each axis."""
    tile = tuple(b.choice([d for d in (1, 2, 4, 8, 16, 32) if d <= extent]) for extent in shape)
    grid = [extent // d for extent, d in zip(shape, tile, strict=True)]
    if b.integer(0, 3) == 0:  # one number, row by row
        number = b.choice([str(b.integer(0, math.prod(grid) - 1)), f"(n + pid) % {math.prod(grid)}"])
        which = [f"({number}) // {math.prod(grid[axis + 1 :])} % {count}" for axis, count in enumerate(grid)]
        return tile, number, which
    which = [b.choice([str(b.integer(0, count - 1)), f"n % {count}", f"(pid + 1) % {count}"]) for count in grid]
    return tile, f"[{', '.join(which)}]", which


def _first(tile: tuple[int, ...], which: list[str], strides: tuple[int, ...]) -> str:
    return " + ".join(f"({w}) * {d * s}" for w, d, s in zip(which, tile, strides, strict=True))


def extract_tile(b: TleBuilder) -> Value:
    x = b.value(NUMBERS, exact=True)
    tile, index, which = _tile(b, x.shape)
    strides, memory = row_strides(x.shape), b.name("m")
    b.either("pass", f"{memory} = {b.scratch(x.dtype, x.size)}")
    b.either("pass", f"tl.store({memory} + {places(x.shape, strides)}, {x.name})")
    form = b.choice(
        [
            f"{x.name}.extract_tile(index={index}, shape={list(tile)})",
            f"tle.extract_tile({x.name}, {index}, {list(tile)})",
        ]
    )
    plain = f"tl.load({memory} + {_first(tile, which, strides)} + {places(tile, strides)})"
    return b.emit_either(form, plain, x.dtype, tile, x.largest)


def insert_tile(b: TleBuilder) -> Value:
    x = b.value(NUMBERS, exact=True)
    tile, index, which = _tile(b, x.shape)
    y = b.value((x.dtype,), tile, exact=True)
    strides, memory = row_strides(x.shape), b.name("m")
    b.either("pass", f"{memory} = {b.scratch(x.dtype, x.size)}")
    b.either("pass", f"tl.store({memory} + {places(x.shape, strides)}, {x.name})")
    b.either("pass", f"tl.store({memory} + {_first(tile, which, strides)} + {places(tile, strides)}, {y.name})")
    form = b.choice([f"{x.name}.insert_tile({y.name}, index={index})", f"tle.insert_tile({x.name}, {y.name}, {index})"])
    plain = f"tl.load({memory} + {places(x.shape, strides)})"
    return b.emit_either(form, plain, x.dtype, x.shape, max(x.largest, y.largest))


WIDENED = {"int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32", "bfloat16": "float32"}


def cumsum(b: TleBuilder) -> Value:
    x = b.value(INTEGERS if b.exact_only or b.flag() else FLOATS)
    if x.is_float:
        x = b.bounded(x, 4.0)
    axis = b.integer(0, len(x.shape) - 1)
    dtype = WIDENED.get(x.dtype, x.dtype)
    given = b.choice(["", "", "float64" if x.is_float else "int64"])
    dtype = given or dtype
    reverse = ", reverse=True" * b.flag()
    before, total, wide = b.name(), b.name(), b.name("y")
    left = tuple(d for i, d in enumerate(x.shape) if i != axis)
    b.either(
        f"{before}, {total} = tle.cumsum({x.name}, {axis}{reverse}{f', dtype=tl.{given}' if given else ''})",
        f"{wide} = {x.name}.to(tl.{dtype})\n"
        f"{before} = (tl.cumsum({wide}, {axis}{reverse}) - {wide}).to(tl.{dtype})\n"
        f"{total} = tl.sum({wide}, {axis}).to(tl.{dtype})",
    )
    count, largest, error = x.shape[axis], math.inf, 0.0
    if x.is_float:
        bound = Value(x.name, dtype, x.shape, x.largest, x.error)
        largest, error = count * x.largest, 2 * sum_error(bound, count)
    b.values += [Value(before, dtype, x.shape, largest, error), Value(total, dtype, left, largest, error)]
    return b.values[-1]


def loads_in_a_loop(b: TleBuilder) -> Value:
    dtype, shape = b.choice(NUMBERS), b.shape((1, 2))
    size, rounds, most = math.prod(shape), b.choice(["4", "n % 7", "1", "0"]), 7
    array, step = b.array(dtype, b.programs * size * most), b.name("i")
    total = b.emit(f"tl.zeros({list(shape)}, tl.{dtype})", dtype, shape)
    b.values.pop()
    mask = f", mask={b.mask(shape)}, other={b.choice(['0', '1'])}" if b.flag() else ""
    at = f"{array} + (pid * {most} + {step}) * {size} + {b.offsets(shape, per_program=False)}"
    loop = b.choice([f"tl.range({rounds}, num_stages={b.integer(1, 4)})", f"range({rounds})"])
    with b.exactly(), b.block(f"for {step} in {loop}:"):
        read = b.emit_either(f"tle.load({at}{mask}, is_async=True)", f"tl.load({at}{mask})", dtype, shape)
        b.line(f"{total.name} {b.choice(['+=', '-='])} {read.name}")
    b.values.append(total)
    b.changed.add(total.name)
    return total


def load(b: TleBuilder) -> Value:
    dtype, shape = b.choice(NUMBERS), b.shape()
    at = f"{b.array(dtype, b.programs * math.prod(shape))} + {b.offsets(shape)}"
    mask = f", mask={b.mask(shape)}, other=0" if b.flag() else ""
    return b.emit_either(f"tle.load({at}{mask}, is_async=True)", f"tl.load({at}{mask})", dtype, shape, 4.0)


def in_stages(b: TleBuilder) -> Value:
    """A gather whose indices are loaded ahead of its values, and those ahead of their use."""
    dtype, size = b.choice(NUMBERS), b.choice([16, 64, 256])
    stages = [0, *sorted(b.integer(0, 3) for _ in range(2))]
    rounds, step = b.choice(["5", "n % 8", "1"]), b.name("i")
    indices, numbers = b.array("int32", 8 * size), b.array(dtype, 1024)
    total = b.emit(f"tl.zeros([{size}], tl.{dtype})", dtype, (size,))
    b.values.pop()
    orders = ", pipe_orders=[0, 1, 2]" * b.flag()
    arguments = b.choice([f", pipe_stages={stages}{orders}", f", pipe_stages={b.integer(1, 4)}", ", num_stages=3"])
    if b.waits_for_wgmma and "[" in arguments:
        arguments = ", num_stages=2"
    b.has_stages = b.has_stages or "[" in arguments
    with (
        b.exactly(),
        b.either_block(f"for {step} in tle.range({rounds}{arguments}):", f"for {step} in range({rounds}):"),
    ):
        with b.either_block("with tle.pipeline_group(0):", "if True:"):
            at = f"{indices} + {step} * {size} + tl.arange(0, {size})"
            b.line(f"{step}x = tl.load({at}) & 1023")
        with b.either_block("with tle.pipeline_group(1):", "if True:"):
            b.line(f"{step}y = tl.load({numbers} + {step}x)")
        with b.either_block("with tle.pipeline_group(2):", "if True:"):
            b.line(f"{total.name} {b.choice(['+=', '-='])} {step}y")
            if dtype in INTEGERS:
                b.line(f"{total.name} = {total.name} ^ {step}x.to(tl.{dtype})")
    b.values.append(total)
    b.changed.add(total.name)
    return total


def with_layout(b: TleBuilder) -> Value:
    x = b.value(NUMBERS, ranks=(1, 2))
    if len(x.shape) == 1:
        text = b.choice(["tle.gpu.BlockEncoding([1], [32], [4], [0])", "tle.gpu.BlockEncoding([4], [32], [4], [0])"])
    else:
        text = b.choice(
            [
                "tle.gpu.BlockEncoding([1, 2], [4, 8], [2, 2], [1, 0])",
                "tle.gpu.BlockEncoding([2, 1], [32, 1], [1, 4], [0, 1])",
            ]
        )
    result = b.like(x, "0")
    b.lines[-1] = "    " * b.depth + f"{result.name} = tle.gpu.set_layout({x.name}, {b.constant(text)})"
    b.plain_lines[-1] = "    " * b.depth + f"{result.name} = {x.name}"
    return result


def by_shared_memory(b: TleBuilder) -> Value:
    x = b.value(NUMBERS, ranks=(1, 2))
    result = b.like(x, "0")
    form = f'{result.name} = tle.gpu.memory_space({x.name}, "shared_memory")'
    b.lines[-1], b.plain_lines[-1] = "    " * b.depth + form, "    " * b.depth + f"{result.name} = {x.name}"
    return result


OPERATIONS = (extract_tile, insert_tile, cumsum, loads_in_a_loop, load, in_stages, with_layout, by_shared_memory)
INSIDE = (extract_tile, insert_tile, cumsum, load, with_layout)
