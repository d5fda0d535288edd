"""Cuts a module to what one function needs: a file that holds a hundred functions is packed a hundred times."""

from __future__ import annotations

import re

from tle_raw.linker.llvm.cut import cut
from tle_raw.linker.llvm.text import read_module

_COMMENT = re.compile(r"^;.*\n", re.MULTILINE)


def cut_to(text: str, entry: str) -> str:
    """The module without comments, and without the functions and variables that ``entry`` does not reach."""
    module = read_module(text)
    lists = [entity.name for entity in module.of_kind("global") if entity.name.startswith("llvm.")]
    return re.sub(r"\n{3,}", "\n\n", _COMMENT.sub("", cut(module, [entry, *lists]).text))
