"""Give every buffer of a kernel its place in the worker's scratch memory; buffers that never meet share one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tle_raw.flir.cpu.bindings import mlir

# No buffer becomes a stack slot: LLVM 22 merges vector stores to one in an order of its own (SROA), and then breaks.
# Scratch memory that comes as a noalias argument is as good: LLVM keeps accumulators there in registers too.
ALIGNMENT = 64
# Buffers of at most so many bytes, such as a reduction's accumulators, lie in an area of their own, which the kernel
# gets as one more noalias argument: LLVM keeps them in registers while a loop reads other buffers.
SMALL = 512
SMALL_AREA = 4096
# What begins the name of a function that stands for where an area of scratch memory begins: a function's own, whose
# steps others run between, or that of their stacks.
AREA, STACKS = "tle.area.", "stacks"
STACKS_BYTES = "tle.bytes"  # the attribute of that function which says how long they are


@dataclass(frozen=True)
class _Interval:
    """A buffer's life, in positions of a walk over the function."""

    first: int
    last: int

    def meets(self, other: _Interval) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass
class _Placement:
    allocation: Any
    size: int
    life: _Interval
    offset: int = 0

    @property
    def end(self) -> int:
        return self.offset + self.size


def place_buffers(module: Any) -> int:
    """Replace every ``memref.alloca`` of every kernel by a view of its scratch memory, or by nothing if it is unused.

    A kernel is a function whose last argument is the context. The offsets are constants from one base, so that LLVM
    sees that two buffers do not overlap. Functions that run by turns have areas of their own, behind the kernel's.

    Returns
    -------
    int : the scratch memory that one worker needs, in bytes.
    """
    functions = {_name(op.operation): op.operation for op in module.body.operations}
    areas = {name: function for name, function in functions.items() if name.startswith(AREA)}
    own = {name.removeprefix(AREA) for name in areas}
    shared = [f for name, f in functions.items() if name not in own and _has_context(f)]
    total = max(map(_place_in, shared), default=0)
    for name, area in areas.items():
        owner = functions.get(name.removeprefix(AREA))
        _say_offset(module, name, total)
        total += _aligned(int(area.attributes[STACKS_BYTES].value) if owner is None else _place_in(owner))
        area.erase()
    return total


def _name(operation: Any) -> str:
    return str(operation.attributes["sym_name"].value) if "sym_name" in operation.attributes else ""


def _say_offset(module: Any, name: str, offset: int) -> None:
    """Write where an area begins in place of the calls that ask for it."""
    ir = mlir()
    from torch_mlir.dialects import arith

    for function in module.body.operations:
        for call in [op for op in _walk(function.operation) if op.name == "func.call"]:
            if ir.FlatSymbolRefAttr(call.attributes["callee"]).value == name:
                with ir.InsertionPoint(call), ir.Location.unknown():
                    value = arith.constant(ir.IntegerType.get_signless(64), offset)
                call.results[0].replace_all_uses_with(value)
                call.erase()


def _has_context(function: Any) -> bool:
    if function.name != "func.func" or not function.regions[0].blocks:
        return False
    arguments = function.regions[0].blocks[0].arguments
    return len(arguments) > 0 and str(arguments[len(arguments) - 1].type) == "!llvm.ptr"


def _place_in(function: Any) -> int:
    entry = function.regions[0].blocks[0]
    positions = _number(function)
    buffers: list[_Placement] = []
    for allocation in [op for op in _walk(function) if op.name == "memref.alloca"]:
        users = list(_users(allocation.results[0]))
        size = size_of(allocation.results[0].type)
        if not users:
            allocation.erase()
        else:
            buffers.append(_Placement(allocation, size, _life(allocation, users, positions, function)))
    area = _small_area(entry)
    small = sorted((b for b in buffers if area is not None and b.size <= SMALL), key=lambda b: b.size)
    while _assign_offsets(small) > SMALL_AREA:
        small.pop()
    chosen = {id(b) for b in small}
    large = [b for b in buffers if id(b) not in chosen]
    total = _assign_offsets(large)
    if small:
        _replace(small, area, entry, SMALL_AREA)
    if large:
        _replace(large, None, entry, total)
    return total if area is None else SMALL_AREA + total


