"""Host code beside a kernel: it is compiled where it compiles, and left out where that is all that is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tle_raw.adapters.cpp.declarations import CppFunction, functions
from tle_raw.adapters.cpp.diagnostics import ClangLocation, Diagnostic, parse_diagnostics
from tle_raw.adapters.cpp.options import Options
from tle_raw.fragments.adapter import Source
from tle_raw.identity import digest
from tle_raw.linker.processes.run_compiler import Run

# In host functions clang then passes over calls of what only the device has, those of included headers too.
DEFER = "-fgpu-defer-diag"
# What device code may call.
_CALLABLE = frozenset(("constexpr", "consteval"))
_TROUBLED: set[str] = set()


def has_troubled(source: Source) -> bool:
    """Whether the host code of this source is known not to compile."""
    return _key(source) in _TROUBLED


def is_in_host_code(source: Source, run: Run) -> bool:
    """Whether an error of the compiler's lies in a host function, or in a header, whose functions may be the host's."""
    if run.returncode == 0:
        return False
    hosts = tuple(_host_functions(source.text))
    return any(_may_be_hosts(source, hosts, error.location) for error in _errors(run) if error.location)


def without_host_code(source: Source) -> Source:
    """Without the host's functions: whoever needs one after all is told that it is not declared."""
    options, folder = source.data
    text = _cut(source.text, tuple(_host_functions(source.text)))
    bare: Options = replace(options, file=None, source=text, flags=(*options.flags, DEFER))
    return replace(source, text=text, data=(bare, options.file.parent if options.file else folder))


def is_better(source: Source, first: Run, second: Run) -> bool:
    """Whether the run without host code tells more: it succeeds, or it fails over what the first run found as well."""
    if second.returncode == 0:
        _TROUBLED.add(_key(source))
        return True
    known = {(e.text, e.location) for e in _errors(first)}
    left = _errors(second)
    return bool(left) and (left[0].text, left[0].location) in known


def _key(source: Source) -> str:
    return digest(source.text, source.settings)


def _errors(run: Run) -> list[Diagnostic]:
    return [diagnostic for diagnostic in parse_diagnostics(run.log) if diagnostic.is_error]


def _may_be_hosts(source: Source, hosts: tuple[CppFunction, ...], location: ClangLocation) -> bool:
    if location.file != source.location.file:
        return True
    line = location.line - source.location.line + 1
    return any(host.extent[0][0] <= line <= host.extent[1][0] for host in hosts if host.extent)


def _host_functions(text: str) -> Iterator[CppFunction]:
    for function in functions(text):
        is_host = not (function.is_device or function.is_kernel)
        if is_host and function.extent and not function.specifiers & _CALLABLE:
            yield function


def _cut(text: str, hosts: tuple[CppFunction, ...]) -> str:
    """Every line keeps its number."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    parts, position = [], 0
    for host in hosts:
        assert host.extent is not None
        first, last = (starts[line - 1] + column - 1 for line, column in host.extent)
        parts += [text[position:first], "\n" * text.count("\n", first, last)]
        position = last + 1
    return "".join([*parts, text[position:]])
