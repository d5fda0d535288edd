"""Debug information without the places of the machine that packed: only files' names are left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tle_raw.linker.llvm.text import Edit, Module, read_module, tokenize


def without_places(text: str, folder: Path) -> str:
    """The module, with paths below ``folder`` relative to it, and of other absolute ones the last part."""
    module = read_module(text)
    edits = list(_edits(module, folder))
    return module.edited(edits).text if edits else text


def _edits(module: Module, folder: Path) -> Iterator[Edit]:
    for entity in module.of_kind("metadata", "source_filename"):
        if entity.kind == "metadata" and "!DIFile(" not in module.source(entity):
            continue
        for token in tokenize(module.text, entity.start, entity.end):
            path = token.text[1:-1]
            if token.kind == "string" and path.startswith("/"):
                yield Edit(token.start, token.end, f'"{_shown(path, folder)}"')


def _shown(path: str, folder: Path) -> str:
    inside = path.removeprefix(f"{folder}/")
    return inside if inside != path else path.rpartition("/")[2]
