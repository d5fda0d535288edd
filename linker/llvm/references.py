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
    at = text.find("@", start, end)
    if at < 0:
        return
    # Where every string ends on its line, only lines with names are read: most have none, and some are long.
    is_by_line = "\n" not in "".join(text[start:end].split('"')[1::2])
    while at >= 0:
        if is_by_line:
            begin, stop = max(start, text.rfind("\n", start, at)), text.find("\n", at, end)
        else:
            begin, stop = start, end
        stop = end if stop < 0 else stop
        for match in _GLOBAL_NAME.finditer(text, begin, stop):
            if match.lastgroup:
                yield decode_name(match.group()), match.start(), match.end()
        at = text.find("@", stop, end)


def named(module: Module) -> list[list[tuple[str, int, int]]]:
    """For every entity of a module, in order, the global names in it."""
    return module.once(_named)


def _named(module: Module) -> list[list[tuple[str, int, int]]]:
    return [list(global_names(module.text, entity.start, entity.end)) for entity in module.entities]


def references(module: Module) -> dict[str, frozenset[str]]:
    """For every function and global, the functions and globals that it names."""
    return module.once(_references)


def _references(module: Module) -> dict[str, frozenset[str]]:
    return {
        entity.name: _named_by(entity, [name for name, _, _ in found])
        for entity, found in zip(module.entities, named(module))
        if entity.kind in ("define", "declare", "global")
    }


def _named_by(entity: Entity, names: list[str]) -> frozenset[str]:
    if entity.kind != "define":
        return frozenset(names) - {entity.name}
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
