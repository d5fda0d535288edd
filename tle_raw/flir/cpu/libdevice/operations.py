"""Single operations as functions of lanes: of the dialects arith and math, or a call of libm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch_mlir import ir
from torch_mlir.dialects import arith, func

from tle_raw.flir.cpu.math_functions.lanes import Lanes, select

LaneFunction = Callable[..., Lanes]


def operation(name: str) -> LaneFunction:
    """An operation whose result has the type of its first operand."""

    def build(*operands: Lanes) -> Lanes:
        first = operands[0]
        made = ir.Operation.create(name, results=[first.value.type], operands=[o.value for o in operands])
        return Lanes(made.results[0], first.fused)

    return build


def libm(name: str) -> LaneFunction:
    """A function of libm on f64, declared in the module when it is used first. Single precision is computed in f64."""

    def build(*operands: Lanes) -> Lanes:
        last = operands[-1]
        wide = [o.f64 if o.is_float else o for o in operands]
        double = ir.F64Type.get()
        _declare(name, [o.value.type for o in wide], double)
        made = func.CallOp([double], ir.FlatSymbolRefAttr.get(name), [o.value for o in wide])
        return Lanes(made.results[0], last.fused).to(last.element)

    return build


def _declare(name: str, operands: list[Any], result: Any) -> None:
    module = ir.InsertionPoint.current.block.owner
    while module.operation.name != "builtin.module":
        module = module.operation.parent
    if name in ir.SymbolTable(module.operation):
        return
    with ir.InsertionPoint.at_block_begin(module.operation.regions[0].blocks[0]):
        func.FuncOp(name, ir.FunctionType.get(operands, [result]), visibility="private")


def multiply_add(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """``a * b + c`` rounded once on every host: some have to call libm for it."""
    return operation("math.fma")(a, b, c)


def as_flag(mask: Lanes) -> Lanes:
    """1 or 0, an i32."""
    i32 = ir.IntegerType.get_signless(32)
    return Lanes(arith.ExtUIOp(mask.shaped(i32), mask.value).result, mask.fused)


def unsigned_less(x: Lanes, y: Lanes) -> Lanes:
    return Lanes(arith.CmpIOp(arith.CmpIPredicate.ult, x.value, y.value).result, x.fused)


def is_finite(x: Lanes) -> Lanes:
    return abs(x) < float("inf")


def in_double(body: LaneFunction) -> LaneFunction:
    """A function of f64 that serves for f32 too: rounded to f32 at the end."""

    def build(*operands: Lanes) -> Lanes:
        first = operands[0]
        return body(*[o.f64 if o.is_float else o for o in operands]).to(first.element)

    return build


def nan_where(mask: Lanes, x: Lanes) -> Lanes:
    return select(mask, float("nan"), x)
