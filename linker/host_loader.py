"""Loads an ELF object into this process, for as long as somebody holds it."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

from tle_raw.errors import LinkError
from tle_raw.linker.host_code import ENTRY, target_machine
from tle_raw.linker.host_cpu import host_cpu
from tle_raw.linker.llvmlite_binding import load_llvmlite

_NUMBERS = itertools.count()


class LoadedObject:
    """Code in memory. ``address`` is its entry's; the memory goes with the last reference to this object."""

    def __init__(self, address: int, tracker: Any) -> None:
        self.address = address
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
    try:
        # The name of a library that is gone cannot be used again.
        tracker = builder.link(_compiler(), f"kernel{next(_NUMBERS)}")
    except RuntimeError as e:
        raise LinkError("the kernel's object cannot be loaded", log=str(e)) from e
    return LoadedObject(tracker[entry], tracker)


@cache
def _compiler() -> Any:
    """One for the process. What fails is in the exception; LLVM would print it as well."""
    compiler = load_llvmlite().create_lljit_compiler(target_machine(host_cpu()), suppress_errors=True)
    # Never to be disposed of: kernels that are alive at exit hold code in it.
    compiler._owned = True
    return compiler
