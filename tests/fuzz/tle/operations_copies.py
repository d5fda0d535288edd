"""Copies between global memory and shared buffers: by pointers and descriptors, waited for in every way."""

from __future__ import annotations

import math

from tests.fuzz.tle.building import TILES, TleBuilder, View, places, row_strides
from tests.fuzz.values import NUMBERS, Value, bits

BY_DESCRIPTOR = ("float32", "float16", "bfloat16", "int32", "uint32", "int16", "int8", "uint8")


def from_pointers(b: TleBuilder) -> Value:
    view = b.view(where=lambda view: not view.slots)
    _copy(b, view)
    return b.load_tile(view)


def _copy(b: TleBuilder, view: View, is_async: bool = False) -> None:
    array = b.array(view.dtype, b.programs * math.prod(view.shape))
    source = f"{array} + {b.offsets(view.shape)}"
    mask = b.mask(view.shape) if b.flag() else ""
    how = (f", mask={mask}" if mask else "") + (", is_async=True" if is_async else "")
    b.either(
        f"tle.gpu.copy({source}, {view.name}, {list(view.shape)}{how})",
        f"tl.store({view.name} + {places(view.shape, view.strides)}, "
        f"tl.load({source}{f', mask={mask}, other=0' if mask else ''}))",
    )


def to_pointers(b: TleBuilder) -> View:
    view = b.view(where=lambda view: not view.slots)
    array = b.target(view.dtype, b.programs * math.prod(view.shape))
    place = f"{array} + {b.offsets(view.shape)}"
    mask = f", mask={b.mask(view.shape)}" if b.flag() else ""
    b.either(
        f"tle.gpu.copy({view.name}, {place}, {list(view.shape)}{mask})",
        f"tl.store({place}, tl.load({view.name} + {places(view.shape, view.strides)}){mask})",
    )
    return view


def in_groups(b: TleBuilder) -> Value:
    """Several copies on their way at once; each is waited for just before its buffer is read."""
    count = b.integer(1, 3)
    dtype, shape = b.choice(NUMBERS), b.choice(TILES)
    views = [b.buffer(dtype, shape) for _ in range(count)]
    del b.views[-count:]  # nobody reads them yet
    for view in views:
        _copy(b, view, is_async=True)
        b.either("tle.gpu.async_commit_group()", "pass")
    values = []
    for number, view in enumerate(views):
        b.either(f"tle.gpu.async_wait_group({count - 1 - number})", "pass")
        values.append(b.load_tile(view))
    b.views += views
    return values[-1]


def ring(b: TleBuilder) -> Value:
    """A loop that reads tile i while the copies of the next ones are under way."""
    slots, dtype, tile = b.integer(2, 4), b.choice(NUMBERS), b.choice([(1, 64), (8, 16), (16, 32), (4, 4)])
    rounds = b.choice(["3", "n % 5", "6", "1"])
    size = math.prod(tile)
    array = b.array(dtype, b.programs * size * 6)
    view = b.buffer(dtype, (slots, *tile), slots=True, layout=b.choice(["default", "rows"]))
    b.views.pop()
    step, later, total = b.name("i"), b.name("j"), b.emit(f"tl.zeros({list(tile)}, tl.{dtype})", dtype, tile)
    b.values.pop()

    def bring(number: str) -> None:
        source = f"{array} + (pid * 6 + {number}) * {size} + {places(tile, row_strides(tile))}"
        inside = f"mask=({places(tile, row_strides(tile))}) < ({rounds} - {number}) * {size}"
        slot = f"{view.name} + {number} % {slots} * {size} + {places(tile, row_strides(tile))}"
        b.either(
            f"tle.gpu.copy({source}, {view.name}[{number} % {slots}], {list(tile)}, {inside}, is_async=True)",
            f"tl.store({slot}, tl.load({source}, {inside}, other=0))",
        )
        b.either("tle.gpu.async_commit_group()", "pass")

    with b.block(f"for {later} in tl.static_range({slots - 1}):"):
        bring(later)
    with b.exactly(), b.block(f"for {step} in range({rounds}):"):
        b.either(f"tle.gpu.async_wait_group({slots - 2})", "pass")
        slot = b.part(view, tile, row_strides(tile))
        b.slot_line(view, slot, f"{step} % {slots}")
        read = b.load_tile(slot)
        b.line(f"{total.name} {b.choice(['+=', '-='])} {read.name}")
        b.line(f"{step}x = {step} + {slots - 1}")
        bring(f"{step}x")
    return _result(b, total)


