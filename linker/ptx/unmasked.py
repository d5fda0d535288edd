"""Operations of a warp without a mask: GPUs of compute capability 7.0 and later have none."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Unmasked:
    """One of them: ``name`` as it is known, ``masked`` what took its place, and its ``arguments`` behind the mask."""

    name: str
    masked: str
    arguments: str


def _function(name: str, arguments: str) -> Unmasked:
    return Unmasked(name, f"{name}_sync", arguments)


# By how the PTX instruction begins, and LLVM's intrinsic behind ``llvm.nvvm.``.
_OPERATIONS = {
    "shfl.up": _function("__shfl_up", "value, delta"),
    "shfl.down": _function("__shfl_down", "value, delta"),
    "shfl.bfly": _function("__shfl_xor", "value, mask"),
    "shfl.idx": _function("__shfl", "value, lane"),
    "vote.all": _function("__all", "predicate"),
    "vote.any": _function("__any", "predicate"),
    "vote.uni": Unmasked("vote.uni", "vote.sync.uni", "predicate"),  # of inline PTX: CUDA has no function for it
    "vote.ballot": _function("__ballot", "predicate"),
}
_INSTRUCTION = re.compile(r"\b(?:shfl|vote)\.(?!sync)\w+\b(?!\.sync)")


def find_unmasked(text: str) -> Unmasked | None:
    """The first in PTX, or in the name of an intrinsic: ``shfl.down.b32`` is one, ``shfl.sync.down.b32`` is none."""
    return next((_OPERATIONS[m[0]] for m in _INSTRUCTION.finditer(text) if m[0] in _OPERATIONS), None)
