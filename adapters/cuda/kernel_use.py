"""What one region asks of a kernel, and its symbol in LLVM IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tle_raw.adapters.cuda.read_signature import Slot
from tle_raw.errors import Context, SourceLocation, SymbolError
from tle_raw.fragments.bound import BoundParameter, BoundSignature
from tle_raw.linker.llvm.text import Entity, Module

# The variable below the user's code that holds the kernel's address: it tells its symbol.
SYMBOL = "tle_raw_kernel"


@dataclass(frozen=True)
class KernelUse:
    """One region of a kernel.

    ``grid`` maps an axis such as "blockIdx.x" to the launch's own axis or to a parameter of the signature. ``shared``
    is what the caller gives ``extern __shared__`` in bytes. ``is_users`` says of a file whether it is the user's.
    ``threads`` are those of the block, where more are launched; else 0. ``whole`` says that nothing else runs in the
    launched kernel.
    """

    name: str
    bound: BoundSignature
    slots: tuple[Slot, ...]
    grid: Mapping[str, int | str]
    shared: int
    location: SourceLocation
    is_users: Callable[[str], bool]
    threads: int = 0
    whole: bool = False

    @property
    def given(self) -> tuple[BoundParameter, ...]:
        """The parameters that give block indices, and are none of the kernel's own."""
        names = {value for value in self.grid.values() if isinstance(value, str)}
        return tuple(p for p in self.bound.crossing if p.name in names)

    @property
    def passed(self) -> tuple[BoundParameter, ...]:
        given = self.given
        return tuple(p for p in self.bound.crossing if p not in given)


def kernel_symbol(module: Module, use: KernelUse) -> tuple[str, Entity]:
    holder = next(e for e in module.of_kind("global") if e.name == SYMBOL)
    names = [t.name for t in module.header(holder)[1:] if t.kind == "@"]
    if not names or not any(e.name == names[0] for e in module.of_kind("define")):
        raise SymbolError(
            f"the kernel `{use.name}` is declared and not defined",
            hint="include the file that defines it",
            context=Context(source=use.location),
        )
    return names[0], holder
