"""Host code beside a kernel is not compiled: functions are left out, and headers that nobody has are passed over.

A source is compiled without what its function does not need (``host_declarations``). What the compiler misses then is
learnt from its errors, one run after the other: folders of installed packages, headers that may be absent, headers of
the user's with host code of their own. Where that leads nowhere the whole text is compiled, as it stands.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tle_raw.adapters.cpp.diagnostics import ClangLocation, Diagnostic, parse_diagnostics
from tle_raw.adapters.cpp.headers import absent_headers
from tle_raw.adapters.cpp.host_declarations import without_host_declarations
from tle_raw.adapters.cpp.includes import Include, closure, includes_of
from tle_raw.adapters.cpp.installed_headers import folder_with, is_librarys, may_be_skipped
from tle_raw.adapters.cpp.macros import macros_of
from tle_raw.adapters.cpp.mends import mended, mends
from tle_raw.adapters.cpp.options import Options
from tle_raw.adapters.cpp.preamble import headers_to_read_ahead
from tle_raw.adapters.cpp.source import decode
from tle_raw.adapters.cpp.source_lines import LABEL
from tle_raw.adapters.cpp.toolchain import INCLUDE, find_toolchain
from tle_raw.adapters.cuda.host_plans import Plan, keep_plan, kept_plan
from tle_raw.adapters.cuda.symbol import split_symbol
from tle_raw.fragments.adapter import Source
from tle_raw.identity import digest
from tle_raw.linker.machine_code.demangle import demangle
from tle_raw.linker.processes.run_compiler import Run
from tle_raw.linker.processes.temporary_folder import temporary_folder

# In host functions clang then passes over calls of what only the device has, those of included headers too.
DEFER = "-fgpu-defer-diag"
# So often the compiler is run to learn what it misses.
ROUNDS = 12
# Bytes of headers that are gone through as soon as one of them has an error.
CUT_AT_ONCE = 1_000_000
LIGHT_TORCH = INCLUDE / "tle_raw" / "torch"

_MISSING = re.compile(r"'([^']+)' file not found")
_OF_THE_HOST = re.compile(r"reference to __(?:device|global|host)__ function")
_UNDECLARED = re.compile(r"(?:unknown type name|use of undeclared identifier|no type named) '(\w+)'")
# Names that programs get through other headers, and those that CUB had before its version 3.
_TAKEN = (
    (r"(?:unknown type name|undeclared identifier) '(?:__)?half", "cuda_fp16.h"),
    (r"(?:unknown type name|undeclared identifier) '(?:__)?nv_bfloat16", "cuda_bf16.h"),
    (
        r"no (?:member|type) named '(?:Sum|Max|Min|Equality|Inequality|Difference|Division)' in namespace 'cub'",
        "tle_raw/cub_before_3.h",
    ),
)
_UNKNOWN = ("unknown type name", "use of undeclared", "no template named", "no member named", "no type named")
# Handles of NVIDIA's host libraries, which structs of a program hold.
_HANDLE = re.compile(r"(?:cublas|curand|cusparse|cusolver|cufft|cudnn|nccl|nvml)\w*_t")

# A declaration from that word to the variable's value or size.
_CONSTANT = re.compile(r"\b__constant__\b([^;={(]*)")
_WORD = re.compile(r"[A-Za-z_]\w*")

Compile = Callable[[Source, tuple[str, ...]], Run]


@dataclass(frozen=True)
class _Files:
    """The user's files that a source includes, and all texts, the source's own first: read once for a compilation."""

    paths: tuple[Path, ...]
    texts: tuple[str, ...]

    @functools.cached_property
    def names(self) -> frozenset[str]:
        return frozenset(map(str, self.paths))

    @functools.cached_property
    def includes(self) -> tuple[tuple[Include, ...], ...]:
        """Those of each text."""
        return tuple(map(includes_of, self.texts))

    @functools.cached_property
    def takes_torch(self) -> bool:
        """Whether they include headers of an installed torch."""
        names = (include.name for includes in self.includes for include in includes)
        return any(name.startswith(("torch/", "ATen/", "c10/")) for name in names) and bool(
            folder_with("c10/util/Half.h")
        )


_PLANS: dict[str, Plan] = {}
_WHOLE_FAILS: set[str] = set()


def compile_device_code(source: Source, compile_source: Compile) -> Run:
    """Compile what the source's function needs; ``compile_source`` takes a source and flags for the command line.

    Of two failures the one is told that lies in the code itself.
    """
    key, files = _key(source), _files(source)
    begun = _PLANS.get(key) or kept_plan(key, files.texts) or _first_plan(files)
    first, plan = _learn(source, files, begun, compile_source)
    for other in _less(source, files, plan) if first.returncode not in (0, None) else ():
        second, learnt = _learn(source, files, other, compile_source)
        if second.returncode in (0, None):
            first, plan = second, learnt
            break
    _PLANS[key] = plan  # what was learnt holds for other targets too
    if plan != begun and first.returncode == 0:
        keep_plan(key, files.texts, plan)
    if first.returncode in (0, None) or not _leaves_out(source, files, plan) or key in _WHOLE_FAILS:
        return first
    whole, other = _learn(
        source, files, Plan(is_whole=True, is_light=False, folders=plan.folders, reads_ahead=False), compile_source
    )
    if whole.returncode in (0, None):
        _PLANS[key] = other
        if whole.returncode == 0:
            keep_plan(key, files.texts, other)
        return whole
    _WHOLE_FAILS.add(key)
    return first if _is_in_the_code(source, files, first, whole, plan) else whole


def _less(source: Source, files: _Files, plan: Plan) -> Iterator[Plan]:
    """The same plan without what this program adds to the source, and what may be in its way."""
    if plan.reads_ahead and _ahead(source, files):
        yield replace(plan, reads_ahead=False)
    if plan.tells_version and _version_lines(source, files):
        yield replace(plan, reads_ahead=False, tells_version=False)


def passed_over(source: Source) -> tuple[str, ...]:
    """The headers that were missing when the source was compiled."""
    plan = _PLANS.get(_key(source))
    return plan.missing if plan else ()


def declared_constant(source: Source) -> Callable[[str], bool]:
    """Whether the source says ``__constant__`` of the variable that has a symbol."""
    declarations = (d for text in _files(source).texts if "__constant__" in text for d in _CONSTANT.findall(text))
    words = frozenset(word for declaration in declarations for word in _WORD.findall(declaration))
    return lambda symbol: demangle(symbol).rpartition("::")[2] in words


def device_part(source: Source, with_members: bool = True) -> Source:
    """The source without the declarations that its function does not need."""
    return _device_part(source, _files(source), with_members)


def _device_part(source: Source, files: _Files, with_members: bool = True) -> Source:
    return _with_text(source, _cut(source.text, files.texts, _wanted(source), with_members))


def _with_text(source: Source, text: str) -> Source:
    if text == source.text:
        return source
    options, folder = source.data
    shown: Options = options if options.file else replace(options, source=text)
    return replace(source, text=text, data=(shown, folder))


def _compiled(source: Source, files: _Files, plan: Plan) -> Source:
    own = _with_text(source, mended(source.text, _own_name(source), plan.mends))
    return own if plan.is_whole else _device_part(own, files, plan.with_members)


def _key(source: Source) -> str:
    """The same for every block of a kernel."""
    return digest(source.text, [(k, v) for k, v in source.settings if k not in ("block", "grid", "shared")])


def _first_plan(files: _Files) -> Plan:
    """Libraries' headers are looked for before the compiler asks for them."""
    names = {include.name for includes in files.includes for include in includes if is_librarys(include.name)}
    names = {name for name in names if not any(path.endswith(f"/{name}") for path in files.names)}
    found = {name: folder_with(name) for name in sorted(names)}
    folders = tuple(dict.fromkeys(folder for folder in found.values() if folder))
    toolkit = find_toolchain().toolkit.root / "include"
    missing = (name for name, folder in found.items() if folder is None and may_be_skipped(name, is_quoted=True))
    return Plan(folders=folders, missing=tuple(name for name in missing if not (toolkit / name).is_file()))


