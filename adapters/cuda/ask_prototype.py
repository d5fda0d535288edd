"""Asks clang for a function's prototype, once for each source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tle_raw.adapters.cpp.declarations import CppFunction
from tle_raw.adapters.cpp.diagnostics import parse_diagnostics
from tle_raw.adapters.cpp.number_types import number_dtype
from tle_raw.adapters.cpp.preamble import headers_in_front
from tle_raw.adapters.cpp.precompiled_headers import compile_unit
from tle_raw.adapters.cpp.prototypes import (
    DUMP,
    TELL,
    WITHOUT_BODIES,
    CxxType,
    Prototype,
    prototype_from_json,
    read_prototype,
    told_prototype,
)
from tle_raw.adapters.cpp.record_layouts import DUMP_LAYOUTS, LAYOUT, Layouts, UnknownLayout
from tle_raw.adapters.cpp.source_lines import line_directive
from tle_raw.adapters.cpp.toolchain import find_toolchain
from tle_raw.adapters.cuda.explain import Attempt, explain
from tle_raw.adapters.cuda.host_code import compile_device_code
from tle_raw.adapters.cuda.symbol import Callee, location_of, missing_function
from tle_raw.adapters.cuda.wrapper import write_probe
from tle_raw.errors import Context, Row, SymbolError, ToolchainError
from tle_raw.fragments.adapter import Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.kept import kept_if_wanted
from tle_raw.identity import digest, package_identity
from tle_raw.knobs import knobs
from tle_raw.linker.processes.run_compiler import Run
from tle_raw.targets.current import likely_target
from tle_raw.targets.device_code import find_device_code

USUAL, OLDEST = "sm_90a", "sm_80"
# Settings of launches and of the code's form.
_NOT_ITS = ("block", "grid", "shared", "whole", "cluster", "line_info")
_KNOWN: dict[str, Prototype] = {}


def prototype_of(
    source: Source,
    callee: Callee,
    functions: Sequence[CppFunction],
    headers: Sequence[str],
) -> Prototype:
    """The function's prototype, from clang or from the cache; ``headers`` are digests of the user's.

    Raises
    ------
    ToolchainError, CompilationFailed, SymbolError : as for a compilation.
    """
    if callee.is_template and not callee.arguments:
        raise SymbolError(
            f"`{callee.name}` is a template, and nothing says with which arguments",
            hint=f"write them, for example symbol={callee.name + '<float, 4>'!r}",
            context=Context(source=location_of(callee.function)) if callee.function else Context(),
        )
    settings = [(k, v) for k, v in source.settings if k not in _NOT_ITS]
    content = digest(package_identity(), source.text, settings, callee.name, callee.arguments, *headers)
    key = f"{content[:40]}-prototype"
    if key not in _KNOWN:
        store = kept_if_wanted()
        entry = store.load(key) if store else None
        _KNOWN[key] = prototype_from_json(entry.text) if entry else _ask(source, callee, functions)
        if store and not entry:
            store.save(key, _KNOWN[key].to_json(), {"name": f"prototype of {callee.name}"})
    return _KNOWN[key]


def _ask(source: Source, callee: Callee, functions: Sequence[CppFunction]) -> Prototype:
    usual, *others = _architectures(source)
    told = (*TELL, *DUMP_LAYOUTS) if _may_take_structs(callee) else TELL
    attempts = [_attempt(source, callee, functions, usual, told)]
    for arch in others:
        if attempts[-1].run.returncode != 0:
            attempts.append(_attempt(source, callee, functions, arch))
    attempt = attempts[-1]
    if attempt.run.returncode != 0:
        raise explain(replace(_of_all(attempts), source=source), _timeout())
    found = told_prototype(attempt.run.log)
    if found is None:
        attempt = _attempt(source, callee, functions, attempt.arch, DUMP)
        found = _read(attempt, source) if attempt.run.returncode == 0 else None
    if found is None:
        raise missing_function(callee.name, functions, source.location)
    return _with_structs(found, attempt)


def _of_all(attempts: Sequence[Attempt]) -> Attempt:
    """The attempt whose first error all have: what only one architecture is refused for is not what is wrong."""
    told = [[error.text for error in parse_diagnostics(a.run.log) if error.is_error] for a in attempts]
    shared = (a for a, errors in zip(attempts, told) if errors and all(errors[0] in others for others in told))
    return next(shared, attempts[0])


def _may_take_structs(callee: Callee) -> bool:
    """Whether a parameter's type, as it is written, may be a struct: then its layout is asked for at once."""
    if callee.function is None:
        return False
    templates = {parameter.name for parameter in callee.function.template or ()}
    for parameter in callee.function.parameters:
        plain = re.sub(r"\b(?:const|volatile|struct|__grid_constant__)\b", "", parameter.type).strip()
        if not re.search(r"[*&\[\]]", plain) and plain not in templates and number_dtype(plain) is None:
            return True
    return False


