"""Arithmetic: of scalars and tensors as it is, of what describes places and masks without a tensor where that works."""

from __future__ import annotations

from typing import Any

from tle_raw.flir.cpu.mlir_values import Operation
from tle_raw.targets.ascend.linalg.types import element_of, is_tensor, shape_of
from tle_raw.targets.ascend.linalg.values import Affine, Mask, Pointers, Scalar, Splat, Tile, Value, tensor_type
from tle_raw.targets.ascend.linalg.writer import Writer

_SIGNED_LESS, _UNSIGNED_LESS = 2, 6  # of arith.cmpi's predicates
_KEPT = ("predicate",)


def constant(writer: Writer, op: Operation) -> Value:
    attribute, type_ = op.attributes["value"], op.results[0].type
    if not is_tensor(type_):
        text = str(attribute).split(" : ")[0]
        is_integer = str(type_)[0] == "i"
        number: Any = {"true": 1, "false": 0}.get(text, text)
        return writer.constant(int(number) if is_integer and str(type_) != "i1" else text, str(type_))
    shape, element = shape_of(type_), element_of(type_)
    if not attribute.is_splat:
        raise writer.refuse("a tensor of different constants is not converted")
    text = str(attribute.get_splat_value()).split(" : ")[0]
    if element[0] == "i" and element != "i1":
        return _splat(writer, shape, writer.constant(int(text), element))
    return Splat(shape, writer.constant(text, element))


def _splat(writer: Writer, shape: tuple[int, ...], value: Scalar) -> Affine:
    return Affine(shape, value, tuple(writer.constant(0, value.type) for _ in shape))


def splat(writer: Writer, op: Operation) -> Value:
    value, shape = writer.values[op.operands[0]], shape_of(op.results[0].type)
    if isinstance(value, Scalar):
        is_integer = value.type[0] == "i" and value.type != "i1"
        return _splat(writer, shape, value) if is_integer else Splat(shape, value)
    if isinstance(value, Pointers):
        return Pointers(value.base, value.element, _splat(writer, shape, value.at.offset))
    raise writer.refuse("a tensor of buffers is not converted")


def make_range(writer: Writer, op: Operation) -> Value:
    start = int(op.attributes["start"].value)
    return Affine(shape_of(op.results[0].type), writer.constant(start, "i32"), (writer.constant(1, "i32"),))


def expand_dims(writer: Writer, op: Operation) -> Value:
    value, axis = writer.values[op.operands[0]], int(op.attributes["axis"].value)
    shape = shape_of(op.results[0].type)
    if isinstance(value, Affine):
        strides = list(value.strides)
        strides.insert(axis, writer.constant(0, value.offset.type))
        return Affine(shape, value.offset, tuple(strides))
    if isinstance(value, Splat):
        return Splat(shape, value.value)
    if isinstance(value, Mask):
        return Mask(shape, tuple((at + (at >= axis), size) for at, size in value.sizes))
    tile = writer.tile(value)
    groups = [[other] for other in range(len(shape)) if other != axis]
    if axis < len(groups):
        groups[axis].insert(0, axis)
    else:
        groups[-1].append(axis)
    dims = ", ".join(map(str, shape))
    type_ = tensor_type(shape, tile.element)
    name = writer.write(f"tensor.expand_shape {tile.name} {groups} output_shape [{dims}] : {tile.type} into {type_}")
    return Tile(name, shape, tile.element)


def broadcast(writer: Writer, op: Operation) -> Value:
    value, shape = writer.values[op.operands[0]], shape_of(op.results[0].type)
    if isinstance(value, Affine):
        return Affine(shape, value.offset, value.strides)
    if isinstance(value, Splat):
        return Splat(shape, value.value)
    if isinstance(value, Mask):
        return Mask(shape, value.sizes)
    if isinstance(value, Pointers):
        return Pointers(value.base, value.element, Affine(shape, value.at.offset, value.at.strides))
    tile = writer.tile(value)
    axes = [axis for axis, (a, b) in enumerate(zip(tile.shape, shape)) if a != b]
    if not axes:
        return tile
    kept = tuple(dim for axis, dim in enumerate(tile.shape) if axis not in axes)
    groups: list[list[int]] = []
    waiting: list[int] = []
    for axis in range(len(shape)):
        waiting.append(axis)
        if axis not in axes:
            groups.append(waiting)
            waiting = []
    if groups:
        groups[-1] += waiting
    small = tensor_type(kept, tile.element)
    collapsed = writer.write(f"tensor.collapse_shape {tile.name} {groups} : {tile.type} into {small}")
    type_ = tensor_type(shape, tile.element)
    empty = writer.empty(shape, tile.element)
    name = writer.write(f"linalg.broadcast ins({collapsed} : {small}) outs({empty} : {type_}) dimensions = {axes}")
    return Tile(name, shape, tile.element)


