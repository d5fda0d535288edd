"""Host code beside a kernel is not compiled: functions are left out, and headers that nobody has are passed over.

A source is compiled without what its function does not need (``host_declarations``). What the compiler misses then is
learnt from its errors, one run after the other: folders of installed packages, headers that may be absent, headers of
the user's with host code of their own. Where that leads nowhere the whole text is compiled, as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tle_raw.adapters.cpp.diagnostics import Diagnostic, parse_diagnostics
from tle_raw.adapters.cpp.host_traps import is_trap
from tle_raw.adapters.cpp.inherited_sides import inherited_sides
from tle_raw.adapters.cpp.installed_headers import PYTHON, folder_with, is_librarys, may_be_skipped
from tle_raw.adapters.cpp.lean_headers import is_of_textures, reaches_the_programs_headers
from tle_raw.adapters.cpp.macros import macros_of
from tle_raw.adapters.cpp.mends import Mend
from tle_raw.adapters.cpp.source_lines import LABEL
from tle_raw.adapters.cpp.toolchain import belongs_to, find_toolchain
from tle_raw.adapters.cpp.unused_templates import is_left_out, uses_left_out
from tle_raw.adapters.cuda.absent_libraries import absent_library
from tle_raw.adapters.cuda.host_files import ProgramFiles, decoded, files_of, own_name, wanted_name
from tle_raw.adapters.cuda.host_plans import Plan, keep_plan, kept_plan
from tle_raw.adapters.cuda.learn_from_errors import MISSING, next_plan
from tle_raw.adapters.cuda.names_in_headers import BEFORE_THRUST_3, OF_THRUST_2
from tle_raw.adapters.cuda.run_plan import (
    Compile,
    left_out_of_headers,
    part_for_the_device,
    read_ahead,
    run_plan,
    version_lines,
)
from tle_raw.adapters.cuda.shared_objects import left_alone
from tle_raw.fragments.adapter import Source
from tle_raw.identity import digest
from tle_raw.linker.machine_code.demangle import demangle
from tle_raw.linker.processes.run_compiler import Run

# So often the compiler is run to learn what it misses.
ROUNDS = 12
_UNKNOWN = ("unknown type name", "use of undeclared", "no template named", "no member named", "no type named")
# What a program says when somebody else declares its names, too.
_TWICE = re.compile(r"redefinition|redeclar|ambiguous|conflict|different")
# A declaration from that word to the variable's value or size.
_CONSTANT = re.compile(r"\b__constant__\b([^;={(]*)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_PLANS: dict[str, Plan] = {}
_WHOLE_FAILS: set[str] = set()


def compile_device_code(source: Source, compile_source: Compile) -> Run:
    """Compile what the source's function needs; ``compile_source`` takes a source and flags for the command line.

    Of two failures the one is told that lies in the code itself.
    """
    key, files = _key(source), files_of(source)
    begun = _PLANS.get(key) or kept_plan(key, files.texts)
    begun = begun or replace(first_plan(files), mends=sides_elsewhere(source, files))
    first, plan = _learn(source, files, begun, compile_source)
    for other in _less(source, files, plan, first) if first.returncode not in (0, None) else ():
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
        source,
        files,
        Plan(
            is_whole=True, is_light=False, folders=plan.folders, standard=plan.standard,
            is_lean=False, reads_ahead=False, mends=sides_elsewhere(source, files),
        ),
        compile_source,
    )  # fmt: skip
    if whole.returncode in (0, None):
        _PLANS[key] = other
        if whole.returncode == 0:
            keep_plan(key, files.texts, other)
        return whole
    _WHOLE_FAILS.add(key)
    return first if _is_in_the_code(source, files, first, whole, plan) else whole


def _less(source: Source, files: ProgramFiles, plan: Plan, run: Run) -> Iterator[Plan]:
    """The same plan without what this program adds to the source, and what may be in its way."""
    if plan.is_lean and _may_be_of_headers(run, left_out_of_headers(source, files, plan)):
        yield replace(plan, is_lean=False, reads_ahead=False)
    elif plan.reads_ahead and read_ahead(source, files):
        yield replace(plan, reads_ahead=False)
    if plan.has_classes and any(error.is_error and _TWICE.search(error.text) for error in parse_diagnostics(run.log)):
        yield replace(plan, has_classes=False, reads_ahead=False, declared=())
    if plan.tells_version and version_lines(source, files):
        yield replace(plan, is_lean=False, reads_ahead=False, tells_version=False)


def _may_be_of_headers(run: Run, left_out: Sequence[str]) -> bool:
    """Whether an error lies in the toolchain's headers of which parts are left out, or is of a name they may have."""
    errors = (error for error in parse_diagnostics(run.log) if error.is_error)
    if not reaches_the_programs_headers(left_out):
        return bool(left_out) and any(is_of_textures(error.text) for error in errors)
    folders = find_toolchain().folders
    return any(
        error.text.startswith(_UNKNOWN) or (error.location and belongs_to(folders, Path(error.location.file)))
        for error in errors
    )


def passed_over(source: Source) -> tuple[str, ...]:
    """The headers that were missing when the source was compiled."""
    plan = _PLANS.get(_key(source))
    return plan.missing if plan else ()


