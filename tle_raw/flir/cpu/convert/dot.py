"""Products of tiles: operands into buffers, then ``linalg.matmul`` into the accumulator."""

from __future__ import annotations

from typing import Any

from tle_raw.errors import LoweringError
from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.convert import build, casts, types
from tle_raw.flir.cpu.convert.control import buffers_read, is_last_use
from tle_raw.flir.cpu.convert.kernel import Kernel, converts
from tle_raw.flir.cpu.convert.tiles import (
    BufferTile,
    Computed,
    Elementwise,
    Index,
    ScalarBody,
    TileValue,
    divide,
    remainder,
)
from tle_raw.flir.cpu.mlir_values import Operation, Type, Value


@converts("tt.dot")
def dot(kernel: Kernel, op: Operation) -> None:
    a, b, accumulator = list(op.operands)[:3]
    result = op.results[0]
    accumulates = accumulation_type(types.element_of(result.type))
    into = _accumulator(kernel, op, accumulator, result, accumulates)
    left, right = (operand(kernel, kernel.tile(v), accumulates) for v in (a, b))
    matmul(left, right, into)
    kernel.set(result, converted(into, types.element_of(result.type)))


def accumulation_type(element: Type) -> Any:
    """What the products are summed in: f32 for all smaller floats."""
    return element if str(element) in ("f32", "f64", "i32") else build.type_of("f32")


def operand(kernel: Kernel, tile: TileValue, element: Type) -> BufferTile:
    """An operand in a buffer of the accumulator's type; widening is exact. Bytes stay: CPUs multiply those."""
    return kernel.stored(tile if str(tile.element) == "i8" else converted(tile, element))


def converted(tile: TileValue, element: Type) -> TileValue:
    if tile.element == element:
        return tile
    source = tile.element
    if str(element).startswith("i"):
        return Elementwise(tile.shape, element, [tile], lambda x: build.cast_integer(x, element))
    return Elementwise(tile.shape, element, [tile], lambda x: casts.float_to_float(x, source, element))


def _accumulator(kernel: Kernel, op: Operation, value: Value, result: Value, element: Type) -> BufferTile:
    """A buffer that holds the accumulator's start and may be overwritten."""
    tile = kernel.tile(value)
    if isinstance(tile, BufferTile) and tile.element == element and is_last_use(kernel, value, op):
        return tile
    into = _carried_buffer(kernel, op, result, element) or kernel.allocate(tile.shape, element)
    kernel.fill(into, converted(tile, element))
    return into


def _carried_buffer(kernel: Kernel, op: Operation, result: Value, element: Type) -> BufferTile | None:
    """The buffer of the enclosing loop that the result goes into anyway, when only this product reads it."""
    carried = kernel.carried.get(op.block)
    uses = [(use.owner.operation, use.operand_number) for use in result.uses]
    if carried is None or len(uses) != 1 or uses[0][0].name != "scf.yield":
        return None
    position = uses[0][1]
    buffer, argument = carried.buffers[position], carried.arguments[position]
    if buffer is None or buffer.element != element or kernel.plan.sinks.get(argument) != {op}:
        return None
    # Only the accumulator may read it, and each element only where it goes.
    operands = [kernel.tile(v) for v in list(op.operands)[:2]]
    if any(buffer in buffers_read(tile) for tile in operands):
        return None
    return buffer if buffers_read(kernel.tile(op.operands[2])).get(buffer, True) else None


def matmul(left: BufferTile, right: BufferTile, into: BufferTile) -> None:
    """``into += left @ right``, with a leading batch dimension or without."""
    batched = len(into.shape) == 3
    name = "linalg.batch_matmul" if batched else "linalg.matmul"
    maps = (
        ["(b, m, n, k) -> (b, m, k)", "(b, m, n, k) -> (b, k, n)", "(b, m, n, k) -> (b, m, n)"]
        if batched
        else ["(m, n, k) -> (m, k)", "(m, n, k) -> (k, n)", "(m, n, k) -> (m, n)"]
    )
    ir = mlir()
    attributes = {
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([2, 1]),
        "indexing_maps": ir.ArrayAttr.get([build.attribute(f"affine_map<{m}>") for m in maps]),
    }
    operation = build.create(name, [left.memref, right.memref, into.memref], (), attributes, regions=1)
    a, b, c = left.element, right.element, into.element
    floats = build.is_float(c)
    with build.block(operation.regions[0], [a, b, c]) as block:
        x, y, z = block.arguments
        if not floats:
            x, y = (build.cast_integer(v, z.type) for v in (x, y))
        product = build.binary("mulf" if floats else "muli", x, y)
        build.create("linalg.yield", [build.binary("addf" if floats else "addi", z, product)])