def elementwise(writer: Writer, op: Operation) -> Value:
    """An operation of arith or math."""
    values = [writer.values[operand] for operand in op.operands]
    described = _described(writer, op, values)
    if described is not None:
        return described
    type_ = op.results[0].type
    if not is_tensor(type_):
        operands = [value for value in values if isinstance(value, Scalar)]
        if len(operands) != len(values):
            raise writer.refuse(f"`{op.name}` of pointers is not converted")
        return Scalar(_generic(writer, op, operands, str(type_)), str(type_))
    tiles = [value if isinstance(value, Scalar) else writer.tile(value) for value in values]
    shape, element = shape_of(type_), element_of(type_)
    return Tile(_generic(writer, op, tiles, tensor_type(shape, element)), shape, element)


def _generic(writer: Writer, op: Operation, operands: list[Any], result: str) -> str:
    kept = [f"{name} = {op.attributes[name]}" for name in _KEPT if name in op.attributes]
    attributes = f" <{{{', '.join(kept)}}}>" if kept else ""
    types = ", ".join(operand.type for operand in operands)
    listed = ", ".join(operand.name for operand in operands)
    return writer.write(f'"{op.name}"({listed}){attributes} : ({types}) -> {result}')


def _described(writer: Writer, op: Operation, values: list[Value]) -> Value | None:
    """What needs no tensor: places, and masks that say how many elements are meant."""
    if all(isinstance(value, Scalar) for value in values):
        name = op.name.removeprefix("arith.")
        if name in ("addi", "subi", "muli", "maxsi", "minsi"):
            return writer.binary(name, *values)  # type: ignore[arg-type]
        return None
    a, b = values[0], values[-1]
    if op.name == "arith.andi" and isinstance(a, Mask) and isinstance(b, Mask):
        sizes = dict(a.sizes)
        for axis, size in b.sizes:
            sizes[axis] = writer.binary("minsi", sizes[axis], size) if axis in sizes else size
        return Mask(a.shape, tuple(sizes.items()))
    if not isinstance(a, Affine) or not isinstance(b, Affine):
        return None
    if op.name in ("arith.extsi", "arith.trunci"):
        type_ = element_of(op.results[0].type)
        return Affine(a.shape, writer.cast(a.offset, type_), tuple(writer.cast(s, type_) for s in a.strides))
    if op.name in ("arith.addi", "arith.subi"):
        name = op.name.removeprefix("arith.")
        strides = tuple(writer.binary(name, *pair) for pair in zip(a.strides, b.strides))
        return Affine(a.shape, writer.binary(name, a.offset, b.offset), strides)
    if op.name == "arith.muli" and (a.is_splat or b.is_splat):
        scaled, by = (b, a.offset) if a.is_splat else (a, b.offset)
        strides = tuple(writer.binary("muli", stride, by) for stride in scaled.strides)
        return Affine(a.shape, writer.binary("muli", scaled.offset, by), strides)
    if op.name == "arith.cmpi" and b.is_splat:
        return _mask(writer, op, a, b)
    return None


def _mask(writer: Writer, op: Operation, a: Affine, b: Affine) -> Mask | None:
    moving = [axis for axis, stride in enumerate(a.strides) if stride.number != 0]
    predicate = int(op.attributes["predicate"].value)
    if len(moving) != 1 or a.strides[moving[0]].number != 1 or predicate not in (_SIGNED_LESS, _UNSIGNED_LESS):
        return None
    size = writer.binary("subi", writer.index(b.offset), writer.index(a.offset))
    return Mask(a.shape, ((moving[0], writer.clamped(size, a.shape[moving[0]])),))
