"""What became of a fragment for one binding and one target."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tle_raw.fragments.bound import BoundSignature
from tle_raw.target import Target


@dataclass(frozen=True)
class CompiledFragment:
    """A fragment compiled for one binding and one target.

    Attributes
    ----------
    entry : symbol of the generated entry function.
    path : LLVM IR file, named by its content, that Triton links.
    static_shared : (name, bytes, alignment) of each static shared variable.
    dynamic_shared : bytes whose address the entry takes after its other parameters; 0 for none.
    block : the block that the code was compiled for, or ().
    route : the way that the source took, where its dialect has several.
    alone : the code relies on being all that its kernel does.
    register_limit : the most registers of a thread when the kernel starts, or 0 where nothing asks for a limit.
    uses_barrier : the code holds a block barrier of its own.
    reads_global, writes_global : whether it may touch memory that its pointers, or its variables, name.
    seconds : the foreign compiler's time when it ran; ``cache_hit`` says that it did not run now.
    missed : (path, digest) of files that were read but that only the compiler itself could name.
    """

    name: str
    entry: str
    path: Path
    target: Target
    bound: BoundSignature
    inline: bool
    static_shared: tuple[tuple[str, int, int], ...]
    uses_barrier: bool
    instructions: int
    kept_calls: tuple[str, ...]
    compiler: str
    seconds: float
    cache_hit: bool
    files: tuple[Path, ...]
    missed: tuple[tuple[str, str], ...] = ()
    warnings: str = ""
    dynamic_shared: int = 0
    block: tuple[int, ...] = ()
    route: str = ""
    register_limit: int = 0
    alone: bool = False
    reads_global: bool = True
    writes_global: bool = True

    @property
    def text(self) -> str:
        """The LLVM IR text that is linked."""
        return self.path.read_text()

    @property
    def needs_barriers(self) -> bool:
        """Barriers must stand around its calls: it has tile ports, or scratch memory that others reuse."""
        return not self.alone and bool(self.bound.tiles or self.static_shared or self.dynamic_shared)
