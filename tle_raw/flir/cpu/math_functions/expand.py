"""Finds the operations and puts calls in their places."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from torch_mlir import ir
from torch_mlir.dialects import func, vector

from tle_raw.flir.cpu.math_functions import (
    error_function,
    exponential,
    hyperbolic,
    inverse_trigonometric,
    logarithm,
    power,
    trigonometric,
)
from tle_raw.flir.cpu.math_functions.lanes import Lanes
from tle_raw.flir.cpu.mlir_values import Operation, Type, Value

LaneExpansion = Callable[..., Lanes]

SINGLE: dict[str, LaneExpansion] = {
    "math.acos": inverse_trigonometric.acos,
    "math.acosh": hyperbolic.acosh,
    "math.asin": inverse_trigonometric.asin,
    "math.asinh": hyperbolic.asinh,
    "math.atan": inverse_trigonometric.atan,
    "math.atan2": inverse_trigonometric.atan2,
    "math.atanh": hyperbolic.atanh,
    "math.cbrt": power.cbrt,
    "math.cos": trigonometric.cos,
    "math.cosh": hyperbolic.cosh,
    "math.erf": error_function.erf,
    "math.erfc": error_function.erfc,
    "math.exp": exponential.exp,
    "math.exp2": exponential.exp2,
    "math.expm1": exponential.expm1,
    "math.log": logarithm.log,
    "math.log10": logarithm.log10,
    "math.log1p": logarithm.log1p,
    "math.log2": logarithm.log2,
    "math.powf": power.power,
    "math.rsqrt": power.rsqrt,
    "math.sin": trigonometric.sin,
    "math.sinh": hyperbolic.sinh,
    "math.tan": trigonometric.tan,
    "math.tanh": hyperbolic.tanh,
}
# expm1 and log1p are here for another reason too: MLIR would lower them to exp(x) - 1 and log(1 + x).
DOUBLE = {
    f"math.{name}": SINGLE[f"math.{name}"]
    for name in ("exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "rsqrt")
}


def expand(module: Any, fma: bool) -> None:
    with module.context, ir.Location.unknown():
        expansion = _Expansion(module, fma)
        for operation in _candidates(module):
            expansion.replace(operation)


def _candidates(module: Any) -> list[Operation]:
    found = []

    def visit(operation: Operation) -> Any:
        if operation.name in SINGLE and function_of(operation) is not None:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def function_of(operation: Operation) -> LaneExpansion | None:
    """What computes the operation; nothing when it stays as it is."""
    kind = operation.results[0].type
    if isinstance(kind, ir.VectorType):
        if ir.VectorType(kind).scalable:
            return None
        kind = ir.VectorType(kind).element_type
    if isinstance(kind, ir.F64Type):
        return DOUBLE.get(operation.name)
    is_single = isinstance(kind, (ir.F32Type, ir.F16Type, ir.BF16Type))
    return SINGLE[operation.name] if is_single else None


class _Expansion:
    """The functions of one module, each made when it is needed first."""

    def __init__(self, module: Any, fma: bool) -> None:
        self.module = module
        self.fma = fma
        self.made: dict[str, Any] = {}

    def replace(self, operation: Operation) -> None:
        kind = operation.results[0].type
        plain = _in_one_dimension(kind)
        with ir.InsertionPoint(operation), operation.location:
            operands = [_reshaped(o, plain) for o in operation.operands]
            callee = self.function(operation, plain, len(operands))
            result = func.CallOp([plain], ir.FlatSymbolRefAttr.get(callee), operands).results[0]
            operation.results[0].replace_all_uses_with(_reshaped(result, kind))
        operation.erase()

    def function(self, operation: Operation, kind: Type, arity: int) -> str:
        name = f"tle.{operation.name.removeprefix('math.')}.{_spelled(kind)}"
        if name not in self.made:
            self.made[name] = self._define(name, function_of(operation), kind, arity)
        return name

    def _define(self, name: str, body: Any, kind: Type, arity: int) -> Any:
        with ir.InsertionPoint.at_block_begin(self.module.body):
            function = func.FuncOp(name, ir.FunctionType.get([kind] * arity, [kind]), visibility="private")
        # what the conversion of func.func to llvm.func carries over
        function.attributes["llvm.linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
        function.attributes["llvm.always_inline"] = ir.UnitAttr.get()
        with ir.InsertionPoint(function.add_entry_block()):
            arguments = [Lanes(a, self.fma) for a in function.arguments]
            element = arguments[0].element
            if arguments[0].width < 32:
                arguments = [a.f32 for a in arguments]
            func.ReturnOp([body(*arguments).to(element).value])
        return function


def _in_one_dimension(kind: Type) -> Any:
    """Vectors of any rank are computed as one row; rank 0 too."""
    if not isinstance(kind, ir.VectorType):
        return kind
    shape = ir.VectorType(kind).shape
    return kind if len(shape) == 1 else ir.VectorType.get([prod(shape)], ir.VectorType(kind).element_type)


def _reshaped(value: Value, kind: Type) -> Any:
    return value if value.type == kind else vector.ShapeCastOp(kind, value).result


def _spelled(kind: Type) -> str:
    """f32, 16xf32"""
    if not isinstance(kind, ir.VectorType):
        return str(kind)
    return f"{ir.VectorType(kind).shape[0]}x{ir.VectorType(kind).element_type}"