def _with_structs(prototype: Prototype, attempt: Attempt) -> Prototype:
    """The prototype with what structs that are passed by value are made of."""
    if not any(type_.is_struct for type_ in prototype.parameters):
        return prototype
    told = attempt
    if LAYOUT not in attempt.run.text:
        told = _attempt(
            attempt.source, attempt.callee, attempt.functions, attempt.arch, (*WITHOUT_BODIES, *DUMP_LAYOUTS)
        )
    layouts = Layouts(told.run.text)
    return replace(prototype, parameters=tuple(_with_struct(type_, layouts) for type_ in prototype.parameters))


def _with_struct(type_: CxxType, layouts: Layouts) -> CxxType:
    if not type_.is_struct:
        return type_
    try:
        return replace(type_, struct=layouts.struct(type_.text))
    except UnknownLayout as reason:
        return replace(type_, unknown=str(reason))


def _read(attempt: Attempt, source: Source) -> Prototype | None:
    text = attempt.run.text
    try:
        found = read_prototype(text)
    except ValueError:
        found = None
    if found is None and "ClassTemplateDecl" not in text:
        raise ToolchainError(
            f"the compiler told no prototype, and reported no error: {' '.join(attempt.toolchain.clang.command)}",
            table=[Row("output", "clang's dump of the tree", text[:60].strip() or "nothing")],
            hint="knobs.cuda.clang names the compiler; a flag may make it do something else",
            context=Context(source=source.location),
        )
    return found


def _architectures(source: Source) -> tuple[str, ...]:
    """A prototype is the same on all. A newer one has more functions; an old source may refuse it.

    The first is the one for which the code is compiled next, as far as that is known: it takes the same headers. Its
    errors are told, and those of clusters on a GPU without them are none of the source's.
    """
    likely = _likely_architecture()
    first = likely if likely in (USUAL, OLDEST) and "cluster" not in source.text else USUAL
    others = (USUAL, "sm_100", OLDEST) if find_toolchain().clang.major > 19 else (USUAL, OLDEST)
    return (first, *(arch for arch in others if arch != first))


def _likely_architecture() -> str:
    """The one for which the code is compiled next, as far as that is known; else nothing."""
    wanted = find_device_code(likely_target())
    return wanted.arch if wanted else ""


def _attempt(
    source: Source, callee: Callee, functions: Sequence[CppFunction], arch: str, output: tuple[str, ...] = TELL
) -> Attempt:
    toolchain, is_likely = find_toolchain(), arch == _likely_architecture()

    def compile_source(compiled: Source, flags: tuple[str, ...]) -> Run:
        options, folder = compiled.data
        options = replace(options, block=(), grid=())
        text = write_probe(compiled.text, line_directive(source.location.line, source.location.file), callee, options)
        return compile_unit(
            toolchain, options, arch, folder, text, _timeout(),
            line_info=False, more=flags, output=output, beginning=headers_in_front(compiled.text, options, toolchain),
            again=is_likely,  # with the same headers
        )  # fmt: skip

    run = compile_device_code(source, compile_source)
    return Attempt(source, BoundSignature(source.name, ()), callee, functions, toolchain, arch, run)


def _timeout() -> float:
    return knobs.compile_timeout
