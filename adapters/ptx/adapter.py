"""The PTX dialect: device functions (``.func``) as PTX text, or in a fatbin, LTO-IR or an archive."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from tle_raw.adapters.common.device_llvm.device import DeviceIR, compile_device_ir
from tle_raw.adapters.common.device_llvm.prototype import prototype_text
from tle_raw.adapters.common.device_llvm.ptx_types import types_of_call
from tle_raw.adapters.common.text_options import TextOptions, read_text_options
from tle_raw.errors import Context, FragmentSourceError, LinkError, SourceLocation, SymbolError
from tle_raw.fragments.adapter import CompilerOutput, Declaration, Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.signature import Signature
from tle_raw.fragments.source_text import location_of_text, read_bytes
from tle_raw.knobs import knobs
from tle_raw.linker.inputs.kinds import kind_of
from tle_raw.linker.inputs.library import LinkLibrary, open_library
from tle_raw.linker.link_libraries import link_libraries, types_in
from tle_raw.linker.machine_code.demangle import demangle
from tle_raw.target import Target
from tle_raw.targets.device_code import wanted_device_code

SUFFIXES = (".ptx", ".fatbin", ".ltoir", ".a")


@dataclass(frozen=True)
class PtxSource:
    """What a source remembers: its options, and the file's content."""

    options: TextOptions
    data: bytes


class PtxAdapter:
    """``dialect("ptx", file=… | source=…, symbol=)``."""

    name = "ptx"

    def read(self, declaration: Declaration) -> Source:
        """Validate the options and read the source anew.

        Raises
        ------
        DialectError : an option is unknown or wrong.
        FragmentSourceError : the file is missing, empty, or nothing that the linker takes.
        """
        options = read_text_options("ptx", "scale.ptx", declaration.options, declaration.folder)
        if options.file:
            data, location = read_bytes(options.file, SUFFIXES, "PTX"), SourceLocation(str(options.file), 1)
        else:
            data = (options.source or "").encode()
            location = location_of_text(options.source or "", declaration.location)
        if not data.strip():
            raise FragmentSourceError("the source is empty")
        kind = kind_of(data)
        if kind not in ("ptx", "fatbin", "lto-ir", "archive", "object", "cubin"):
            said = {"llvm": "LLVM IR", "bitcode": "LLVM bitcode"}.get(kind)
            raise FragmentSourceError(
                f"the source is {said}" if said else "the source is no PTX: it names no .version and no .target",
                hint='use dialect("llvm")' if said else "PTX begins with .version, .target and .address_size",
                context=Context(source=location),
            )
        text = data.decode("utf-8", "replace") if kind == "ptx" else f"{kind} {hashlib.sha256(data).hexdigest()}"
        settings = (("file", str(options.file or "")), ("symbol", options.symbol or ""))
        symbol = options.symbol or declaration.name
        return Source(self.name, declaration.name, symbol, text, location, settings, data=PtxSource(options, data))

    def files(self, source: Source) -> tuple[Path, ...]:
        """The source file; PTX includes nothing."""
        read: PtxSource = source.data
        return (read.options.file,) if read.options.file else ()

    def compiler_identity(self) -> str:
        """Who reads it: the linker itself makes LLVM IR of PTX, and the LLVM inside Triton code of that."""
        return f"LLVM of Triton {version('triton')}"

    def compile(self, source: Source, bound: BoundSignature, target: Target) -> CompilerOutput:
        """Make LLVM IR of the function and of what it calls, and add the entry.

        Raises
        ------
        SymbolError : the function is missing, or a kernel. SignatureMismatchError : it does not take what is passed.
        LinkError : the PTX cannot be read: damaged, for newer GPUs, with calls through registers.
        UnresolvedSymbolError : it calls what is defined nowhere.
        """
        start = time.perf_counter()
        wanted = wanted_device_code(target, "PTX is linked")
        read: PtxSource = source.data
        place = read.options.file.name if read.options.file else f"the source of `{source.name}`"
        try:
            libraries = open_library(place, read.data, wanted.arch, knobs.compile_timeout)
            symbol, library = _chosen(source, libraries)
            types = types_of_call(library, symbol, bound, source.location)
            outside = types_in((*libraries, *source.libraries))
            text = link_libraries(library.text({symbol: types}, outside), libraries, [symbol]).module.text
        except LinkError as error:
            raise _at_users_line(error, source, place) from None
        ir = DeviceIR(
            text, symbol, source.location, self.compiler_identity(), 0.0, self.files(source), is_valid=True,
            libraries=source.libraries,
        )  # fmt: skip
        output = compile_device_ir(ir, source.name, bound, target)
        return replace(output, seconds=time.perf_counter() - start)

    def prototype(self, source: Source | None, signature: Signature) -> str:
        """The function that the author is expected to write, as the LLVM IR that becomes such PTX."""
        return prototype_text(source.symbol if source else signature.name, signature)


def _chosen(source: Source, libraries: tuple[LinkLibrary, ...]) -> tuple[str, LinkLibrary]:
    """The function's name, and the library that has it: by its symbol, its C++ name, or the only one there is."""
    for library in libraries:
        if library.defines([source.symbol]):
            return source.symbol, library
    found = [(name, library) for library in libraries for name in sorted(library.functions())]
    named = [each for each in found if _plain(each[0]) == source.symbol]
    chosen = named or (found if len(found) == 1 and not source.data.options.symbol else [])
    if len(chosen) == 1:
        return chosen[0]
    names = [name for name, _ in named or found]
    raise SymbolError(
        f"`{source.symbol}` is ambiguous: there are {len(named)} functions of that name" if named
        else f"there is no device function `{source.symbol}`",
        hint=f"write symbol= and one of: {', '.join(names[:6])}" if names
        else "a .func is needed: compile with -rdc=true (nvcc -dc); a kernel (.entry) cannot be called",
        context=Context(source=source.location),
    )  # fmt: skip


def _plain(name: str) -> str:
    readable = demangle(name)
    return readable.partition("(")[0].rpartition("::")[2].partition("<")[0] if readable != name else name


def _at_users_line(error: LinkError, source: Source, place: str) -> LinkError:
    """The reader counts lines of PTX: of a source string they begin at its own place."""
    found = error.context.source
    if found is not None and found.line and found.file in ("<PTX>", place):
        line = source.location.line + found.line - 1
        lines = source.text.splitlines()
        text = lines[found.line - 1] if 0 < found.line <= len(lines) else ""
        error.context = replace(error.context, source=SourceLocation(source.location.file, line, 0, text))
    return error