# Triton's ScaleDotElemType: E4M3, E5M2, E2M3, E3M2, E2M1, BF16, FP16.
_FP8 = {0: "f8E4M3FN", 1: "f8E5M2"}
_E2M1 = 4


@converts("tt.dot_scaled")
def dot_scaled(kernel: Kernel, op: Operation) -> None:
    """A product of tiles with one power of two for each group along K (OCP Microscaling Formats 1.0)."""
    a, b, accumulator, a_scale, b_scale = build.segments(op, 5)
    result = op.results[0]
    float32 = build.type_of("f32")
    into = _accumulator(kernel, op, accumulator, result, float32)
    left = _scaled(kernel, op, a, a_scale, "a_elem_type", "lhs_k_pack", -1)
    right = _scaled(kernel, op, b, b_scale, "b_elem_type", "rhs_k_pack", -2)
    matmul(kernel.stored(left), kernel.stored(right), into)
    kernel.set(result, converted(into, types.element_of(result.type)))


def _scaled(
    kernel: Kernel, op: Operation, value: Value, scale: Any, kind_name: str, pack_name: str, k_axis: int
) -> TileValue:
    """An operand as f32 with its scales multiplied in; ``k_axis`` counts from the end."""
    kind = op.attributes[kind_name].value
    tile = kernel.tile(value)
    float32 = build.type_of("f32")
    if kind == _E2M1:
        packed_along_k = pack_name not in op.attributes or op.attributes[pack_name].value
        tile = _unpacked(kernel.stored(tile), k_axis if packed_along_k else -3 - k_axis)
    elif kind in _FP8:
        small = build.type_of(_FP8[kind])
        tile = Elementwise(tile.shape, float32, [tile], lambda x: casts.float_to_float(x, small, float32))
    elif kind in (5, 6):
        tile = converted(tile, float32)
    else:
        raise LoweringError("6-bit floats cannot be operands of a product on CPUs: Triton's language has none")
    if scale is None:
        return tile
    scales = kernel.tile(scale)
    group = tile.shape[k_axis] // scales.shape[-1]

    def compute(body: ScalarBody, index: Index) -> Any:
        # Scales lie with K last for both operands.
        k = index[k_axis]
        other = index[-3 - k_axis]
        at = (*index[:-2], other, divide(k, group))
        factor = _power_of_two(body.element(scales, at))
        return build.binary("mulf", body.element(tile, index), factor)

    return Computed(tile.shape, float32, [tile, scales], compute)


def _unpacked(packed: TileValue, axis: int) -> TileValue:
    """Two 4-bit floats a byte along an axis, the low half first, as f32."""
    shape = list(packed.shape)
    shape[axis] *= 2

    def compute(body: ScalarBody, index: Index) -> Any:
        at = list(index)
        at[axis] = divide(index[axis], 2)
        byte = body.element(packed, tuple(at))
        half = remainder(index[axis], 2)
        shift = build.constant(4 * half, "i8") if isinstance(half, int) else build.cast_integer(half, "i8")
        if not isinstance(half, int):
            shift = build.binary("muli", shift, build.constant(4, "i8"))
        return _from_e2m1(build.binary("andi", build.binary("shrui", byte, shift), build.constant(15, "i8")))

    return Computed(shape, build.type_of("f32"), [packed], compute)


def _from_e2m1(nibble: Any) -> Any:
    """Sign, two bits of exponent (bias 1), one of mantissa: 0, 0.5, 1, 1.5, 2, 3, 4, 6."""
    bits = build.value("arith.extui", [nibble], "i32")
    sign = build.binary("shli", build.binary("andi", bits, build.constant(8, "i32")), build.constant(28, "i32"))
    size = build.binary("shli", build.binary("andi", bits, build.constant(7, "i32")), build.constant(22, "i32"))
    # The bits in an f32's place are the number times 2^-126; subnormals come out right too.
    moved = build.value("arith.bitcast", [size], "f32")
    number = build.binary("mulf", moved, build.constant(2.0**126, "f32"))
    signed = build.binary("ori", build.value("arith.bitcast", [number], "i32"), sign)
    return build.value("arith.bitcast", [signed], "f32")


def _power_of_two(scale: Any) -> Any:
    """E8M0: 2^(byte - 127), and NaN for 255."""
    bits = build.value("arith.extui", [scale], "i32")
    moved = build.binary("shli", bits, build.constant(23, "i32"))
    smallest = build.compare("eq", bits, build.constant(0, "i32"))
    moved = build.select(smallest, build.constant(1 << 22, "i32"), moved)
    moved = build.select(
        build.compare("eq", bits, build.constant(255, "i32")), build.constant(0x7FC00000, "i32"), moved
    )
    return build.value("arith.bitcast", [moved], "f32")
