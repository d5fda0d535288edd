"""``linalg.fill`` and ``linalg.copy`` as generics, which are then vectorised like any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.flir.cpu.bindings import mlir


def fill_as_generic(fill: Any) -> None:
    """Replace a ``linalg.fill`` of a buffer."""
    value, buffer = fill.operands
    _replace(fill, [], [buffer], lambda arguments: value)


def copy_as_generic(copy: Any) -> None:
    """Replace a ``linalg.copy`` from one buffer to another."""
    source, target = copy.operands
    _replace(copy, [source], [target], lambda arguments: arguments[0])


def _replace(op: Any, inputs: Sequence[Any], outputs: Sequence[Any], result: Any) -> None:
    ir = mlir()
    rank = len(ir.ShapedType(outputs[0].type).shape)
    identity = ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank))
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    operands = [*inputs, *outputs]
    with op.location, ir.InsertionPoint(op):
        generic = ir.Operation.create(
            "linalg.generic",
            operands=operands,
            attributes={
                "indexing_maps": ir.ArrayAttr.get([identity] * len(operands)),
                "iterator_types": ir.ArrayAttr.get([parallel] * rank),
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), len(outputs)]),
            },
            regions=1,
        )
        elements = [ir.ShapedType(v.type).element_type for v in operands]
        block = generic.regions[0].blocks.append(*elements, arg_locs=[op.location] * len(operands))
        with ir.InsertionPoint(block):
            ir.Operation.create("linalg.yield", operands=[result(block.arguments)])
    op.erase()
