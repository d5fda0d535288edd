"""Loads an ELF object into this process, for as long as somebody holds it."""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections.abc import Mapping
from typing import Any

from tle_raw.errors import LinkError
from tle_raw.host.code import ENTRY, target_machine
from tle_raw.host.cpu import host_cpu
from tle_raw.linker.llvm.symbols import is_settable_name
from tle_raw.linker.machine_code.elf import symbols
from tle_raw.linker.tools.llvmlite_binding import load_llvmlite

# LLVM keeps the name and the tables of a library that is gone, 10 kB, until its compiler goes. A compiler costs a
# millisecond and, while it lives, 0.1 MB.
OBJECTS_PER_COMPILER = 32
_NUMBERS = itertools.count()


class LoadedObject:
    """Code in memory. ``address`` is its entry's; the memory goes with the last reference to this object.

    ``variables`` are the addresses and the bytes of variables that may be set from outside, by their symbols.
    """

    def __init__(self, address: int, variables: Mapping[str, tuple[int, int]]) -> None:
        self.address, self.variables = address, variables


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
    compiler = _enter_compiler()
    try:
        # The name of a library that is gone cannot be used again.
        tracker = builder.link(compiler.compiler, f"kernel{next(_NUMBERS)}")
    except RuntimeError as e:
        compiler.leave()
        raise LinkError("the kernel's object cannot be loaded", log=str(e)) from e
    loaded = LoadedObject(tracker[entry], {s.name: (tracker[s.name], s.bytes) for s in settable})
    # Not at exit: kernels that are alive then may still run.
    weakref.finalize(loaded, compiler.unload, tracker).atexit = False
    return loaded


class _Compiler:
    """Takes some objects, and is disposed of after the last of them."""

    def __init__(self) -> None:
        # JITLink places all of an object in one piece of memory; the older linker ends the process where two pieces
        # lie 2 GiB apart, which is common in large processes. What fails is in the exception; LLVM would print it too.
        machine = target_machine(host_cpu())
        self.compiler = load_llvmlite().create_lljit_compiler(machine, use_jit_link=True, suppress_errors=True)
        self.compiler._owned = True  # not disposed of by the garbage collector, which may take it before its objects
        self.entered = self.inside = 0

    def unload(self, tracker: Any) -> None:
        tracker.close()
        self.leave()

    def leave(self) -> None:
        with _GUARD:
            self.inside -= 1
            over = not self.inside and self.entered == OBJECTS_PER_COMPILER
        if over:
            self.compiler._owned = False
            self.compiler.close()


_CURRENT: _Compiler | None = None
_GUARD = threading.RLock()  # a kernel may go, by the garbage collector, while another one is loaded


def _enter_compiler() -> _Compiler:
    global _CURRENT
    with _GUARD:
        if _CURRENT is None or _CURRENT.entered == OBJECTS_PER_COMPILER:
            _CURRENT = _Compiler()
        compiler = _CURRENT
        compiler.entered += 1
        compiler.inside += 1
        return compiler


def _renew_guard() -> None:
    """Another thread of the parent may have held it."""
    global _GUARD
    _GUARD = threading.RLock()


os.register_at_fork(after_in_child=_renew_guard)
