"""Specialised warps: the default partition stays in the kernel's function, each worker becomes one of its own.

Nothing of GPU's layouts or warps is left: a worker is a function, called on a stack of its own, and they take turns
(``turns``). What a worker was given comes to it in slots of 8 bytes, for all workers of one ``ttg.warp_specialize`` the
same ones. Its tiles lie in a part of the scratch memory that is its own, for others run between its steps; where that
is, and where the stacks are, ``place_buffers`` knows: a call of ``tle.area.<name>`` stands for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tle_raw.errors import LoweringError
from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.convert import buffer_checks, buffer_pointers, build, stacks, turns, types
from tle_raw.flir.cpu.convert.functions import IDS, add_function
from tle_raw.flir.cpu.convert.kernel import Kernel, converts
from tle_raw.flir.cpu.convert.shared_buffers import SharedBuffer
from tle_raw.flir.cpu.convert.tiles import TileValue
from tle_raw.flir.cpu.convert.turns_functions import GIVEN
from tle_raw.flir.cpu.mlir_values import Block, Operation, Type, Value
from tle_raw.flir.cpu.place_buffers import AREA, SMALL_AREA, STACKS, STACKS_BYTES

_SMALL = 3  # which of a function's arguments, from the end, is where its area begins


class Parts(tuple[Any, ...]):
    """What a tensor descriptor became: Triton rewrites it where it is used, and casts it where it is handed over."""


@converts("builtin.unrealized_conversion_cast")
def cast_descriptor(kernel: Kernel, op: Operation) -> None:
    if len(op.results) == 1:
        kernel.values[op.results[0]] = Parts(kernel.values[operand] for operand in op.operands)
        return
    parts = kernel.values[op.operands[0]]
    assert isinstance(parts, Parts) and len(parts) == len(op.results), op
    kernel.values.update(zip(op.results, parts))


@converts("ttg.warp_specialize")
def warp_specialize(kernel: Kernel, op: Operation) -> None:
    """Begin the workers, run the default partition, and wait for the workers."""
    default, holder = op.regions[0].blocks[0], op.regions[1].blocks[0].operations[0].operation
    # Which of the two operations has the captured values differs between versions of Triton.
    captured = [kernel.values[value] for value in (list(op.operands) or list(holder.operands))]
    handed = _Handed(kernel, captured)
    warps = [int(count) for count in op.attributes["partitionNumWarps"]]
    record = kernel.stack(turns.record_type(1 + len(warps)))
    turns.begin(kernel, op, record, 1 + len(warps), handed.packed)
    bodies, first = [region.blocks[0] for region in holder.regions], _stacks(kernel.entry, len(warps))
    for number, (body, count) in enumerate(zip(bodies, warps), 1):
        entry = _worker(kernel, number, body, count, handed)
        turns.add(record, number, entry, build.address(first, (number - 1) * stacks.DISTANCE, "i8"))
    with _taking_turns(kernel, record):
        kernel.convert_block(default)
        yielded = list(default.operations)[-1].operation.operands
        for result, value in zip(op.results, yielded):
            became = kernel.values[value]
            kernel.values[result] = kernel.stored(became) if isinstance(became, TileValue) else became
    turns.end(record)


@contextmanager
def _taking_turns(kernel: Kernel, record: Value) -> Iterator[None]:
    context = kernel.context
    kernel.partitions, kernel.context = record, turns.context_of(record, 0)
    try:
        yield
    finally:
        kernel.partitions, kernel.context = None, context


class _Handed:
    """What all workers of one ``ttg.warp_specialize`` are given, in slots."""

    def __init__(self, kernel: Kernel, captured: Sequence[Any]) -> None:
        self.captured = captured
        # Checks of accesses by pointers ask for all buffers.
        self.buffers: list[SharedBuffer] = list(kernel.guard.buffers) if kernel.guard is not None else []
        values = [part for value in (*captured, *self.buffers) for part in _parts(value)]
        self.types: list[Type] = [value.type for value in values]
        self.counts = buffer_checks.counters(kernel) if kernel.debug else None
        more = [*kernel.program, *kernel.grid, _argument(kernel.entry, _SMALL)]
        more += [] if self.counts is None else [self.counts]
        self.packed = kernel.stack(f"!llvm.array<{len(values) + len(more)} x i64>")
        for number, value in enumerate((*values, *more)):
            stored = build.cast_integer(value, "i8", signed=False) if str(value.type) == "i1" else value
            build.store(stored, build.address(self.packed, number, "i64"))

    def taken(self, waiting: list[Value]) -> list[Any]:
        """The captured values from a function's arguments, which are taken from the front of a list."""
        return [_from_parts(value, waiting) for value in self.captured]

    def taken_buffers(self, waiting: list[Value]) -> list[SharedBuffer]:
        """All other buffers."""
        return [_from_parts(buffer, waiting) for buffer in self.buffers]


def _parts(value: Any) -> list[Value]:
    if isinstance(value, TileValue):
        raise LoweringError("on CPUs a worker of specialised warps takes no block tensor from outside")
    if isinstance(value, Parts):
        return [types.plain(part) for part in value]
    return value.parts() if isinstance(value, SharedBuffer) else [types.plain(value)]


