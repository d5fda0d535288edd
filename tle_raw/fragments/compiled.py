"""What became of a fragment for one binding and one target."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.compile_facts import CompileFacts
from tle_raw.target import Target


@dataclass(frozen=True, kw_only=True)
class CompiledFragment(CompileFacts):
    """A fragment compiled for one binding and one target: the facts of its compile, and what it was compiled for.

    Attributes
    ----------
    path : LLVM IR file, named by its content, that Triton links.
    inline : False keeps the entry a function of its own.
    cache_hit : the foreign compiler did not run now.
    """

    path: Path
    target: Target
    bound: BoundSignature
    inline: bool
    cache_hit: bool

    @cached_property
    def text(self) -> str:
        """The LLVM IR text that is linked."""
        return self.path.read_text()

    @property
    def needs_barriers(self) -> bool:
        """Barriers must stand around its calls: it has tile ports, or scratch memory that others reuse."""
        return not self.exclusive and bool(self.bound.tiles or self.static_shared or self.dynamic_shared)
