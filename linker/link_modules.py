"""``tle_raw.linker.link``: modules of device code in, one checked module out, and a report of every symbol."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tle_raw.errors import LinkError, Row
from tle_raw.linker.architectures import read_architecture, why_no_architecture
from tle_raw.linker.check_linked import check_linked
from tle_raw.linker.device_code import optimise_for_device
from tle_raw.linker.host_modules import HOST, check_host_modules, optimise_for_host
from tle_raw.linker.inputs.kept_texts import TextFolder
from tle_raw.linker.inputs.library import LinkLibrary, open_library
from tle_raw.linker.link_libraries import link_libraries
from tle_raw.linker.llvm.cut import cut
from tle_raw.linker.llvm.normalise import normalise
from tle_raw.linker.llvm.symbols import internalise
from tle_raw.linker.llvm.text import read_module
from tle_raw.linker.report import LinkSummary
from tle_raw.linker.symbol_fates import symbol_fates


@dataclass(frozen=True)
class LinkedModule:
    """One module that holds all that the entries need.

    Attributes
    ----------
    text : LLVM IR. Only the entries, and variables that a host may set, are visible.
    entries : the functions that others call.
    report : what became of each symbol.
    """

    text: str
    entries: tuple[str, ...]
    report: LinkSummary


def link(
    modules: Sequence[Any],
    *,
    entry: str | Sequence[str],
    target: str = "cuda:90",
    unresolved: Collection[str] = (),
    optimise: bool = True,
    older_llvm: bool = False,
    cache: str | os.PathLike[str] | None = None,
    timeout: float = 600.0,
) -> LinkedModule:
    """Link device code of several languages into one module of LLVM IR.

    It knows no kernel and no Triton: what it gives can be linked anywhere. PTX and LTO-IR become LLVM IR, so that they
    are inlined like the rest.

    Parameters
    ----------
    modules : each a path; LLVM IR or PTX as text; bitcode, a fatbin, LTO-IR or an archive as bytes; a pair of a name
        and one of these; or an object with LLVM IR as its ``text``, such as a compiled fragment. Where several define a
        function, the first one's is taken.
    entry : the function, or functions, that others will call. All that they do not reach is left out.
    target : ``"cuda:90"`` or ``"sm_90a"``: of several images in a file the newest that runs there is taken. ``"cpu"``:
        LLVM IR and bitcode of this machine's CPU, and archives of these.
    unresolved : functions and variables that may stay undefined. libdevice's and the CUDA runtime's may anyway; for a
        CPU the C library's.
    optimise : inline and optimise here, at O3, where llvmlite is installed; else functions are marked, and whoever
        compiles the module inlines them.
    older_llvm : rewrite spellings that the LLVM of Triton 3.6 does not know.
    cache : a folder for the cuts of libraries of more than 1 MiB of bitcode, which then cost their cut once.
    timeout : seconds that a tool may take.

    Raises
    ------
    LinkError : a module is none, was cut, or is for other processors; ``target`` is none.
    SymbolError : no module defines an entry.
    AbiError : caller and function differ in type, calling convention, or in what is passed through memory.
    DuplicateSymbolError : two modules define a symbol, and one is already bound.
    UnresolvedSymbolError : a symbol is defined nowhere. UnsupportedFeatureError : constructors, file-scope assembly, an
        address space that no GPU has, dynamic parallelism, functions of the host; for a CPU what only GPUs run.
    ToolchainError : a tool that reads one of the files is missing.

    Examples
    --------
    >>> linked = link(["kernels.ptx", "acme.bc"], entry="rms_row", target="cuda:90")
    >>> print(linked.report)
    """
    start = time.perf_counter()
    entries = _entries(entry)
    if isinstance(modules, (str, bytes, os.PathLike)) or not modules:
        got = type(modules).__name__ if modules else "none"
        raise LinkError("the linker takes a list of modules", table=[Row("modules", "one or more in a list", got)])
    arch = _arch(target)
    kept = TextFolder(Path(cache)) if cache is not None else None
    libraries = [library for module in modules for library in _opened(module, arch, timeout, kept)]
    joined = link_libraries("", libraries, entries, asked=entries)
    module = normalise(cut(joined.module, entries), older_llvm=older_llvm)
    if arch == HOST:
        check_host_modules(module, unresolved)
    else:
        check_linked(module, entries, unresolved)
    text = internalise(module, entries).text
    is_optimised = optimise and find_spec("llvmlite") is not None
    if is_optimised:
        optimised = _optimised(text, entries, arch)
        text = normalise(read_module(optimised), older_llvm=older_llvm).text
    left = read_module(text) if is_optimised else None
    symbols = tuple(symbol_fates(module, joined, libraries, entries, left, arch))
    return LinkedModule(text, entries, LinkSummary(symbols, time.perf_counter() - start))


def _entries(entry: str | Sequence[str]) -> tuple[str, ...]:
    entries = (entry,) if isinstance(entry, str) else tuple(entry) if isinstance(entry, Collection) else ()
    if not entries or not all(isinstance(each, str) for each in entries):
        raise LinkError(
            "an entry is a function's name", table=[Row("entry", "a text, or texts in a list", repr(entry))]
        )
    return entries


def _optimised(text: str, entries: tuple[str, ...], arch: str) -> str:
    return (
        optimise_for_host(text, *entries) if arch == HOST else optimise_for_device(text, entries[0], arch, *entries[1:])
    )


def _arch(target: str) -> str:
    if target == HOST:
        return HOST
    found = read_architecture(target) if isinstance(target, str) else None
    if found is None:
        why = why_no_architecture(target) if isinstance(target, str) else ""
        raise LinkError(f"{target!r} is no target of the linker", hint=why or 'write "cuda:90", "sm_90a" or "cpu"')
    capability, suffix = found
    return f"sm_{capability}{suffix or ('a' if capability >= 90 and target.startswith('cuda') else '')}"


def _opened(module: Any, arch: str, timeout: float, kept: TextFolder | None) -> tuple[LinkLibrary, ...]:
    if isinstance(module, LinkLibrary):
        return (module,)
    name, content = module if isinstance(module, tuple) and len(module) == 2 else (None, module)
    if isinstance(getattr(content, "text", None), str):
        name, content = name or str(getattr(content, "name", "a module")), content.text
    if isinstance(content, str) and "\n" in content:
        content = content.encode("utf-8", "surrogateescape")
    if isinstance(content, (str, os.PathLike)):
        path = Path(content)
        try:
            return open_library(name or path.name, path.read_bytes(), arch, timeout, kept)
        except OSError as error:
            raise LinkError(f"the module {path} cannot be read: {error.strerror}") from None
    if not isinstance(content, bytes):
        raise LinkError(
            f"{type(content).__name__} is no module of device code",
            hint="pass paths, text, bytes, or objects with LLVM IR as their text",
        )
    return open_library(name or "a module in memory", content, arch, timeout, kept)
