"""Which operations the vectoriser knows, and how."""

from __future__ import annotations

from collections.abc import Iterator

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.mlir_values import Block, Operation, Type, Value

# Operations of the LLVM dialect that work on vectors of their operands as on their operands.
_ELEMENTWISE_LLVM = {
    "llvm.inttoptr",
    "llvm.ptrtoint",
    "llvm.bitcast",
    "llvm.intr.bswap",
    "llvm.intr.bitreverse",
    "llvm.intr.copysign",
    "llvm.intr.fabs",
    "llvm.intr.fma",
    "llvm.intr.fmuladd",
    "llvm.intr.fshl",
    "llvm.intr.fshr",
    "llvm.intr.maxnum",
    "llvm.intr.minnum",
    "llvm.intr.maximum",
    "llvm.intr.minimum",
    "llvm.intr.sadd.sat",
    "llvm.intr.ssub.sat",
    "llvm.intr.uadd.sat",
    "llvm.intr.usub.sat",
}

DIVISIONS = {
    "arith.divsi",
    "arith.divui",
    "arith.remsi",
    "arith.remui",
    "arith.ceildivsi",
    "arith.ceildivui",
    "arith.floordivsi",
}


def is_elementwise(op: Operation) -> bool:
    """Whether the operation has no effect, and on vectors does in every lane what it does on scalars."""
    name = op.name
    if name in ("llvm.getelementptr", "ub.poison"):
        return True
    return name.startswith(("arith.", "math.")) or name in _ELEMENTWISE_LLVM


def is_plain_load(op: Operation) -> bool:
    return op.name == "memref.load" or (op.name == "llvm.load" and _is_plain(op))


def is_plain_store(op: Operation) -> bool:
    return op.name == "memref.store" or (op.name == "llvm.store" and _is_plain(op))


def _is_plain(op: Operation) -> bool:
    attributes = op.attributes
    return attributes["ordering"].value == 0 and "volatile_" not in attributes


def walk(op: Operation) -> Iterator[Operation]:
    """All operations inside of one, outer ones first."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                yield from walk(inner.operation)


def captures(op: Operation) -> list[Value]:
    """The values from outside that an operation uses, also in its regions."""
    inside: set[Value] = set()
    used: dict[Value, None] = dict.fromkeys(op.operands)
    for inner in walk(op):
        used.update(dict.fromkeys(inner.operands))
        inside.update(inner.results)
        for region in inner.regions:
            for block in region.blocks:
                inside.update(block.arguments)
    for region in op.regions:
        for block in region.blocks:
            inside.update(block.arguments)
    return [value for value in used if value not in inside]


def static_strides(memref_type: Type) -> list[int] | None:
    """Strides of a buffer in elements; None where they are not known, or where the buffer starts at an offset."""
    ir = mlir()
    strides, _ = ir.MemRefType(memref_type).get_strides_and_offset()
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    return None if dynamic in strides else list(strides)


def is_copy(body: Block) -> bool:
    """Whether a generic does nothing but move elements."""
    return len(list(body.operations)) == 1
