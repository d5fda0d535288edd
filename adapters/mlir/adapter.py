"""The MLIR dialect: from a module, or a function written in Python, to LLVM IR with one entry function."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tle_raw.adapters.common.device_llvm.device import DeviceIR, compile_device_ir
from tle_raw.adapters.mlir.check_types import check_types, lowered_names
from tle_raw.adapters.mlir.describe import describe
from tle_raw.adapters.mlir.functions import MlirFunction, functions
from tle_raw.adapters.mlir.infer_signature import infer_signature
from tle_raw.adapters.mlir.lower import lower
from tle_raw.adapters.mlir.options import Options, read_options
from tle_raw.adapters.mlir.prototype import prototype_text
from tle_raw.adapters.mlir.read_module import BYTECODE, ModuleText, is_module, read_module
from tle_raw.adapters.mlir.reshape_block import reshape_block
from tle_raw.adapters.mlir.routes import identity
from tle_raw.adapters.mlir.symbols import choose_function, default_symbol
from tle_raw.errors import DialectError, FragmentSourceError, SourceLocation, TLEError
from tle_raw.fragments.adapter import CompilerOutput, Declaration, Description, Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.signature import Signature
from tle_raw.fragments.source_text import is_path, location_of_text, read_bytes
from tle_raw.knobs import knobs
from tle_raw.target import Target
from tle_raw.targets.base import DeviceCodeWanted
from tle_raw.targets.device_code import wanted_device_code

SUFFIXES = (".mlir", ".mlirbc")


@dataclass(frozen=True)
class ModuleSource:
    """What a source from a module remembers: its options, and who printed it."""

    options: Options
    producer: str


class MlirAdapter:
    """``dialect("mlir", file=… | source=… | module=…, symbol=, block=, route=)``, or over a function with a body."""

    name = "mlir"

    def read(self, declaration: Declaration) -> Source:
        """Validate the options and read the module, or the Python function, anew.

        Raises
        ------
        DialectError : an option is unknown or wrong, or nothing or two things give the code.
        FragmentSourceError : the source is missing, empty, or nothing that can be read.
        """
        options = read_options(declaration.options, declaration.folder)
        if _is_written_in_python(declaration, options):
            from tle_raw.adapters.mlir.edsl import read_function  # a third of the adapter, for code in Python only

            return read_function(declaration)
        found, location = _read(options, declaration.location)
        if not found.text.strip():
            raise FragmentSourceError("the source is empty")
        name = declaration.name or (declaration.signature.name if declaration.signature else "")
        symbol = options.symbol or default_symbol(name, functions(found.text))
        data = ModuleSource(options, found.producer)
        # The code tells its lines: a failed assertion, a debugger, a profiler.
        settings = dict(options.settings(), line_info=str(knobs.line_info), place=f"{location.file}:{location.line}")
        return Source(self.name, name or symbol, symbol, found.text, location, tuple(sorted(settings.items())), data)

    def takes(self, source: object, named: bool) -> bool:
        """Whether ``fragment(source)`` is MLIR: a module of any binding, bytecode, or text with MLIR functions."""
        if isinstance(source, (bytes, bytearray)):
            return named or bytes(source).startswith(BYTECODE)
        if isinstance(source, (str, Path)):
            return named or (isinstance(source, str) and bool(functions(source)))
        return is_module(source) or (named and not callable(source))

    def complete(self, declaration: Declaration) -> Declaration:
        """Take the name from the function, and where the declaration has none the signature from its type.

        Raises
        ------
        SymbolError : the function is missing, private or ambiguous. SignatureError : a type cannot cross.
        """
        declaration = _with_option(declaration)
        source = self.read(declaration)
        given = declaration.signature
        if given is not None:
            return replace(declaration, name=given.name)
        function = _function(source)
        try:
            return replace(declaration, name=function.name, signature=infer_signature(function))
        except TLEError as error:
            raise error.at(fragment=function.name, source=_line(source, function.line)) from None

    def files(self, source: Source) -> tuple[Path, ...]:
        """The module's file; MLIR includes nothing."""
        if not isinstance(source.data, ModuleSource):
            return ()
        file = source.data.options.file
        return (file,) if file else ()

    def compiler_identity(self) -> str:
        """Who lowers: Triton's own MLIR, and the bindings that are installed."""
        return identity()

    def describe(self) -> Description:
        """Who lowers which MLIR: Triton's own alone, or bindings that bring the rest."""
        return Description("MLIR fragments", describe())

    def compile(self, source: Source, bound: BoundSignature, target: Target) -> CompilerOutput:
        """Lower for one call and one target, and add the entry.

        Raises
        ------
        SymbolError : the function is missing, private, a kernel, or ambiguous.
        SignatureMismatchError : it does not take what the signature passes.
        CompilationFailed : MLIR refuses the module, crashes or takes too long.
        UnsupportedFeatureError : memory or loops that cannot work in a region.
        ToolchainError : the module needs bindings that are not installed.
        """
        wanted = wanted_device_code(target, "the mlir dialect compiles")
        if isinstance(source.data, ModuleSource):
            return _compile_module(source, source.data, bound, target, wanted)
        return _compile_python(source, bound, target, wanted)

    def prototype(self, source: Source | None, signature: Signature) -> str:
        """The MLIR function that the author is expected to write."""
        if source is not None and not isinstance(source.data, ModuleSource):
            from tle_raw.adapters.mlir.edsl import prototype  # a third of the adapter, for code in Python only

            return prototype(source, signature)
        return prototype_text(source.symbol if source else signature.name, signature)


