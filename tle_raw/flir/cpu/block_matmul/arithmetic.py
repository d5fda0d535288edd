"""How elements of A and B become those of C, per pair of element types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir import ir
from torch_mlir.dialects import arith, vector


@dataclass(frozen=True)
class Arithmetic:
    """Operands and result have one element type."""

    result_type: ir.Type

    def multiply_add(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        if isinstance(self.result_type, ir.FloatType):
            return vector.fma(a, b, c)
        return arith.addi(arith.muli(a, b), c)


class Packed(Arithmetic, ABC):
    """The operands are converted to vectors of the result's type before they are multiplied.

    One element of the packed operands stands for ``depth`` elements along K. There are fewer at the end of K.
    """

    depth = 1

    @abstractmethod
    def pack_along(self, elements: ir.Value) -> ir.Value:
        """Neighbours along K, as they lie in a row of A."""

    @abstractmethod
    def pack_across(self, rows: Sequence[ir.Value]) -> ir.Value:
        """One vector for each element along K, as they lie in the rows of B."""


class Extended(Packed):
    """Short floats."""

    def pack_along(self, elements: ir.Value) -> ir.Value:
        return arith.extf(ir.VectorType.get(elements.type.shape, self.result_type), elements)

    def pack_across(self, rows: Sequence[ir.Value]) -> ir.Value:
        return self.pack_along(rows[0])


class Pairs(Packed):
    """Bytes, as two i16 in one i32: processors multiply such pairs and add the two products in one instruction.

    The form written here, a product of i16 vectors extended to i32 whose even and odd lanes are added, is what LLVM
    recognises as ``vpmaddwd`` and, with the accumulator, as ``vpdpwssd``.
    """

    depth = 2

    def pack_along(self, elements: ir.Value) -> ir.Value:
        short = _as_i16(elements)
        if short.type.shape == [1]:
            short = vector.interleave(short, _zeros(short.type))
        return self._joined(short)

    def pack_across(self, rows: Sequence[ir.Value]) -> ir.Value:
        even = _as_i16(rows[0])
        odd = _as_i16(rows[1]) if len(rows) == 2 else _zeros(even.type)
        return self._joined(vector.interleave(even, odd))

    def multiply_add(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        lanes = 2 * c.type.shape[0]
        wide = ir.VectorType.get([lanes], self.result_type)
        a, b = (arith.extsi(wide, vector.bitcast(_i16_vector(lanes), pairs)) for pairs in (a, b))
        # No overflow: LLVM's pattern wants to know, and a product of two i16 fits.
        even, odd = vector.deinterleave(arith.muli(a, b, overflow_flags=arith.IntegerOverflowFlags.nsw))
        return arith.addi(arith.addi(even, odd), c)

    def _joined(self, short: ir.Value) -> ir.Value:
        return vector.bitcast(ir.VectorType.get([short.type.shape[0] // 2], self.result_type), short)


def arithmetic_of(operand_type: ir.Type, result_type: ir.Type) -> Arithmetic:
    if operand_type == result_type:
        return Arithmetic(result_type)
    return Extended(result_type) if isinstance(operand_type, ir.FloatType) else Pairs(result_type)


def _i16_vector(lanes: int) -> ir.VectorType:
    return ir.VectorType.get([lanes], ir.IntegerType.get_signless(16))


def _as_i16(bytes: ir.Value) -> ir.Value:
    return arith.extsi(_i16_vector(bytes.type.shape[0]), bytes)


def _zeros(type: ir.VectorType) -> ir.Value:
    zero = ir.IntegerAttr.get(type.element_type, 0)
    return arith.ConstantOp(type, ir.DenseElementsAttr.get_splat(type, zero)).result
