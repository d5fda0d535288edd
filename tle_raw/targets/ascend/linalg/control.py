"""Loops and branches: they carry numbers, tensors, buffers, and of pointers how far they have moved."""

from __future__ import annotations

from collections.abc import Callable

from tle_raw.flir.cpu.mlir_values import Block, Operation
from tle_raw.targets.ascend.linalg.values import Affine, Buffer, Pointers, Register, Scalar, Splat, Tile, Value
from tle_raw.targets.ascend.linalg.writer import Writer

Convert = Callable[[Block], None]


def convert_for(writer: Writer, op: Operation, convert: Convert) -> None:
    lower, upper, step, *initial = (writer.values[operand] for operand in op.operands)
    bounds = [bound for bound in (lower, upper, step) if isinstance(bound, Scalar)]
    block = op.regions[0].blocks[0]
    starts = [_start(writer, value) for value in initial]
    carried = [_carried(writer, value) for value in starts]
    counter, inner = writer.new(), [writer.new() for _ in carried]
    results = [writer.new() for _ in carried]
    head = f"scf.for {counter} = {bounds[0].name} to {bounds[1].name} step {bounds[2].name}"
    if carried:
        taken = ", ".join(f"{name} = {value.name}" for name, value in zip(inner, carried))
        head += f" iter_args({taken}) -> ({', '.join(value.type for value in carried)})"
        head = f"{results[0]}{f':{len(results)}' if len(results) > 1 else ''} = {head}"
    type_ = bounds[0].type
    writer.lines.append(f"{'  ' * writer.depth}{head}{f' : {type_}' if type_ != 'index' else ''} {{")
    writer.depth += 1
    writer.values[block.arguments[0]] = Scalar(counter, type_)
    for argument, start, name in zip(block.arguments[1:], starts, inner):
        writer.values[argument] = _as(start, name)
    convert(block)
    yielded = [writer.values[operand] for operand in block.operations[-1].operation.operands]
    ends = [_end(writer, start, value) for start, value in zip(starts, yielded)]
    if ends:
        writer.line(f"scf.yield {', '.join(v.name for v in ends)} : {', '.join(v.type for v in ends)}")
    writer.depth -= 1
    writer.op = op
    writer.line("}")
    for number, (result, start) in enumerate(zip(op.results, starts)):
        name = f"{results[0]}#{number}" if len(results) > 1 else results[0]
        writer.values[result] = _as(start, name)


def convert_if(writer: Writer, op: Operation, convert: Convert) -> None:
    condition = writer.values[op.operands[0]]
    assert isinstance(condition, Scalar), op
    at = len(writer.lines)
    writer.lines.append("")
    kinds: list[Value] = []
    types: list[str] = []
    for number, region in enumerate(op.regions):
        if not len(region.blocks):
            continue
        if number:
            writer.lines.append(f"{'  ' * writer.depth}}} else {{")
        writer.depth += 1
        block = region.blocks[0]
        convert(block)
        yielded = [_start(writer, writer.values[value]) for value in block.operations[-1].operation.operands]
        if any(isinstance(value, Pointers) for value in yielded):
            raise writer.refuse("pointers that a branch chooses are not converted")
        ends = [_carried(writer, value) for value in yielded]
        kinds, types = yielded, [value.type for value in ends]
        if ends:
            writer.line(f"scf.yield {', '.join(v.name for v in ends)} : {', '.join(types)}")
        writer.depth -= 1
    writer.op = op
    writer.line("}")
    name = writer.new()
    head = f"scf.if {condition.name} {{"
    if types:
        several = f":{len(types)}" if len(types) > 1 else ""
        head = f"{name}{several} = scf.if {condition.name} -> ({', '.join(types)}) {{"
    writer.lines[at] = f"{'  ' * writer.depth}{head}"
    for number, (result, kind) in enumerate(zip(op.results, kinds)):
        writer.values[result] = _as(kind, f"{name}#{number}" if len(types) > 1 else name)


def _start(writer: Writer, value: Value) -> Value:
    """The form in which a value is carried."""
    if isinstance(value, Register):
        raise writer.refuse(f"a buffer in {value.space} that a loop or a branch carries is not converted")
    if isinstance(value, (Splat, Affine)):
        return writer.tile(value)
    if isinstance(value, Buffer) and value.layout:
        raise writer.refuse("a part of a buffer that a loop or a branch carries is not converted")
    return value


def _carried(writer: Writer, value: Value) -> Scalar | Tile | Buffer:
    carried = value.at.offset if isinstance(value, Pointers) else value
    if not isinstance(carried, (Scalar, Tile, Buffer)):
        raise writer.refuse("a mask that a loop or a branch carries is not converted")
    return carried


def _as(kind: Value, name: str) -> Value:
    """The same kind of value under another name."""
    if isinstance(kind, Pointers):
        offset = Scalar(name, kind.at.offset.type)
        return Pointers(kind.base, kind.element, Affine(kind.at.shape, offset, kind.at.strides))
    if isinstance(kind, Tile):
        return Tile(name, kind.shape, kind.element)
    if isinstance(kind, Buffer):
        return Buffer(name, kind.shape, kind.element)
    assert isinstance(kind, Scalar), kind
    return Scalar(name, kind.type)


def _end(writer: Writer, start: Value, value: Value) -> Scalar | Tile | Buffer:
    if isinstance(start, Pointers):
        if not isinstance(value, Pointers) or (value.base, value.at.strides) != (start.base, start.at.strides):
            raise writer.refuse("pointers whose strides a loop changes are not converted")
        return writer.cast(value.at.offset, start.at.offset.type)
    return _carried(writer, _start(writer, value))
