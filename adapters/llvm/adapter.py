"""The LLVM IR dialect: text or bitcode that somebody else's compiler, or a hand, wrote for NVIDIA GPUs."""

from __future__ import annotations

import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tle_raw.adapters.common.device_llvm.callee import default_symbol
from tle_raw.adapters.common.device_llvm.device import DeviceIR, compile_device_ir
from tle_raw.adapters.common.device_llvm.lines import read
from tle_raw.adapters.common.device_llvm.prototype import prototype_text
from tle_raw.adapters.common.text_options import TextOptions, read_text_options
from tle_raw.errors import CompilationFailed, FragmentSourceError, SourceLocation
from tle_raw.fragments.adapter import CompilerOutput, Declaration, Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.signature import Signature
from tle_raw.fragments.source_text import location_of_text, read_bytes
from tle_raw.knobs import knobs
from tle_raw.linker.inputs.bitcode import disassemble, is_bitcode
from tle_raw.linker.llvm.text import UnreadableIRError
from tle_raw.linker.tools.clang import find_clang
from tle_raw.target import Target

SUFFIXES = (".ll", ".bc")


class LlvmAdapter:
    """``dialect("llvm", file=… | source=…, symbol=)``."""

    name = "llvm"

    def read(self, declaration: Declaration) -> Source:
        """Validate the options and read the source anew.

        Raises
        ------
        DialectError : an option is unknown or wrong.
        FragmentSourceError : the file is missing, empty, or bitcode that no tool here can read.
        """
        options = read_text_options("llvm", "scale.ll", declaration.options, declaration.folder, sigil="@")
        if options.file:
            text, location = _read_file(options.file)
        else:
            text = options.source or ""
            location = location_of_text(text, declaration.location)
        if not text.strip():
            raise FragmentSourceError("the source is empty")
        symbol = options.symbol or _default_symbol(declaration.name, text)
        settings = (("file", str(options.file or "")), ("symbol", options.symbol or ""))
        return Source(self.name, declaration.name, symbol, text, location, settings, data=options)

    def files(self, source: Source) -> tuple[Path, ...]:
        """The source file; LLVM IR includes nothing."""
        options: TextOptions = source.data
        return (options.file,) if options.file else ()

    def compiler_identity(self) -> str:
        """Who reads the text: the LLVM inside Triton, and what checks it before.

        Raises
        ------
        ToolchainError : there is neither llvmlite nor clang.
        """
        checker = _version("llvmlite")
        checker = f"llvmlite {checker}" if checker else f"clang {find_clang().version}"
        return f"LLVM of Triton {_version('triton')}, {checker}"

    def compile(self, source: Source, bound: BoundSignature, target: Target) -> CompilerOutput:
        """Check, and add the entry: see ``device.compile_device_ir``."""
        start = time.perf_counter()
        ir = DeviceIR(
            source.text, source.symbol, source.location, self.compiler_identity(), 0.0, self.files(source),
            libraries=source.libraries,
        )  # fmt: skip
        output = compile_device_ir(ir, source.name, bound, target)
        return CompilerOutput(**{**vars(output), "seconds": time.perf_counter() - start})

    def prototype(self, source: Source | None, signature: Signature) -> str:
        """The function that the author is expected to write."""
        return prototype_text(source.symbol if source else signature.name, signature)


def _read_file(path: Path) -> tuple[str, SourceLocation]:
    data = read_bytes(path, SUFFIXES, "LLVM IR")
    if is_bitcode(data):
        return disassemble(data, knobs.compile_timeout), SourceLocation(str(path), 0)
    try:
        return data.decode("utf-8-sig"), SourceLocation(str(path), 1)
    except UnicodeDecodeError:
        raise FragmentSourceError(
            f"the source file {path} is neither text nor LLVM bitcode", hint="compile it with clang -S -emit-llvm"
        ) from None


def _default_symbol(stub: str, text: str) -> str:
    """A text that cannot be read is reported when it is compiled, with its line."""
    try:
        return default_symbol(stub, read(text, SourceLocation("", 0)))
    except (CompilationFailed, UnreadableIRError):
        return stub


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""
