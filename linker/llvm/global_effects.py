"""What an entry function does to global memory, as its LLVM IR tells: whether it may read it, and may write it.

Compilers say it of the parameters (``readonly``, ``writeonly``, ``readnone``). Where they say nothing, the instructions
do: code without a store, an atomic operation or a call of something unknown writes nowhere. What can reach memory in
other ways (variables, numbers used as addresses, assembly) may do both.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tle_raw.linker.llvm.arithmetic_assembly import without_arithmetic
from tle_raw.linker.llvm.functions import read_function, read_global
from tle_raw.linker.llvm.parameter_words import parameter_words
from tle_raw.linker.llvm.text import Entity, Module

GLOBAL_SPACES = (0, 1)
_WRITING = ("store", "atomicrmw", "cmpxchg")
_NO_MEMORY = ("llvm.nvvm.read.ptx.sreg.", "llvm.nvvm.barrier", "llvm.lifetime.", "llvm.dbg.", "llvm.assume")


@dataclass(frozen=True)
class GlobalEffects:
    """``reads`` and ``writes`` say what is possible."""

    reads: bool
    writes: bool


def global_effects(module: Module, entry: str, reached: Collection[str]) -> GlobalEffects:
    """Those of ``entry``, which reaches the functions and variables ``reached``."""
    bodies = [e for e in module.of_kind("define") if e.name in reached]
    if _has_variables(module, reached) or any(_goes_around(module.source(body)) for body in bodies):
        return GlobalEffects(True, True)
    function = next(body for body in module.of_kind("define") if body.name == entry)
    pointers = [words for words in parameter_words(module, function) if words[0] == "ptr"]
    reads = any({"writeonly", "readnone"}.isdisjoint(words) for words in pointers)
    writes = any({"readonly", "readnone"}.isdisjoint(words) for words in pointers)
    return GlobalEffects(reads, writes and _can_write(module, bodies, reached))


def _has_variables(module: Module, reached: Collection[str]) -> bool:
    variables = (read_global(module, e) for e in module.of_kind("global") if e.name in reached)
    return any(v.kind != "constant" and v.address_space in GLOBAL_SPACES for v in variables)


def _goes_around(body: str) -> bool:
    """Memory that no parameter names: assembly that may touch some, and integers that become global addresses."""
    body = without_arithmetic(body)
    return " asm " in body or any("inttoptr" in line and "addrspace(3)" not in line for line in body.splitlines())


def _can_write(module: Module, bodies: list[Entity], reached: Collection[str]) -> bool:
    unknown = [e for e in module.of_kind("declare") if e.name in reached and not _is_harmless(module, e)]
    return bool(unknown) or any(
        any(f"{word} " in line for word in _WRITING) for body in bodies for line in module.source(body).splitlines()
    )


def _is_harmless(module: Module, declared: Entity) -> bool:
    if declared.name.startswith(_NO_MEMORY):
        return True
    groups = read_function(module, declared).groups
    named = [e for e in module.of_kind("attributes") if _is_of(module, e, groups)]
    texts = [module.source(e) for e in (declared, *named)]
    return any(words in text for text in texts for words in ("memory(none)", "memory(read)", "memory(argmem: read)"))


def _is_of(module: Module, attributes: Entity, groups: Collection[str]) -> bool:
    return any(token.text in groups for token in module.header(attributes)[:2])
