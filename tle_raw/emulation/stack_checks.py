"""A check of the stack at the start of each function that may need much of it: there are no guard pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tle_raw.linker.llvm.references import recursive, references
from tle_raw.linker.llvm.sizes import sizes_of
from tle_raw.linker.llvm.text import Edit, Entity, Module, tokenize
from tle_raw.linker.llvm.types import Cursor

LARGE = 4096  # bytes of local variables
_ALLOCA = re.compile(r"^\s*%\S+ = alloca (?:inalloca )?([^\n]*)", re.MULTILINE)


def check_stacks(module: Module) -> Module:
    """The module with ``tle_team_check_stack`` in its recursive functions, and in those with large variables."""
    names = [entity.name for entity in module.of_kind("define")]
    loops = recursive(references(module), names)
    return module.edited(
        edit for entity in module.of_kind("define") for edit in _edits(module, entity, entity.name in loops)
    )


def _edits(module: Module, entity: Entity, is_recursive: bool) -> Iterator[Edit]:
    size = sum(_sizes(module, entity))
    if is_recursive or size > LARGE:
        allocas = list(_ALLOCA.finditer(module.text, entity.body, entity.end))
        place = allocas[-1].end() if allocas else start_of_block(module.text, entity)
        yield Edit(place, place, f"\n  call void @tle_team_check_stack(i64 {size})")


def _sizes(module: Module, entity: Entity) -> Iterator[int]:
    sizes = sizes_of(module)
    for match in _ALLOCA.finditer(module.text, entity.body, entity.end):
        yield sizes.size(Cursor(match[1], list(tokenize(match[1]))).read_type())


def start_of_block(text: str, entity: Entity) -> int:
    """The place after the ``{`` of a definition, and after the label of its first block."""
    position = entity.body + 1
    first = text.find("\n", position) + 1
    line = text[first : text.find("\n", first)]
    label = line.split(";")[0].strip()
    return text.find("\n", first) if label.endswith(":") else position