@functools.lru_cache(maxsize=64)
def _cut(text: str, texts: tuple[str, ...], wanted: str, with_members: bool) -> str:
    return without_host_declarations(text, _macros(texts), wanted, with_members)


@functools.lru_cache(maxsize=4)
def _macros(texts: tuple[str, ...]) -> dict[str, frozenset[str]]:
    return macros_of(texts)


def _learn(source: Source, files: _Files, plan: Plan, compile_source: Compile) -> tuple[Run, Plan]:
    run = _run(source, files, plan, compile_source)
    for _ in range(ROUNDS):
        more = None if run.returncode in (0, None) else _next(source, files, plan, run)
        if more is None or more == plan:
            return run, plan
        plan = more
        run = _run(source, files, plan, compile_source)
    return run, plan


def _run(source: Source, files: _Files, plan: Plan, compile_source: Compile) -> Run:
    compiled = _compiled(source, files, plan)
    options, folder = compiled.data
    if plan.is_deferred:
        options = replace(options, flags=(*options.flags, DEFER))
    declared = [f"typedef struct {name}_absent* {name};" for name in plan.handles]
    declared += [f"#include <{header}>" for header in plan.includes]
    declared += _version_lines(source, files) if plan.tells_version else ()
    options = replace(options, declared=tuple(declared)) if declared else options
    options = replace(options, ahead=_ahead(source, files)) if plan.reads_ahead else options
    compiled = replace(compiled, data=(options, folder))
    flags = [part for path in plan.folders for part in ("-idirafter", str(path))]
    if plan.missing:
        flags += ["-idirafter", str(absent_headers(plan.missing))]
    if plan.is_light and files.takes_torch:
        flags = ["-isystem", str(LIGHT_TORCH), *flags]
    changed = plan.headers | {mend.file for mend in plan.mends if mend.file != _own_name(source)}
    if options.file and compiled.text != source.text:
        changed |= {str(options.file)}
    if not changed:
        return compile_source(compiled, tuple(flags))
    with temporary_folder() as temporary:
        overlay = _overlay(source, files, plan, changed, Path(temporary))
        return compile_source(compiled, (*flags, "-ivfsoverlay", str(overlay)))