def _result(b: TleBuilder, total: Value) -> Value:
    b.values.append(total)
    b.changed.add(total.name)
    return total


def _descriptor(b: TleBuilder, array: str, rows: int, columns: int, tile: tuple[int, int]) -> str:
    name = b.name("d")
    b.line(f"{name} = tl.make_tensor_descriptor({array}, [{rows}, {columns}], [{columns}, 1], {list(tile)})")
    return name


def _tile(b: TleBuilder) -> tuple[str, tuple[int, int]]:
    """A dtype, and a tile whose rows have 32 bytes at least: the layout that the copy engine writes."""
    dtype = b.choice(BY_DESCRIPTOR)
    tiles = [tile for tile in ((8, 16), (16, 32), (32, 32), (8, 64)) if tile[1] * bits(dtype) >= 256]
    return dtype, b.choice(tiles)


def by_descriptor(b: TleBuilder) -> Value:
    """A tile that may reach over the edge of its matrix, with a barrier or without, and perhaps out again."""
    dtype, tile = _tile(b)
    rows = tile[0] * b.programs - b.integer(0, 3)
    columns = 2 * tile[1] - 128 // bits(dtype) * b.integer(0, 1)
    columns += -columns % (128 // bits(dtype))
    source = _descriptor(b, b.array(dtype, rows * columns, aligned=True), rows, columns, tile)
    view = b.buffer(dtype, tile, layout="default")
    place = f"[pid * {tile[0]}, {b.choice([0, tile[1]])}]"
    into = f"tl.store({view.name} + {places(tile, view.strides)}, {source}.load({place}))"
    copy = f"tle.gpu.copy({source}, {view.name}, {list(tile)}, offsets={place}"
    if b.flag():
        bar = b.name("bar")
        b.either(f"{bar} = tle.gpu.alloc_barrier(expect_bytes={math.prod(tile) * bits(dtype) // 8})", "pass")
        b.either(f"{copy}, barrier={bar})", into)
        b.either(f"tle.gpu.barrier_wait({bar}, 0)", "pass")
    else:
        b.either(f"{copy})", into)
    value = b.load_tile(view)
    if b.flag():
        target = _descriptor(b, b.target(dtype, rows * columns, aligned=True), rows, columns, tile)
        b.either(
            f"tle.gpu.copy({view.name}, {target}, {list(tile)}, offsets={place})",
            f"{target}.store({place}, tl.load({view.name} + {places(tile, view.strides)}))",
        )
    return value


REDUCTIONS = {
    "add": ("int32", "uint32", "float32"),
    "min": ("int32", "uint32"),
    "max": ("int32", "uint32"),
    "and": ("int32", "uint32"),
    "or": ("int32", "uint32"),
    "xor": ("int32", "uint32"),
}


def reduced(b: TleBuilder) -> View:
    """Each element is combined with what global memory holds."""
    name = b.choice(list(REDUCTIONS))
    tile = b.choice([(8, 16), (16, 32)])
    view = b.filled(REDUCTIONS[name], tile)
    rows, columns = tile[0] * b.programs - b.integer(0, 3), tile[1]
    array = b.target(view.dtype, rows * columns, aligned=True)
    target = _descriptor(b, array, rows, columns, tile)
    offsets = f"pid * {math.prod(tile)} + {places(tile, row_strides(tile))}"
    content = f"tl.load({view.name} + {places(tile, view.strides)})"
    b.either(
        f'tle.gpu.copy({view.name}, {target}, {list(tile)}, offsets=[pid * {tile[0]}, 0], reduce="{name}")',
        f"tl.atomic_{name}({array} + {offsets}, {content}, mask=({offsets}) < {rows * columns})",
    )
    return view


def ring_of_barriers(b: TleBuilder) -> Value:
    """As ``ring``, by the copy engine and with a barrier for each slot."""
    (dtype, tile), slots = _tile(b), b.integer(2, 3)
    rounds, ahead = b.choice(["4", "n % 6"]), slots - 1
    source = _descriptor(b, b.array(dtype, 6 * math.prod(tile), aligned=True), 6 * tile[0], tile[1], tile)
    view = b.buffer(dtype, (slots, *tile), slots=True, layout="default")
    b.views.pop()
    full, step, later = b.name("full"), b.name("i"), b.name("j")
    size = math.prod(tile)
    b.either(f"{full} = tle.gpu.alloc_barriers({slots}, expect_bytes={size * bits(dtype) // 8})", "pass")
    total = b.emit(f"tl.zeros({list(tile)}, tl.{dtype})", dtype, tile)
    b.values.pop()

    def bring(number: str) -> None:
        copy = f"tle.gpu.copy({source}, {view.name}[{number} % {slots}], {list(tile)}"
        slot = f"{view.name} + {number} % {slots} * {size} + {places(tile, row_strides(tile))}"
        b.either(
            f"{copy}, offsets=[{number} * {tile[0]}, 0], barrier={full}[{number} % {slots}])",
            f"tl.store({slot}, {source}.load([{number} * {tile[0]}, 0]))",
        )

    with b.block(f"for {later} in tl.static_range({ahead}):"), b.block(f"if {later} < {rounds}:"):
        bring(later)
    with b.exactly(), b.block(f"for {step} in range({rounds}):"):
        b.either(f"tle.gpu.barrier_wait({full}[{step} % {slots}], {step} // {slots})", "pass")
        slot = b.part(view, tile, row_strides(tile))
        b.slot_line(view, slot, f"{step} % {slots}")
        read = b.load_tile(slot)
        b.line(f"{total.name} {b.choice(['+=', '-='])} {read.name}")
        b.line(f"{step}x = {step} + {ahead}")
        with b.block(f"if {step}x < {rounds}:"):
            bring(f"{step}x")
    return _result(b, total)


def handed_over(b: TleBuilder) -> Value:
    """A buffer that is full or empty, as barriers say."""
    view = b.buffer(b.choice(NUMBERS), b.choice([(64,), (8, 16)]))
    b.views.pop()
    full, empty, step = b.name("full"), b.name("empty"), b.name("i")
    b.either(f"{full}, {empty} = tle.gpu.alloc_barrier(), tle.gpu.alloc_barrier(init=tle.gpu.READY)", "pass")
    total = b.emit(f"tl.zeros({list(view.shape)}, tl.{view.dtype})", view.dtype, view.shape)
    b.values.pop()
    with b.exactly(), b.block(f"for {step} in range({b.choice(['3', 'n % 5'])}):"):
        b.either(f"tle.gpu.barrier_wait({empty}, {step})", "pass")
        b.store_tile(view)
        b.either(f"tle.gpu.barrier_arrive({full}, 1, {step})", "pass")
        b.either(f"tle.gpu.barrier_wait({full}, {step})", "pass")
        read = b.load_tile(view)
        b.line(f"{total.name} += {read.name}")
        b.either(f"tle.gpu.barrier_arrive({empty}, 1, {step})", "pass")
    return _result(b, total)


OPERATIONS = (from_pointers, to_pointers, in_groups, ring, by_descriptor, reduced, ring_of_barriers, handed_over)
INSIDE = (from_pointers,)
