"""MLIR by libtriton, the MLIR inside Triton's own wheel: parsing, printing, and the way to LLVM IR text.

It knows llvm, arith, scf, cf, math, gpu and nvvm, and of func, memref, vector and index no operation at all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tle_raw.adapters.mlir.device_calls import lower_device_calls
from tle_raw.adapters.mlir.locations import FILE, with_users_lines
from tle_raw.adapters.mlir.upstream_functions import as_llvm_functions
from tle_raw.errors import SourceLocation
from tle_raw.linker.mlir.generic_form import generic_text
from tle_raw.linker.processes.temporary_folder import temporary_folder

# Fragments reach the linker as device IR of this kind; Triton replaces both when it links them.
TRIPLE = "nvptx64-nvidia-cuda"
LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
# What a module may use for this way alone. Of math and gpu, device_calls knows the operations that it lowers.
DIALECTS = frozenset(("builtin", "llvm", "arith", "scf", "cf", "math", "gpu", "nvvm", "ub"))
UNKNOWN = frozenset(("scf.parallel", "scf.reduce", "scf.forall"))


def lower(text: str, arch: str, location: SourceLocation | None = None) -> str:
    """LLVM IR text of a flat module whose operations all are known here; with line numbers where ``location`` is given.

    Raises
    ------
    RuntimeError : libtriton refuses; its diagnostics went to the file descriptor of stderr.
    UnsupportedFeatureError : an operation that this way cannot lower, although libtriton reads it.
    """
    context = new_context()
    module = parse(as_llvm_functions(text), context)
    printed = with_users_lines(generic(module), location or SourceLocation("(unknown)", 1))
    module = parse(lower_device_calls(printed), context)
    run_conversions(module, context)
    return translate(module, arch, line_info=location is not None)


def new_context() -> Any:
    from triton._C.libtriton import ir, nvidia

    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    return context


def parse(text: str | bytes, context: Any) -> Any:
    """A module from text or bytecode; libtriton reads files only."""
    from triton._C.libtriton import ir

    with temporary_folder() as folder:
        file = Path(folder, FILE)
        file.write_bytes(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)
        module = ir.parse_mlir_module(str(file), context)
    module.context = context  # the module does not keep it alive
    return module


def generic(module: Any) -> str:
    """The module in generic form."""
    from triton._C.libtriton import ir

    return generic_text(module, ir)


def run_conversions(module: Any, context: Any) -> None:
    """To the llvm and nvvm dialects."""
    from triton._C.libtriton import ir, passes

    manager = ir.pass_manager(context)
    convert = passes.convert
    convert.add_scf_to_cf(manager)
    convert.add_index_to_llvmir(manager)
    convert.add_arith_to_llvmir(manager)
    convert.add_cf_to_llvmir(manager)
    convert.add_nvvm_to_llvm(manager)
    if hasattr(convert, "add_reconcile_unrealized_casts"):
        convert.add_reconcile_unrealized_casts(manager)
    passes.common.add_canonicalizer(manager)  # 3.6 and 3.7 reconcile casts here
    passes.common.add_cse(manager)
    manager.run(module, "tle_raw")


def translate(module: Any, arch: str, line_info: bool = False) -> str:
    """LLVM IR text for NVPTX of a module in the llvm and nvvm dialects."""
    from triton._C.libtriton import ir, llvm, passes

    if line_info:
        manager = ir.pass_manager(module.context)
        passes.llvmir.add_di_scope(manager)
        manager.run(module, "tle_raw")
    llvm.init_targets()
    context = llvm.context()
    translated = llvm.to_module(module, context)
    if translated is None:
        raise RuntimeError("libtriton cannot translate the module to LLVM IR")
    llvm.attach_datalayout(translated, TRIPLE, arch, "")
    return f'target triple = "{TRIPLE}"\n{translated}'
