"""Tensor descriptors that regions get: what stands for a tensor map on the CPU (``tle_raw/team/tensor_map.h``).

Triton has made plain pointers of descriptors, and of the load that stands for one a load of a tile: its pointers tell
where the array begins, what it puts beside the array's elements is the padding, and the array's sizes and strides stand
beside it (``frontends/raw/descriptors.py``).
"""

from __future__ import annotations

from typing import Any

from tle_raw.errors import RegionError
from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.convert import build, types
from tle_raw.flir.cpu.convert.kernel import Kernel
from tle_raw.flir.cpu.convert.tiles import ScalarBody, TileValue
from tle_raw.flir.cpu.mlir_values import Operation, Value
from tle_raw.regions import ports

MOST_AXES = 5
# base, fill, rank, bytes of an element; sizes, strides and the box's sizes for each axis.
WORDS = 4 + 3 * MOST_AXES


class DescriptorTile(TileValue):
    """A tensor map, as a region gets it: where it is."""

    def __init__(self, block: TileValue, where: Value) -> None:
        super().__init__(block.shape, block.element)
        self.where = where

    def pointer(self) -> Value:
        """The address of the tensor map."""
        return self.where


def is_descriptor(op: Operation) -> bool:
    """Whether an operation is the marker of a descriptor."""
    if op.name != "tt.extern_elementwise":
        return False
    return str(op.attributes["symbol"].value).startswith(ports.DESCRIPTOR)


def take_loads_away(function: Any) -> None:
    """Give the markers the loads' pointers and padding in their first operand's place; nothing is loaded then."""
    for marker in [op for op in _walk(function) if is_descriptor(op)]:
        loaded, *numbers = marker.operands
        chain = _chain(loaded)
        load = chain[-1]
        pointer, _, *other = load.operands
        with mlir().InsertionPoint(marker), marker.location:
            attributes = {name: marker.attributes[name] for name in marker.attributes}
            made = build.create(marker.name, [pointer, *numbers, *other], [marker.results[0].type], attributes)
        marker.results[0].replace_all_uses_with(made.results[0])
        marker.erase()
        for op in chain:
            if not any(list(result.uses) for result in op.results):
                op.erase()


def _chain(value: Value) -> list[Operation]:
    """The operations that a load's value went through, up to the load: from 3.7 on it may be rounded to tf32."""
    found = []
    while True:
        op = value.owner.operation
        found.append(op)
        if op.name == "tt.load" and len(op.operands) >= 2:
            return found
        if op.name != "scf.if":
            raise RegionError("the load that stands for a descriptor was changed by one of Triton's passes")
        number = next(n for n, result in enumerate(op.results) if result == value)
        *_, last = op.regions[1].blocks[0].operations
        value = last.operation.operands[number]


def tensor_map(kernel: Kernel, op: Operation) -> DescriptorTile:
    """The tensor map of a marker."""
    block = kernel.tile(op.operands[0])
    rank = len(block.shape)
    numbers = [kernel.tile(operand) for operand in list(op.operands)[1 : 1 + 2 * rank]]
    others = [kernel.tile(operand) for operand in list(op.operands)[1 + 2 * rank :]]
    body, first = ScalarBody(), (0,) * rank
    address = body.element(block, first)
    words = [address.integer(), _fill(body.element(others[0], first)) if others else build.constant(0, "i64")]
    words += [build.constant(rank, "i64"), build.constant(build.bits(address.element) // 8, "i64")]
    given = [body.element(number, first) for number in numbers]
    for listed in (given[:rank], given[rank:], [build.constant(dim, "i64") for dim in block.shape]):
        words += [*listed, *[build.constant(0, "i64")] * (MOST_AXES - rank)]
    where = kernel.stack(f"!llvm.array<{WORDS} x i64>")
    for number, word in enumerate(words):
        build.store(word, build.address(where, number, "i64"))
    return DescriptorTile(block, where)


def _fill(number: Any) -> Value:
    """The bits of one element."""
    stored = types.to_memory(number)
    bits = build.bits(stored.type)
    integer = stored if str(stored.type) == f"i{bits}" else build.value("arith.bitcast", [stored], f"i{bits}")
    return build.cast_integer(integer, "i64", signed=False)


def _walk(operation: Any) -> Any:
    for region in operation.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                yield from _walk(view.operation)