def left_uninitialised(source: Source) -> tuple[str, ...]:
    """A warning for each shared variable whose constructor nobody calls, as nvcc warns of it."""
    plan, own = _PLANS.get(_key(source)), own_name(source)
    found: dict[str, None] = {}
    for mend in sorted(plan.mends if plan else (), key=lambda mend: (mend.file, mend.line, mend.column)):
        text = source.text if mend.file == own else decoded(Path(mend.file))
        line = mend.line + (0 if mend.file else source.location.line - 1)
        for name, type_ in left_alone(mend, text):
            found[
                f"{mend.file or source.location.file}:{line}: warning: the constructor of the __shared__ variable "
                f"`{name}`, a `{type_}`, is not called, as nvcc does not call it: the kernel fills it"
            ] = None
    return tuple(found)


def trapped_functions(source: Source) -> tuple[str, ...]:
    """A warning for each function of the host's that is a trap where the device comes to it."""
    plan = _PLANS.get(_key(source))
    traps = sorted({(mend.file, mend.line) for mend in (plan.mends if plan else ()) if is_trap(mend)})
    return tuple(
        f"{file or source.location.file}:{line + (0 if file else source.location.line - 1)}: warning: this function of "
        "the host's is called in one for the host and the device: the device stops where it comes to it"
        for file, line in traps
    )


def declared_constant(source: Source) -> Callable[[str], bool]:
    """Whether the source says ``__constant__`` of the variable that has a symbol."""
    declarations = (d for text in files_of(source).texts if "__constant__" in text for d in _CONSTANT.findall(text))
    words = frozenset(word for declaration in declarations for word in _WORD.findall(declaration))
    return lambda symbol: demangle(symbol).rpartition("::")[2] in words


def device_part(source: Source, with_members: bool = True) -> Source:
    """The source without the declarations that its function does not need."""
    return part_for_the_device(source, files_of(source), with_members)


def _key(source: Source) -> str:
    """The same for every block of a kernel."""
    return digest(
        source.text, [(k, v) for k, v in source.settings if k not in ("block", "grid", "shared", "whole", "cluster")]
    )


def first_plan(files: ProgramFiles) -> Plan:
    """Libraries' headers are looked for before the compiler asks for them."""
    names = {include.name for includes in files.includes for include in includes if is_librarys(include.name)}
    names = {name for name in names if not any(path.endswith(f"/{name}") for path in files.names)}
    names |= {PYTHON} if files.takes_torch else set()  # which includes it itself
    found = {name: folder_with(name) for name in sorted(names)}
    folders = tuple(dict.fromkeys(folder for folder in found.values() if folder))
    toolkit = find_toolchain().toolkit.root / "include"
    missing = (name for name, folder in found.items() if folder is None and may_be_skipped(name, is_quoted=True))
    return Plan(
        folders=folders,
        missing=tuple(name for name in missing if not (toolkit / name).is_file()),
        includes=(BEFORE_THRUST_3,) if any(map(OF_THRUST_2.search, files.texts)) else (),
        has_classes=files.takes_torchs_host_headers,  # they cost nothing where they are precompiled
    )


def sides_elsewhere(source: Source, files: ProgramFiles) -> tuple[Mend, ...]:
    """``__device__`` for what the program's text says is the device's, at another place alone."""
    texts = dict(zip((own_name(source), *map(str, files.paths)), files.texts, strict=True))
    return inherited_sides(texts, macros_of(files.texts))


def _learn(source: Source, files: ProgramFiles, plan: Plan, compile_source: Compile) -> tuple[Run, Plan]:
    run = run_plan(source, files, plan, compile_source)
    for _ in range(ROUNDS):
        more = None if run.returncode in (0, None) else next_plan(source, files, plan, run)
        if more is None or more == plan:
            break
        plan = more
        run = run_plan(source, files, plan, compile_source)
    # The error of a body that was left out, and is used, is the program's own.
    if run.returncode == 0 and uses_left_out(run.text, plan.mends, wanted_name(source)):
        changes = tuple(mend for mend in plan.mends if not is_left_out(mend))
        run = run_plan(source, files, replace(plan, mends=changes), compile_source)
    return run, plan


def _leaves_out(source: Source, files: ProgramFiles, plan: Plan) -> bool:
    """Whether the whole source is another than what the plan compiles."""
    if plan.is_whole:
        return False
    return bool(plan.headers or plan.missing or plan.is_deferred or files.takes_torch) or (
        part_for_the_device(source, files, plan.with_members) is not source
    )


def _is_in_the_code(source: Source, files: ProgramFiles, first: Run, whole: Run, plan: Plan) -> bool:
    """Whether the failure without host code tells more than the other."""
    left = [d for d in parse_diagnostics(first.log) if d.is_error]
    known = {(d.text, d.location) for d in parse_diagnostics(whole.log) if d.is_error}
    if not left:
        return not known
    if (left[0].text, left[0].location) in known:
        return True
    missing = [match[1] for text, _ in known if (match := MISSING.match(text))]
    if missing and _lacks_function(source, files, left[0]):
        return True
    if absent_library(left[0].text, plan.missing) or any(header not in plan.missing for header in missing):
        return True  # it was not needed
    return bool(missing) and not left[0].text.startswith(_UNKNOWN)


def _lacks_function(source: Source, files: ProgramFiles, error: Diagnostic) -> bool:
    """Whether the text has the function, and no branch of it that is compiled."""
    if error.location is None or error.location.file != LABEL or not error.text.startswith(_UNKNOWN):
        return False
    return any(re.search(rf"\b{re.escape(wanted_name(source))}\b", text) for text in files.texts)
