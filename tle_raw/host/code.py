"""LLVM IR of a kernel and of its fragments in, code for this machine's CPU out: assembly text, then an ELF object."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from tle_raw.errors import AbiError, LinkError, Row, UnresolvedSymbolError
from tle_raw.host.bf16_rounding import DEFINITIONS, may_call
from tle_raw.host.cpu import HostCpu, host_cpu
from tle_raw.host.masked_pieces import divides_badly, in_pieces, is_masked_access
from tle_raw.linker.llvm.module_asm import module_asm
from tle_raw.linker.llvm.normalise import normalise
from tle_raw.linker.llvm.older_literals import older_literals
from tle_raw.linker.llvm.symbols import is_settable_name
from tle_raw.linker.llvm.text import UnreadableIRError, read_module
from tle_raw.linker.machine_code.elf import undefined_symbols
from tle_raw.linker.tools.llvmlite_binding import load_llvmlite

ENTRY = "tle_launch"
# A definition of this linkage is only a copy of one that stands elsewhere: it cannot be made internal.
COPIES = ("available_externally",)
SPEED = 2  # what O3 adds is unrolling: five times the time to compile a sort, and no faster kernels
# What each instruction may be contracted with is said by its own flag; the printer puts one on a line.
_CONTRACTED = re.compile(r"^(\s*%\S+ = f(?:add|sub|mul|neg)) ", re.MULTILINE)
_LINE_OF_PARSER = re.compile(r"<string>:(\d+):(\d+): error: (.*)")


@dataclass(frozen=True)
class Library:
    """A module to link, and the name under which messages speak of it."""

    name: str
    text: str


def link_host_code(
    text: str,
    libraries: Sequence[Library] = (),
    *,
    fp_contract: bool = False,
    entry: str = ENTRY,
    cpu: HostCpu | None = None,
) -> str:
    """The kernel's module with its libraries linked, only ``entry`` visible, optimised, as assembly text.

    Parameters
    ----------
    text : LLVM IR of the kernel, of any LLVM up to 24.
    libraries : fragments as clang made them. What the entry does not reach falls away.
    fp_contract : may the kernel's own multiplications and additions become fused ones? Fragments say it themselves.
    cpu : whose code to make; by default this machine's.

    Raises
    ------
    LinkError : a module that LLVM cannot read or verify, or two that do not fit together.
    ToolchainError : llvmlite is missing.
    """
    cpu = cpu or host_cpu()
    machine = target_machine(cpu)
    with _Modules(machine) as modules:
        module = modules.read(contracted(text) if fp_contract else text, "the kernel")
        for library in libraries:
            part = modules.read(_portable(library), library.name)
            _check_types(module, part, library.name)
            _link(module, part, library.name)
        _internalise(module, entry)
        _verify(module, "the linked kernel")
        _optimise(module, machine)
        if may_call((text, *(library.text for library in libraries)), cpu):
            _link(module, modules.read(DEFINITIONS, "rounding to bf16"), "rounding to bf16")
        if divides_badly(cpu) and any(is_masked_access(function.name) for function in module.functions):
            module = modules.read(in_pieces(str(module)), "the linked kernel")
        return str(machine.emit_assembly(module))


def assemble(assembly: str, cpu: HostCpu | None = None) -> bytes:
    """The ELF object of assembly text that ``link_host_code`` made.

    Raises
    ------
    UnresolvedSymbolError : a function that it calls is defined nowhere in this process.
    """
    machine = target_machine(cpu or host_cpu())
    with _Modules(machine) as modules:
        # LLVM's own assembler, reached through a module that holds nothing else: the code is not generated twice.
        module = modules.read(module_asm(assembly), "the assembly")
        image = bytes(machine.emit_object(module))
    _check_resolved(image)
    return image


def contracted(text: str) -> str:
    """Each addition and multiplication may be fused with its neighbour, as NVIDIA's compiler does by default."""
    return _CONTRACTED.sub(r"\1 contract ", text)


def target_machine(cpu: HostCpu) -> Any:
    """LLVM's code generator for a CPU of this machine's architecture."""
    llvm = load_llvmlite()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=cpu.name, features=cpu.features, opt=SPEED, reloc="pic", codemodel="default"
    )


