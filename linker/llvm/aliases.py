"""Functions with several names: each name that others may call becomes a function of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from tle_raw.linker.llvm.functions import LINKAGES, read_function, read_global
from tle_raw.linker.llvm.normalise import removal
from tle_raw.linker.llvm.references import named
from tle_raw.linker.llvm.text import Edit, Entity, Module, apply_edits, encode_name

_POINTER = re.compile(r", ptr(?: addrspace \( \d+ \))?\Z")


def without_aliases(module: Module) -> Module:
    """The module with a copy of the function in the place of each alias of one that is defined here.

    The copy has no debug information of its own: LLVM wants each function's to be its alone. An alias of a variable,
    which no PTX can say, goes, and who names it names the variable. Aliases of places within something stay.
    """
    aliases = dict(_aliases(module))
    if not aliases:
        return module
    module = module.edited(_of_variables(module, _targets(module, aliases, "global")))
    functions = _targets(module, aliases, "define")
    found = [(entity, functions[entity.name]) for entity in module.of_kind("global") if entity.name in functions]
    return module.edited([Edit(e.start, e.end, _copy(module, function, e)) for e, function in found])


def _targets(module: Module, aliases: Mapping[str, str], kind: str) -> dict[str, Entity]:
    """What each alias stands for in the end, where that is of this kind."""
    there = {entity.name: entity for entity in module.of_kind(kind) if entity.name not in aliases}
    return {name: there[end] for name in aliases if (end := _end_of_chain(name, aliases)) in there}


def _of_variables(module: Module, variables: Mapping[str, Entity]) -> Iterator[Edit]:
    for entity, names in zip(module.entities, named(module)):
        if entity.kind == "global" and entity.name in variables:
            yield removal(module, entity)
            continue
        for name, start, end in names:
            if name in variables:
                yield Edit(start, end, encode_name("@", variables[name].name))


def _aliases(module: Module) -> Iterator[tuple[str, str]]:
    """Aliases of something as it is, and what they name: ``@a = alias float (float), ptr @f``."""
    for entity in module.of_kind("global"):
        if " alias " not in module.source(entity) or read_global(module, entity).kind != "alias":
            continue
        *before, target = module.header(entity)
        if target.kind == "@" and _POINTER.search(" ".join(token.text for token in before)):
            yield entity.name, target.name


def _end_of_chain(name: str, aliases: Mapping[str, str]) -> str:
    seen = set[str]()
    while name in aliases and name not in seen:
        seen.add(name)
        name = aliases[name]
    return name


def _copy(module: Module, function: Entity, alias: Entity) -> str:
    linkage = next((t.text for t in module.header(alias) if t.text in LINKAGES), "")
    tokens = module.header(function)
    dropped = [token for token in read_function(module, function).before if token.text in LINKAGES]
    dropped += [token for pair in pairwise(tokens) if pair[0].text == "!dbg" for token in pair]
    name = next(token for token in tokens if token.kind == "@")
    edits = [Edit(token.start, token.end, "") for token in dropped]
    edits.append(Edit(tokens[0].end, tokens[0].end, f" {linkage}"))
    edits.append(Edit(name.start, name.end, encode_name("@", alias.name)))
    begin = function.start
    return apply_edits(module.source(function), (Edit(e.start - begin, e.end - begin, e.replacement) for e in edits))
