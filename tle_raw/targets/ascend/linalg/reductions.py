"""Sums, products, largest and smallest elements along an axis: Linalg's reductions."""

from __future__ import annotations

from tle_raw.flir.cpu.mlir_values import Operation
from tle_raw.targets.ascend.linalg.types import shape_of
from tle_raw.targets.ascend.linalg.values import Scalar, Tile, Value, tensor_type
from tle_raw.targets.ascend.linalg.writer import Writer

_RETURN = "tt.reduce.return"
# What changes nothing, by the combining operation: of floats, and of integers by their width.
_FLOATS = {"addf": "0.0", "mulf": "1.0", "max": "0xFF800000", "min": "0x7F800000"}
_HALVES = {"max": "0xFC00", "min": "0x7C00"}
_BRAINS = {"max": "0xFF80", "min": "0x7F80"}


def reduce(writer: Writer, op: Operation) -> Value:
    """One tensor along one axis; of a vector it is a scalar."""
    inner = [view.operation for view in op.regions[0].blocks[0].operations]
    if len(op.operands) != 1 or len(inner) != 2 or inner[1].name != _RETURN or not _is_known(inner[0].name):
        raise writer.refuse("a reduction is converted where it is a sum, a product, a maximum or a minimum")
    tile, axis = writer.tile(writer.values[op.operands[0]]), int(op.attributes["axis"].value)
    shape = tuple(dim for number, dim in enumerate(tile.shape) if number != axis)
    start = writer.filled(shape, writer.constant(_neutral(inner[0].name, tile.element), tile.element))
    type_, name = tensor_type(shape, tile.element), writer.new()
    head = f"{name} = linalg.reduce ins({tile.name} : {tile.type}) outs({start.name} : {type_}) dimensions = [{axis}]"
    indent = "  " * writer.depth
    writer.lines.append(f"{indent}{head}")
    writer.lines.append(f"{indent}  (%in: {tile.element}, %init: {tile.element}) {{")
    combined = writer.new()
    writer.lines.append(f"{indent}    {combined} = {inner[0].name} %in, %init : {tile.element}")
    writer.lines.append(f"{indent}    linalg.yield {combined} : {tile.element}")
    writer.line("  }")
    if shape:
        return Tile(name, shape, tile.element)
    return Scalar(writer.write(f"tensor.extract {name}[] : {type_}"), tile.element)


def reshape(writer: Writer, op: Operation) -> Value:
    """To a vector, which is what a reduction of a whole tensor asks for."""
    value, shape = writer.values[op.operands[0]], shape_of(op.results[0].type)
    tile = writer.tile(value)
    if tile.shape == shape:
        return tile
    if len(shape) != 1:
        raise writer.refuse("a reshape is converted where its result is a vector")
    groups, type_ = [list(range(len(tile.shape)))], tensor_type(shape, tile.element)
    return Tile(
        writer.write(f"tensor.collapse_shape {tile.name} {groups} : {tile.type} into {type_}"), shape, tile.element
    )


def _is_known(name: str) -> bool:
    return name.startswith("arith.") and _kind(name) in ("addf", "addi", "mulf", "muli", "max", "min")


def _kind(name: str) -> str:
    name = name.removeprefix("arith.")
    return name[:3] if name[:3] in ("max", "min") else name


def _neutral(name: str, element: str) -> int | str:
    kind = _kind(name)
    if element.startswith(("f", "bf")):
        by_type = {"f16": _HALVES, "bf16": _BRAINS}.get(element, _FLOATS)
        return by_type.get(kind, _FLOATS[kind])
    bits = int(element[1:])
    lowest, highest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    if name.endswith("ui"):
        lowest, highest = 0, -1
    return {"addi": 0, "muli": 1, "max": lowest, "min": highest}[kind]
