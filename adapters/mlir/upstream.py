"""MLIR by the installed bindings of upstream: one pipeline from any upstream dialect to device LLVM IR."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.mlir import libtriton
from tle_raw.adapters.mlir.bindings import Binding
from tle_raw.adapters.mlir.locations import location_of, with_users_lines
from tle_raw.adapters.mlir.memory_roots import nested
from tle_raw.adapters.mlir.older_spelling import older_spelling
from tle_raw.adapters.mlir.place_memory import place_memory
from tle_raw.adapters.mlir.share_loops import share_loops
from tle_raw.errors import CompilationFailed, Context, SourceLocation, UnsupportedFeatureError
from tle_raw.linker.llvm.older_literals import older_literals

_TO_MEMORY = "one-shot-bufferize, convert-bufferization-to-memref"
# Everything that can be a parallel loop becomes one; each is then given to the threads of the block. Functions are
# inlined so that it can be seen whose memory they work on.
_TO_LOOPS = "inline, linalg-generalize-named-ops"
_TO_PARALLEL = "convert-linalg-to-parallel-loops, scf-forall-to-parallel, lower-affine"
# Strided metadata is expanded before the affine maps that it makes are lowered.
_TO_LLVM_DIALECT = """
    expand-strided-metadata, lower-affine,
    convert-vector-to-scf, math-expand-ops{ops=clampf}, convert-math-to-funcs, convert-scf-to-cf,
    convert-math-to-nvvm, convert-math-to-llvm, convert-vector-to-llvm,
    finalize-memref-to-llvm, convert-arith-to-llvm, convert-index-to-llvm, convert-ub-to-llvm, convert-func-to-llvm
"""
# gpu operations, assertions and branches: the pass for GPUs knows them, and works on GPU modules only.
_TO_NVVM = "gpu.module(convert-gpu-to-nvvm, convert-nvvm-to-llvm, reconcile-unrealized-casts, canonicalize, cse)"
_CAST = "builtin.unrealized_conversion_cast"
_WORKGROUP = "#gpu.address_space<workgroup>"


def lower(text: str, arch: str, binding: Binding, location: SourceLocation | None = None) -> str:
    """LLVM IR text of a flat module; with line numbers where ``location`` is given.

    Raises
    ------
    CompilationFailed : MLIR refuses the module; the log carries its diagnostics.
    UnsupportedFeatureError : memory or loops that cannot work in a region.
    """
    ir = binding.ir
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = False
        module = _parse(text, binding)
        if _has_tensors(module):
            run(module, _TO_MEMORY, binding)
        run(module, _TO_LOOPS, binding)
        share_loops(module, binding, lambda: run(module, _TO_PARALLEL, binding))
        place_memory(module, binding)
        run(module, _TO_LLVM_DIALECT, binding)
        _name_assertions(module, binding, location)
        device = _in_gpu_module(module, binding)
        run(device, _TO_NVVM, binding)
        lowered = _out_of_gpu_module(device, binding)
        _check_lowered(lowered)
        _claim_on_entry(lowered)
        return _hand_over(lowered, arch, binding, location)


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


def _check_lowered(module: Any) -> None:
    """What no pass knows would end the process in the translation."""
    for operation in nested(module.operation):
        if operation.name.partition(".")[0] not in ("llvm", "nvvm", "builtin") or operation.name == _CAST:
            what = f"`{operation.name}`" if operation.name != _CAST else f"the type {operation.results[0].type}"
            raise UnsupportedFeatureError(
                f"{what} cannot be lowered for a GPU", context=Context(source=location_of(operation))
            )


def _name_assertions(module: Any, binding: Binding, source_location: SourceLocation | None) -> None:
    """An assertion that fails tells the file and line of its location."""
    for operation in [op for op in nested(module.operation) if op.name == "cf.assert"]:
        found = location_of(operation)
        if source_location is not None and found is not None:
            line = binding.ir.Location.file(source_location.file, source_location.line + found.line - 1, found.column)
            location = binding.ir.Location.name(_function_around(operation), line)
            attributes = {"msg": operation.attributes["msg"]}
            new = binding.ir.Operation.create(
                "cf.assert", operands=list(operation.operands), attributes=attributes, loc=location
            )
            binding.ir.InsertionPoint(operation).insert(new)
            operation.erase()


def _function_around(operation: Any) -> str:
    current = operation.parent
    while current is not None and not current.operation.name.endswith(".func"):
        current = current.operation.parent
    return current.operation.attributes["sym_name"].value if current is not None else "(unknown)"


def _claim_on_entry(module: Any) -> None:
    """Memory of a constant size is claimed once: a claim in a loop would grow the stack with each turn."""
    for function in module.body.operations:
        for claim in [op for op in nested(function) if op.name == "llvm.alloca"]:
            size = claim.operands[0].owner
            if getattr(size, "name", "") == "llvm.mlir.constant":
                first = next(iter(function.operation.regions[0].blocks[0].operations)).operation
                if first != size.operation:
                    size.operation.move_before(first)
                claim.move_after(size.operation)


def _hand_over(module: Any, arch: str, binding: Binding, location: SourceLocation | None) -> str:
    """Generic text survives version skew best; the next boundary is LLVM IR text, literals in every LLVM's form."""
    context = libtriton.new_context()
    try:
        text = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=location is not None)
        text = older_spelling(with_users_lines(text, location) if location else text)
        return libtriton.translate(libtriton.parse(text, context), arch, line_info=location is not None)
    except RuntimeError:
        text = older_literals(binding.llvm.translate_module_to_llvmir(module.operation))
        return f'target datalayout = "{libtriton.LAYOUT}"\ntarget triple = "{libtriton.TRIPLE}"\n{text}'
