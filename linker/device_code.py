"""Optimises LLVM IR for an NVIDIA GPU with llvmlite, and links libdevice into it: LLVM IR text in, LLVM IR text out."""

from __future__ import annotations

import importlib.util
import re
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from tle_raw.errors import LinkError, ToolchainError
from tle_raw.linker.llvm.normalise import normalise
from tle_raw.linker.llvm.older_literals import older_literals
from tle_raw.linker.llvm.text import UnreadableIRError, read_module
from tle_raw.linker.tools.llvmlite_binding import load_llvmlite_for_gpus

TRIPLE = "nvptx64-nvidia-cuda"
LIBDEVICE = "__nv_"
# GPUs know one convention. The host's others must not be met: of x86's coldcc, LLVM 22 loses results that are floats.
_CONVENTION = re.compile(
    r"^(define (?:\w+ )*?|\s+(?:%\S+ = )?(?:\w+ )?call (?:(?:nnan|ninf|nsz|arcp|contract|afn|reassoc|fast) )*)"
    r"(?:(?!ccc)\w+cc|cc ?\d+|spir_func|ptx_device) ",
    re.MULTILINE,
)
# A variable that the host may set.
_SETTABLE = re.compile(r"@[^=\n]*= [^\n]*?\bexternally_initialized (?:global|constant) ")


def parse(llvm: Any, text: str, context: Any) -> Any:
    """A module of this or of a newer LLVM.

    Raises
    ------
    RuntimeError : what LLVM's parser says of the text as it stands.
    """
    try:
        return llvm.parse_assembly(text, context=context)
    except RuntimeError as refusal:
        try:
            older = normalise(read_module(text), older_llvm=True)
            return llvm.parse_assembly(older_literals(older.text), context=context)
        except (RuntimeError, UnreadableIRError, LinkError):
            raise refusal from None


def optimise_for_device(text: str, entry: str, arch: str, *more: str) -> str:
    """What a GPU compiler makes of it at O3: libdevice linked and inlined, ``__nvvm_reflect`` answered, one entry.

    ``more`` are entries beside it.

    Raises
    ------
    LinkError : the text is no valid module. ToolchainError : llvmlite or libdevice is missing.
    """
    llvm = load_llvmlite_for_gpus()
    with ExitStack() as stack:
        machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=arch, opt=3)
        context = stack.enter_context(llvm.create_context())
        try:
            module = stack.enter_context(parse(llvm, text, context))
            module.verify()
            _set_target(module, machine)
            if _needs_libdevice(module):
                library = stack.enter_context(llvm.parse_bitcode(_libdevice(), context))
                _set_target(library, machine)
                module.link_in(library)
        except RuntimeError as error:
            raise LinkError("the module is no valid LLVM IR", log=str(error)[:2000]) from error
        internalise_values(module, frozenset((entry, *more)))
        tuning = llvm.create_pipeline_tuning_options(speed_level=3)
        tuning.loop_vectorization = tuning.slp_vectorization = False
        with llvm.create_pass_builder(machine, tuning) as builder, builder.getModulePassManager() as passes:
            passes.run(module, builder)
        return _CONVENTION.sub(r"\1", str(module))


def _set_target(module: Any, machine: Any) -> None:
    """A layout with short pointers would give sizes that no pointer on the host has."""
    module.triple, module.data_layout = TRIPLE, str(machine.target_data)


def _needs_libdevice(module: Any) -> bool:
    return any(f.is_declaration and f.name.startswith(LIBDEVICE) for f in module.functions)


@cache
def _libdevice() -> bytes:
    spec = importlib.util.find_spec("triton")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        file = Path(folder, "backends", "nvidia", "lib", "libdevice.10.bc")
        if file.is_file():
            return file.read_bytes()
    raise ToolchainError("libdevice.10.bc was not found in Triton's wheel", hint="reinstall Triton")


def internalise_values(module: Any, kept: frozenset[str]) -> None:
    """Of llvmlite's module only these, and variables that a host may set, stay visible."""
    settable = {v.name for v in module.global_variables if v.linkage.name == "external" and _SETTABLE.match(str(v))}
    for value in (*module.functions, *module.global_variables):
        if (
            value.name not in settable
            and not value.is_declaration
            and value.name not in kept
            and not value.name.startswith("llvm.")
        ):
            value.linkage = "internal"
            value.visibility = "default"
