"""Tiles that lose their axes of size 1 as soon as they are loaded: such a load goes without them from the start.

Triton keeps a tile that is loaded for a product in shared memory only where nothing stands between the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tle_raw.adapters.cutile.ir_types import Block, Variable


def loaded_for_reshape(block: Block) -> frozenset[str]:
    """The names of loaded tiles of which all that is ever taken is their reshape without axes of size 1."""
    found, otherwise = set(), set()
    for op in _operations(block):
        for used in op.all_inputs():
            if op.op == "tile_reshape" and _bare(used) == tuple(op.result_vars[0].get_type().shape):
                found.add(used.name)
            else:
                otherwise.add(used.name)
    return frozenset(found - otherwise)


def _bare(variable: Variable) -> tuple[int, ...]:
    return tuple(n for n in variable.get_type().shape if n != 1)


def _operations(block: Block) -> Iterator[Any]:
    for op in block:
        yield op
        for inner in op.nested_blocks:
            yield from _operations(inner)
