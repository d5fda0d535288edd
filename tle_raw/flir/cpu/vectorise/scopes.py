"""Where vector code goes: the loops around a body, and the branches inside of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.mlir_values import Block, Operation
from tle_raw.flir.cpu.vectorise import build
from tle_raw.flir.cpu.vectorise.tiles import VectorTile


@dataclass
class Scope:
    """One place that code can be put in; code of a scope may use what stands in scopes of a lower level.

    ``anchor`` is the operation that new code goes in front of: the loop inside of this one, or the block's terminator.
    A block without one grows at its end.
    """

    level: tuple[int, ...]
    block: Block | None = None
    anchor: Any = None

    def point(self) -> Any:
        ir = mlir()
        return ir.InsertionPoint(self.anchor) if self.anchor is not None else ir.InsertionPoint(self.block)

    @contextmanager
    def in_front_of(self, op: Operation) -> Iterator[None]:
        """While the inside of ``op`` is written, what this scope gets must stand before it."""
        before, self.anchor = self.anchor, op
        try:
            yield
        finally:
            self.anchor = before

    def branch(self, block: Block) -> Scope:
        return Scope((*self.level, 1), block)


@dataclass(frozen=True)
class LoopNest:
    """The loops over a tile: ``scopes[0]`` is outside of all; ``starts`` holds lane 0's index of each dimension."""

    scopes: list[Scope]
    starts: list[tuple[Any, Scope]]

    @property
    def innermost(self) -> Scope:
        return self.scopes[-1]


def make_loops(before: Any, tile: VectorTile) -> LoopNest:
    """Write the loops over a tile's chunks in front of an operation; dimensions of one chunk need none."""
    from torch_mlir.dialects import scf

    ir = mlir()
    scopes = [Scope((0,), anchor=before)]
    starts: list[tuple[Any, Scope]] = []
    for chunk in tile.dims:
        outer = scopes[-1]
        if chunk.count == 1:
            with scopes[0].point():
                starts.append((build.index(chunk.start), scopes[0]))
            continue
        with outer.point():
            bounds = [build.index(value) for value in (chunk.start, chunk.stop, chunk.lanes)]
            loop = scf.ForOp(*bounds)
        with ir.InsertionPoint(loop.body):
            end = scf.YieldOp([])
        outer.anchor = loop.operation
        scopes.append(Scope((len(scopes),), anchor=end.operation))
        starts.append((loop.induction_variable, scopes[-1]))
    return LoopNest(scopes, starts)