def size_of(memref_type: Any) -> int:
    """Bytes of a buffer of static shape."""
    ir = mlir()
    shaped = ir.ShapedType(memref_type)
    element = shaped.element_type
    width = 64 if isinstance(element, ir.IndexType) or str(element) == "!llvm.ptr" else element.width
    size: int = math.prod(shaped.shape) * max(1, width // 8)
    return size


def _walk(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for inner in list(block.operations):
                yield inner.operation
                yield from _walk(inner.operation)


def _number(function: Any) -> dict[Any, _Interval]:
    """Where each operation starts and ends in a walk over the function."""
    positions: dict[Any, _Interval] = {}
    count = 0

    def visit(operation: Any) -> None:
        nonlocal count
        first = count = count + 1
        for region in operation.regions:
            for block in region.blocks:
                for inner in block.operations:
                    visit(inner.operation)
        count += 1
        positions[operation] = _Interval(first, count)

    visit(function)
    return positions


def _users(buffer: Any) -> Iterator[Any]:
    """The operations that reach a buffer, also through its views."""
    for use in buffer.uses:
        user = use.owner.operation
        yield user
        for result in user.results:
            if str(result.type).startswith("memref<"):
                yield from _users(result)


# A buffer whose address is known as a number, or that is handed on as a value, may be used anywhere.
_ESCAPES = {"memref.extract_aligned_pointer_as_index", "scf.yield", "builtin.unrealized_conversion_cast"}


def _life(allocation: Any, users: Iterable[Any], positions: dict[Any, _Interval], function: Any) -> _Interval:
    """From the first to the last use, both seen from the allocation's own block: a loop in between counts whole."""
    if any(user.name in _ESCAPES for user in users):
        return positions[function]
    home = allocation.block
    lives = []
    for user in users:
        while user.block != home:
            user = user.parent.operation
        lives.append(positions[user])
    return _Interval(min(life.first for life in lives), max(life.last for life in lives))


def _assign_offsets(buffers: list[_Placement]) -> int:
    """Large ones first, each at the lowest offset that is free for its whole life."""
    placed: list[_Placement] = []
    for buffer in buffers:
        buffer.offset = 0
    for buffer in sorted(buffers, key=lambda b: -b.size):
        neighbours = sorted((b for b in placed if b.life.meets(buffer.life)), key=lambda b: b.offset)
        for other in neighbours:
            if buffer.end <= other.offset:
                break
            buffer.offset = max(buffer.offset, _aligned(other.end))
        placed.append(buffer)
    return _aligned(max((b.end for b in placed), default=0))


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


def _replace(buffers: list[_Placement], area: Any, entry: Any, total: int) -> None:
    ir = mlir()
    from torch_mlir.dialects import arith, memref

    with ir.Location.unknown():
        with ir.InsertionPoint.at_block_begin(entry):
            scratch = _scratch_memory(_scratch_pointer(entry) if area is None else area, total)
        for buffer in buffers:
            with ir.InsertionPoint(buffer.allocation):
                offset = arith.constant(ir.IndexType.get(), buffer.offset)
                view = memref.view(buffer.allocation.results[0].type, scratch, offset, [])
            buffer.allocation.results[0].replace_all_uses_with(view)
            buffer.allocation.erase()


def _small_area(entry: Any) -> Any:
    """The kernel's argument for small buffers: the third pointer from the end, where there is one."""
    count = len(entry.arguments)
    if count < 3 or any(str(entry.arguments[count - n].type) != "!llvm.ptr" for n in (2, 3)):
        return None
    attributes = entry.owner.operation.attributes
    known = "arg_attrs" in attributes and all("llvm.noalias" in attributes["arg_attrs"][count - n] for n in (2, 3))
    return entry.arguments[count - 3] if known else None


def _scratch_pointer(entry: Any) -> Any:
    """The kernel's argument before the context when that is a pointer nobody else has, else field 0 of the context."""
    from torch_mlir.dialects import llvm

    function = entry.owner.operation
    count = len(entry.arguments)
    if "arg_attrs" in function.attributes and "llvm.noalias" in function.attributes["arg_attrs"][count - 2]:
        return entry.arguments[count - 2]
    context = entry.arguments[count - 1]
    return llvm.load(context.type, context, invariant=True)


def _scratch_memory(pointer: Any, size: int) -> Any:
    """``memref<SIZExi8>`` at a pointer."""
    ir = mlir()
    from torch_mlir.dialects import llvm

    i64 = ir.IntegerType.get_signless(64)
    descriptor_type = ir.Type.parse("!llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>")
    descriptor = llvm.mlir_undef(descriptor_type)
    fields = [(pointer, [0]), (pointer, [1])]
    for value, position in ((0, [2]), (size, [3, 0]), (1, [4, 0])):
        fields.append((llvm.mlir_constant(ir.IntegerAttr.get(i64, value)), position))
    for value, position in fields:
        descriptor = llvm.insertvalue(descriptor, value, position)
    result = ir.MemRefType.get([size], ir.IntegerType.get_signless(8))
    cast = ir.Operation.create("builtin.unrealized_conversion_cast", results=[result], operands=[descriptor])
    return cast.results[0]
