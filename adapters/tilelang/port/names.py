"""The names in a Triton file."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Mapping, Sequence

MODULE, KERNELS = "source", "kernels"  # what the script is called in the file, and what it builds
_TAKEN = {MODULE, KERNELS, "check_region", "device", "grid", "load_kernels", "load_script", "max", "min", "partial"}
_TAKEN |= {"tl", "tle_raw", "torch", "triton"}


def unused(name: str, names: Collection[str]) -> str:
    """The name, with a number where it is among those: the second ``gemm`` is ``gemm_2``."""
    word, number = name, 1
    while word in names:
        number += 1
        word = f"{name}_{number}"
    return word


def spelled_names(parameters: Sequence[str], kernel: str) -> Mapping[str, str]:
    """Each parameter as an identifier of its own that means nothing else in the file."""
    taken = {f"{kernel}_{part}" for part in ("region", "alone", "kernel", "arguments", "tuning", "inputs")} | _TAKEN
    found: dict[str, str] = {}
    for name in parameters:
        word = re.sub(r"\W", "_", name)
        word = word if word.isidentifier() and not keyword.iskeyword(word) else f"{word}_"
        while word in taken or word in found.values():
            word += "_"
        found[name] = word
    return found
