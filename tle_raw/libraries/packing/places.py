"""Debug information without the places of the machine that packed: only files' names are left."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tle_raw.linker.llvm.text import Edit, Module, read_module, tokenize

# clang calls a lambda, or a class without a name, by where it stands: in names of templates too.
_NAMED_BY_PLACE = re.compile(r"(?<= at )/.*?(?=:\d+:\d+\))")
_ASM_PLACE = re.compile(r"!srcloc (!\d+)")


def without_places(text: str, folder: Path) -> str:
    """The module, with paths below ``folder`` relative to it, and of other absolute ones the last part."""
    module = read_module(text)
    edits = list(_edits(module, folder))
    return module.edited(edits).text if edits else text


def _edits(module: Module, folder: Path) -> Iterator[Edit]:
    asm = frozenset(_ASM_PLACE.findall(module.text))
    for entity in module.of_kind("metadata", "source_filename"):
        if module.text[entity.start : entity.end].split(" ", 1)[0] in asm:  # counts all that clang had read before
            yield Edit(entity.start, entity.end, f"{module.source(entity).split(' ', 1)[0]} = !{{i64 0}}")
            continue
        source = module.source(entity)
        if entity.kind == "metadata" and "!DIFile(" not in source and " at /" not in source:
            continue
        for token in tokenize(module.text, entity.start, entity.end):
            path = token.text[1:-1]
            if token.kind == "string" and path.startswith("/"):
                yield Edit(token.start, token.end, f'"{_shown(path, folder)}"')
            elif token.kind == "string" and " at /" in path:
                named = _NAMED_BY_PLACE.sub(lambda match: _shown(match[0], folder), token.text)
                yield Edit(token.start, token.end, named)


def _shown(path: str, folder: Path) -> str:
    inside = path.removeprefix(f"{folder}/")
    return inside if inside != path else path.rpartition("/")[2]
