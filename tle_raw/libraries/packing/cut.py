"""Cuts a module to what one function needs: a file that holds a hundred functions is packed a hundred times."""

from __future__ import annotations

import re
from functools import lru_cache

from tle_raw.linker.llvm.normalise import removal
from tle_raw.linker.llvm.references import reachable, references, without_notes
from tle_raw.linker.llvm.text import Module, read_module

_COMMENT = re.compile(r"^;.*\n", re.MULTILINE)


def cut_to(text: str, entry: str) -> str:
    """The module without the functions and variables that ``entry`` does not reach."""
    module, graph = _read(text)
    lists = [name for name in graph if name.startswith("llvm.") and any(e.name == name for e in module.of_kind("global"))]
    kept = reachable(graph, [entry, *lists])
    gone = [e for e in module.of_kind("define", "declare", "global") if e.name not in kept]
    names = {entity.name for entity in gone}
    left = module.edited([*(removal(module, e) for e in gone), *without_notes(module, names)]).text
    return re.sub(r"\n{3,}", "\n\n", _COMMENT.sub("", left))


@lru_cache(maxsize=2)
def _read(text: str) -> tuple[Module, dict[str, frozenset[str]]]:
    """Kept: of a device library many functions are cut one after the other."""
    module = read_module(text)
    return module, references(module)
