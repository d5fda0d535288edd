"""Products of tiles: operands into buffers, then ``linalg.matmul`` into the accumulator."""

from __future__ import annotations

from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.convert import build, casts, types
from tle_raw.flir.cpu.convert.control import buffers_read, is_last_use
from tle_raw.flir.cpu.convert.kernel import Kernel, converts
from tle_raw.flir.cpu.convert.tiles import Buffer, Elementwise, Tile


@converts("tt.dot")
def dot(kernel: Kernel, op: Any) -> None:
    a, b, accumulator = list(op.operands)[:3]
    result = op.results[0]
    accumulates = _accumulation_type(types.element_of(result.type))
    into = _accumulator(kernel, op, accumulator, result, accumulates)
    left, right = (_operand(kernel, kernel.tile(v), accumulates) for v in (a, b))
    matmul(left, right, into)
    kernel.set(result, _converted(into, types.element_of(result.type)))


def _accumulation_type(element: Any) -> Any:
    """What the products are summed in: f32 for all smaller floats."""
    return element if str(element) in ("f32", "f64", "i32") else build.type_of("f32")


def _operand(kernel: Kernel, tile: Tile, element: Any) -> Buffer:
    """An operand in a buffer of the accumulator's type; the widening is exact."""
    return kernel.stored(_converted(tile, element))


def _converted(tile: Tile, element: Any) -> Tile:
    if tile.element == element:
        return tile
    source = tile.element
    if str(element).startswith("i"):
        return Elementwise(tile.shape, element, [tile], lambda x: build.cast_integer(x, element))
    return Elementwise(tile.shape, element, [tile], lambda x: casts.float_to_float(x, source, element))


def _accumulator(kernel: Kernel, op: Any, value: Any, result: Any, element: Any) -> Buffer:
    """A buffer that holds the accumulator's start and may be overwritten."""
    tile = kernel.tile(value)
    if isinstance(tile, Buffer) and tile.element == element and is_last_use(kernel, value, op):
        return tile
    into = _carried_buffer(kernel, op, result, element) or kernel.allocate(tile.shape, element)
    kernel.fill(into, _converted(tile, element))
    return into


def _carried_buffer(kernel: Kernel, op: Any, result: Any, element: Any) -> Buffer | None:
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


def matmul(left: Buffer, right: Buffer, into: Buffer) -> None:
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
        product = build.binary("mulf" if floats else "muli", x, y)
        build.create("linalg.yield", [build.binary("addf" if floats else "addi", z, product)])
