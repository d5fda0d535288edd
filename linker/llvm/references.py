"""Who names whom in a module, and what an entry function reaches."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from tle_raw.linker.llvm.text import Edit, Entity, Module, decode_name

# Strings and comments are matched to be passed over; the names that are left are real ones. Each alternative begins
# with a character of its own: `re` looks for these before it tries any.
_GLOBAL_NAME = re.compile(r'@(?P<name>[-a-zA-Z$._0-9]+|"[^"]*")|"[^"]*"|;[^\n]*')


def global_names(text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Each ``@name`` of a range with its place, outside strings and comments."""
    for match in _GLOBAL_NAME.finditer(text, start, end):
        if match.lastgroup:
            yield decode_name(match.group()), match.start(), match.end()


def references(module: Module) -> dict[str, frozenset[str]]:
    """For every function and global, the functions and globals that it names."""
    return {entity.name: _named_by(module, entity) for entity in module.of_kind("define", "declare", "global")}


def _named_by(module: Module, entity: Entity) -> frozenset[str]:
    names = (name for name, _, _ in global_names(module.text, entity.start, entity.end))
    return frozenset(names) - {entity.name} if entity.kind != "define" else _of_definition(module, entity)


def _of_definition(module: Module, entity: Entity) -> frozenset[str]:
    names = [name for name, _, _ in global_names(module.text, entity.start, entity.end)]
    names.remove(entity.name)  # its own header names it once; a second time is recursion
    return frozenset(names)


def reachable(graph: Mapping[str, Iterable[str]], roots: Iterable[str]) -> frozenset[str]:
    """The roots and everything that they name, directly or through others."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += graph.get(name, ())
    return frozenset(found)


def recursive(graph: Mapping[str, Iterable[str]], names: Iterable[str]) -> frozenset[str]:
    """Those names that reach themselves."""
    left = {name: set(graph.get(name, ())) for name in names}
    leaves = [name for name in left if not left[name] & left.keys()]
    while leaves:  # what calls nobody that is left cannot be in a cycle; few functions remain after this
        for name in leaves:
            del left[name]
        leaves = [name for name in left if not left[name] & left.keys()]
    return frozenset(name for name in left if name in reachable(left, left[name]))


def without_notes(module: Module, names: Collection[str]) -> Iterator[Edit]:
    """Metadata that names functions which are to go: ``!{ptr @k, …}`` becomes ``!{null, …}``."""
    for entity in module.of_kind("metadata"):
        for name, start, end in global_names(module.text, entity.start, entity.end):
            if name in names and module.text.endswith("ptr ", entity.start, start):
                yield Edit(start - len("ptr "), end, "null")
