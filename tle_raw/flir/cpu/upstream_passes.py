"""Passes of upstream MLIR that stand in the pipeline as they are."""

from __future__ import annotations

from typing import Any

from tle_raw.errors import CompilationFailed
from tle_raw.flir.cpu.bindings import mlir

# bf16 has no arithmetic on most hosts: it is done in f32 and rounded back, operation by operation.
_EMULATE_SMALL_FLOATS = "func.func(arith-emulate-unsupported-floats{source-types=bf16,f16 target-type=f32})"
_EXPAND_ARITHMETIC = "arith-expand{include-bf16=true include-min-max-f=false}"
# Strided metadata is expanded before the affine maps that it makes are lowered.
_TO_LLVM_DIALECT = """
    func.func(convert-linalg-to-loops),
    expand-strided-metadata, lower-affine,
    convert-vector-to-scf, convert-scf-to-cf,
    convert-math-to-llvm, convert-math-to-libm, convert-vector-to-llvm,
    finalize-memref-to-llvm, convert-arith-to-llvm, convert-index-to-llvm, convert-cf-to-llvm, convert-func-to-llvm,
    convert-ub-to-llvm, reconcile-unrealized-casts
"""


def emulate_small_floats(module: Any) -> None:
    """Do the arithmetic of bf16 and f16 in f32, in place."""
    run_passes(module, _EMULATE_SMALL_FLOATS)


def expand_arithmetic(module: Any) -> None:
    """Write operations that LLVM lacks as others, in place."""
    run_passes(module, _EXPAND_ARITHMETIC)


def convert_to_llvm(module: Any) -> None:
    """Lower everything that is left to the LLVM dialect, in place."""
    run_passes(module, _TO_LLVM_DIALECT)


def translate_to_llvmir(module: Any) -> str:
    """The LLVM IR of a module in the LLVM dialect."""
    from torch_mlir.dialects import llvm

    return str(llvm.translate_module_to_llvmir(module.operation))


def run_passes(module: Any, passes: str) -> None:
    """Run upstream passes over a module in place; ``passes`` is their textual pipeline.

    Raises
    ------
    CompilationFailed : a pass fails.
    """
    from torch_mlir.passmanager import PassManager

    ir = mlir()
    pipeline = f"builtin.module({' '.join(passes.split())})"
    try:
        PassManager.parse(pipeline, context=module.context).run(module.operation)
    except ir.MLIRError as e:
        raise CompilationFailed("MLIR cannot lower the kernel", log=str(e)) from e
