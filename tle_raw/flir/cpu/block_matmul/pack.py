"""Operands that are converted: once, into scratch memory that holds a panel of B and the whole of A."""

from __future__ import annotations

from torch_mlir import ir

from tle_raw.flir.cpu.block_matmul.arithmetic import Packed
from tle_raw.flir.cpu.block_matmul.blocking import split_into_vectors
from tle_raw.flir.cpu.block_matmul.build import Matrix, Panel, for_each, in_blocks, index, offset_by, scaled


def packed_length(arithmetic: Packed, k: int) -> int:
    """How many packed elements ``k`` elements make."""
    return -(-k // arithmetic.depth)


def pack_a(arithmetic: Packed, a: Matrix, packed: Matrix, m: int, k: int, lanes: int) -> None:
    """Fills ``packed`` with the ``m`` rows of ``a``, each ``k`` long."""
    whole, rest = divmod(k, arithmetic.depth)

    def pack_row(row: ir.Value) -> None:
        def pack_vector(step: ir.Value, length: int) -> None:
            elements = a.vector(row, scaled(step, arithmetic.depth), length)
            packed.set_vector(row, step, arithmetic.pack_along(elements))

        def pack_block(first: ir.Value, length: int) -> None:
            for at, count in split_into_vectors(length, lanes):
                pack_vector(offset_by(first, at), count * arithmetic.depth)

        in_blocks(whole, lanes, pack_block)
        if rest:
            pack_vector(index(whole), rest)

    for_each(m, 1, pack_row)


def pack_b(arithmetic: Packed, b: Panel, packed: Panel, k: int) -> None:
    """Fills ``packed`` with the ``k`` rows of ``b``."""
    whole, rest = divmod(k, arithmetic.depth)

    def pack_rows(step: ir.Value, count: int) -> None:
        first = scaled(step, arithmetic.depth)
        rows = [b.row(offset_by(first, i)) for i in range(count)]
        packed.set_row(step, [arithmetic.pack_across(column) for column in zip(*rows)])

    in_blocks(whole, 1, lambda step, _: pack_rows(step, arithmetic.depth))
    if rest:
        pack_rows(index(whole), rest)
