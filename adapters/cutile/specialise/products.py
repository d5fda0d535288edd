"""Products of tiles that tensor cores make in the background, and the sums that they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tle_raw.adapters.cutile.ir_types import Operation, Variable
from tle_raw.adapters.cutile.specialise.facts import Unfit
from tle_raw.adapters.cutile.specialise.ir_index import IrIndex
from tle_raw.adapters.cutile.specialise.tile_rings import Operand, TileLoads

_ROWS, _COLUMNS, _DEPTH_BYTES = 64, 8, 32  # what tensor cores multiply is a multiple of these
_WIDE, _NARROW = ("float16", "bfloat16"), ("float8_e4m3fn", "float8_e5m2")


@dataclass(frozen=True, eq=False)
class Product:
    """``left`` is None where the left operand is computed, and read from registers."""

    op: Operation
    left: Operand | None
    right: Operand

    @property
    def result(self) -> Variable:
        found: Variable = self.op.result_vars[0]
        return found

    @property
    def rows(self) -> int:
        return int(self.result.get_type().shape[-2])

    @property
    def columns(self) -> int:
        return int(self.result.get_type().shape[-1])

    @property
    def elements(self) -> int:
        return self.rows * self.columns

    @property
    def operands(self) -> tuple[Operand, ...]:
        return tuple(operand for operand in (self.left, self.right) if operand is not None)


def product(op: Operation, loads: TileLoads) -> Product:
    """What is known of ``ct.mma``.

    Raises
    ------
    Unfit : tensor cores do not make it in the background, from tiles that the copy engine brings.
    """
    x, y, total = (v.get_type() for v in (op.x, op.y, op.acc))
    dtype = str(x.dtype.name)
    if dtype not in (*_WIDE, *_NARROW) or y.dtype.name != dtype or total.dtype.name != "float32":
        raise Unfit(f"a product of {dtype} and {y.dtype.name} is added up in {total.dtype.name}")
    if any(size != 1 for size in total.shape[:-2]):
        raise Unfit("a batch of tiles is multiplied at once")
    rows, columns, depth = total.shape[-2], total.shape[-1], x.shape[-1]
    least = _DEPTH_BYTES // (2 if dtype in _WIDE else 1)
    if rows % _ROWS or columns % _COLUMNS or depth < least:
        raise Unfit(f"a product of {rows} by {columns} by {depth} elements is none of the tensor cores'")
    left, right = loads.operand(op.x), loads.operand(op.y)
    if right is None:
        raise Unfit("the right operand of a product is computed, and is no tile of an array")
    if dtype in _NARROW:
        _check_narrow(op, left, right)
    return Product(op, left, right)


def _check_narrow(op: Operation, left: Operand | None, right: Operand) -> None:
    """Tensor cores take bytes along the depth, and add many up before they are exact."""
    if not op.use_fast_acc:
        raise Unfit("a product of bytes without use_fast_acc=True is added up exactly, step by step")
    if left is None or left.turned or not right.turned:
        raise Unfit("of bytes tensor cores take operands only that lie along the depth in memory")


@dataclass(frozen=True, eq=False)
class Sum:
    """Products each of which is added to the one before; ``place`` is that of the value which a loop carries."""

    products: tuple[Product, ...]
    place: int


def sums_of(loop: Operation, products: Sequence[Product], index: IrIndex) -> tuple[Sum, ...]:
    """The sums that a loop carries, where all of its products add to such and nothing else reads them; else none."""
    jump = list(loop.body)[-1]
    found: list[Sum] = []
    left = list(products)
    for place, (variable, given) in enumerate(zip(loop.body_vars, jump.values if jump.op == "continue" else ())):
        chain = _chain(variable, left, index)
        if not chain or chain[-1].result.name != given.name or not _is_read_once(chain[-1].result, jump, index):
            continue
        found.append(Sum(tuple(chain), place))
        left = [p for p in left if p not in chain]
    complete = not left and all(p.left is not None for p in products)
    return tuple(found) if complete else ()


def _chain(variable: Variable, products: Sequence[Product], index: IrIndex) -> list[Product]:
    """The products from this value on, each of which alone reads what is there before."""
    found: list[Product] = []
    while True:
        after = next((p for p in products if p.op.acc.name == variable.name), None)
        if after is None or not _is_read_once(variable, after.op, index):
            return found
        found.append(after)
        variable = after.result


def _is_read_once(variable: Variable, reader: Operation, index: IrIndex) -> bool:
    readers = index.readers.get(variable.name, [])
    return len(readers) == 1 and readers[0] is reader
