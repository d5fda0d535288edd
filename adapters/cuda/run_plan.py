"""A source compiled as a plan says (``host_plans``): what is left out of it, and what the compiler is told."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tle_raw.adapters.cpp.headers import absent_headers, cccl_release, replaced_headers
from tle_raw.adapters.cpp.host_declarations import HostNames, names_of_hosts, without_host_declarations
from tle_raw.adapters.cpp.includes import includes_of
from tle_raw.adapters.cpp.installed_headers import folder_with
from tle_raw.adapters.cpp.lean_headers import lean_defines, surface_defines, with_halfs_bodies
from tle_raw.adapters.cpp.macros import macros_of
from tle_raw.adapters.cpp.mends import mended
from tle_raw.adapters.cpp.options import Options
from tle_raw.adapters.cpp.preamble import headers_to_read_ahead, is_large, wrapped_namespaces
from tle_raw.adapters.cpp.toolchain import find_toolchain
from tle_raw.adapters.cuda.host_files import TORCH, ProgramFiles, decoded, own_name, wanted_name
from tle_raw.adapters.cuda.host_plans import Plan
from tle_raw.adapters.cuda.live_texts import live_texts
from tle_raw.adapters.cuda.torch_ahead import stand_ins, torch_ahead
from tle_raw.fragments.adapter import Source
from tle_raw.linker.processes.run_compiler import Run
from tle_raw.linker.processes.temporary_folder import temporary_folder

# In host functions clang then passes over calls of what only the device has, those of included headers too.
DEFER = "-fgpu-defer-diag"
# More is learnt of one run.
MANY_ERRORS = ("-ferror-limit=200",)
_NUMBERS = {  # all other handles are pointers
    "cufftHandle": "int", "cufftType": "int", "cufftResult": "int",
    "cufftReal": "float", "cufftDoubleReal": "double", "cufftComplex": "float2",
    "cufftDoubleComplex": "double2",
}  # fmt: skip
_FRIEND = re.compile(r"\bfriend\b[^;{}()]*?\b(\w+)\s*<[^;{}()]*>\s*\(")
Compile = Callable[[Source, tuple[str, ...]], Run]


def part_for_the_device(
    source: Source, files: ProgramFiles, with_members: bool = True, kept: tuple[str, ...] = ()
) -> Source:
    """The source without the declarations that its function does not need; those of the names ``kept`` stay."""
    return _with_text(source, _cut(source.text, files.texts, wanted_name(source), with_members, kept))


def left_out_names(source: Source, files: ProgramFiles, plan: Plan, names: Sequence[str]) -> tuple[str, ...]:
    """Which of the names the host's declarations have that a plan leaves out."""
    texts = [] if plan.is_whole or not names else [source.text, *(decoded(Path(header)) for header in plan.headers)]
    hosts = [host for text in texts for host in _hosts(text, files.texts)]
    return tuple(name for name in names if any(host.declare(name) for host in hosts))


def _with_text(source: Source, text: str) -> Source:
    if text == source.text:
        return source
    options, folder = source.data
    shown: Options = options if options.file else replace(options, source=text)
    return replace(source, text=text, data=(shown, folder))


def _compiled(source: Source, files: ProgramFiles, plan: Plan) -> Source:
    own = _with_text(source, mended(source.text, own_name(source), plan.mends))
    return own if plan.is_whole else part_for_the_device(own, files, plan.with_members, plan.kept)


@functools.lru_cache(maxsize=64)
def _cut(text: str, texts: tuple[str, ...], wanted: str, with_members: bool, kept: tuple[str, ...]) -> str:
    return without_host_declarations(text, _macros(texts), wanted, with_members, (*kept, *_friends(texts)))


