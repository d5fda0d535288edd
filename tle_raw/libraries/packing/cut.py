"""Cuts a module to what one function needs: a file that holds a hundred functions is packed a hundred times."""

from __future__ import annotations

import re
from collections.abc import Collection

from tle_raw.linker.llvm.cut import cut
from tle_raw.linker.llvm.text import read_module

_COMMENT = re.compile(r"^;.*\n", re.MULTILINE)


def cut_to(text: str, entry: str, variables: Collection[str] = ()) -> str:
    """The module without comments, and without what ``entry`` does not reach; these variables stay."""
    module = read_module(text)
    kept = [e.name for e in module.of_kind("global") if e.name in variables or e.name.startswith("llvm.")]
    return re.sub(r"\n{3,}", "\n\n", _COMMENT.sub("", cut(module, [entry, *kept]).text))
