"""Rewrites products of tiles, ``linalg.matmul`` and ``linalg.batch_matmul``, into register-blocked vector code.

Each product becomes loops over blocks of C. A block is so small that its accumulators stay in registers while the loop
over K runs: per step, one vector load for each vector of a row of B, one broadcast for each row of A, and one fused
multiply-add for each accumulator. Column panels are the outer loop, so that the panel of B stays in the L1 cache while
the rows of A stream past it.

Products of other forms (dynamic shapes, other element types, transposed operands) are left as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch_mlir import ir

__all__ = ["block_matmul"]


def block_matmul(module: ir.Module, *, vector_bytes: int) -> None:
    """Rewrites, in place, every product of static row-major buffers in ``module``.

    Parameters
    ----------
    module
        A verified module in the Linalg form, in which no C overlaps its A or B. Operands whose elements are shorter
        than C's are converted in scratch memory: ``memref.alloca`` at the top of the function, for the whole of A and
        at most 64 columns of B.
    vector_bytes
        Length of a vector register: 16, 32 or 64. From 64 on there are 32 of them, below 16.

    Raises
    ------
    ValueError
        ``vector_bytes`` is no length of a vector register.
    """
    from tle_raw.flir.cpu.block_matmul.loops import write_product
    from tle_raw.flir.cpu.block_matmul.product import find_products
    from tle_raw.flir.cpu.block_matmul.scratch import Scratch

    if vector_bytes not in (16, 32, 64):
        raise ValueError(f"vector_bytes must be 16, 32 or 64, not {vector_bytes!r}")
    scratch = Scratch()
    for product in find_products(module):
        write_product(product, vector_bytes, scratch)
