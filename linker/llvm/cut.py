"""Cuts a module to some of its functions and what they reach."""

from __future__ import annotations

from collections.abc import Collection

from tle_raw.linker.llvm.normalise import removal
from tle_raw.linker.llvm.references import reachable, references, without_notes
from tle_raw.linker.llvm.text import Module


def cut(module: Module, roots: Collection[str]) -> Module:
    """The module without functions and variables that the roots do not reach; metadata stays."""
    kept = reachable(references(module), roots)
    left_out = [e for e in module.of_kind("define", "declare", "global") if e.name not in kept]
    if not left_out:
        return module
    names = {entity.name for entity in left_out}
    return module.edited([*(removal(module, entity) for entity in left_out), *without_notes(module, names)])
