"""Python's operators on MLIR values: one text makes scalar code and code on vectors of any length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch_mlir import ir
from torch_mlir.dialects import arith, math, vector

Operand = Any  # Lanes, or a Python number that becomes a constant

_ORDERED = {"<": arith.CmpFPredicate.OLT, "<=": arith.CmpFPredicate.OLE, "==": arith.CmpFPredicate.OEQ}
_ORDERED |= {">": arith.CmpFPredicate.OGT, ">=": arith.CmpFPredicate.OGE, "!=": arith.CmpFPredicate.UNE}
_SIGNED = {"<": arith.CmpIPredicate.slt, "<=": arith.CmpIPredicate.sle, "==": arith.CmpIPredicate.eq}
_SIGNED |= {">": arith.CmpIPredicate.sgt, ">=": arith.CmpIPredicate.sge, "!=": arith.CmpIPredicate.ne}


class Lanes:
    """A scalar, or all lanes of a vector, of one float or integer type. Integers are signed where it matters.

    ``fused`` says whether multiply-and-add is one instruction on the target.
    """

    __slots__ = ("fused", "value")

    def __init__(self, value: ir.Value, fused: bool = True) -> None:
        self.value = value
        self.fused = fused

    # What it is

    @property
    def element(self) -> ir.Type:
        kind = self.value.type
        return ir.VectorType(kind).element_type if isinstance(kind, ir.VectorType) else kind

    @property
    def is_vector(self) -> bool:
        return bool(isinstance(self.value.type, ir.VectorType))

    @property
    def is_float(self) -> bool:
        return bool(isinstance(self.element, ir.FloatType))

    @property
    def width(self) -> int:
        element = self.element
        return int(ir.FloatType(element).width if self.is_float else ir.IntegerType(element).width)

    def _of(self, value: ir.Value) -> Lanes:
        return Lanes(value, self.fused)

    def shaped(self, element: ir.Type) -> ir.Type:
        """The type of as many lanes of another element."""
        if not self.is_vector:
            return element
        return ir.VectorType.get(ir.VectorType(self.value.type).shape, element)

    def constant(self, number: float) -> Lanes:
        """The number in every lane, of this type."""
        element, kind = self.element, self.value.type
        if self.is_float:
            attribute = ir.FloatAttr.get(element, float(number))
        else:
            size = 1 << self.width  # a constant is written as the signed number of its bits
            wrapped = (int(number) + size // 2) % size - size // 2
            attribute = ir.IntegerAttr.get(element, wrapped)
        if self.is_vector:
            attribute = ir.DenseElementsAttr.get_splat(kind, attribute)
        return self._of(arith.ConstantOp(kind, attribute).result)

    def operand(self, other: Operand) -> ir.Value:
        return other.value if isinstance(other, Lanes) else self.constant(other).value

    # Arithmetic

    def _binary(self, on_floats: Any, on_integers: Any, left: Operand, right: Operand) -> Lanes:
        operation = on_floats if self.is_float else on_integers
        return self._of(operation(self.operand(left), self.operand(right)).result)

    def __add__(self, other: Operand) -> Lanes:
        return self._binary(arith.AddFOp, arith.AddIOp, self, other)

    def __radd__(self, other: Operand) -> Lanes:
        return self._binary(arith.AddFOp, arith.AddIOp, other, self)

    def __sub__(self, other: Operand) -> Lanes:
        return self._binary(arith.SubFOp, arith.SubIOp, self, other)

    def __rsub__(self, other: Operand) -> Lanes:
        return self._binary(arith.SubFOp, arith.SubIOp, other, self)

    def __mul__(self, other: Operand) -> Lanes:
        return self._binary(arith.MulFOp, arith.MulIOp, self, other)

    def __rmul__(self, other: Operand) -> Lanes:
        return self._binary(arith.MulFOp, arith.MulIOp, other, self)

    def __truediv__(self, other: Operand) -> Lanes:
        return self._of(arith.DivFOp(self.value, self.operand(other)).result)

    def __rtruediv__(self, other: Operand) -> Lanes:
        return self._of(arith.DivFOp(self.operand(other), self.value).result)

    def __neg__(self) -> Lanes:
        return self._of(arith.NegFOp(self.value).result) if self.is_float else 0 - self

    def __abs__(self) -> Lanes:
        return self._of(math.AbsFOp(self.value).result)

    def sqrt(self) -> Lanes:
        return self._of(math.SqrtOp(self.value).result)

    def nearest(self) -> Lanes:
        """The nearest whole number, ties to even."""
        return self._of(math.RoundEvenOp(self.value).result)

    def truncated(self) -> Lanes:
        return self._of(math.TruncOp(self.value).result)

    def with_sign_of(self, other: Lanes) -> Lanes:
        return self._of(math.CopySignOp(self.value, other.value).result)

    # Bits

    def __and__(self, other: Operand) -> Lanes:
        return self._of(arith.AndIOp(self.value, self.operand(other)).result)

    def __or__(self, other: Operand) -> Lanes:
        return self._of(arith.OrIOp(self.value, self.operand(other)).result)

    def __xor__(self, other: Operand) -> Lanes:
        return self._of(arith.XOrIOp(self.value, self.operand(other)).result)

    def __invert__(self) -> Lanes:
        return self ^ -1

    def __lshift__(self, other: Operand) -> Lanes:
        return self._of(arith.ShLIOp(self.value, self.operand(other)).result)

    def __rshift__(self, other: Operand) -> Lanes:
        """Arithmetic: the sign fills."""
        return self._of(arith.ShRSIOp(self.value, self.operand(other)).result)

    def logical_shift_right(self, other: Operand) -> Lanes:
        return self._of(arith.ShRUIOp(self.value, self.operand(other)).result)

    @property
    def bits(self) -> Lanes:
        """A float's representation."""
        integer = ir.IntegerType.get_signless(self.width)
        return self._of(arith.BitcastOp(self.shaped(integer), self.value).result)

    @property
    def as_float(self) -> Lanes:
        """The float that has this representation."""
        float_type = {16: ir.F16Type, 32: ir.F32Type, 64: ir.F64Type}[self.width].get()
        return self._of(arith.BitcastOp(self.shaped(float_type), self.value).result)

    # Comparisons

    def _compare(self, predicate: str, other: Operand) -> Lanes:
        if self.is_float:
            return self._of(arith.CmpFOp(_ORDERED[predicate], self.value, self.operand(other)).result)
        return self._of(arith.CmpIOp(_SIGNED[predicate], self.value, self.operand(other)).result)

    def __lt__(self, other: Operand) -> Lanes:
        return self._compare("<", other)

    def __le__(self, other: Operand) -> Lanes:
        return self._compare("<=", other)

    def __gt__(self, other: Operand) -> Lanes:
        return self._compare(">", other)

    def __ge__(self, other: Operand) -> Lanes:
        return self._compare(">=", other)

    def equals(self, other: Operand) -> Lanes:
        return self._compare("==", other)

    def differs(self, other: Operand) -> Lanes:
        """Also where one is NaN."""
        return self._compare("!=", other)

    def is_nan(self) -> Lanes:
        return self.differs(self)

    # Conversions

    def to(self, element: ir.Type) -> Lanes:
        """The value as another type: floats are rounded to nearest, integers keep their sign or lose high bits."""
        if element == self.element:
            return self
        kind = self.shaped(element)
        if isinstance(element, ir.FloatType):
            if not self.is_float:
                return self._of(arith.SIToFPOp(kind, self.value).result)
            wider = ir.FloatType(element).width > self.width
            return self._of((arith.ExtFOp if wider else arith.TruncFOp)(kind, self.value).result)
        if self.is_float:
            return self._of(arith.FPToSIOp(kind, self.value).result)
        wider = ir.IntegerType(element).width > self.width
        return self._of((arith.ExtSIOp if wider else arith.TruncIOp)(kind, self.value).result)

    def to_unsigned(self, element: ir.Type) -> Lanes:
        """A wider integer, zeros above."""
        return self._of(arith.ExtUIOp(self.shaped(element), self.value).result)

    @property
    def f32(self) -> Lanes:
        return self.to(ir.F32Type.get())

    @property
    def f64(self) -> Lanes:
        return self.to(ir.F64Type.get())

    @property
    def i32(self) -> Lanes:
        return self.to(ir.IntegerType.get_signless(32))

    @property
    def i64(self) -> Lanes:
        return self.to(ir.IntegerType.get_signless(64))

    def any(self) -> ir.Value:
        """One i1: whether any lane of this mask is set."""
        if not self.is_vector:
            return self.value
        return vector.ReductionOp(self.element, vector.CombiningKind.OR, self.value).result


