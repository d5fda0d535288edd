"""A fragment's module for the host: checked against its ports, and against what the process can resolve."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from tle_raw.linker.abi import check_entry
from tle_raw.linker.llvm.module_asm import defined_by_asm
from tle_raw.linker.llvm.references import reachable, references
from tle_raw.linker.llvm.shared_memory import SharedVariable
from tle_raw.linker.llvm.text import Module, read_module
from tle_raw.linker.prepare import LinkableModule, count_instructions
from tle_raw.linker.tools.llvmlite_binding import load_llvmlite
from tle_raw.linker.unresolved import unresolved_symbols


def prepare_for_host(
    text: str,
    *,
    entry: str,
    parameters: Sequence[str],
    result: str,
    edit: Callable[[Module], Module],
    static_shared: Sequence[SharedVariable] = (),
    uses_barrier: bool = False,
) -> LinkableModule:
    """Check a fragment's LLVM IR for the host, and make it linkable.

    Parameters
    ----------
    edit : the target's passes over the module, once its entry is checked.

    Raises
    ------
    SymbolError, AbiError : the entry is missing, or of another type.
    UnresolvedSymbolError : a function that neither the module nor the process has.
    """
    module = read_module(text)
    check_entry(module, entry, parameters, result)
    module = edit(module)
    graph = references(module)
    reached = reachable(graph, [entry])
    llvm = load_llvmlite()
    own = defined_by_asm(module)
    declared = [e.name for e in module.of_kind("declare") if e.name in reached and not _is_given(e.name, own)]
    missing = [name for name in declared if not llvm.address_of_symbol(name)]
    if missing:
        raise unresolved_symbols(missing, graph)
    return LinkableModule(
        text=module.text,
        entry=entry,
        static_shared=tuple(static_shared),
        uses_barrier=uses_barrier,
        instructions=count_instructions(module, reached),
        kept_calls=tuple(sorted(declared)),
    )


def _is_given(name: str, own: Collection[str]) -> bool:
    return name in own or name.startswith("llvm.")
