"""Variables that a host looks up in a finished kernel: they keep their names, and are one for all that is linked."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise

from tle_raw.linker.llvm.functions import LINKAGES, PREEMPTION, VISIBILITIES, Global, read_global
from tle_raw.linker.llvm.references import global_names
from tle_raw.linker.llvm.symbols import original_name
from tle_raw.linker.llvm.text import Edit, Module, encode_name


def publish(module: Module, entry: str, names: Collection[str]) -> Module:
    """The module of ``symbols.privatise`` in which these variables are found by their names again.

    They are weak, so that the linker makes one of those of several modules; and on a list that keeps them, also those
    that no function reads. A name that the module does not define is passed over.
    """
    variables = [read_global(module, entity) for entity in module.of_kind("global")]
    found = {v.name: v for v in variables if v.is_definition and original_name(v.name, entry) in names}
    if not found:
        return module
    edits = [edit for variable in found.values() for edit in _weak(variable)]
    for entity in module.entities:
        for name, start, end in global_names(module.text, entity.start, entity.end):
            if name in found:
                edits.append(Edit(start, end, encode_name("@", original_name(name, entry))))
    kept = [_pointer(encode_name("@", original_name(v.name, entry)), v.address_space) for v in found.values()]
    return module.edited(edits).with_text(
        f'\n@llvm.compiler.used = appending global [{len(kept)} x ptr] [{", ".join(kept)}], section "llvm.metadata"\n'
    )


def _weak(variable: Global) -> Iterator[Edit]:
    tokens = variable.tokens
    kind = next(i for i, token in enumerate(tokens) if token.text == variable.kind)
    for before, token in pairwise(tokens[1:kind]):
        if token.text in LINKAGES | VISIBILITIES | PREEMPTION:
            yield Edit(before.end, token.end, "")
    yield Edit(tokens[1].end, tokens[1].end, " weak_odr")


def _pointer(name: str, space: int) -> str:
    return f"ptr addrspacecast (ptr addrspace({space}) {name} to ptr)" if space else f"ptr {name}"