@functools.lru_cache(maxsize=4)
def _friends(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The functions that a class can only call its friends where they are declared before: ``friend T f<T>(…);``."""
    return tuple(dict.fromkeys(name for text in texts for name in _FRIEND.findall(text)))


@functools.lru_cache(maxsize=256)
def _hosts(text: str, texts: tuple[str, ...]) -> tuple[HostNames, ...]:
    return names_of_hosts(text, _macros(texts))


@functools.lru_cache(maxsize=4)
def _macros(texts: tuple[str, ...]) -> dict[str, frozenset[str]]:
    return macros_of(texts)


def run_plan(source: Source, files: ProgramFiles, plan: Plan, compile_source: Compile) -> Run:
    """Compile what the plan leaves of the source."""
    compiled = _compiled(source, files, plan)
    options, folder = compiled.data
    if plan.is_deferred:
        options = replace(options, flags=(*options.flags, DEFER))
    if plan.standard:
        options = replace(options, flags=(f"-std={plan.standard}", *options.flags))
    declared = list(_absent(plan.handles))
    declared += [f"#include <{header}>" for header in plan.includes]
    declared += [f"namespace {name} {{}}" for name in plan.namespaces]
    declared += ["#include <tle_raw/torch/light.h>", *plan.declared] if plan.is_light and plan.declared else []
    declared += version_lines(source, files) if plan.tells_version else ()
    options = replace(options, declared=tuple(declared)) if declared else options
    if plan.reads_ahead:
        ahead = read_ahead(source, files)
        wrapped = wrapped_namespaces(live_texts(source, files)) or () if ahead else ()
        options = replace(options, ahead=ahead, wrapped=wrapped)
    options = replace(options, lean=left_out_of_headers(source, files, plan)) if plan.is_lean else options
    options = replace(options, lean=(*options.lean, *surface_defines((*files.texts, *options.defines))))
    if plan.is_light and files.takes_torch:
        given = stand_ins(files, plan.has_classes, plan.is_extension)
        ahead = torch_ahead(options, files, live_texts(source, files), plan.is_extension) if plan.reads_ahead else ()
        options = replace(options, stand_ins=given, ahead=(*ahead, *options.ahead))
    compiled = replace(compiled, data=(options, folder))
    flags = [part for path in plan.folders for part in ("-idirafter", str(path))]
    if plan.missing:
        flags += ["-idirafter", str(absent_headers(plan.missing))]
    found = {**files.torchs_host_headers} if plan.is_light and files.takes_torch else {}
    found |= files.pybind11s_headers if plan.is_python_light and not plan.is_whole else {}
    flags = [*(("-isystem", str(replaced_headers(found))) if found else ()), *flags]
    changed = plan.headers | {mend.file for mend in plan.mends if mend.file != own_name(source)}
    if options.file and compiled.text != source.text:
        changed |= {str(options.file)}
    flags += MANY_ERRORS if plan.headers else ()
    if not changed:
        return _with_bodies(compiled, tuple(flags), compile_source)
    with temporary_folder() as temporary:
        overlay = _overlay(source, files, plan, changed, Path(temporary))
        return _with_bodies(compiled, (*flags, "-ivfsoverlay", str(overlay)), compile_source)


def _with_bodies(compiled: Source, flags: tuple[str, ...], compile_source: Compile) -> Run:
    """Compiled once more where it calls functions whose bodies were left out of headers."""
    run = compile_source(compiled, flags)
    options, folder = compiled.data
    lean = with_halfs_bodies(options.lean, run.text) if run.returncode == 0 else options.lean
    if lean == options.lean:
        return run
    again = compile_source(replace(compiled, data=(replace(options, lean=lean), folder)), flags)
    return replace(again, seconds=run.seconds + again.seconds)


def _absent(names: Sequence[str]) -> Iterator[str]:
    """Types of a library that nobody has are pointers, its constants turn into anything."""
    constants = [name for name in names if name[0].isupper()]
    types = [name for name in names if name not in constants]
    for name in types:
        # a generator's state lies in memory, and without the library nobody knows how much of it
        usual = f"struct {name}_absent" + ("" if name.startswith("curandState") else "*")
        yield f"typedef {_NUMBERS.get(name, usual)} {name};"
    if constants:
        yield "struct tle_raw_absent { template <class T> constexpr operator T() const { return T(); } };"
        yield from (f"constexpr tle_raw_absent {name}{{}};" for name in constants)


def read_ahead(source: Source, files: ProgramFiles) -> tuple[str, ...]:
    """The large headers that are precompiled wherever they are included; not those of branches that are not read."""
    options, folder = source.data
    if not any(is_large(include.name) for includes in files.includes for include in includes):
        return ()
    texts = live_texts(source, files)
    names = (include.name for text in texts for include in includes_of(text))
    return headers_to_read_ahead(names, texts, options, find_toolchain(), folder)


def left_out_of_headers(source: Source, files: ProgramFiles, plan: Plan) -> tuple[str, ...]:
    """Macros for what no text of the program names, the wanted function's template arguments and flags among them.

    Headers of installed packages are not read for it, and may name anything. Torch's are replaced by its numbers.
    """
    options, _ = source.data
    texts = (*files.texts, source.symbol, *options.defines, *options.flags, *options.declared)
    includes = [include.name for includes in files.includes for include in includes]
    cccl = find_toolchain().cccl
    replaced = {folder_with(TORCH)} if plan.is_light and files.takes_torch else set()
    are_all = {*plan.folders} <= replaced and {*filter(os.path.isabs, includes)} <= files.names
    return lean_defines(texts, includes, cccl_release(cccl) if cccl else (), are_all)


def version_lines(source: Source, files: ProgramFiles) -> tuple[str, ...]:
    """nvcc's version, where the text asks for it: that of the toolkit's headers, which themselves are clang's here."""
    options, _ = source.data
    asked = any("__CUDACC_VER_" in text for text in files.texts)
    if not asked or any(define.startswith("__CUDACC_VER_") for define in options.defines):
        return ()
    major, _, minor = find_toolchain().toolkit.version.partition(".")
    numbers = {"MAJOR": major, "MINOR": minor or "0", "BUILD": "0"}
    headers = ("#include <cuda_fp16.h>", "#include <cuda_bf16.h>")  # they ask for it, too
    return (*headers, *(f"#define __CUDACC_VER_{name}__ {number}" for name, number in numbers.items()))


def _overlay(source: Source, files: ProgramFiles, plan: Plan, headers: frozenset[str], folder: Path) -> Path:
    """A file that shows the compiler other contents under the headers' own names."""
    roots = []
    own = own_name(source)
    for number, header in enumerate(sorted(headers)):
        shown = folder / f"{number}.h"
        text = mended(decoded(Path(header)), header, plan.mends)
        if not plan.is_whole and (header in plan.headers or header == own):
            text = _cut(text, files.texts, wanted_name(source), plan.with_members, plan.kept)
        shown.write_text(text, encoding="utf-8", errors="surrogateescape")
        roots.append({"name": header, "type": "file", "external-contents": str(shown)})
    overlay = folder / "overlay.json"
    overlay.write_text(json.dumps({"version": 0, "use-external-names": False, "roots": roots}))
    return overlay
