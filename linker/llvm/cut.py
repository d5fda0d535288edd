"""Cuts a module to some of its functions and what they reach."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from tle_raw.errors import UnsupportedFeatureError
from tle_raw.linker.llvm.normalise import removal
from tle_raw.linker.llvm.references import reachable, references, without_notes
from tle_raw.linker.llvm.symbols import CONSTRUCTORS
from tle_raw.linker.llvm.text import Entity, Module

_NUMBER = re.compile(r"!\s*0*(\d+)\b")


def cut(module: Module, roots: Collection[str]) -> Module:
    """The module without functions and variables that the roots do not reach; metadata stays.

    Raises
    ------
    UnsupportedFeatureError : a variable that they reach is initialised by a constructor.
    """
    graph = references(module)
    kept = reachable(graph, roots)
    _refuse_constructed(module, graph, kept)
    left_out = [e for e in module.of_kind("define", "declare", "global") if e.name not in kept]
    if not left_out:
        return module
    names = {entity.name for entity in left_out}
    return module.edited([*(removal(module, entity) for entity in left_out), *without_notes(module, names)])


def without_unreached_metadata(module: Module) -> Module:
    """The module without numbered metadata that nothing names: of one that was cut, most is of what has gone."""
    numbered = {_number(e): e for e in module.of_kind("metadata") if _is_numbered(module, e)}
    named = {number: set(_NUMBER.findall(module.text, e.start, e.end)) for number, e in numbered.items()}
    roots: set[str] = set()
    for entity in module.entities:
        if numbered.get(_number(entity)) is not entity:
            roots.update(_NUMBER.findall(module.text, entity.start, entity.end))
    kept = reachable(named, roots)
    return module.edited([removal(module, e) for number, e in numbered.items() if number not in kept])


def _number(entity: Entity) -> str:
    """``!007`` is ``!7``."""
    return entity.name.lstrip("0") or "0"


def _is_numbered(module: Module, entity: Entity) -> bool:
    """Several nodes in a line, which no compiler writes, are one entity, and stay."""
    return entity.name.isdecimal() and module.text.count(" = ", entity.start, entity.end) == 1


def _refuse_constructed(module: Module, graph: Mapping[str, frozenset[str]], kept: frozenset[str]) -> None:
    """The list of constructors is reached by nobody, and would be lost without a word."""
    run = [name for constructor in CONSTRUCTORS for name in graph.get(constructor, ())]
    written = reachable(graph, run) & kept if run else frozenset()
    variables = sorted(e.name for e in module.of_kind("global") if e.name in written)
    if variables:
        raise UnsupportedFeatureError(
            f"the variable `{variables[0]}` needs a constructor, which nobody would run",
            hint="give the variable a constant initialiser, or initialise it inside the function",
        )
