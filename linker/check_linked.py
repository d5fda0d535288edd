"""Checks a joined module: nothing in it may be lost or misread by whoever compiles it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from tle_raw.errors import AbiError, UnsupportedFeatureError
from tle_raw.linker.llvm.functions import read_global
from tle_raw.linker.llvm.shared_memory import static_shared
from tle_raw.linker.llvm.symbols import refuse_unlinkable
from tle_raw.linker.llvm.text import Module
from tle_raw.linker.unresolved import check_resolved

# Generic, global, shared, constant, local, tensor memory, shared memory of a cluster, a kernel's parameters.
ADDRESS_SPACES = frozenset((0, 1, 3, 4, 5, 6, 7, 101))
_SPACE = re.compile(r"addrspace\((\d+)\)")
_BY_MEMORY = frozenset(("byval", "sret", "inalloca", "preallocated", "byref"))


def check_linked(module: Module, entries: Sequence[str], unresolved: Collection[str] = ()) -> None:
    """Constructors, address spaces, how entries take their values, and symbols that are defined nowhere.

    Raises
    ------
    UnsupportedFeatureError : a constructor, file-scope assembly, ``extern __shared__``, an unknown address space.
    AbiError : an entry takes or gives a value through memory. UnresolvedSymbolError : a symbol is defined nowhere.
    """
    refuse_unlinkable(module)
    _check_spaces(module)
    for entity in module.of_kind("define"):
        words = [t.text for t in module.header(entity) if t.text in _BY_MEMORY] if entity.name in entries else []
        if words:
            raise AbiError(
                f"the entry `{entity.name}` takes or gives a value through memory (`{words[0]}`)",
                hint="pass scalars and pointers",
            )
    for name in entries:
        static_shared(module, name)
    allowed = frozenset(unresolved)
    check_resolved(module, provided=lambda names: allowed & frozenset(names))


def _check_spaces(module: Module) -> None:
    for entity in module.of_kind("define", "declare", "global"):
        spaces = {int(number) for number in _SPACE.findall(module.source(entity))}
        if entity.kind == "global":
            spaces.add(read_global(module, entity).address_space)
        wrong = spaces - ADDRESS_SPACES
        if wrong:
            raise UnsupportedFeatureError(
                f"`{entity.name}` uses the address space {min(wrong)}, which no NVIDIA GPU has",
                hint="it may be code for other processors",
            )
