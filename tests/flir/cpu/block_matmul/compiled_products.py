"""Products in the Linalg form, compiled for this machine and called with NumPy arrays."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy

from tle_raw.flir.cpu.block_matmul import block_matmul
from tle_raw.host.code import assemble, link_host_code
from tle_raw.host.loader import load_object

PASSES = """
    convert-linalg-to-loops expand-strided-metadata lower-affine convert-scf-to-cf convert-math-to-llvm
    convert-vector-to-llvm finalize-memref-to-llvm convert-arith-to-llvm convert-index-to-llvm convert-cf-to-llvm
    convert-func-to-llvm{use-bare-ptr-memref-call-conv=1} reconcile-unrealized-casts
"""
RESULT_TYPES = {"f32": "f32", "f64": "f64", "f16": "f32", "bf16": "f32", "i32": "i32", "i8": "i32"}
# NumPy has no bf16: its bits are kept.
STORED = {"f32": "f4", "f64": "f8", "f16": "f2", "bf16": "u2", "i32": "i4", "i8": "i1"}


@dataclass(frozen=True)
class Shape:
    """``batch`` 0 is a product without one."""

    m: int
    n: int
    k: int
    batch: int = 0

    def of(self, *sizes: int) -> tuple[int, ...]:
        return (self.batch, *sizes) if self.batch else sizes


def product_text(shape: Shape, element: str, attributes: str = "") -> str:
    result = RESULT_TYPES[element]
    a, b, c = (
        f"memref<{'x'.join(map(str, shape.of(*sizes)))}x{type}>"
        for sizes, type in (
            ((shape.m, shape.k), element),
            ((shape.k, shape.n), element),
            ((shape.m, shape.n), result),
        )
    )
    name = "linalg.batch_matmul" if shape.batch else "linalg.matmul"
    return f"""
    func.func @product(%a: {a}, %b: {b}, %c: {c}) {{
      {name} {attributes} ins(%a, %b : {a}, {b}) outs(%c : {c})
      return
    }}"""


def blocked(text: str, vector_bytes: int) -> str:
    """The module after the pass."""
    from torch_mlir import ir

    with ir.Context():
        module = ir.Module.parse(text)
        block_matmul(module, vector_bytes=vector_bytes)
        module.operation.verify()
        return str(module)


@lru_cache(maxsize=64)
def assembly(text: str, vector_bytes: int) -> str:
    """The code of ``@product`` for this machine."""
    from torch_mlir import ir
    from torch_mlir.dialects import llvm
    from torch_mlir.passmanager import PassManager

    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(blocked(text, vector_bytes))
        PassManager.parse(f"builtin.module({','.join(PASSES.split())})").run(module.operation)
        return link_host_code(llvm.translate_module_to_llvmir(module.operation), entry="product")


def run_product(text: str, vector_bytes: int, *arrays: Any) -> None:
    """Calls ``@product``; the last array is changed."""
    loaded = load_object(assemble(assembly(text, vector_bytes)), entry="product")
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))(loaded.address)(*(a.ctypes.data for a in arrays))


def random_operand(random: numpy.random.Generator, shape: tuple[int, ...], element: str) -> Any:
    """Values of every size for integers, ordinary ones for floats."""
    if element.startswith("i"):
        limits = numpy.iinfo(STORED[element])
        return random.integers(limits.min, limits.max, shape, STORED[element], endpoint=True)
    values = random.standard_normal(shape)
    if element == "bf16":
        return (values.astype("f4").view("u4") >> 16).astype("u2")
    return values.astype(STORED[element])


def exact(array: Any, element: str) -> Any:
    """The values as f64, or as i64 for integers, whose low bits are those of every narrower sum."""
    if element == "bf16":
        array = (array.astype("u4") << 16).view("f4")
    return array.astype("i8" if element.startswith("i") else "f8")
