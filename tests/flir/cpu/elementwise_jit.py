"""Runs scalar or vector code on whole NumPy arrays, through the passes and the LLVM that kernels go through."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from tle_raw.flir.cpu.math_functions import expand_math
from tle_raw.host.code import assemble, link_host_code
from tle_raw.host.loader import load_object

PASSES = """
    convert-vector-to-scf convert-scf-to-cf convert-math-to-llvm convert-math-to-libm convert-vector-to-llvm
    convert-arith-to-llvm convert-index-to-llvm convert-cf-to-llvm convert-func-to-llvm reconcile-unrealized-casts
"""
MLIR_NAMES = {"f2": "f16", "f4": "f32", "f8": "f64", "i4": "i32", "u4": "i32", "i8": "i64", "u8": "i64", "i1": "i8"}
Body = Callable[[list[Any], Any], Any]
"""Builds the code: operands and the result's type in, a value out."""


class Compiled:
    """Code over arrays: all operands and the result are of one length, a multiple of the lanes."""

    def __init__(self, llvm_ir: str, result: str, contract: bool) -> None:
        self.result = result
        self.ir = llvm_ir
        self.assembly = link_host_code(llvm_ir, entry="run", fp_contract=contract)
        self._loaded = load_object(assemble(self.assembly), entry="run")

    def __call__(self, *arrays: Any) -> Any:
        out = numpy.empty(len(arrays[0]), self.result)
        self.into(out, *arrays)
        return out

    def into(self, out: Any, *arrays: Any) -> None:
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(arrays) + 1), ctypes.c_int64)
        pointers = [a.ctypes.data for a in (*arrays, out)]
        kind(self._loaded.address)(*pointers, len(out))


def compile_elementwise(
    body: Body, operands: Sequence[str], result: str, lanes: int = 0, *, fma: bool = True, contract: bool = False
) -> Compiled:
    """``operands`` and ``result`` are NumPy type codes; 0 lanes are scalars; ``contract``: sums may be fused."""
    from torch_mlir import ir
    from torch_mlir.dialects import llvm
    from torch_mlir.passmanager import PassManager

    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(_loop([MLIR_NAMES[o] for o in operands], MLIR_NAMES[result], lanes))
        _fill(module, body)
        expand_math(module, fma=fma)
        module.operation.verify()
        PassManager.parse(f"builtin.module({','.join(PASSES.split())})").run(module.operation)
        return Compiled(llvm.translate_module_to_llvmir(module.operation), result, contract)


def operation(name: str) -> Body:
    """The body that is one operation of the ``math`` dialect."""

    def build(operands: list[Any], result: Any) -> Any:
        from torch_mlir import ir

        return ir.Operation.create(name, results=[result], operands=operands).results[0]

    return build


def _loop(operands: list[str], result: str, lanes: int) -> str:
    def shaped(element: str) -> str:
        return f"vector<{lanes}x{element}>" if lanes else element

    arguments = ", ".join(f"%p{i}: !llvm.ptr" for i in range(len(operands)))
    loads = "".join(
        f"""
        %a{i} = llvm.getelementptr %p{i}[%at] : (!llvm.ptr, i64) -> !llvm.ptr, {element}
        %v{i} = llvm.load %a{i} {{alignment = 1 : i64}} : !llvm.ptr -> {shaped(element)}"""
        for i, element in enumerate(operands)
    )
    values = ", ".join(f"%v{i}" for i in range(len(operands)))
    kinds = ", ".join(shaped(element) for element in operands)
    return f"""
    func.func @run({arguments}, %out: !llvm.ptr, %n: i64) {{
      %zero = arith.constant 0 : i64
      %step = arith.constant {max(lanes, 1)} : i64
      scf.for %at = %zero to %n step %step : i64 {{{loads}
        %a = llvm.getelementptr %out[%at] : (!llvm.ptr, i64) -> !llvm.ptr, {result}
        %r = builtin.unrealized_conversion_cast {values} : {kinds} to {shaped(result)}
        llvm.store %r, %a {{alignment = 1 : i64}} : {shaped(result)}, !llvm.ptr
      }}
      return
    }}"""


def _fill(module: Any, body: Body) -> None:
    """The cast in the loop marks the place of the code."""
    from torch_mlir import ir

    places = []

    def visit(operation: Any) -> Any:
        if operation.name == "builtin.unrealized_conversion_cast":
            places.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    (place,) = places
    with ir.InsertionPoint(place):
        value = body(list(place.operands), place.results[0].type)
    place.results[0].replace_all_uses_with(value)
    place.erase()
