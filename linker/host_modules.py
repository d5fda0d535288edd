"""Modules for this machine's CPU: which are taken, what is checked of them, and how they are optimised."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Collection
from contextlib import ExitStack, suppress
from functools import cache

from tle_raw.errors import LinkError, UnsupportedFeatureError
from tle_raw.linker.device_code import internalise_values, parse
from tle_raw.linker.llvm.functions import read_global
from tle_raw.linker.llvm.references import reachable, references
from tle_raw.linker.llvm.symbols import refuse_unlinkable
from tle_raw.linker.llvm.text import Module
from tle_raw.linker.tools.llvmlite_binding import COMPILER_LIBRARY, MATH_LIBRARY, load_llvmlite
from tle_raw.linker.unresolved import unresolved_symbols

HOST = "cpu"
EMULATED = (
    'the CPU emulates GPUs\' code in fragments: link it for "cuda:80", and call dialect("llvm", source=linked.text) '
    "on the CPU target"
)


def refuse_kind(name: str, kind: str) -> None:
    """Of what no LLVM IR can be had for a CPU.

    Raises
    ------
    UnsupportedFeatureError : it is PTX, a fatbin, LTO-IR, or machine code.
    """
    if kind == "object":
        raise UnsupportedFeatureError(
            f"{name} is machine code, which nothing can inline", hint="compile it with clang -S -emit-llvm"
        )
    if kind not in ("llvm", "bitcode", "archive", ""):
        raise UnsupportedFeatureError(f"{name} is {kind}, code for NVIDIA GPUs alone", hint=EMULATED)


def refuse_triple(name: str, triple: str) -> None:
    """Of LLVM IR for another processor; ``triple`` is its line of the text.

    Raises
    ------
    UnsupportedFeatureError : it is not this machine's.
    """
    if f'"{platform.machine()}' not in triple:
        is_device = '"nvptx' in triple
        raise UnsupportedFeatureError(
            f"{name} is code for another processor: {triple.partition('=')[2].strip()}",
            hint=EMULATED if is_device else f"compile it for {platform.machine()}",
        )


def check_host_modules(module: Module, unresolved: Collection[str] = ()) -> None:
    """Constructors, address spaces, and symbols that are defined nowhere.

    Raises
    ------
    UnsupportedFeatureError : a constructor, file-scope assembly, an address space.
    UnresolvedSymbolError : a symbol is defined neither here nor by the C library.
    """
    refuse_unlinkable(module)
    graph = references(module)
    variables = [read_global(module, entity) for entity in module.of_kind("global")]
    placed = next((v for v in variables if v.address_space), None)
    if placed:
        raise UnsupportedFeatureError(
            f"`{placed.name}` is in the address space {placed.address_space}, which no CPU has", hint=EMULATED
        )
    declared = [e.name for e in module.of_kind("declare")] + [v.name for v in variables if v.linkage == "external"]
    used = reachable(graph, [entity.name for entity in module.of_kind("define")])
    missing = [name for name in declared if name in used and name not in unresolved and not is_of_the_machine(name)]
    if missing:
        raise unresolved_symbols(missing, graph)


def is_of_the_machine(name: str) -> bool:
    """Whether the C library, its mathematics or the compiler's runtime define it, or LLVM itself."""
    return name.startswith("llvm.") or any(hasattr(library, name) for library in _machine_libraries())


@cache
def _machine_libraries() -> tuple[ctypes.CDLL, ...]:
    found = []
    for name in ("libc.so.6", MATH_LIBRARY, COMPILER_LIBRARY):
        with suppress(OSError):
            found.append(ctypes.CDLL(name))
    return tuple(found)


def optimise_for_host(text: str, *entries: str) -> str:
    """What O3 makes of it for this machine's CPU, with all its instructions.

    Raises
    ------
    LinkError : the text is no valid module. ToolchainError : llvmlite is missing.
    """
    llvm = load_llvmlite()
    features = llvm.get_host_cpu_features().flatten()
    with ExitStack() as stack:
        target = llvm.Target.from_default_triple()
        machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=3)
        context = stack.enter_context(llvm.create_context())
        try:
            module = stack.enter_context(parse(llvm, text, context))
            module.verify()
        except RuntimeError as error:
            raise LinkError("the module is no valid LLVM IR", log=str(error)[:2000]) from error
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        internalise_values(module, frozenset(entries))
        tuning = llvm.create_pipeline_tuning_options(speed_level=3)
        with llvm.create_pass_builder(machine, tuning) as builder, builder.getModulePassManager() as passes:
            passes.run(module, builder)
        return str(module)
