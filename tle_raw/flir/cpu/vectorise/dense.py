"""Fills and copies of buffers as generics, which are then vectorised like any other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.mlir_values import Operation


def fill_as_generic(fill: Any) -> None:
    """Replace a ``linalg.fill`` of a buffer."""
    value, buffer = fill.operands
    _replace(fill, [], [buffer], lambda arguments: value)


def copy_as_generic(copy: Any) -> None:
    """Replace a ``linalg.copy`` from one buffer to another."""
    source, target = copy.operands
    _replace(copy, [source], [target], lambda arguments: arguments[0])


def transposing_copy(source: Any, target: Any, order: Sequence[int], before: Any) -> Any:
    """A generic that copies a buffer, indexed by the target's dimensions in another order, in front of an operation."""
    ir = mlir()
    rank = len(order)
    permuted = ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(d) for d in order])
    maps = [permuted, ir.AffineMap.get_identity(rank)]
    with before.location, ir.InsertionPoint(before):
        return _generic([source], [target], maps, lambda arguments: arguments[0])


def _replace(op: Operation, inputs: Sequence[Any], outputs: Sequence[Any], result: Callable[[Any], Any]) -> None:
    ir = mlir()
    with op.location, ir.InsertionPoint(op):
        identity = ir.AffineMap.get_identity(len(ir.ShapedType(outputs[0].type).shape))
        _generic(inputs, outputs, [identity] * (len(inputs) + len(outputs)), result)
    op.erase()


def _generic(inputs: Sequence[Any], outputs: Sequence[Any], maps: Sequence[Any], result: Callable[[Any], Any]) -> Any:
    ir = mlir()
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    operands = [*inputs, *outputs]
    generic = ir.Operation.create(
        "linalg.generic",
        operands=operands,
        attributes={
            "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps]),
            "iterator_types": ir.ArrayAttr.get([parallel] * maps[0].n_dims),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), len(outputs)]),
        },
        regions=1,
    )
    elements = [ir.ShapedType(v.type).element_type for v in operands]
    block = generic.regions[0].blocks.append(*elements, arg_locs=[generic.location] * len(operands))
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", operands=[result(block.arguments)])
    return generic