def _ahead(source: Source, files: _Files) -> tuple[str, ...]:
    options, folder = source.data
    names = (include.name for includes in files.includes for include in includes)
    return headers_to_read_ahead(names, files.texts, options, find_toolchain(), folder)


def _version_lines(source: Source, files: _Files) -> tuple[str, ...]:
    """nvcc's version, where the text asks for it: that of the toolkit's headers, which themselves are clang's here."""
    options, _ = source.data
    asked = any("__CUDACC_VER_" in text for text in files.texts)
    if not asked or any(define.startswith("__CUDACC_VER_") for define in options.defines):
        return ()
    major, _, minor = find_toolchain().toolkit.version.partition(".")
    numbers = {"MAJOR": major, "MINOR": minor or "0", "BUILD": "0"}
    headers = ("#include <cuda_fp16.h>", "#include <cuda_bf16.h>")  # they ask for it, too
    return (*headers, *(f"#define __CUDACC_VER_{name}__ {number}" for name, number in numbers.items()))


def _overlay(source: Source, files: _Files, plan: Plan, headers: frozenset[str], folder: Path) -> Path:
    """A file that shows the compiler other contents under the headers' own names."""
    roots = []
    own = _own_name(source)
    for number, header in enumerate(sorted(headers)):
        shown = folder / f"{number}.h"
        text = mended(_decoded(Path(header)), header, plan.mends)
        if not plan.is_whole and (header in plan.headers or header == own):
            text = _cut(text, files.texts, _wanted(source), plan.with_members)
        shown.write_text(text, encoding="utf-8", errors="surrogateescape")
        roots.append({"name": header, "type": "file", "external-contents": str(shown)})
    overlay = folder / "overlay.json"
    overlay.write_text(json.dumps({"version": 0, "use-external-names": False, "roots": roots}))
    return overlay


def _next(source: Source, files: _Files, plan: Plan, run: Run) -> Plan | None:
    """What the run's errors tell to do otherwise."""
    errors = [d for d in parse_diagnostics(run.log) if d.is_error]
    for error in errors:
        missing = _MISSING.match(error.text)
        if missing:
            return _with_header(files, plan, missing[1])
    found = mends((_normal(source, error) for error in errors), lambda file: _shown_text(source, files, plan, file))
    if found:
        return replace(plan, mends=(*plan.mends, *found))
    if plan.is_whole:
        return None
    if not plan.is_deferred and any(_OF_THE_HOST.search(error.text) for error in errors):
        return replace(plan, is_deferred=True)
    handles = [m[1] for e in errors if (m := _UNDECLARED.match(e.text)) and _HANDLE.fullmatch(m[1])]
    handles = [name for name in dict.fromkeys(handles) if name not in plan.handles]
    wanted = (header for error in errors for name, header in _TAKEN if re.search(name, error.text))
    includes = tuple(header for header in dict.fromkeys(wanted) if header not in plan.includes)
    if includes:
        return replace(plan, includes=(*plan.includes, *includes))
    headers = frozenset(_own_headers(files, errors)) - plan.headers
    if handles or headers:
        return replace(
            plan, handles=(*plan.handles, *handles), headers=plan.headers | headers, with_members=not headers
        )
    has_members = plan.with_members and (
        plan.headers or _device_part(source, files, False).text != _device_part(source, files).text
    )
    return replace(plan, with_members=False) if has_members else None


