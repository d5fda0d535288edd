"""llvmlite, found when it is needed: LLVM for this machine's CPU."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from types import ModuleType

from tle_raw.errors import ToolchainError

INSTALL = "pip install 'tle_raw[cpu]'"
# The C library's mathematics, by the names that code generation uses.
MATH_LIBRARY = "libm.so.6"
# What code generation calls where a processor has no instruction, like float64 to float16. What another package has
# loaded is found too, so that a kernel might compile beside torch and not without it.
COMPILER_LIBRARY = "libgcc_s.so.1"


@cache
def load_llvmlite() -> ModuleType:
    """``llvmlite.binding`` with this machine's target set up.

    Raises
    ------
    ToolchainError : llvmlite is missing, or does not have what is needed here.
    """
    try:
        import llvmlite.binding as llvm
    except ImportError as e:
        raise ToolchainError(f"code for the CPU needs llvmlite: {e}", hint=INSTALL) from e
    if not hasattr(llvm, "create_lljit_compiler"):
        raise ToolchainError("this llvmlite is too old to load code for the CPU", hint=INSTALL)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    try:
        llvm.load_library_permanently(MATH_LIBRARY)
    except RuntimeError as e:
        raise ToolchainError(f"the C library's mathematics cannot be loaded: {e}") from e
    with suppress(RuntimeError):  # a kernel that needs it and does not find it says which function is missing
        llvm.load_library_permanently(COMPILER_LIBRARY)
    _let_forks_wait(llvm)
    binding: ModuleType = llvm
    return binding


def _let_forks_wait(llvm: ModuleType) -> None:
    """For the threads that are inside LLVM: what they left half done, a forked child could not use."""
    lock = llvm.ffi.lib._lock

    def let_go() -> None:
        lock.__exit__(None, None, None)

    os.register_at_fork(before=lock.__enter__, after_in_parent=let_go, after_in_child=let_go)


@cache
def load_llvmlite_for_gpus() -> ModuleType:
    """``llvmlite.binding`` with every target set up, NVIDIA's among them."""
    llvm = load_llvmlite()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm


def llvmlite_identity() -> str:
    """Version of llvmlite and of the LLVM inside it: part of the key of everything it makes."""
    import llvmlite

    return f"llvmlite {llvmlite.__version__}, LLVM {'.'.join(map(str, load_llvmlite().llvm_version_info))}"
