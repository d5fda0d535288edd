"""Which operations are computed per element where their results are used."""

from __future__ import annotations

from typing import Any

from tle_raw.flir.cpu.convert import scalars, types
from tle_raw.flir.cpu.mlir_values import Operation

_SHAPES = {
    "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans", "tt.join", "tt.split", "tt.cat",
    "tt.make_range", "tt.load", "tt.map_elementwise", "tt.unsplat",
    "ttg.local_load", "ttng.tmem_load",
}  # fmt: skip
_AFFINE = {
    "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.make_range", "tt.addptr", "arith.addi", "arith.subi",
    "arith.extsi", "tt.trans", "tt.bitcast",
}  # fmt: skip


def is_lazy(op: Operation) -> bool:
    """Whether the operation makes tiles that need not be stored."""
    if not op.results or not types.is_tile(op.results[0].type):
        return False
    if op.name == "tt.extern_elementwise":
        return bool(op.attributes["pure"].value)
    return op.name in _SHAPES or scalars.is_scalar_operation(op.name)


def definition(value: Any) -> Any:
    """The operation that defines a value; None for a block's argument."""
    owner = value.owner
    return owner.operation if hasattr(owner, "operation") else None


def is_affine(value: Any) -> bool:
    """Whether a tile of addresses grows linearly with every index, so that its corners are its extremes."""
    if not types.is_tile(value.type):
        return True
    op = definition(value)
    if op is None:
        return False
    if op.name == "arith.constant":
        return is_uniform(value)
    if op.name == "arith.muli":
        return all(map(is_affine, op.operands)) and any(map(is_uniform, op.operands))
    return op.name in _AFFINE and all(map(is_affine, op.operands))


def is_uniform(value: Any) -> bool:
    """Whether all elements of a tile are equal."""
    if not types.is_tile(value.type):
        return True
    op = definition(value)
    if op is None:
        return False
    if op.name == "arith.constant":
        return bool(op.attributes["value"].is_splat)
    passes_on = op.name in ("tt.broadcast", "tt.expand_dims", "arith.extsi")
    return op.name == "tt.splat" or (passes_on and is_uniform(op.operands[0]))
