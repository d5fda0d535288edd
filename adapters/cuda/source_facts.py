"""What a CUDA source says without being compiled for a call: its options, functions, files and signature."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tle_raw.adapters.cpp.command import command_line
from tle_raw.adapters.cpp.declarations import CppFunction, functions
from tle_raw.adapters.cpp.includes import Closure, closure
from tle_raw.adapters.cpp.macros import macros_of, words_behind
from tle_raw.adapters.cpp.made_functions import made_functions
from tle_raw.adapters.cpp.options import Options
from tle_raw.adapters.cpp.prototypes import Prototype
from tle_raw.adapters.cpp.source import decode
from tle_raw.adapters.cpp.source_lines import LABEL
from tle_raw.adapters.cpp.toolchain import belongs_to, find_toolchain
from tle_raw.adapters.cuda.ask_prototype import prototype_of
from tle_raw.adapters.cuda.namespaces import with_namespace
from tle_raw.adapters.cuda.read_signature import signature_of_prototype
from tle_raw.adapters.cuda.symbol import Callee, choose_function, functions_named, location_of, split_symbol
from tle_raw.adapters.cuda.wrapper import define_lines, macros
from tle_raw.errors import FragmentSourceError
from tle_raw.fragments.adapter import Declaration, Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.signature import Signature
from tle_raw.knobs import knobs
from tle_raw.linker.processes.run_compiler import dependency_files, run_compiler

_GLOBAL = "__global__"


def files_of(source: Source) -> tuple[Path, ...]:
    """The source file and the user's headers that it includes, sorted."""
    options, folder = options_of(source)
    own = (options.file,) if options.file else ()
    found = closure_of(source)
    files = {*own, *found.files}
    if found.has_computed:
        files.update(_asked_files(source.text, source.settings, _contents(files), options, folder))
    return tuple(sorted(files))


def own_signature(source: Source, declaration: Declaration) -> Signature | None:
    """The signature that the function's prototype tells, where the user wrote none.

    A stub of a device function without types is FlagTree's: its calls give the types.
    """
    options, _ = options_of(source)
    if declaration.signature is not None:
        return None
    callee = choose_function(source.symbol, functions_of(source))
    if declaration.wrapped is None and not callee.is_kernel:
        return None
    prototype = prototype_of_source(source, callee)
    location = location_of(callee.function) if callee.function else source.location
    return signature_of_prototype(declaration.name, prototype, callee, dict(options.grid), location)


def whole_symbol(source: Source) -> str:
    """The source's symbol with the namespaces that the text lets it leave out.

    Raises
    ------
    SymbolError : the function stands in a namespace that nobody names.
    """
    texts = (source.text, *(decode(_bytes(path)) for path in closure_of(source).files))
    return with_namespace(source.symbol, functions_of(source), texts)


def options_of(source: Source) -> tuple[Options, Path]:
    options, folder = source.data
    return options, folder


def functions_of(source: Source) -> tuple[CppFunction, ...]:
    """The functions of the source; those of its headers too when it does not declare the symbol itself.

    Where a macro stands for ``__global__``, as ``KERNEL`` in ``KERNEL scale(float* x)``, those of the symbol's name say
    the word.
    """
    found = _written(source)
    short = split_symbol(source.symbol)[0].rpartition("::")[2]
    named = [f for f in found if f.name == short]
    if not named or any(f.is_kernel or f.is_device for f in named):
        return found
    known = macros_of((source.text, *(decode(_bytes(path)) for path in closure_of(source).files)))
    kernels = {f for f in named if _GLOBAL in words_behind(f.specifiers & known.keys(), known)}
    return tuple(replace(f, specifiers=f.specifiers | {_GLOBAL}) if f in kernels else f for f in found)


def _written(source: Source) -> tuple[CppFunction, ...]:
    found = _shifted(functions(source.text, source.location.file), source.location.line - 1)
    name, _ = split_symbol(source.symbol)
    if functions_named(name, found):
        return found
    texts = {str(path): decode(_bytes(path)) for path in closure_of(source).files}
    short = name.rpartition("::")[2]
    found = (*found, *(f for path, text in texts.items() if short in text for f in functions(text, path)))
    if any(function.name == short for function in found):
        return found
    made = _made(source.text, tuple(texts.items()), source.location.file, short)
    own, others = ([f for f in made if (f.file == source.location.file) == is_own] for is_own in (True, False))
    return (*found, *_shifted(own, source.location.line - 1), *others)


@functools.lru_cache(maxsize=64)
def _made(text: str, headers: tuple[tuple[str, str], ...], file: str, name: str) -> tuple[CppFunction, ...]:
    return made_functions({file: text, **dict(headers)}, name)


def prototype_of_source(source: Source, callee: Callee) -> Prototype:
    return prototype_of(source, callee, functions_of(source), header_digests(source))


def header_digests(source: Source) -> list[str]:
    return [hashlib.sha256(_bytes(path)).hexdigest() for path in closure_of(source).files]


def asks_for_no_macro(source: Source, bound: BoundSignature) -> bool:
    """Whether neither the source nor a header of the user's names a macro of the call's names."""
    texts = (source.text, *(decode(_bytes(path)) for path in closure_of(source).files))
    return not any(macro in text for macro in macros(bound) for text in texts)


def users_files(folders: Sequence[Path]) -> Callable[[str], bool]:
    return lambda file: bool(file) and file != LABEL and not belongs_to(folders, Path(file))


@functools.lru_cache(maxsize=16)
def foreign_files(folders: tuple[Path, ...], files: tuple[Path, ...]) -> tuple[Path, ...]:
    """Those of no folder, sorted: the same for all calls that one run compiled."""
    return tuple(sorted({file for file in files if not belongs_to(folders, file)}))


def closure_of(source: Source) -> Closure:
    options, folder = options_of(source)
    dirs = options.search_dirs if options.file else (*options.search_dirs, folder)
    here = options.file.parent if options.file else folder
    return closure(source.text, here, dirs, options.forced_includes)


def _shifted(found: Sequence[CppFunction], lines: int) -> tuple[CppFunction, ...]:
    return tuple(replace(function, line=function.line + lines) for function in found) if lines else tuple(found)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FragmentSourceError(f"the header {path} cannot be read: {error.strerror}") from error


def _contents(files: set[Path]) -> tuple[tuple[str, str], ...]:
    return tuple((str(path), hashlib.sha256(_bytes(path)).hexdigest()) for path in sorted(files))


@functools.lru_cache(maxsize=256)
def _asked_files(text: str, settings: object, contents: object, options: Options, folder: Path) -> tuple[Path, ...]:
    """The compiler's own list, for ``#include MACRO``; asked again when a known file changes."""
    toolchain = find_toolchain()
    command = command_line(toolchain, options, "sm_80", folder)
    code = f'#include "{options.file}"' if options.file else text
    unit = "\n".join(["#include <tle_raw/tile.h>", *define_lines(options), code, ""])
    run = run_compiler(command, unit, knobs.compile_timeout, ("-M", "-MG"))
    return tuple(
        file for file in dependency_files(run.text) if not belongs_to(toolchain.folders, file) and file.is_file()
    )
