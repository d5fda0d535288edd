"""Which operations are products that can be blocked, and what they multiply."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch_mlir import ir

# (A, B, C): what C's element type is tells whether operands are converted on the way.
ELEMENT_TYPES = {
    ("f32", "f32", "f32"),
    ("f64", "f64", "f64"),
    ("f16", "f16", "f32"),
    ("bf16", "bf16", "f32"),
    ("i32", "i32", "i32"),
    ("i8", "i8", "i32"),
}


@dataclass(frozen=True)
class Product:
    """``C[b, i, j] += A[b, i, k] * B[b, k, j]``; without ``b`` where ``batch`` is None."""

    operation: ir.Operation
    a: ir.Value
    b: ir.Value
    c: ir.Value
    batch: int | None
    m: int
    n: int
    k: int

    @property
    def operand_type(self) -> ir.Type:
        return self.a.type.element_type

    @property
    def result_type(self) -> ir.Type:
        return self.c.type.element_type


def find_products(module: ir.Module) -> list[Product]:
    """The products of ``module`` that can be blocked, in the order of its text."""
    return [product for operation in _operations(module.operation) if (product := _read(operation))]


def _operations(operation: ir.Operation) -> Iterator[ir.Operation]:
    for region in operation.regions:
        for block in region:
            for inner in block:
                yield inner.operation
                yield from _operations(inner.operation)


def _read(operation: ir.Operation) -> Product | None:
    if operation.name not in ("linalg.matmul", "linalg.batch_matmul") or len(operation.operands) != 3:
        return None
    a, b, c = operation.operands
    if not all(_is_row_major(value.type) for value in (a, b, c)) or not _multiplies_plainly(operation):
        return None
    if tuple(str(value.type.element_type) for value in (a, b, c)) not in ELEMENT_TYPES:
        return None
    *batch, m, k = a.type.shape
    n = b.type.shape[-1]
    if 0 in (*batch, m, n, k):
        return None
    return Product(operation, a, b, c, batch[0] if batch else None, m, n, k)


def _is_row_major(type: ir.Type) -> bool:
    """Static, with neighbours in a row next to each other; rows may lie further apart than they are long."""
    if not isinstance(type, ir.MemRefType) or not type.has_static_shape:
        return False
    strides, _ = type.get_strides_and_offset()
    return strides[-1] == 1 and all(map(type.is_static_stride_or_offset, strides))


def _multiplies_plainly(operation: ir.Operation) -> bool:
    """No operand is transposed or broadcast, and small integers are signed."""
    (body,) = operation.regions[0]
    if any(inner.operation.name == "arith.extui" for inner in body):
        return False
    d = [ir.AffineDimExpr.get(i) for i in range(operation.operands[2].type.rank + 1)]
    batch, (m, n, k) = d[:-3], d[-3:]
    plain = [ir.AffineMap.get(len(d), 0, [*batch, *rest]) for rest in ([m, k], [k, n], [m, n])]
    return [attribute.value for attribute in operation.attributes["indexing_maps"]] == plain
