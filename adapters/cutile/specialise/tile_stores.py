"""Stores of tiles that the copy engine makes, behind the loops: from shared memory, whose slots are free by then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tle_raw.adapters.cutile.ir_types import Operation
from tle_raw.adapters.cutile.specialise.facts import Facts
from tle_raw.adapters.cutile.specialise.ir_index import IrIndex
from tle_raw.adapters.cutile.specialise.tile_rings import ALIGNED, BYTES

_BYTES = {**BYTES, "float32": 4}
_ROWS, _COLUMN_BYTES = range(8, 257), range(32, 2049)


@dataclass(frozen=True, eq=False)
class TileStore:
    """A store into a matrix; ``descriptor`` is the parameter of the Triton kernel that describes it."""

    array: str
    dims: tuple[int, ...]
    tile: tuple[int, ...]
    descriptor: str


def tile_stores(index: IrIndex, facts: Facts, behind: int, first: int) -> dict[int, TileStore]:
    """By the identity of the operation: those of the function's own from place ``behind`` on.

    ``first`` is the number of the first descriptor. An array that is touched elsewhere, too, is left out: the engine
    is not in order with threads.
    """
    touched = [array for op in index.operations if (array := _touched(op, index)) is not None]
    shared = {array for pair in facts.overlapping for array in pair}
    found: dict[int, TileStore] = {}
    for op in list(index.top)[behind:]:
        array = index.array_of(op.view) if op.op == "tile_store" else None
        if array is None or touched.count(array) != 1 or array in shared or None in touched:
            continue
        tile = tuple(op.view.get_type().tile_shape)
        if _is_matrix(op, facts.adjacent_dims.get(array, ())):
            found[id(op)] = TileStore(array, (0, 1), tile, f"tle_raw_tiles_{first + len(found)}")
    return found


def _touched(op: Operation, index: IrIndex) -> str | None:
    """The array that an operation reads or writes, "" where it is not known; None for an operation without memory."""
    if op.op in ("tile_load", "tile_store", "tile_atomic_red_view"):
        return index.array_of(op.view) or ""
    if "pointer" in op.op or "atomic" in op.op:
        return index.memory_of(op.pointer) or ""
    return None


def _is_matrix(op: Operation, adjacent: tuple[int, ...]) -> bool:
    """Whether it is a tile of a matrix whose rows lie in one piece, and one that the engine takes."""
    type_: Any = op.view.get_type()
    element = _BYTES.get(str(op.tile.get_type().dtype.name))
    plain = not hasattr(type_, "traversal_steps") and not hasattr(type_, "sparse_dim")
    if adjacent != (1,) or not plain or tuple(type_.order) != (0, 1) or element is None:
        return False
    if op.allow_tma is False or op.memory_order.name != "WEAK":
        return False
    rows, columns = type_.tile_shape
    width = columns * element
    return rows in _ROWS and width in _COLUMN_BYTES and width % ALIGNED == 0
