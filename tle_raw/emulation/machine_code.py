"""The runtime's large functions as assembly text.

Switching between threads, barriers, operations of warps and messages are some four thousand lines of LLVM IR. Within
the kernel's module they would be optimised and translated with each kernel, longer than all else of it together. So
the functions that are marked ``TLE_COMPILED`` (or ``TLE_RARE``) are translated once, for any processor of the
machine's architecture, and a module that calls them carries them as module-level assembly.
"""

from __future__ import annotations

import functools
import hashlib
import re
from typing import Any

from tle_raw.linker.llvm.module_asm import module_asm
from tle_raw.linker.llvm.text import Edit, Entity, Module, read_module
from tle_raw.linker.tools.llvmlite_binding import load_llvmlite

_MARK = re.compile(rb"\bnoinline\b")
# Between "define" and the type stand words that a declaration cannot have.
_LINKAGE = re.compile(r"define (?:(?:internal|linkonce_odr|dso_local) )*")
_SYMBOL = re.compile(r"^\s*\.(?:globl|weak|hidden|protected|file|ident|addrsig\w*)\b.*\n", re.MULTILINE)
_NOTE = re.compile(r"^\s*\.section\s+\"?\.note\.GNU-stack.*\n", re.MULTILINE)
_LOCAL = re.compile(r'"(?:[^"\\]|\\.)*"|(?<![\w.$])\.L')


@functools.lru_cache(maxsize=4)
def without_large(runtime: str) -> tuple[str, frozenset[str]]:
    """The runtime with its large functions declared only, and their names."""
    large = _large_functions(runtime)
    module = read_module(runtime)
    edits = [_declared(module, entity) for entity in module.of_kind("define") if entity.name in large]
    return module.edited(edits).text, large


def _large_functions(runtime: str) -> frozenset[str]:
    llvm = load_llvmlite()
    module = llvm.parse_assembly(runtime, context=llvm.create_context())
    return frozenset(f.name for f in module.functions if not f.is_declaration and any(map(_MARK.search, f.attributes)))


def _declared(module: Module, entity: Entity) -> Edit:
    header = module.text[entity.start : entity.body].replace(" comdat", "").rstrip()
    return Edit(entity.start, entity.end, _LINKAGE.sub("declare hidden ", header))


@functools.lru_cache(maxsize=32)
def assembly_module(runtime: str, functions: frozenset[str]) -> tuple[str, str]:
    """LLVM IR of a module that is assembly alone, those functions and all that they reach; and the suffix of names.

    Two modules of the same functions may be linked: the assembler takes the first copy. Copies for other functions
    have other names, and do not meet in one kernel.
    """
    llvm = load_llvmlite()
    module = llvm.parse_assembly(runtime, context=llvm.create_context())
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and not value.name.startswith("llvm."):
            value.linkage = "external" if value.name in functions else "internal"
    drop_unused(module)
    suffix = "." + hashlib.sha256("\n".join([runtime, *sorted(functions)]).encode()).hexdigest()[:12]
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration:
            value.name += suffix
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2, reloc="pic", codemodel="default")
    return module_asm(_guarded(_local(machine.emit_assembly(module), suffix), suffix)), suffix


def _local(assembly: str, suffix: str) -> str:
    """Assembly that fits into any other: no name is seen outside, no label of the compiler's is taken twice."""
    assembly = _NOTE.sub("", _SYMBOL.sub("", assembly))
    prefix = f".Ltle{suffix.replace('.', '_')}_"
    return _LOCAL.sub(lambda match: prefix if match[0] == ".L" else match[0], assembly)


def _guarded(assembly: str, suffix: str) -> str:
    name = f"tle_team{suffix}"
    return f".ifndef {name}\n.set {name}, 1\n.pushsection .text\n{assembly}.popsection\n.endif\n"


def drop_unused(module: Any) -> None:
    """Functions and variables that nothing reaches are taken out."""
    llvm = load_llvmlite()
    machine = llvm.Target.from_default_triple().create_target_machine()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0))
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_strip_dead_prototype_pass()
    passes.run(module, builder)
