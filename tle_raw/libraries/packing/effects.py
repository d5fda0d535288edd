"""What a piece of code does beside giving its results, as far as its LLVM IR tells: reads, writes, barrier."""

from __future__ import annotations

from tle_raw.linker.prepare import LinkableModule


def found_effects(module: LinkableModule) -> frozenset[str]:
    """Those that the code may have; what is certain not to happen is left out."""
    found = {"reads": module.memory.reads, "writes": module.memory.writes, "barrier": module.uses_barrier}
    return frozenset(effect for effect, is_there in found.items() if is_there)
