"""Turns the compiler's refusal into the error that says what the user can do."""

from __future__ import annotations

import linecache
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tle_raw.adapters.cpp.declarations import CppFunction
from tle_raw.adapters.cpp.diagnostics import (
    ClangLocation,
    Diagnostic,
    column_in_characters,
    crashed,
    first_location,
    parse_diagnostics,
    tidy,
)
from tle_raw.adapters.cpp.source_lines import LABEL
from tle_raw.adapters.cpp.toolchain import Toolchain, belongs_to
from tle_raw.adapters.cuda.absent_libraries import absent_library, installing
from tle_raw.adapters.cuda.host_code import left_uninitialised, passed_over, trapped_functions
from tle_raw.adapters.cuda.mismatch import mismatch
from tle_raw.adapters.cuda.refusals import refused_construct
from tle_raw.adapters.cuda.symbol import Callee, location_of, missing_function
from tle_raw.errors import (
    CompilationFailed,
    Context,
    DialectError,
    FragmentSourceError,
    Row,
    SourceLocation,
    SymbolError,
    TLEError,
    ToolchainError,
)
from tle_raw.fragments.adapter import Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.linker.llvm.text import UnreadableIRError, read_module
from tle_raw.linker.processes.child_process import how_it_ended
from tle_raw.linker.processes.run_compiler import Run

LOG_LINES = 40


@dataclass(frozen=True)
class Attempt:
    """A compilation, with what is needed to explain how it went."""

    source: Source
    bound: BoundSignature
    callee: Callee
    functions: Sequence[CppFunction]
    toolchain: Toolchain
    arch: str
    run: Run

    def is_users(self, location: ClangLocation) -> bool:
        """True for lines of the user's, false for the wrapper's and the toolchain's."""
        return location.file != LABEL and not belongs_to(self.toolchain.folders, Path(location.file))


def explain(attempt: Attempt, timeout: float) -> TLEError:
    """The error for a run that failed."""
    run = attempt.run
    if run.returncode is None:
        return _tool_error(attempt, f"the compiler did not finish within {timeout:g} seconds")
    diagnostics = parse_diagnostics(run.log)
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.is_error]
    if crashed(run.returncode, run.log):
        return _tool_error(attempt, f"the compiler {_crash(run.returncode)}")
    if not errors:
        return _tool_error(attempt, f"the compiler failed (return code {run.returncode})")
    error, rest = errors[0], errors[1:]
    unclosed = _unclosed(attempt, errors)
    if unclosed:
        return unclosed
    found = (
        _foreign_warning(attempt, error)
        or _arch(attempt, error)
        or _missing_header(attempt, _of_missing_header(errors))
        or _missing_library(attempt, error)
        or _refused(attempt, error)
    )
    if found is None and error.location and error.location.file == LABEL:
        found = _wrapper_error(attempt, error)
    return found or _compilation_failed(attempt, error, rest)


def check_written(attempt: Attempt) -> None:
    """The compiler says that all is well; what it wrote must be LLVM IR that defines something.

    Raises
    ------
    ToolchainError : it is not.
    """
    text = attempt.run.text
    try:
        if any(entity.kind in ("define", "declare", "global") for entity in read_module(text).entities):
            return  # whether it is the wanted function is asked where its name is known
        got = "LLVM IR without a function" if text.strip() else "nothing"
    except UnreadableIRError as error:
        got = f"something else: {error.message}"
    raise ToolchainError(
        f"the compiler wrote no code, and reported no error: {' '.join(attempt.toolchain.clang.command)}",
        table=[Row("output", "LLVM IR", got)],
        log=attempt.run.log[-2000:],
        hint="knobs.cuda.clang names the compiler; a flag may make it do something else than compile",
        context=Context(source=attempt.source.location),
    )


def warnings_text(attempt: Attempt) -> str:
    """Warnings at the user's lines, and the headers without which the function was compiled."""
    kept = [d for d in parse_diagnostics(attempt.run.log) if d.location and attempt.is_users(d.location)]
    told = (tidy(line) for d in kept for line in d.lines())
    return "\n".join(
        [*told, *left_uninitialised(attempt.source), *trapped_functions(attempt.source), *_absent(attempt)]
    )


def _absent(attempt: Attempt) -> list[str]:
    names = ", ".join(f"<{header}>" for header in passed_over(attempt.source))
    return [f"not found, and passed over: {names}"] if names else []


def _tool_error(attempt: Attempt, message: str) -> TLEError:
    lines = [line for line in attempt.run.log.splitlines() if line.strip()][-LOG_LINES:]
    log = "\n".join([f"compiler: clang {attempt.toolchain.version}", " ".join(attempt.run.command), *lines])
    return CompilationFailed(message, log=log, context=Context(source=attempt.source.location))


def _crash(returncode: int) -> str:
    return how_it_ended(returncode) if returncode < 0 else f"crashed (return code {returncode})"


