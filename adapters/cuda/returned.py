"""FlagTree's rule for functions without types: what a function returns says which arguments come back.

It returns a pointer that it was given, the descriptor of a tile that it was given, or a struct of such descriptors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from tle_raw.adapters.cpp.preamble import headers_in_front
from tle_raw.adapters.cpp.precompiled_headers import compile_unit
from tle_raw.adapters.cpp.source_lines import line_directive
from tle_raw.adapters.cpp.toolchain import find_toolchain
from tle_raw.adapters.cuda.ask_prototype import USUAL
from tle_raw.adapters.cuda.explain import Attempt, explain
from tle_raw.adapters.cuda.host_code import compile_device_code
from tle_raw.adapters.cuda.symbol import Callee, location_of
from tle_raw.adapters.cuda.wrapper import write_kept
from tle_raw.errors import CallError, Context, Row
from tle_raw.fragments.adapter import Source
from tle_raw.fragments.bound import BoundParameter, BoundSignature
from tle_raw.fragments.kept import kept_if_wanted
from tle_raw.identity import digest, package_identity
from tle_raw.knobs import knobs
from tle_raw.linker.llvm.returned_parameters import returned_parameters
from tle_raw.linker.llvm.text import read_module
from tle_raw.linker.processes.run_compiler import Run

KEPT = "tle_raw_kept"
_LEVEL = "-O2"  # whatever the user's flags say: what is returned is read from registers
_NAME = re.compile(rf'@{KEPT} = [^\n]*?@(?P<name>[-\w$.]+|"[^"]*")')
# What one tile, pointer or number of the result is: a parameter of the function, or none.
Returned = list[int | None]
_KNOWN: dict[str, list[Returned]] = {}


def returned_arguments(
    source: Source, bound: BoundSignature, callee: Callee, headers: Sequence[str]
) -> tuple[int, ...]:
    """The arguments of the call that the function gives back, in its order.

    Raises
    ------
    CallError : it returns something else. ToolchainError, CompilationFailed, SymbolError : as for a compilation.
    """
    if callee.function is not None and _is_nothing(callee):
        return ()
    owners = [index for index, parameter in enumerate(bound.crossing) for _ in range(_count(parameter))]
    found = []
    for pointers in _returned(source, callee, headers):
        arguments = {owners[n] if n is not None and n < len(owners) else None for n in pointers}
        if len(arguments) != 1 or None in arguments:
            where = location_of(callee.function) if callee.function else source.location
            raise CallError(
                f"which arguments `{callee.name}` gives back cannot be told: what it returns is no argument",
                table=[Row("returned", "a pointer, or the descriptor of a tile, that it was given", "another value")],
                hint="say it: tle_raw.call(f, [...], output_indices=[...])",
                context=Context(source=where),
            )
        found += [index for index in arguments if index is not None and index not in found]
    return tuple(found)


def _is_nothing(callee: Callee) -> bool:
    """Whether the source says ``void``. A pointer to it has a star before the name, which is a word of its own."""
    assert callee.function is not None
    return "void" in callee.function.specifiers and "*" not in callee.function.specifiers


def _count(parameter: BoundParameter) -> int:
    """How many parameters of the function an argument is."""
    return 3 + 2 * len(parameter.dims) if parameter.is_memref else 1


def _returned(source: Source, callee: Callee, headers: Sequence[str]) -> list[Returned]:
    settings = [(k, v) for k, v in source.settings if k != "line_info"]
    content = digest(package_identity(), source.text, settings, callee.name, callee.arguments, *headers)
    key = f"{content[:40]}-returned"
    if key not in _KNOWN:
        store = kept_if_wanted()
        entry = store.load(key) if store else None
        _KNOWN[key] = json.loads(entry.text) if entry else _ask(source, callee)
        if store and not entry:
            store.save(key, json.dumps(_KNOWN[key]), {"name": f"what {callee.name} returns"})
    return _KNOWN[key]


def _ask(source: Source, callee: Callee) -> list[Returned]:
    """The pointers of each thing that is returned, read from the function's LLVM IR."""
    toolchain = find_toolchain()

    def compile_source(compiled: Source, flags: tuple[str, ...]) -> Run:
        options, folder = compiled.data
        line = line_directive(source.location.line, source.location.file)
        text = write_kept(compiled.text, line, callee, options, KEPT)
        return compile_unit(
            toolchain, options, USUAL, folder, text, knobs.compile_timeout,
            line_info=False, more=(*flags, _LEVEL), beginning=headers_in_front(compiled.text, options, toolchain),
        )  # fmt: skip

    run = compile_device_code(source, compile_source)
    if run.returncode != 0:
        attempt = Attempt(source, BoundSignature(source.name, ()), callee, (), toolchain, USUAL, run)
        raise explain(attempt, knobs.compile_timeout)
    module = read_module(run.text)
    named = _NAME.search(run.text)
    function = next(e for e in module.entities if named and e.kind == "define" and e.name == named["name"].strip('"'))
    things: dict[tuple[int, ...], Returned] = {}
    for path, parameter in sorted(returned_parameters(module, function).items()):
        things.setdefault(path[:-1], []).append(parameter)
    return list(things.values())