def _own_name(source: Source) -> str:
    """How errors name the source's own text."""
    options, _ = source.data
    return str(options.file) if options.file else ""


def _normal(source: Source, error: Diagnostic) -> Diagnostic:
    """The error at a place of a file of the user's by its one name, or of the source's own text by its own lines."""
    options, _ = source.data

    def place(location: ClangLocation | None) -> ClangLocation | None:
        if location is None:
            return None
        if not options.file and location.file == source.location.file:
            return replace(location, file="", line=location.line - source.location.line + 1)
        return replace(location, file=os.path.normpath(location.file))

    notes = tuple(replace(note, location=place(note.location)) for note in error.notes)
    return replace(error, location=place(error.location), notes=notes)


def _shown_text(source: Source, files: _Files, plan: Plan, file: str) -> str | None:
    """What the compiler read of a file of the user's, up to what is blanked in it."""
    own = _own_name(source)
    if file == own:
        return mended(source.text, own, plan.mends)
    if file not in files.names:
        return None
    return mended(_decoded(Path(file)), file, plan.mends)


def _with_header(files: _Files, plan: Plan, header: str) -> Plan | None:
    folder = folder_with(header)
    if folder is not None and folder not in plan.folders:
        return replace(plan, folders=(*plan.folders, folder))
    if plan.is_whole or header in plan.missing:
        return None
    is_quoted = any(i.is_quoted and i.name == header for includes in files.includes for i in includes)
    if not may_be_skipped(header, is_quoted):
        return None
    return replace(plan, missing=tuple(dict.fromkeys((*plan.missing, header, *_siblings(files, header)))))


def _siblings(files: _Files, header: str) -> Iterator[str]:
    """Libraries' headers beside the missing one: who has not the one has not the others."""
    for includes in files.includes:
        names = [include.name for include in includes]
        if header in names:
            yield from (name for name in names if is_librarys(name) and folder_with(name) is None)


def _own_headers(files: _Files, errors: Sequence[Diagnostic]) -> Iterator[str]:
    """The user's headers in which errors lie."""
    own = {str(path): path.stat().st_size for path in files.paths}
    named = [os.path.normpath(place.file) for error in errors for place in _places(error)]
    found = [file for file in named if file in own]
    yield from own if found and sum(own.values()) < CUT_AT_ONCE else found


def _places(error: Diagnostic) -> Iterator[ClangLocation]:
    yield from (place for place in (error.location, *(note.location for note in error.notes)) if place)


def _leaves_out(source: Source, files: _Files, plan: Plan) -> bool:
    """Whether the whole source is another than what the plan compiles."""
    if plan.is_whole:
        return False
    return bool(plan.headers or plan.missing or plan.is_deferred or files.takes_torch) or (
        _device_part(source, files, plan.with_members) is not source
    )


def _is_in_the_code(source: Source, files: _Files, first: Run, whole: Run, plan: Plan) -> bool:
    """Whether the failure without host code tells more than the other."""
    left = [d for d in parse_diagnostics(first.log) if d.is_error]
    known = {(d.text, d.location) for d in parse_diagnostics(whole.log) if d.is_error}
    if not left:
        return not known
    if (left[0].text, left[0].location) in known:
        return True
    missing = [match[1] for text, _ in known if (match := _MISSING.match(text))]
    if missing and _lacks_function(source, files, left[0]):
        return True
    if any(header not in plan.missing for header in missing):
        return True  # it was not needed
    return bool(missing) and not left[0].text.startswith(_UNKNOWN)


def _lacks_function(source: Source, files: _Files, error: Diagnostic) -> bool:
    """Whether the text has the function, and no branch of it that is compiled."""
    if error.location is None or error.location.file != LABEL or not error.text.startswith(_UNKNOWN):
        return False
    return any(re.search(rf"\b{re.escape(_wanted(source))}\b", text) for text in files.texts)


def _wanted(source: Source) -> str:
    return split_symbol(source.symbol)[0].rpartition("::")[2]


def _files(source: Source) -> _Files:
    paths = _closure_files(source)
    return _Files(paths, (source.text, *map(_decoded, paths)))


def _decoded(path: Path) -> str:
    status = path.stat()
    return _content(path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=4096)
def _content(path: Path, modified: int, size: int) -> str:
    return decode(path.read_bytes())


def _closure_files(source: Source) -> tuple[Path, ...]:
    options, folder = source.data
    dirs = options.search_dirs if options.file else (*options.search_dirs, folder)
    here = options.file.parent if options.file else folder
    return closure(source.text, here, dirs, options.forced_includes).files
