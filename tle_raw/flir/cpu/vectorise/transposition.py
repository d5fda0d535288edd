"""A tile that is read along one dimension and kept along another is kept as it is read, then transposed in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.mlir_values import Operation
from tle_raw.flir.cpu.vectorise import build
from tle_raw.flir.cpu.vectorise.dense import transposing_copy
from tle_raw.flir.cpu.vectorise.operations import is_copy

# Smaller sides make no block that is worth it.
_SMALLEST_SIDE = 8


def transposed_dimension(generic: Operation, shape: Sequence[int], lanes: Sequence[int]) -> int | None:
    """The dimension that the lanes run along, if the outputs are contiguous along another one."""
    along = [dim for dim, width in enumerate(lanes) if width > 1]
    body = generic.regions[0].blocks[0]
    outputs = len(list(body.operations)[-1].operands)
    if len(along) != 1 or not outputs or is_copy(body) or any(list(a.uses) for a in list(body.arguments)[-outputs:]):
        return None
    inner = [dim for dim, size in enumerate(shape) if size > 1][-1]
    is_large = min(shape[along[0]], shape[inner]) >= _SMALLEST_SIDE
    return along[0] if along[0] != inner and is_large else None


def keep_as_read(generic: Any, maps: Sequence[Sequence[int]], shape: Sequence[int], dim: int) -> Any:
    """Let a generic fill buffers in which ``dim`` is innermost.

    Returns
    -------
    tuple : the dimensions that index each operand from now on, and the copies to the buffers it was to fill.
    """
    ir = mlir()
    order = [*(d for d in range(len(shape)) if d != dim), dim]
    outputs = len(list(generic.regions[0].blocks[0].operations)[-1].operands)
    changed, copies = list(maps), []
    after = generic.block.operations[list(generic.block.operations).index(generic) + 1].operation
    for number in range(len(maps) - outputs, len(maps)):
        target = generic.operands[number]
        with generic.location, ir.InsertionPoint(generic):
            kind = ir.MemRefType.get([shape[d] for d in order], target.type.element_type)
            empty = ir.DenseI32ArrayAttr.get([0, 0])
            kept = build.operation("memref.alloca", [kind], [], operandSegmentSizes=empty)
        generic.operands[number] = kept
        changed[number] = order
        copies.append(transposing_copy(kept, target, order, after))
    return changed, copies
