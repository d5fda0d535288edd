"""Which pointers a function writes through, as LLVM has proven it."""

from __future__ import annotations

from tle_raw.linker.abi import find_definition
from tle_raw.linker.llvm.parameter_words import parameter_words
from tle_raw.linker.llvm.text import Module

NOT_WRITTEN = frozenset(("readonly", "readnone"))


def written_parameters(module: Module, entry: str) -> tuple[bool, ...]:
    """For each parameter of a function whether memory may be written through it: all that LLVM does not exclude."""
    function = find_definition(module, entry).entity
    return tuple(NOT_WRITTEN.isdisjoint(words) for words in parameter_words(module, function))
