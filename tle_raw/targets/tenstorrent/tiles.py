"""Operations on the tiles of a block: what stage C makes of operations on blocks, before there is a protocol.

A ``TileLoop`` computes each tile of its target in the same way, by ``steps`` on registers that are numbered from 0:
which tiles of DST these are, and who may use DST when, is decided in stage D.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tle_raw.errors import SourceLocation
from tle_raw.targets.tenstorrent.ir import Arg, Call

TILE_ROW, TILE_COLUMN, INNER, BATCH = "ti", "tj", "tk", "tu"
POINTER = "%pointer"


@dataclass(frozen=True)
class Register:
    """One of the tiles that a step works on; it becomes a number of DST."""

    number: int

    def __str__(self) -> str:
        return f"r{self.number}"


@dataclass(frozen=True)
class Step:
    """One call of the kernel API on a tile. ``buffers`` are those it reads; ``init`` what has to be called before.

    ``unit`` says whose state ``init`` is: ``matrix`` of what brings tiles from buffers, ``vector`` of what computes on
    registers; stage D puts it into ``setup`` where it is needed each time. ``undo`` ends what ``init`` began.
    ``count`` > 1 repeats the step for ``tk`` = 0, 1, ….
    """

    operation: str
    arguments: tuple[Any, ...]
    template: tuple[Arg, ...] = ()
    init: Call | None = None
    unit: str = "vector"
    setup: tuple[Call, ...] = ()
    buffers: tuple[str, ...] = ()
    count: int = 1
    undo: tuple[Call, ...] = ()

    def __str__(self) -> str:
        template = f"<{', '.join(map(str, self.template))}>" if self.template else ""
        times = f" for tk < {self.count}" if self.count > 1 else ""
        return f"{self.operation}{template}({', '.join(map(str, self.arguments))}){times}"


@dataclass(frozen=True)
class TileLoop:
    """``rows`` x ``columns`` tiles of ``target``, row after row; each is what register 0 holds in the end.

    ``held``: register 0 of each tile already holds something, since a ``Hold``; all tiles are packed together.
    """

    target: str
    rows: int
    columns: int
    steps: tuple[Step, ...]
    uses: tuple[str, ...]
    registers: int = 1
    after: tuple[Call, ...] = ()
    location: SourceLocation | None = None
    node: int = -1
    prologue: tuple[Call, ...] = field(default=())
    held: bool = False


@dataclass(frozen=True)
class Hold:
    """Registers are taken for a product over a loop, of whose ``steps`` the set-up is done here."""

    steps: tuple[Step, ...]
    location: SourceLocation | None = None
    prologue: tuple[Call, ...] = ()


@dataclass(frozen=True)
class HeldProduct:
    """One turn of such a loop: tile (ti, tj) is register ``ti * columns + tj``."""

    rows: int
    columns: int
    steps: tuple[Step, ...]
    uses: tuple[str, ...]
    location: SourceLocation | None = None
    node: int = -1


@dataclass(frozen=True)
class GiveBack:
    """A buffer's value is not needed any more; ``unread``: it never was."""

    buffer: str
    unread: bool = False


@dataclass(frozen=True)
class Transfer:
    """Pages between a buffer and memory, by the reader or the writer; ``barrier`` is what waits until all are there.

    In ``calls`` the variable ``POINTER`` is where the buffer's pages begin.
    """

    buffer: str
    pages: int
    calls: tuple[Any, ...]
    barrier: str = ""
    location: SourceLocation | None = None
    node: int = -1
