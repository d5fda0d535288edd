"""The loops around the micro-kernel: batches, column panels, blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from tle_raw.flir.cpu.block_matmul.arithmetic import Arithmetic, Packed, arithmetic_of
from tle_raw.flir.cpu.block_matmul.blocking import Blocking, choose_blocking
from tle_raw.flir.cpu.block_matmul.build import Matrix, Panel, for_each, in_blocks, index
from tle_raw.flir.cpu.block_matmul.micro_kernel import write_block
from tle_raw.flir.cpu.block_matmul.pack import pack_a, pack_b, packed_length
from tle_raw.flir.cpu.block_matmul.product import Product
from tle_raw.flir.cpu.block_matmul.scratch import Scratch


@dataclass(frozen=True)
class ProductPlan:
    """What is decided about a product before its code is written."""

    product: Product
    arithmetic: Arithmetic
    blocking: Blocking
    lanes: int
    scratch: Scratch

    def scratch_matrix(self, role: str, rows: int, columns: int) -> Matrix:
        shape = (rows, columns)
        return Matrix(self.scratch.buffer(self.product.operation, role, shape, self.product.result_type))


def write_product(product: Product, vector_bytes: int, scratch: Scratch) -> None:
    """Puts vector code in the place of ``product``."""
    lanes = vector_bytes // (product.result_type.width // 8)
    blocking = choose_blocking(product.m, product.n, lanes, registers=32 if vector_bytes == 64 else 16)
    arithmetic = arithmetic_of(product.operand_type, product.result_type)
    plan = ProductPlan(product, arithmetic, blocking, lanes, scratch)
    with ir.InsertionPoint(product.operation), product.operation.location:
        if product.batch is None:
            _write_matrix(plan, ())
        else:
            for_each(product.batch, 1, lambda batch: _write_matrix(plan, (batch,)))
    product.operation.erase()


def _write_matrix(plan: ProductPlan, batch: tuple[ir.Value, ...]) -> None:
    product, lanes = plan.product, plan.lanes
    a, b, c = (Matrix(buffer, batch) for buffer in (product.a, product.b, product.c))
    if isinstance(plan.arithmetic, Packed):
        _write_packed(plan, plan.arithmetic, a, b, c)
        return

    def write_panel(column: ir.Value, columns: int) -> None:
        _write_rows(plan, a, b.panel(column, columns, lanes), c.panel(column, columns, lanes), product.k)

    in_blocks(product.n, plan.blocking.columns, write_panel)


def _write_packed(plan: ProductPlan, arithmetic: Packed, a: Matrix, b: Matrix, c: Matrix) -> None:
    product, lanes = plan.product, plan.lanes
    steps = packed_length(arithmetic, product.k)
    packed_a = plan.scratch_matrix("a", product.m, steps)
    packed_b = plan.scratch_matrix("b", steps, min(plan.blocking.columns, product.n))
    pack_a(arithmetic, a, packed_a, product.m, product.k, lanes)

    def write_panel(column: ir.Value, columns: int) -> None:
        panel = packed_b.panel(index(0), columns, lanes)
        pack_b(arithmetic, b.panel(column, columns, lanes), panel, product.k)
        _write_rows(plan, packed_a, panel, c.panel(column, columns, lanes), steps)

    in_blocks(product.n, plan.blocking.columns, write_panel)


def _write_rows(plan: ProductPlan, a: Matrix, b: Panel, c: Panel, steps: int) -> None:
    def write(first: ir.Value, height: int) -> None:
        write_block(plan.arithmetic, a, b, c, steps, first, height)

    in_blocks(plan.product.m, plan.blocking.rows, write)
