"""The innermost code: one block of C, in registers over the whole of K."""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.dialects import vector

from tle_raw.flir.cpu.block_matmul.arithmetic import Arithmetic
from tle_raw.flir.cpu.block_matmul.build import Matrix, Panel, fold, offset_by


def write_block(
    arithmetic: Arithmetic, a: Matrix, b: Panel, c: Panel, steps: int, first_row: ir.Value, height: int
) -> None:
    """``c += a @ b`` for ``height`` rows from ``first_row`` on, in ``steps`` steps over K."""
    rows = [offset_by(first_row, i) for i in range(height)]
    width = len(c.columns)

    def add_outer_product(step: ir.Value, accumulators: list[ir.Value]) -> list[ir.Value]:
        row_of_b = b.row(step)
        sums: list[ir.Value] = []
        for row in rows:
            element = a.element(row, step)
            for factor in row_of_b:
                broadcast = vector.broadcast(factor.type, element)
                sums.append(arithmetic.multiply_add(broadcast, factor, accumulators[len(sums)]))
        return sums

    sums = fold(steps, [value for row in rows for value in c.row(row)], add_outer_product)
    for i, row in enumerate(rows):
        c.set_row(row, sums[i * width : (i + 1) * width])
