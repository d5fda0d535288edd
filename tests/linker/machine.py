"""A function of LLVM textual IR, run on this machine."""

import ctypes
from contextlib import contextmanager

import pytest


@contextmanager
def run_function(text, name, result, *parameters):
    """The function as a Python callable, for as long as this holds."""
    llvmlite = pytest.importorskip("llvmlite.binding")
    llvmlite.initialize_native_target()
    llvmlite.initialize_native_asmprinter()
    module = llvmlite.parse_assembly(text)
    module.verify()
    machine = llvmlite.Target.from_default_triple().create_target_machine()
    engine = llvmlite.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    yield ctypes.CFUNCTYPE(result, *parameters)(engine.get_function_address(name))