def _with_option(declaration: Declaration) -> Declaration:
    """What was given to ``fragment``, as the option that means it: its file is read anew when it changes."""
    given = declaration.wrapped
    kind = "file" if is_path(given) else "source" if isinstance(given, (str, bytes)) else "module"
    return replace(declaration, options={kind: given, **declaration.options}, wrapped=None)


def _is_written_in_python(declaration: Declaration, options: Options) -> bool:
    """Whether the code is the decorated function's own body."""
    if declaration.function is None:
        return False
    from tle_raw.adapters.mlir.edsl.source import has_body  # a third of the adapter, for code in Python only

    written = has_body(declaration.function)
    if written and options.has_source:
        raise DialectError(
            f"`{declaration.name}` has a body, and its code is given beside it",
            hint="write `...` as its body, or take the option away",
        )
    return written


def _read(options: Options, declared: SourceLocation) -> tuple[ModuleText, SourceLocation]:
    if options.file:
        return read_module(read_bytes(options.file, SUFFIXES, "MLIR")), SourceLocation(str(options.file), 1)
    if options.source is not None:
        found = read_module(options.source)
        location = location_of_text(found.text, declared) if isinstance(options.source, str) else _printed(found)
        return found, location
    if options.module is None:
        raise DialectError(
            "the mlir dialect takes file=, source= or module=, or a function with a body",
            hint='write file="scale.mlir", or write the code as the function\'s body',
        )
    found = read_module(options.module)
    return found, _printed(found)


def _printed(found: ModuleText) -> SourceLocation:
    """Lines of a module that stands in no file are counted in its printed text."""
    return SourceLocation(f"<module of {found.producer or 'bytecode'}>", 1)


def _function(source: Source) -> MlirFunction:
    return choose_function(source.symbol, functions(source.text), source.location, source.text)


def _line(source: Source, line: int, column: int = 0) -> SourceLocation:
    """A line of the source's text where the user has it."""
    lines = source.text.splitlines()
    shown = lines[line - 1] if 0 < line <= len(lines) else ""
    return SourceLocation(source.location.file, source.location.line + line - 1, column, shown.replace("\t", " "))


def _compile_module(
    source: Source, module: ModuleSource, bound: BoundSignature, target: Target, wanted: DeviceCodeWanted
) -> CompilerOutput:
    function = _function(source)
    location = _line(source, function.line)
    check_types(function, bound, location)
    try:
        lowered = lower(
            source.text,
            function.path,
            arch=wanted.arch,
            route=module.options.route,
            location=_line_info(source, wanted),
        )
    except TLEError as error:
        raise _at_users_line(error, source, module.producer) from None
    ir = DeviceIR(
        reshape_block(lowered.llvm_ir, module.options.block),
        function.name,
        location,
        lowered.compiler,
        lowered.seconds,
        (module.options.file,) if module.options.file else (),
        is_valid=True,
        names=lowered_names(function),
        libraries=source.libraries,
    )
    output = compile_device_ir(ir, source.name, bound, target)
    return replace(output, route=lowered.route, block=module.options.block)


def _compile_python(source: Source, bound: BoundSignature, target: Target, wanted: DeviceCodeWanted) -> CompilerOutput:
    from tle_raw.adapters.mlir.edsl import build  # a third of the adapter, for code in Python only

    built = build(source, bound, target, source.data.route)
    lowered = lower(
        built.text, built.symbol, arch=wanted.arch, trusted=True, route=built.route, location=_line_info(source, wanted)
    )
    block = source.data.block
    text = reshape_block(lowered.llvm_ir, block)
    ir = DeviceIR(
        text,
        built.symbol,
        source.location,
        lowered.compiler,
        lowered.seconds,
        is_valid=True,
        libraries=source.libraries,
    )
    # A constant is a number in the Python code: its function never takes it.
    passed = replace(bound, parameters=bound.crossing)
    return replace(compile_device_ir(ir, source.name, passed, target), route=lowered.route, block=block)


def _line_info(source: Source, wanted: DeviceCodeWanted) -> SourceLocation | None:
    """Emulated code tells its lines, whatever the knob says."""
    return source.location if dict(source.settings).get("line_info") != "False" or wanted.is_emulated else None


def _at_users_line(error: TLEError, source: Source, producer: str) -> TLEError:
    found = error.context.source
    if found is None or not found.file:
        location = _line(source, found.line, found.column) if found is not None else source.location
        error.context = replace(error.context, source=location)
    if producer and not error.hint:
        error.hint = f"the module was printed by {producer}; {identity()} reads it"
    return error