def _from_parts(like: Any, waiting: list[Value]) -> Any:
    if isinstance(like, Parts):
        return Parts(waiting.pop(0) for _ in like)
    if isinstance(like, SharedBuffer):  # the same one: nothing of what is known of it is lost
        pointer = waiting.pop(0)
        return like._replace(pointer=pointer, stamps=None if like.stamps is None else waiting.pop(0))
    return waiting.pop(0)


def _worker(kernel: Kernel, number: int, body: Block, num_warps: int, handed: _Handed) -> Value:
    """A function of the module that runs a worker's partition; its address."""
    kernel.workers += 1
    module = kernel.entry.owner.operation.parent.regions[0].blocks[0]
    name = f"{mlir().StringAttr(kernel.entry.owner.operation.attributes['sym_name']).value}.worker.{kernel.workers}"
    pointers = ["!llvm.ptr"] * (1 if handed.counts is None else 2)  # the record of the turns, counts of copies
    function, inputs = add_function(module, name, handed.types, pointers)
    with build.block(function.regions[0], inputs) as entry:
        given = list(entry.arguments)
        waiting, others = given[: len(handed.types)], given[len(handed.types) :]
        inside = kernel.in_function(entry, others[:3], others[3:6], others[-1])
        inside.num_warps, inside.partitions = num_warps, others[len(IDS)]
        inside.copy_counts = None if handed.counts is None else others[len(IDS) + 1]
        inside.values.update(zip(body.arguments, handed.taken(waiting)))
        for buffer in handed.taken_buffers(waiting):
            buffer_pointers.allocated(inside, buffer)
        inside.convert_block(body)
        build.create("func.return")
    kernel.may_wait, kernel.workers = kernel.may_wait or inside.may_wait, inside.workers
    return _entry(module, name, number, inputs, handed)


def _entry(module: Any, name: str, number: int, inputs: Sequence[Type], handed: _Handed) -> Value:
    """The function that a worker's stack begins with: it takes what was handed over, and says when all is done."""
    ir = mlir()
    pointer = build.type_of("!llvm.ptr")
    type_ = ir.FunctionType.get([pointer], [])
    symbol = f"{name}.begin"
    with ir.InsertionPoint(module):
        attributes = {
            "function_type": ir.TypeAttr.get(type_),
            "sym_name": ir.StringAttr.get(symbol),
            "sym_visibility": ir.StringAttr.get("private"),
        }
        function = build.create("func.func", (), (), attributes, regions=1)
    with build.block(function.regions[0], [pointer]) as entry:
        (record,) = entry.arguments
        packed = build.load(build.address(record, GIVEN, "i64"), pointer)
        count = len(handed.types) + len(IDS)
        values = [_unpacked(packed, slot, type_) for slot, type_ in enumerate(inputs[:count])]
        start = build.load(build.address(packed, count, "i64"), pointer)
        counts = [] if handed.counts is None else [build.load(build.address(packed, count + 1, "i64"), pointer)]
        small = build.address(start, _offset(module, name), "i8")
        scratch = build.address(small, SMALL_AREA, "i8")
        build.call(name, [*values, record, *counts, small, scratch, turns.context_of(record, number)])
        turns.over(record)
        build.create("func.return")
    address = build.value("func.constant", [], type_, {"value": ir.FlatSymbolRefAttr.get(symbol)})
    return build.value("builtin.unrealized_conversion_cast", [address], pointer)


def _unpacked(packed: Value, slot: int, type_: Type) -> Value:
    at = build.address(packed, slot, "i64")
    if str(type_) == "i1":
        return build.compare("ne", build.load(at, "i8"), build.constant(0, "i8"))
    return build.load(at, type_)


def _stacks(entry: Any, count: int) -> Value:
    """Where the lowest of so many stacks begins, in the kernel's own function."""
    module = entry.owner.operation.parent.regions[0].blocks[0]
    offset = _offset(module, STACKS)
    area = _named(module, f"{AREA}{STACKS}")
    before = int(area.attributes[STACKS_BYTES].value) if STACKS_BYTES in area.attributes else 0
    area.attributes[STACKS_BYTES] = build.attribute(f"{max(before, count * stacks.DISTANCE)} : i64")
    return build.address(_argument(entry, _SMALL), offset, "i8")


def _offset(module: Any, name: str) -> Value:
    """How far from the scratch memory's start an area begins, in bytes."""
    ir = mlir()
    symbol = f"{AREA}{name}"
    if _named(module, symbol) is None:
        with ir.InsertionPoint.at_block_begin(module):
            attributes = {
                "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [build.type_of("i64")])),
                "sym_name": ir.StringAttr.get(symbol),
                "sym_visibility": ir.StringAttr.get("private"),
            }
            build.create("func.func", (), (), attributes, regions=1)
    return build.call(symbol, [], ["i64"])[0]


def _named(module: Any, symbol: str) -> Any:
    """The operation of this name; None where there is none."""
    for view in module.operations:
        if str(view.operation.attributes["sym_name"].value) == symbol:
            return view.operation
    return None


def _argument(entry: Any, from_end: int) -> Value:
    argument: Value = entry.arguments[len(entry.arguments) - from_end]
    return argument
