"""Operations of ``tle.dsa``: buffers are memrefs, moves are copies of parts, arithmetic is Linalg's on memrefs.

What lies in L0A, L0B and L0C is a tensor: bishengir-compile itself moves operands of a product through these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from tle_raw.flir.cpu.mlir_values import Operation
from tle_raw.targets.ascend.linalg import memory
from tle_raw.targets.ascend.linalg.types import element_of, is_tensor, shape_of
from tle_raw.targets.ascend.linalg.values import (
    Buffer,
    Pointers,
    Register,
    Scalar,
    Tile,
    Value,
    memref_type,
    row_major,
    tensor_type,
)
from tle_raw.targets.ascend.linalg.writer import Writer

SPACE = "tle.dsa.space"
_KEPT = re.compile(r"^tle\.dsa\.(\w+)(\{.*\})#\d+$")
_IN_REGISTERS = ("L0A", "L0B", "L0C")
_ARITHMETIC = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "max": "max_signed", "min": "min_signed"}


def alloc(writer: Writer, op: Operation) -> Value:
    shape, element = shape_of(op.results[0].type), element_of(op.results[0].type)
    if SPACE not in op.attributes:
        raise writer.refuse("shared memory of GPUs (tle.gpu) is not there: tle.dsa.alloc says in which memory")
    space = str(op.attributes[SPACE].value)
    return Register(space, shape, element) if space in _IN_REGISTERS else memory.allocated(writer, shape, element)


def load(writer: Writer, op: Operation) -> Value:
    buffer = writer.values[op.operands[0]]
    if isinstance(buffer, Register):
        return _held(writer, buffer)
    assert isinstance(buffer, Buffer), op
    own = memory.allocated(writer, buffer.shape, buffer.element)  # later writes into the buffer do not change it
    memory.copied(writer, (buffer.name, buffer.type), (own.name, own.type))
    return memory.content(writer, own)


def store(writer: Writer, op: Operation) -> None:
    value, buffer = (writer.values[operand] for operand in op.operands)
    if not isinstance(buffer, (Buffer, Register)):
        value, buffer = buffer, value
    tile = writer.tile(value)
    if isinstance(buffer, Register):
        buffer.holds = tile
    else:
        assert isinstance(buffer, Buffer), op
        memory.put(writer, tile, buffer.name, buffer.type)


def call(writer: Writer, op: Operation) -> None:
    """One that ``tle.dsa`` has kept."""
    match = _KEPT.match(str(op.attributes["callee"].value))
    if match is None:
        raise writer.refuse(f"the function `{op.attributes['callee'].value}` was not inlined")
    operands = [writer.values[operand] for operand in op.operands]
    constants, results = json.loads(match[2]), op.results
    name = match[1]
    if name in _ARITHMETIC:
        _compute(writer, _ARITHMETIC[name], operands)
        return
    made = _OPERATIONS[name](writer, op, operands, constants)
    if len(results):
        writer.values[results[0]] = made


def _copy(writer: Writer, op: Operation, operands: list[Value], constants: dict[str, Any]) -> None:
    source, target, *sizes = operands
    shape = source.at.shape if isinstance(source, Pointers) else source.shape  # type: ignore[union-attr]
    counts = [writer.clamped(size, dim) for size, dim in zip(sizes, shape) if isinstance(size, Scalar)]
    is_whole = all(count.number == dim for count, dim in zip(counts, shape))
    if isinstance(target, Register):
        if not is_whole:
            raise writer.refuse(f"{target.space} gets whole tiles")
        assert isinstance(source, Buffer), op
        target.holds = memory.content(writer, source)
        return
    if isinstance(source, Register):
        assert isinstance(target, Pointers), op
        name, type_ = memory.region(writer, target)
        memory.put_part(writer, _held(writer, source), name, type_, None if is_whole else counts)
        return
    if isinstance(source, Buffer) and isinstance(target, Pointers) and not is_whole:
        # bishengir-compile 1.2.0 crashes where a part of a buffer is copied from and into global memory, as memrefs.
        memory.put_part(writer, memory.content(writer, source), *memory.region(writer, target), counts)
        return
    ends = [_memory(writer, end) for end in (source, target)]
    if not is_whole:
        element = source.element  # type: ignore[union-attr]
        ends = [memory.part(writer, *end, counts, memory.strides_of(end[1], shape), element) for end in ends]
    memory.copied(writer, *ends)


def _memory(writer: Writer, end: Value) -> tuple[str, str]:
    if isinstance(end, Pointers):
        return memory.region(writer, end)
    assert isinstance(end, Buffer), end
    return end.name, end.type


def _held(writer: Writer, register: Register) -> Tile:
    if register.holds is None:
        raise writer.refuse(f"a buffer in {register.space} is read where nothing was put into it before")
    return register.holds


def _compute(writer: Writer, function: str, operands: list[Value]) -> None:
    a, b, out = (operand for operand in operands if isinstance(operand, Buffer))
    writer.line(
        f"linalg.elemwise_binary {{fun = #linalg.binary_fn<{function}>}} "
        f"ins({a.name}, {b.name} : {a.type}, {b.type}) outs({out.name} : {out.type})"
    )


def _subview(writer: Writer, op: Operation, operands: list[Value], constants: dict[str, Any]) -> Buffer:
    buffer, *offsets = operands
    if not isinstance(buffer, Buffer):
        raise writer.refuse("a part of L0A, L0B or L0C is not converted")
    shape = shape_of(op.results[0].type)
    steps = constants["strides"]
    strides = tuple(a * b for a, b in zip(buffer.strides or row_major(buffer.shape), steps))
    layout = f"strided<[{', '.join(map(str, strides))}], offset: ?>"
    # As values, so that the offset in the type is one that is not known.
    begins = ", ".join(writer.index(offset).name for offset in offsets if isinstance(offset, Scalar))
    sizes, shown = ", ".join(map(str, shape)), ", ".join(map(str, steps))
    type_ = memref_type(shape, buffer.element, layout)
    name = writer.write(f"memref.subview {buffer.name}[{begins}] [{sizes}] [{shown}] : {buffer.type} to {type_}")
    return Buffer(name, shape, buffer.element, layout, strides)


def _slice(writer: Writer, offsets: list[Value], shape: tuple[int, ...], steps: list[int]) -> str:
    begins = ", ".join(writer.index(offset).name for offset in offsets if isinstance(offset, Scalar))
    return f"[{begins}] [{', '.join(map(str, shape))}] [{', '.join(map(str, steps))}]"


def _extract_slice(writer: Writer, op: Operation, operands: list[Value], constants: dict[str, Any]) -> Tile:
    tile, shape = writer.tile(operands[0]), shape_of(op.results[0].type)
    what, type_ = _slice(writer, operands[1:], shape, constants["strides"]), tensor_type(shape, tile.element)
    return Tile(writer.write(f"tensor.extract_slice {tile.name}{what} : {tile.type} to {type_}"), shape, tile.element)


def _insert_slice(writer: Writer, op: Operation, operands: list[Value], constants: dict[str, Any]) -> Tile:
    full, sub = writer.tile(operands[0]), writer.tile(operands[1])
    what = _slice(writer, operands[2:], sub.shape, constants["strides"])
    name = writer.write(f"tensor.insert_slice {sub.name} into {full.name}{what} : {sub.type} into {full.type}")
    return Tile(name, full.shape, full.element)


def _extract_element(writer: Writer, op: Operation, operands: list[Value], constants: dict[str, Any]) -> Scalar:
    tile = writer.tile(operands[0])
    places = ", ".join(writer.index(place).name for place in operands[1:] if isinstance(place, Scalar))
    return Scalar(writer.write(f"tensor.extract {tile.name}[{places}] : {tile.type}"), tile.element)


def _sub_vec_id(writer: Writer, op: Operation, operands: list[Value], constants: dict[str, Any]) -> Scalar:
    wide = Scalar(writer.write("hivm.hir.get_sub_block_idx -> i64"), "i64")
    return writer.cast(wide, "i32")


def _compile_hint(writer: Writer, op: Operation, operands: list[Value], constants: dict[str, Any]) -> None:
    value = constants["value"]
    text = json.dumps(value) if not isinstance(value, bool) else ("true" if value else "false")
    _mark(writer, op, operands[0], f"{constants['name']} = {text}{' : i32' if type(value) is int else ''}")


def _multibuffer(writer: Writer, op: Operation, operands: list[Value], constants: dict[str, Any]) -> None:
    if isinstance(operands[0], Buffer):
        _mark(writer, op, operands[0], f"hivm.multi_buffer = {constants['size']} : i32")


def _mark(writer: Writer, op: Operation, value: Value, what: str) -> None:
    marked = writer.tile(value) if is_tensor(op.operands[0].type) else value
    if isinstance(marked, (Tile, Buffer)):
        writer.line(f"annotation.mark {marked.name} {{{what}}} : {marked.type}")


def _sync_all(writer: Writer, op: Operation, operands: list[Value], constants: dict[str, Any]) -> None:
    mode = {"all_cube": "ALL_CUBE", "all_vector": "ALL_VECTOR", "all": "ALL", "all_sub_vector": "ALL_SUB_VECTOR"}
    pipes = "tcube_pipe = <PIPE_FIX> tvector_pipe = <PIPE_MTE3>"
    chosen = {"all_cube": "tcube_pipe = <PIPE_FIX>", "all": pipes}.get(constants["mode"], "tvector_pipe = <PIPE_MTE3>")
    writer.line(f"hivm.hir.sync_block[<{mode[constants['mode']]}>, {constants['event_id']} : i16] {chosen}")


def _sync(name: str) -> Callable[..., None]:
    def write(writer: Writer, op: Operation, operands: list[Value], constants: dict[str, Any]) -> None:
        side = constants["sender"] if name == "sync_block_set" else constants["receiver"]
        default = {"cube": "PIPE_FIX", "vector": "PIPE_MTE3"}[constants["sender"]]
        first = constants["sender_pipe"] or default
        second = constants["receiver_pipe"] or "PIPE_MTE2"
        core = {"cube": "CUBE", "vector": "VECTOR"}[side]
        writer.line(f"hivm.hir.{name}[<{core}>, <{first}>, <{second}>] flag = {constants['event_id']}")

    return write


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "copy": _copy,
    "subview": _subview,
    "extract_slice": _extract_slice,
    "insert_slice": _insert_slice,
    "extract_element": _extract_element,
    "sub_vec_id": _sub_vec_id,
    "compile_hint": _compile_hint,
    "multibuffer": _multibuffer,
    "sync_block_all": _sync_all,
    "sync_block_set": _sync("sync_block_set"),
    "sync_block_wait": _sync("sync_block_wait"),
}