def select(mask: Lanes, yes: Operand, no: Operand) -> Lanes:
    """``yes`` where the mask is set; at least one of the two is no Python number."""
    model = yes if isinstance(yes, Lanes) else no
    return Lanes(arith.SelectOp(mask.value, model.operand(yes), model.operand(no)).result, model.fused)


def fma(a: Lanes, b: Operand, c: Operand) -> Lanes:
    """``a * b + c``: rounded once where the target has the instruction, twice elsewhere."""
    if not a.fused:
        twice: Lanes = a * b + c
        return twice
    return Lanes(math.FmaOp(a.value, a.operand(b), a.operand(c)).result, a.fused)


def smaller(x: Lanes, bound: Operand) -> Lanes:
    """``min(x, bound)``; NaN stays NaN."""
    return select(x > bound, bound, x)


def larger(x: Lanes, bound: Operand) -> Lanes:
    """``max(x, bound)``; NaN stays NaN."""
    return select(x < bound, bound, x)


def polynomial(x: Lanes, coefficients: Sequence[float]) -> Lanes:
    """Horner's scheme, lowest power first."""
    result = x.constant(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = fma(result, x, coefficient)
    return result


def power_of_two(exponent: Lanes) -> Lanes:
    """``2**exponent`` as the float as wide as the integer; the result must be a normal number."""
    mantissa, bias = FORMATS[exponent.width]
    return ((exponent + bias) << mantissa).as_float


FORMATS = {32: (23, 127), 64: (52, 1023)}  # width of a float: bits of its mantissa, bias of its exponent
