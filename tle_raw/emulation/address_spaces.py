"""One address space for everything: the host has no others."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tle_raw.linker.llvm.normalise import removal
from tle_raw.linker.llvm.text import Edit, Entity, Module, Token, tokenize

_OVERLOADED = re.compile(r"^@llvm\..*\.p\d+")


def flatten_address_spaces(module: Module) -> Module:
    """The module with plain pointers. 32-bit shared addresses are made and taken by the runtime.

    What crosses between an address of shared memory and a number keeps its meaning: ``ptrtoint`` and ``inttoptr`` of
    address space 3 become calls of the runtime, which knows where shared memory lies.
    """
    module = module.edited(_number_edits(module))
    module = module.edited(
        edit for entity in module.of_kind("define", "declare", "global") for edit in _edits(module, entity)
    )
    return module.edited(_doubled_declarations(module))


def _number_edits(module: Module) -> Iterator[Edit]:
    """``%a = ptrtoint ptr addrspace(3) %p to i32`` and its inverse."""
    pattern = re.compile(
        r"^(?P<indent>\s*)(?P<to>%\S+) = (?P<op>ptrtoint|inttoptr) "
        r"(?P<from>ptr addrspace\(3\)|i\d+) (?P<value>[^\s,]+) to (?P<type>ptr addrspace\(3\)|i\d+)(?P<rest>.*)$",
        re.MULTILINE,
    )
    for entity in module.of_kind("define"):
        for number, match in enumerate(pattern.finditer(module.text, entity.body, entity.end)):
            if "addrspace(3)" in match["from"] + match["type"]:
                yield Edit(match.start(), match.end(), _number_text(match, f"%tle.number.{number}"))


def _number_text(match: re.Match[str], name: str) -> str:
    indent, to, value, rest = match["indent"], match["to"], match["value"], match["rest"]
    if match["op"] == "ptrtoint":
        convert = "bitcast" if match["type"] == "i64" else "trunc"
        return (
            f"{indent}{name} = call i64 @tle_team_shared_address(ptr addrspace(3) {value}){rest}"
            f"\n{indent}{to} = {convert} i64 {name} to {match['type']}"
        )
    convert = "bitcast" if match["from"] == "i64" else "zext"
    return (
        f"{indent}{name} = {convert} {match['from']} {value} to i64"
        f"\n{indent}{to} = call ptr addrspace(3) @tle_team_shared_pointer(i64 {name}, i32 0){rest}"
    )


def _edits(module: Module, entity: Entity) -> Iterator[Edit]:
    text = module.text
    if "addrspace" not in text[entity.start : entity.end] and "@llvm." not in text[entity.start : entity.end]:
        return
    tokens = list(tokenize(text, entity.start, entity.end))
    for index, token in enumerate(tokens):
        if token.text == "addrspace" and index + 3 < len(tokens) and tokens[index + 1].text == "(":
            yield Edit(tokens[index - 1].end, tokens[index + 3].end, "")
        elif token.text == "addrspacecast":
            yield Edit(token.start, token.end, "bitcast")
        elif token.text == "externally_initialized":
            yield Edit(token.start, token.end, "")
        elif token.kind == "@" and _OVERLOADED.match(token.text):
            yield Edit(token.start, token.end, re.sub(r"\.p\d+", ".p0", token.text))
        elif token.text == "syncscope":
            yield _without_scope(tokens, index)


def _without_scope(tokens: list[Token], index: int) -> Edit:
    """All of the host's atomics hold for all of its threads."""
    return Edit(tokens[index - 1].end, tokens[index + 3].end, "")


def _doubled_declarations(module: Module) -> Iterator[Edit]:
    seen: set[str] = set()
    for entity in module.of_kind("declare"):
        if entity.name in seen:
            yield removal(module, entity)
        seen.add(entity.name)
