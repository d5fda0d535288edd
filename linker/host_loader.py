"""Loads an ELF object into this process, for as long as somebody holds it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cache
from typing import Any

from tle_raw.errors import LinkError
from tle_raw.linker.elf import symbols
from tle_raw.linker.host_code import ENTRY, target_machine
from tle_raw.linker.host_cpu import host_cpu
from tle_raw.linker.llvmlite_binding import load_llvmlite
from tle_raw.linker.symbols import is_settable_name

_NUMBERS = itertools.count()


class LoadedObject:
    """Code in memory. ``address`` is its entry's; the memory goes with the last reference to this object.

    ``variables`` are the addresses and the bytes of variables that may be set from outside, by their symbols.
    """

    def __init__(self, address: int, tracker: Any, variables: Mapping[str, tuple[int, int]]) -> None:
        self.address, self.variables = address, variables
        self._tracker = tracker


def load_object(image: bytes, entry: str = ENTRY) -> LoadedObject:
    """Load an object; functions of this process and of the libraries it has loaded resolve.

    Raises
    ------
    LinkError : the object is broken, or a symbol that it needs is defined nowhere.
    ToolchainError : llvmlite is missing.
    """
    builder = load_llvmlite().JITLibraryBuilder()
    builder.add_object_img(image).export_symbol(entry).add_current_process()
    settable = [symbol for symbol in symbols(image) if symbol.bytes and is_settable_name(symbol.name)]
    for symbol in settable:
        builder.export_symbol(symbol.name)
    try:
        # The name of a library that is gone cannot be used again.
        tracker = builder.link(_compiler(), f"kernel{next(_NUMBERS)}")
    except RuntimeError as e:
        raise LinkError("the kernel's object cannot be loaded", log=str(e)) from e
    return LoadedObject(tracker[entry], tracker, {s.name: (tracker[s.name], s.bytes) for s in settable})


@cache
def _compiler() -> Any:
    """One for the process. What fails is in the exception; LLVM would print it as well."""
    # JITLink places all of an object in one piece of memory; the older linker ends the process where two pieces lie
    # 2 GiB apart, which is common in large processes.
    machine = target_machine(host_cpu())
    compiler = load_llvmlite().create_lljit_compiler(machine, use_jit_link=True, suppress_errors=True)
    # Never to be disposed of: kernels that are alive at exit hold code in it.
    compiler._owned = True
    return compiler
