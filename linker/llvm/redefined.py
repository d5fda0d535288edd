"""Finds a symbol that one text of LLVM IR has twice: LLVM's parser would name the second place only."""

from __future__ import annotations

from tle_raw.errors import Context, DuplicateSymbolError, SourceLocation
from tle_raw.linker.llvm.text import Entity, Module, line_of

_WORDS = {"define": "defined", "declare": "declared", "global": "a variable"}


def refuse_redefinitions(module: Module, start: SourceLocation, name: str = "") -> None:
    """Refuse a module with two functions or variables of one name.

    Parameters
    ----------
    start : where the text's first line stands.
    name : the module's, for the message; "" where ``start`` says enough.

    Raises
    ------
    DuplicateSymbolError : it has such; the message tells both lines.
    """
    found = module.once(_redefined)
    if found is None:
        return
    first, second = found
    lines = [start.line + line_of(module.text, entity.start) - 1 for entity in found]
    how = (
        f"{_WORDS[first.kind]} twice, in lines {lines[0]} and {lines[1]}"
        if first.kind == second.kind != "global"
        else f"{_WORDS[first.kind]} in line {lines[0]}, and {_WORDS[second.kind]} again in line {lines[1]}"
    )
    shown = module.source(second).partition("\n")[0].replace("\t", " ")
    raise DuplicateSymbolError(
        f"{name}{': ' if name else ''}`{second.name}` is {how}",
        hint="remove the declaration: the text has the function itself"
        if {first.kind, second.kind} == {"define", "declare"}
        else "remove or rename one of the two; two modules that were pasted together are joined by "
        "tle_raw.linker.link([first, second], entry=…), or by llvm-link",
        context=Context(source=SourceLocation(start.file, lines[1], 1, shown)),
    )


def _redefined(module: Module) -> tuple[Entity, Entity] | None:
    seen: dict[str, Entity] = {}
    for entity in module.of_kind("define", "declare", "global"):
        first = seen.setdefault(entity.name, entity)
        if first is not entity:
            return first, entity
    return None
