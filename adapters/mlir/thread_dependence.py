"""Tells whether an operation stands where each thread has its own way: the block cannot do it together there."""

from __future__ import annotations

import re
from typing import Any

from tle_raw.adapters.mlir.memory_roots import PRIVATE, kind, nested

# Values that differ from thread to thread by themselves.
_OWN = re.compile(
    r"gpu\.(thread_id|global_id|lane_id|subgroup_id|shuffle|rotate)|nvvm\.(read\.ptx\.sreg\.(tid|laneid|warpid|lanemask)"
    r"|shfl|elect).*|llvm\.(inline_asm|atomicrmw|cmpxchg|call|call_intrinsic|load)|func\.call|memref\.(generic_)?atomic_rmw"
)


def depends_on_thread(operation: Any) -> bool:
    """Whether threads differ in reaching the operation, or in the places that it works on."""
    seen: dict[Any, bool] = {}
    around = operation.parent
    while around is not None and not around.operation.name.endswith((".func", "module")):
        if any(_varies(value, seen) for value in around.operation.operands):
            return True
        around = around.operation.parent
    return any(_is_place(value) and _varies(value, seen) for op in nested(operation) for value in op.operands)


def _is_place(value: Any) -> bool:
    """A number that is computed with, a float, may well be another in each thread."""
    return str(value.type).startswith(("memref", "index", "i", "!llvm.ptr"))


def _varies(value: Any, seen: dict[Any, bool]) -> bool:
    if value not in seen:
        seen[value] = False  # a loop's value depends on itself
        seen[value] = _made_differently(value, seen)
    return seen[value]


def _made_differently(value: Any, seen: dict[Any, bool]) -> bool:
    owner = value.owner
    if not hasattr(owner, "name"):  # a block's argument: of a function, or of a loop
        around = owner.owner.operation
        return not around.name.endswith(".func") and _any_varies(around, seen)
    operation = owner.operation
    if _OWN.fullmatch(operation.name):
        return True
    if operation.name == "memref.load" and kind(operation.operands[0]) == PRIVATE:
        return True
    return _any_varies(operation, seen)


def _any_varies(operation: Any, seen: dict[Any, bool]) -> bool:
    """The operands, and what the regions yield."""
    values = list(operation.operands)
    for region in operation.regions:
        for block in region.blocks:
            if len(block.operations):
                values += list(block.operations[len(block.operations) - 1].operation.operands)
    return any(_varies(value, seen) for value in values)
