"""From the Linalg form to LLVM IR: one pipeline that reads top to bottom."""

from __future__ import annotations

from typing import Any

from tle_raw.errors import CompilationFailed
from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.block_matmul import block_matmul
from tle_raw.flir.cpu.common_divisor import multiply_by_reciprocals
from tle_raw.flir.cpu.math_functions import expand_math
from tle_raw.flir.cpu.place_buffers import place_buffers
from tle_raw.flir.cpu.prefetch import prefetch_next
from tle_raw.flir.cpu.stream_stores import stream_stores
from tle_raw.flir.cpu.vectorise import vectorise
from tle_raw.flir.cpu.vectorise.operations import walk
from tle_raw.flir.print_after import print_after, print_module_after

# bf16 has no arithmetic on most hosts: it is done in f32 and rounded back, operation by operation.
_EMULATE_SMALL_FLOATS = "func.func(arith-emulate-unsupported-floats{source-types=bf16,f16 target-type=f32})"
_EXPAND_ARITHMETIC = "arith-expand{include-bf16=true include-min-max-f=false}"
# Products of tiles.
_PRODUCTS = ("linalg.matmul", "linalg.batch_matmul")
# Non-temporal stores of vectors came with AVX.
_STREAMS = 32
# Divisions of vectors as wide as these take four times as long as the operations that can take their place.
_DIVIDES_SLOWLY = 64
# Strided metadata is expanded before the affine maps that it makes are lowered.
_TO_LLVM_DIALECT = """
    func.func(convert-linalg-to-loops),
    expand-strided-metadata, lower-affine,
    convert-vector-to-scf, convert-scf-to-cf,
    convert-math-to-llvm, convert-math-to-libm, convert-vector-to-llvm,
    finalize-memref-to-llvm, convert-arith-to-llvm, convert-index-to-llvm, convert-cf-to-llvm, convert-func-to-llvm,
    convert-ub-to-llvm, reconcile-unrealized-casts
"""


def lower_to_llvm(module: Any, *, vector_bytes: int, fma: bool = True, metadata: dict[str, Any] | None = None) -> str:
    """Lower a kernel in the Linalg form to LLVM IR text, without target triple and data layout.

    Parameters
    ----------
    module : the text of a module, or a module of the MLIR bindings, which is changed in place.
    vector_bytes : width of the host's vector registers: 64 for AVX-512, 32 for AVX2, 16 otherwise.
    fma : whether the host has fused multiply-add.
    metadata : receives ``scratch_bytes``, the scratch memory that one worker needs, and ``streamed``, what
        ``stream_stores`` says.

    Raises
    ------
    ToolchainError : the MLIR bindings are not installed.
    CompilationFailed : MLIR refuses the module; the log carries its diagnostics.
    """
    ir = mlir()
    if not isinstance(module, str):
        return _lower(module, vector_bytes, fma, metadata)
    with ir.Context(), ir.Location.unknown():
        return _lower(parse(module), vector_bytes, fma, metadata)


def _lower(module: Any, vector_bytes: int, fma: bool, metadata: dict[str, Any] | None) -> str:
    from torch_mlir.dialects import llvm

    with module.context, mlir().Location.unknown():
        multiplies = any(op.name in _PRODUCTS for op in walk(module.operation))
        block_matmul(module, vector_bytes=vector_bytes)
        print_module_after("block-matmul", module)
        vectorise(module, vector_bytes=vector_bytes)
        print_module_after("vectorise", module)
        # A product's programs read the same rows again: what is next is in the cache, and the bandwidth is not.
        if not multiplies:
            prefetch_next(module)
        streamed = stream_stores(module) if vector_bytes >= _STREAMS else None
        if fma and vector_bytes >= _DIVIDES_SLOWLY:
            multiply_by_reciprocals(module)
        print_module_after("multiply-by-reciprocals", module)
        scratch_bytes = place_buffers(module)
        print_module_after("place-buffers", module)
        expand_math(module, fma=fma)
        print_module_after("expand-math", module)
        run_passes(module, _EMULATE_SMALL_FLOATS)
        print_module_after("emulate-small-floats", module)
        keep_rounding(module)
        print_module_after("keep-rounding", module)
        run_passes(module, _EXPAND_ARITHMETIC)
        print_module_after("expand-arithmetic", module)
        run_passes(module, _TO_LLVM_DIALECT)
        print_module_after("convert-to-llvm", module)
        text = llvm.translate_module_to_llvmir(module.operation)
        print_after("translate-to-llvmir", text)
    if metadata is not None:
        metadata["scratch_bytes"] = scratch_bytes
        metadata["streamed"] = streamed
    return text


def keep_rounding(module: Any) -> None:
    """Take the leave to contract from conversions: a bf16 between two operations is rounded to bf16."""
    ir = mlir()

    def visit(op: Any) -> Any:
        if op.name in ("arith.extf", "arith.truncf") and "fastmath" in op.attributes:
            op.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<none>")
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)


def parse(text: str) -> Any:
    """Read a module's text in the current context.

    Raises
    ------
    CompilationFailed : it is no valid module.
    """
    ir = mlir()
    try:
        return ir.Module.parse(text)
    except ir.MLIRError as e:
        raise CompilationFailed("MLIR cannot read the kernel", log=str(e)) from e


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