def _foreign_warning(attempt: Attempt, error: Diagnostic) -> TLEError | None:
    """A warning in code that is not the user's, which a flag of the user's made an error."""
    if "[-Werror" not in error.text or first_location(error, attempt.is_users):
        return None
    return DialectError(
        f"a flag makes an error of a warning in code that is not the fragment's: {error.text}",
        log="\n".join(error.lines()),
        hint="name what is to be an error: -Werror=return-type instead of -Werror",
        context=Context(source=attempt.source.location),
    )


def _arch(attempt: Attempt, error: Diagnostic) -> TLEError | None:
    if not re.search(r"unsupported CUDA gpu architecture|unsupported (?:HIP|GPU) arch", error.text):
        return None
    return ToolchainError(
        f"clang {attempt.toolchain.version} cannot compile for {attempt.arch}",
        hint="sm_100 and sm_120 need clang 20 (ziglang 0.15.2) or later, sm_103 and sm_121 need ziglang 0.17",
    )


# Headers that come in packages of their own.
_PACKAGES = (
    (r"nv/|cub/|cuda/|thrust/", "pip install nvidia-cuda-cccl  (or: pip install 'tle_raw[cuda]')"),
    (r"cupy/", "pip install cupy-cuda13x  (dialect cupy searches its folder of headers by itself)"),
    (r"pycuda-", "pip install pycuda  (its folder of headers is searched by itself)"),
    (r"cute/|cutlass/", "CUTLASS is header-only: name its include folder in include_dirs="),
    (
        r"(cu|nv)[a-z_0-9]*\.h|crt/|mma\.h|cooperative_groups|vector_types\.h",
        "knobs.cuda.toolkit names a CUDA toolkit",
    ),
)


# Types that CUDA programs often get through other headers; the wrapper includes only those that a signature names.
_TYPE_HEADERS = (
    ("__half", "cuda_fp16.h"),
    ("half", "cuda_fp16.h"),
    ("__nv_bfloat16", "cuda_bf16.h"),
    ("nv_bfloat16", "cuda_bf16.h"),
    ("__nv_fp8", "cuda_fp8.h"),
)
# nvcc leaves such an object alone, with a warning; clang refuses it.
_SHARED_OBJECT = (
    "give an object with a constructor or destructor, as cuda::barrier, its memory by hand: "
    "`__shared__ alignas(T) char memory[sizeof(T)]; T& object = *reinterpret_cast<T*>(memory);`"
)


_UNKNOWN = re.compile(r"undeclared|unknown type name|no (?:member|type|template) named")
_QUOTED = re.compile(r'\s*#\s*include\s*"')


def _of_missing_header(errors: Sequence[Diagnostic]) -> Diagnostic:
    """The error of a file that is not there, which ends a compilation; other names may be unknown before it."""
    return next((error for error in errors if "file not found" in error.text), errors[0])


def _missing_header(attempt: Attempt, error: Diagnostic) -> TLEError | None:
    match = re.match(r"'([^']+)' file not found", error.text)
    if match is None:
        return None
    location = first_location(error, attempt.is_users)
    context = Context(source=_location(attempt, location) if location else attempt.source.location)
    if location and location == error.location and _QUOTED.match(_location(attempt, location).text):
        return _missing_file(attempt, match[1], context)
    for pattern, hint in _PACKAGES:
        if re.match(pattern, match[1]):
            hint = installing(match[1]) or hint
            return ToolchainError(f"the header <{match[1]}> is not installed", hint=hint, context=context)
    if error.location and not attempt.is_users(error.location) and error.location.file != LABEL:
        return ToolchainError(
            f"the header <{match[1]}>, which {error.location.file} includes, is not installed",
            hint="install the C++ headers of this machine (g++), or pip install ziglang",
            context=context,
        )
    return None


def _missing_library(attempt: Attempt, error: Diagnostic) -> TLEError | None:
    """A name of a library of NVIDIA's whose header was passed over: the function needs it."""
    header, location = absent_library(error.text, passed_over(attempt.source)), first_location(error, attempt.is_users)
    if not header or not any(part in error.text for part in ("undeclared identifier", "unknown type", "incomplete")):
        return None
    return ToolchainError(
        f"the header <{header}> is not installed",
        log=error.text,
        hint=installing(header),
        context=Context(source=_location(attempt, location) if location else attempt.source.location),
    )


def _missing_file(attempt: Attempt, name: str, context: Context) -> TLEError:
    """A quoted include names a file of the user's."""
    options, folder = attempt.source.data
    including = context.source.file if context.source else ""
    own = Path(including).parent if including != attempt.source.location.file or options.file else folder
    looked = dict.fromkeys(str(path) for path in (own, *options.search_dirs))
    return FragmentSourceError(
        f'the file "{name}" was not found',
        log="\n".join(f"looked in {path}" for path in looked),
        hint="name its folder: include_dirs=[…]",
        context=context,
    )