def _portable(library: Library) -> str:
    """A fragment's own cpu and flags would keep it from being inlined into the kernel."""
    try:
        return normalise(read_module(library.text), keep_debug_info=False).text
    except UnreadableIRError as e:
        raise LinkError(f"{library.name}: {e.message}", hint=e.hint) from e


class _Modules(ExitStack):
    """Modules of one context. They are disposed of before it: left to the garbage collector, the order is any."""

    def __init__(self, machine: Any) -> None:
        super().__init__()
        self.machine = machine
        self.context = self.enter_context(load_llvmlite().create_context())

    def read(self, text: str, name: str) -> Any:
        """Parse as it is; only a text that is refused is rewritten, because that takes longer."""
        module = self.enter_context(self._parsed(text, name))
        _verify(module, name)
        module.triple = self.machine.triple
        module.data_layout = str(self.machine.target_data)
        return module

    def _parsed(self, text: str, name: str) -> Any:
        llvm = load_llvmlite()
        try:
            return llvm.parse_assembly(text, context=self.context)
        except RuntimeError as refusal:
            try:
                text = older_literals(normalise(read_module(text), keep_debug_info=False, older_llvm=True).text)
            except UnreadableIRError:
                raise _unreadable(text, name, str(refusal)) from refusal
        try:
            return llvm.parse_assembly(text, context=self.context)
        except RuntimeError as e:
            raise _unreadable(text, name, str(e)) from e


def _unreadable(text: str, name: str, said: str) -> LinkError:
    found = _LINE_OF_PARSER.search(said)
    if found is None:
        return LinkError(f"LLVM cannot read {name}", log=said)
    line = text.splitlines()[int(found[1]) - 1 : int(found[1])]
    return LinkError(f"LLVM cannot read {name}: {found[3]}", log="\n".join(line).strip())


def _verify(module: Any, name: str) -> None:
    try:
        module.verify()
    except RuntimeError as e:
        raise LinkError(f"{name} is no valid LLVM module", log=str(e)) from e


def _check_types(module: Any, part: Any, name: str) -> None:
    """LLVM links a call to a function of any type, and makes of it what it likes."""
    wanted = {f.name: str(f.global_value_type) for f in module.functions if not _is_local(f)}
    for function in part.functions:
        got = str(function.global_value_type)
        if not function.is_declaration and not _is_local(function) and wanted.get(function.name, got) != got:
            raise AbiError(
                f"{name} defines {function.name} with another type than the kernel calls it with",
                table=[Row("type", wanted[function.name], got)],
            )


def _is_local(function: Any) -> bool:
    """Two functions that each module keeps to itself may share a name."""
    return function.linkage.name in ("internal", "private")


def _link(module: Any, part: Any, name: str) -> None:
    try:
        module.link_in(part)
    except RuntimeError as e:
        raise LinkError(f"{name} does not fit the kernel", log=str(e)) from e


def _internalise(module: Any, entry: str) -> None:
    names = [function.name for function in module.functions if not function.is_declaration]
    if entry not in names:
        raise LinkError(f"the kernel's module defines no {entry}", hint=f"it defines {', '.join(names) or 'nothing'}")
    for value in _definitions(module):
        if value.name != entry and not is_settable_name(value.name):
            value.linkage = "internal"
            value.visibility = "default"


def _definitions(module: Any) -> Iterable[Any]:
    for value in (*module.functions, *module.global_variables):
        linkage = value.linkage.name
        if not value.is_declaration and linkage not in COPIES and not value.name.startswith("llvm."):
            yield value


def _optimise(module: Any, machine: Any) -> None:
    llvm = load_llvmlite()
    tuning = llvm.create_pipeline_tuning_options(speed_level=SPEED)
    # Kernels come vectorised, and so do fragments. LLVM 22's loop vectoriser must stay off: of a maxnum reduction
    # with a vectorised remainder it drops iterations (seen with 15 of them).
    tuning.loop_vectorization = False
    tuning.slp_vectorization = False
    with llvm.create_pass_builder(machine, tuning) as builder, builder.getModulePassManager() as passes:
        passes.run(module, builder)


def _check_resolved(image: bytes) -> None:
    llvm = load_llvmlite()
    missing = [name for name in undefined_symbols(image) if not llvm.address_of_symbol(name)]
    if missing:
        raise UnresolvedSymbolError(
            f"defined nowhere: {', '.join(missing)}",
            hint="a library that the kernel links, or one that is loaded in this process, must define it",
        )
