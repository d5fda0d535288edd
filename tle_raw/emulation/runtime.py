"""The thread block's runtime: compiled once for the host, then linked into each fragment."""

from __future__ import annotations

import functools
import hashlib
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tle_raw
from tle_raw.emulation.machine_code import assembly_module, drop_unused, without_large
from tle_raw.errors import LinkError, ToolchainError
from tle_raw.linker.llvm.normalise import normalise, removal
from tle_raw.linker.llvm.symbols import is_settable_name
from tle_raw.linker.llvm.text import read_module
from tle_raw.linker.processes.run_compiler import run_compiler
from tle_raw.linker.tools.clang import ClangProgram, find_clang
from tle_raw.linker.tools.llvmlite_binding import load_llvmlite
from tle_raw.store import RUNTIMES, Store

INCLUDE = Path(tle_raw.__file__).parent / "include"
UNIT = "#include <tle_raw/team/run.h>\n"
MACHINES = {"x86_64": "x86_64-linux-gnu", "amd64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}
# No header but its own, no C++ runtime, nothing that a JIT would have to provide.
FLAGS = (
    "-x", "c++", "-std=c++17", "-O2", "-ffreestanding", "-nostdinc", "-nostdinc++", "-fno-exceptions", "-fno-rtti",
    "-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-threadsafe-statics",
    "-fno-math-errno", "-fno-builtin-printf", "-Werror=return-type",
)  # fmt: skip


# By the name of its file: runtimes that somebody else has compiled, and what reads them.
_GIVEN: dict[str, Callable[[], str]] = {}


def runtime_text(clang: ClangProgram) -> str:
    """The runtime as LLVM IR without a target, from the cache where it was compiled before.

    Raises
    ------
    ToolchainError : the machine is none that the runtime knows, or the compiler fails.
    """
    return _compiled(clang.command, clang.version, machine_triple(), headers_digest())


def machine_triple() -> str:
    """What the runtime is compiled for on this machine.

    Raises
    ------
    ToolchainError : it is none that the runtime knows.
    """
    machine = platform.machine().lower()
    if machine not in MACHINES:
        raise ToolchainError(f"fragments on the CPU need x86-64 or aarch64, this machine is {machine}")
    return MACHINES[machine]


def runtime_name() -> str:
    """The file name of a compiled runtime that fits this package and this machine, and no other."""
    return f"{machine_triple()}-{headers_digest()[:24]}.ll"


def give_runtime(name: str, read: Callable[[], str]) -> None:
    """Offer a compiled runtime, for machines without clang. ``name`` is its ``runtime_name`` where it was compiled."""
    _GIVEN.setdefault(name, read)


def find_runtime(clang: str | None) -> str:
    """The runtime, compiled by clang, or without one by whoever has given it.

    Raises
    ------
    ToolchainError : there is no clang, and nobody has given the runtime of this release of the package.
    """
    try:
        return runtime_text(find_clang(clang))
    except ToolchainError:
        given = _GIVEN.get(runtime_name())
        if given is None:
            raise
        return given()


@functools.lru_cache(maxsize=4)
def _compiled(clang: tuple[str, ...], version: str, triple: str, digest: str) -> str:
    from tle_raw.knobs import knobs

    command = (*clang, f"--target={triple}", *FLAGS, "-isystem", str(INCLUDE))
    key = f"team-{hashlib.sha256(repr((version, command, digest)).encode()).hexdigest()[:40]}"
    if not knobs.cache.enabled:
        return _compile(command)
    store = Store(knobs.cache.dir, RUNTIMES)
    with store.lock(key):
        entry = store.load(key) or store.save(key, _compile(command), {"name": "runtime of teams on the CPU"})
    return entry.text


def _compile(command: tuple[str, ...]) -> str:
    from tle_raw.knobs import knobs

    run = run_compiler(command, UNIT, knobs.compile_timeout)
    if run.returncode != 0:
        raise ToolchainError("the team's runtime could not be compiled for the host", log=run.log[-4000:])
    return _without_target(run.text)


def headers_digest() -> str:
    """Digest of the runtime's sources."""
    digest = hashlib.sha256()
    for header in sorted((INCLUDE / "tle_raw" / "team").glob("*.h")):
        digest.update(header.read_bytes())
    return digest.hexdigest()


def _without_target(text: str) -> str:
    module = normalise(read_module(text), keep_debug_info=False)
    return module.edited(removal(module, entity) for entity in module.of_kind("target")).text


def link_with_runtime(text: str, runtime: str, visible: tuple[str, ...]) -> str:
    """One module: the fragment with those functions of the runtime that it reaches, only ``visible`` exported.

    Small functions come as LLVM IR, to be inlined; large ones as assembly: see ``machine_code``.

    Raises
    ------
    LinkError : the fragment's text is no valid LLVM IR.
    """
    small, large = without_large(runtime)
    llvm = load_llvmlite()
    context = llvm.create_context()
    module = _parse(llvm, text, context)
    module.link_in(_parse(llvm, small, context))
    _internalise(module, visible)
    drop_unused(module)
    called = [function for function in module.functions if function.is_declaration and function.name in large]
    if not called:
        return str(module)
    assembly, suffix = assembly_module(runtime, frozenset(function.name for function in called))
    for function in called:
        function.name += suffix
        function.visibility = "hidden"
    return str(module) + assembly


def _parse(llvm: Any, text: str, context: Any) -> Any:
    try:
        module = llvm.parse_assembly(text, context=context)
        module.verify()
    except RuntimeError as error:
        raise LinkError("the fragment's code for the CPU is no valid LLVM IR", log=str(error)[:2000]) from error
    return module


def _internalise(module: Any, visible: tuple[str, ...]) -> None:
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name not in visible and not _is_kept(value.name):
            value.linkage = "internal"
            value.visibility = "default"


def _is_kept(name: str) -> bool:
    return name.startswith("llvm.") or is_settable_name(name)