def _refused(attempt: Attempt, error: Diagnostic) -> TLEError | None:
    """A construct that only a launch of CUDA's own can have."""
    location = first_location(error, attempt.is_users)
    if location is None:
        return None
    place = _location(attempt, location)
    found = refused_construct(error, place.text)
    return found.at(source=place) if found else None


def is_kernel_after_all(callee: Callee, run: Run) -> bool:
    """Whether the compiler refused the call because the function is a ``__global__`` one."""
    name = re.escape(callee.name.rpartition("::")[2])
    refused = re.compile(rf"{re.escape(LABEL)}:\d+:\d+: error: reference to __global__ function '{name}'")
    return run.returncode != 0 and refused.search(run.log) is not None


def _unclosed(attempt: Attempt, errors: Sequence[Diagnostic]) -> TLEError | None:
    """A bracket of the user's that is still open where the wrapper begins."""
    if errors[0].location is None or errors[0].location.file != LABEL:
        return None
    for note in (note for error in errors for note in error.notes if note.text.startswith("to match this")):
        if note.location and attempt.is_users(note.location):
            opener = note.text.removeprefix("to match this ")
            return CompilationFailed(
                f"the CUDA compiler refused the source: {opener} is never closed",
                context=Context(source=_location(attempt, note.location)),
            )
    return None


def with_text(source: Source, error: TLEError) -> TLEError:
    """Add the source line to an error that knows only its number."""
    location = error.context.source
    if location and not location.text:
        error.context = replace(error.context, source=_located(source, location))
    return error


def _wrapper_error(attempt: Attempt, error: Diagnostic) -> TLEError | None:
    """An error in generated lines: the source does not end, the function is not there, or it does not fit."""
    text, name = error.text, attempt.callee.name
    if re.search(r"^expected |function definition is not allowed|^extraneous|unterminated", text):
        return None  # the user's text does not end well
    last = re.escape(name.rpartition("::")[2])
    undeclared = r"undeclared identifier|no member named|no template named|use of undeclared|no type named"
    if re.search(undeclared, text) and re.search(
        rf"'(?:::)?(?:\w+::)*{last}'|'{re.escape(name.split('::')[0])}'", text
    ):
        return missing_function(name, attempt.functions, attempt.source.location)
    if "global namespace" in text and "no " in text:
        return missing_function(name, attempt.functions, attempt.source.location)
    notes = [note.text for note in error.notes]
    if any("__host__ function" in part for part in (text, *notes)):
        function = attempt.callee.function
        return SymbolError(
            f"`{name}` is a __host__ function and cannot run on the GPU",
            hint="write __device__ before it",
            context=Context(source=location_of(function) if function else attempt.source.location),
        )
    function = attempt.callee.function
    return mismatch(
        attempt.bound, attempt.callee, error, location_of(function) if function else attempt.source.location
    )


def _compilation_failed(attempt: Attempt, error: Diagnostic, rest: Sequence[Diagnostic]) -> TLEError:
    location = first_location(error, attempt.is_users)
    lines = [line for note in error.notes for line in note.lines()]
    lines += [line for diagnostic in rest for line in diagnostic.lines()]
    if location and location != error.location and error.location and error.location.file != LABEL:
        lines.insert(0, next(error.lines()))
    hidden = f"{LABEL}:"
    shown = [tidy(line) for line in lines if not line.strip().startswith(hidden)]
    return CompilationFailed(
        f"the CUDA compiler refused the source: {tidy(error.text)}",
        log="\n".join([*([] if "file not found" in error.text else _absent(attempt)), *shown[:LOG_LINES]]),
        hint=_hint(error.text) or _folders_hint(attempt, error),
        context=Context(source=_location(attempt, location) if location else attempt.source.location),
    )


def _folders_hint(attempt: Attempt, error: Diagnostic) -> str:
    """Where a name is unknown, and headers that are no library's of NVIDIA's were passed over."""
    absent = [header for header in passed_over(attempt.source) if not installing(header)]
    if not absent or not _UNKNOWN.search(error.text):
        return ""
    named = ", ".join(f"<{header}>" for header in absent[:3])
    return f"it may be of {named}, which nobody has here: name the folder in include_dirs="


def _hint(error: str) -> str:
    if error.startswith("initialization is not supported for __shared__"):
        return _SHARED_OBJECT
    return next((f"add `#include <{header}>`" for name, header in _TYPE_HEADERS if f"'{name}" in error), "")


def _location(attempt: Attempt, location: ClangLocation) -> SourceLocation:
    return _located(attempt.source, SourceLocation(location.file, location.line, location.column))


def _located(source: Source, location: SourceLocation) -> SourceLocation:
    """Add the text of the line, and count its columns as a reader does."""
    lines = source.text.splitlines()
    index = location.line - source.location.line
    if location.file == source.location.file and 0 <= index < len(lines):
        text = lines[index]
    else:
        linecache.checkcache(location.file)
        text = linecache.getline(location.file, location.line).rstrip("\n")
    column = column_in_characters(text, location.column)
    return SourceLocation(location.file, location.line, column, text.replace("\t", " "))
