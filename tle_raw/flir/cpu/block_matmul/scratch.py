"""Scratch buffers at the top of a function; products of one size share theirs."""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.dialects import memref

ALIGNMENT = 64  # a cache line, and the longest vector


class Scratch:
    """The scratch buffers added to a module so far."""

    def __init__(self) -> None:
        self._buffers: dict[tuple[ir.Block, str, str], ir.Value] = {}

    def buffer(self, user: ir.Operation, role: str, shape: tuple[int, ...], element_type: ir.Type) -> ir.Value:
        """A buffer for the time in which ``user`` runs; another user gets the same one for the same role and shape."""
        entry = _entry_block(user)
        type = ir.MemRefType.get(shape, element_type)
        key = (entry, role, str(type))
        if key not in self._buffers:
            with ir.InsertionPoint.at_block_begin(entry):
                self._buffers[key] = memref.AllocaOp(type, [], [], alignment=ALIGNMENT).result
        return self._buffers[key]


def _entry_block(operation: ir.Operation) -> ir.Block:
    while operation.name != "func.func":
        operation = operation.parent
    return operation.regions[0].blocks[0]
