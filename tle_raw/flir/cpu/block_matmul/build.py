"""Shorthand for the operations that blocks are made of; all of them go to the current insertion point."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from torch_mlir import ir
from torch_mlir.dialects import arith, memref, scf, vector

from tle_raw.flir.cpu.block_matmul.blocking import split_into_vectors


@dataclass(frozen=True)
class Matrix:
    """A buffer, or the matrix of one batch in it."""

    buffer: ir.Value
    batch: tuple[ir.Value, ...] = ()

    def element(self, row: ir.Value, column: ir.Value) -> ir.Value:
        return memref.load(self.buffer, [*self.batch, row, column])

    def vector(self, row: ir.Value, column: ir.Value, lanes: int) -> ir.Value:
        type = ir.VectorType.get([lanes], self.buffer.type.element_type)
        return vector.load(type, self.buffer, [*self.batch, row, column])

    def set_vector(self, row: ir.Value, column: ir.Value, value: ir.Value) -> None:
        vector.store(value, self.buffer, [*self.batch, row, column])

    def panel(self, column: ir.Value, columns: int, lanes: int) -> Panel:
        """``columns`` columns from ``column`` on, in vectors of at most ``lanes``."""
        vectors = split_into_vectors(columns, lanes)
        return Panel(self, tuple(offset_by(column, first) for first, _ in vectors), tuple(n for _, n in vectors))


@dataclass(frozen=True)
class Panel:
    """Neighbouring columns of a matrix, whose rows are read and written as vectors."""

    matrix: Matrix
    columns: tuple[ir.Value, ...]
    lanes: tuple[int, ...]

    def row(self, row: ir.Value) -> list[ir.Value]:
        return [self.matrix.vector(row, column, lanes) for column, lanes in zip(self.columns, self.lanes)]

    def set_row(self, row: ir.Value, vectors: Iterable[ir.Value]) -> None:
        for column, value in zip(self.columns, vectors):
            self.matrix.set_vector(row, column, value)


def index(value: int) -> ir.Value:
    return arith.ConstantOp(ir.IndexType.get(), value).result


def offset_by(base: ir.Value, offset: int) -> ir.Value:
    return base if offset == 0 else arith.addi(base, index(offset))


def scaled(base: ir.Value, factor: int) -> ir.Value:
    return base if factor == 1 else arith.muli(base, index(factor))


def for_each(count: int, step: int, body: Callable[[ir.Value], None]) -> None:
    """A loop whose variable takes the values 0, ``step``, ... below ``count``; ``body`` writes its body."""
    loop = scf.ForOp(index(0), index(count), index(step))
    with ir.InsertionPoint(loop.body):
        body(loop.induction_variable)
        scf.YieldOp([])


def fold(
    count: int, initial: list[ir.Value], body: Callable[[ir.Value, list[ir.Value]], list[ir.Value]]
) -> list[ir.Value]:
    """A loop that carries values: ``body`` makes the next ones of the loop variable and the present ones."""
    loop = scf.ForOp(index(0), index(count), index(1), initial)
    with ir.InsertionPoint(loop.body):
        scf.YieldOp(body(loop.induction_variable, list(loop.inner_iter_args)))
    return list(loop.results)


def in_blocks(length: int, block: int, write: Callable[[ir.Value, int], None]) -> None:
    """Calls ``write(first, length of the block)`` in a loop over whole blocks, and once more for the rest."""
    rest = length % block
    whole = length - rest
    if whole > block:
        for_each(whole, block, lambda first: write(first, block))
    elif whole:
        write(index(0), block)
    if rest:
        write(index(whole), rest)
