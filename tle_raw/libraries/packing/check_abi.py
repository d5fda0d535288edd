"""Compares a manifest with its sources before any compiler runs: a wrong signature is told in milliseconds."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from tle_raw.adapters.common.device_llvm.callee import find_callee
from tle_raw.adapters.common.device_llvm.forms import find_layout
from tle_raw.adapters.common.device_llvm.lines import read
from tle_raw.adapters.common.device_llvm.mismatch import mismatch
from tle_raw.adapters.cpp.declarations import CppFunction, functions
from tle_raw.errors import (
    Context,
    DuplicateSymbolError,
    FragmentSourceError,
    ManifestError,
    Row,
    SignatureMismatchError,
    SourceLocation,
    TLEError,
)
from tle_raw.fragments.binding import bind_names
from tle_raw.fragments.dtypes import DType
from tle_raw.fragments.parameter_types import Buffer, Const, Element, Parameter, Pointer, Scalar, Tile
from tle_raw.libraries.packing.cxx_header import WrittenType, result_type, written_type
from tle_raw.libraries.packing.manifest import Function, Manifest, Overload
from tle_raw.linker.llvm.redefined import refuse_redefinitions
from tle_raw.linker.llvm.text import Module


def check_abi(manifest: Manifest) -> None:
    """Check what can be known without a compiler: functions of LLVM text whole, of CUDA C++ as far as it is plain.

    All are checked before any is told of.

    Raises
    ------
    SymbolError, SignatureMismatchError : a function is missing, or takes or gives something else.
    ShapeError, BindingError : a value makes a tile that cannot be.
    DuplicateSymbolError : a text of LLVM IR has two of one name. The error names the function and the manifest's line.
    ManifestError : several of these, each whole with its function and line.
    """
    wrong: list[TLEError] = []
    for function in manifest.functions:
        for overload in function.overloads:
            try:
                _check(function, overload)
            except TLEError as error:
                error.context = Context(function.name, overload.location)  # the manifest's line, not the source's
                if not _is_known(error, wrong):
                    wrong.append(error)
    if len(wrong) == 1:
        raise wrong[0] from None
    if wrong:
        raise ManifestError(
            f"{manifest.file}: {len(wrong)} declarations do not fit their sources", log="\n".join(map(str, wrong))
        )


def _is_known(error: TLEError, told: list[TLEError]) -> bool:
    """What is wrong with a whole source is told once, not for each function in it."""
    of_source = isinstance(error, DuplicateSymbolError | FragmentSourceError)
    return of_source and error.message in [each.message for each in told]


def _check(function: Function, overload: Overload) -> None:
    for names in overload.bindings():
        bind_names(overload.signature, dict(names))  # a tile's dim may be a value that no tile has
    if overload.dialect == "llvm" and overload.source.suffix == ".ll":
        _check_llvm(overload)
    elif overload.dialect == "cuda":
        _check_cuda(function, overload)


def _check_llvm(overload: Overload) -> None:
    module = _module(overload.source, _stamp(overload.source))
    start = SourceLocation(str(overload.source), 1)
    refuse_redefinitions(module, start, overload.source.name)
    callee = find_callee(module, overload.symbol.removeprefix("@"), start)
    for names in overload.bindings():
        bound = bind_names(overload.signature, dict(names))
        if find_layout(bound, callee.type) is None:
            raise mismatch(bound, callee)


def _check_cuda(function: Function, overload: Overload) -> None:
    """Nothing where the function stands in a header, is a template or has defaults: the compiler will know."""
    symbol = overload.symbol.split("<")[0].split("(")[0].strip()
    text = _text(overload.source, _stamp(overload.source))
    found = [f for f in functions(text) if symbol in (f.name, f.qualified)]
    if not found or any(
        f.template is not None or f.is_kernel or any(p.has_default for p in f.parameters) for f in found
    ):
        return
    tables = [_rows(overload, f) for f in found]
    if all(any(row.differs for row in table) for table in tables):
        raise SignatureMismatchError(
            f"`{overload.symbol}` in {overload.source.name}:{found[0].line} does not take what the signature says",
            table=tables[0],
            hint="change the signature or the function, so that both name the same types",
        )


def _rows(overload: Overload, function: CppFunction) -> list[Row]:
    wanted = [p for p in overload.signature.parameters if not isinstance(p.type, Const)]
    rows = [Row("parameters", str(len(wanted)), str(len(function.parameters)))]
    for parameter, given in zip(wanted, function.parameters):
        type_ = written_type(given.type)
        fits = _fits(parameter, type_, overload)
        rows.append(Row(parameter.name, given.type if fits else str(parameter.type), given.type))
    expected, got = overload.signature.result, result_type(function)
    if expected is not None and got is None:
        rows.append(Row("result", str(expected), "void"))
    elif expected is not None and got is not None and got.is_number and not _same(expected.dtype, got.dtype, overload):
        rows.append(Row("result", str(expected), got.text))
    return rows


def _fits(parameter: Parameter, given: WrittenType, overload: Overload) -> bool:
    """Whether it may fit: what the text does not tell does."""
    type_ = parameter.type
    if isinstance(type_, Scalar | Element):
        if given.is_pointer:
            return isinstance(type_, Element) and parameter.effect != "In"
        return given.dtype is None or _same(type_.dtype, given.dtype, overload)
    if given.is_number and not given.is_reference:
        return False
    if isinstance(type_, Pointer) and type_.is_opaque:
        return True
    if isinstance(type_, Pointer) or (isinstance(type_, Tile) and not isinstance(type_, Buffer)):
        return given.dtype is None or _same(type_.dtype, given.dtype, overload)
    return True


def _same(expected: DType | str, given: DType | None, overload: Overload) -> bool:
    if isinstance(expected, str):
        return given in overload.values[expected]
    return expected == given


def _stamp(file: Path) -> tuple[int, int]:
    try:
        status = file.stat()
    except OSError as error:
        raise FragmentSourceError(f"the source {file} cannot be read: {error.strerror}") from None
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=32)
def _text(file: Path, stamp: tuple[int, int]) -> str:
    return file.read_text("utf-8", "surrogateescape")


@lru_cache(maxsize=32)
def _module(file: Path, stamp: tuple[int, int]) -> Module:
    return read(_text(file, stamp), SourceLocation(str(file), 1))
