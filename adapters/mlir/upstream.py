"""MLIR by the installed bindings of upstream: one pipeline from any upstream dialect to device LLVM IR."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.mlir import libtriton
from tle_raw.adapters.mlir.bindings import Binding
from tle_raw.adapters.mlir.memory_roots import nested
from tle_raw.adapters.mlir.place_memory import place_memory
from tle_raw.adapters.mlir.share_loops import share_loops
from tle_raw.adapters.mlir.unwrap import holding_module
from tle_raw.errors import CompilationFailed

_TO_MEMORY = "one-shot-bufferize, convert-bufferization-to-memref"
# Everything that can be a parallel loop becomes one; each is then given to the threads of the block. Functions are
# inlined so that it can be seen whose memory they work on.
_TO_LOOPS = "inline, linalg-generalize-named-ops"
_TO_PARALLEL = "convert-linalg-to-parallel-loops, scf-forall-to-parallel, lower-affine"
# Strided metadata is expanded before the affine maps that it makes are lowered.
_TO_LLVM_DIALECT = """
    expand-strided-metadata, lower-affine,
    convert-vector-to-scf, convert-math-to-funcs, convert-scf-to-cf,
    convert-math-to-nvvm, convert-math-to-llvm, convert-vector-to-llvm,
    finalize-memref-to-llvm, convert-arith-to-llvm, convert-index-to-llvm, convert-ub-to-llvm, convert-func-to-llvm
"""
# gpu operations, assertions and branches: the pass for GPUs knows them, and works on GPU modules only.
_TO_NVVM = "gpu.module(convert-gpu-to-nvvm, convert-nvvm-to-llvm, reconcile-unrealized-casts, canonicalize, cse)"
_WORKGROUP = "#gpu.address_space<workgroup>"


def lower(text: str, symbol: str, arch: str, binding: Binding) -> str:
    """LLVM IR text of the module that holds ``symbol``.

    Raises
    ------
    CompilationFailed : MLIR refuses the module; the log carries its diagnostics.
    UnsupportedFeatureError : memory or loops that cannot work in a region.
    """
    ir = binding.ir
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = False
        module = holding_module(_parse(text, binding), symbol, binding)
        if _has_tensors(module):
            run(module, _TO_MEMORY, binding)
        run(module, _TO_LOOPS, binding)
        share_loops(module, binding, lambda: run(module, _TO_PARALLEL, binding))
        place_memory(module, binding)
        run(module, _TO_LLVM_DIALECT, binding)
        device = _in_gpu_module(module, binding)
        run(device, _TO_NVVM, binding)
        return _hand_over(_out_of_gpu_module(device, binding), arch, binding)


def _has_tensors(module: Any) -> bool:
    return any(
        op.name.startswith(("tensor.", "bufferization.")) or (op.name.startswith("linalg.") and len(op.results))
        for op in nested(module.operation)
    )


def _parse(text: str, binding: Binding) -> Any:
    # Address spaces are numbers from here on: the conversion of memrefs takes no other.
    try:
        return binding.ir.Module.parse(text.replace(_WORKGROUP, "3 : i64"))
    except binding.ir.MLIRError as e:
        raise CompilationFailed("MLIR cannot read the module", log=str(e)) from e


def run(module: Any, passes: str, binding: Binding) -> None:
    """Run passes in place.

    Raises
    ------
    CompilationFailed : a pass fails.
    """
    pipeline = f"builtin.module({' '.join(passes.split())})"
    try:
        binding.pass_manager.parse(pipeline, context=module.context).run(module.operation)
    except binding.ir.MLIRError as e:
        raise CompilationFailed("MLIR cannot lower the module", log=str(e)) from e


def _in_gpu_module(module: Any, binding: Binding) -> Any:
    device = binding.ir.Module.parse("module { gpu.module @tle_raw { } }")
    block = device.body.operations[0].regions[0].blocks[0]
    for operation in list(module.body.operations):
        operation.detach_from_parent()
        block.append(operation)
    return device


def _out_of_gpu_module(device: Any, binding: Binding) -> Any:
    module = binding.ir.Module.create()
    for operation in list(device.body.operations[0].regions[0].blocks[0].operations):
        operation.detach_from_parent()
        module.body.append(operation)
    return module


def _hand_over(module: Any, arch: str, binding: Binding) -> str:
    """Generic text survives version skew best; LLVM IR text is the second border."""
    context = libtriton.new_context()
    try:
        parsed = libtriton.parse(module.operation.get_asm(print_generic_op_form=True), context)
        return libtriton.translate(parsed, arch)
    except RuntimeError:
        text = binding.llvm.translate_module_to_llvmir(module.operation)
        return f'target triple = "{libtriton.TRIPLE}"\n{text}'
