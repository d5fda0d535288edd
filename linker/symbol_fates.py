"""What became of each function of a link: where it is from, whether it was inlined, and why not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tle_raw.linker.host_modules import HOST, is_of_the_machine
from tle_raw.linker.inputs.library import LinkLibrary
from tle_raw.linker.link_libraries import Joined, TakenFunction
from tle_raw.linker.llvm.functions import read_function
from tle_raw.linker.llvm.references import recursive, references
from tle_raw.linker.llvm.text import Module
from tle_raw.linker.prepare import count_instructions
from tle_raw.linker.report import ENTRY, INLINED, KEPT, MARKED, OUTSIDE, LinkedSymbol
from tle_raw.linker.unresolved import REFLECTION, RUNTIME_BUILTINS

_TAG = re.compile(r"\.lib(\d+)$")  # of a library's own functions, whose names are made unique: ``link_libraries``


def symbol_fates(
    module: Module,
    joined: Joined,
    libraries: Sequence[LinkLibrary],
    entries: Sequence[str],
    optimised: Module | None,
    arch: str,
) -> Iterator[LinkedSymbol]:
    """Each function of the module, as it was before anything was inlined.

    ``optimised`` is what an optimiser left of it, or None where none ran.
    """
    origins = {taken.name: taken for taken in joined.taken}
    graph = references(module)
    cyclic = recursive(graph, [e.name for e in module.of_kind("define")])
    left = {e.name for e in optimised.of_kind("define")} if optimised else None
    noinline = _noinline(module)
    for entity in module.of_kind("define"):
        origin, kind = _origin(entity.name, origins, libraries)
        fate, reason = MARKED, ""
        if entity.name in entries:
            fate = ENTRY
        elif left is not None and entity.name not in left:
            fate = INLINED
        elif entity.name in noinline:
            fate, reason = KEPT, "its author wrote noinline"
        elif entity.name in cyclic:
            fate, reason = KEPT, "it calls itself"
        elif left is not None:
            fate, reason = KEPT, "the optimiser left it"
        size = count_instructions(module, frozenset((entity.name,)))
        yield LinkedSymbol(_TAG.sub("", entity.name), origin, kind, size, fate, reason)
    for entity in module.of_kind("declare"):
        if not entity.name.startswith("llvm."):
            yield LinkedSymbol(entity.name, "", "", 0, OUTSIDE, _defined_by(entity.name, arch))


def _origin(name: str, taken: Mapping[str, TakenFunction], libraries: Sequence[LinkLibrary]) -> tuple[str, str]:
    if name in taken:
        return taken[name].library, taken[name].kind
    tag = _TAG.search(name)
    library = libraries[int(tag[1]) - 1] if tag else None
    return (library.name, library.kind) if library else ("", "")


def _defined_by(name: str, arch: str) -> str:
    if arch == HOST:
        return "the C library" if is_of_the_machine(name) else "allowed to be unresolved"
    if name in RUNTIME_BUILTINS:
        return "the CUDA runtime"
    if name in REFLECTION:
        return "the code generator"
    return "libdevice" if name.startswith("__nv_") else "allowed to be unresolved"


def _noinline(module: Module) -> frozenset[str]:
    groups = {
        tokens[1].text: any(token.text == "noinline" for token in tokens)
        for tokens in map(module.header, module.of_kind("attributes"))
    }
    functions = [read_function(module, entity) for entity in module.of_kind("define")]
    return frozenset(
        f.name
        for f in functions
        if any(t.text == "noinline" for t in f.after) or any(groups.get(group, False) for group in f.groups)
    )
