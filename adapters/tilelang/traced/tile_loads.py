"""Copies of tiles that another warp can make by the copy engine: of arrays that are only read, for products alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tle_raw.adapters.tilelang.program import Program
from tle_raw.adapters.tilelang.read_signature import written_memory
from tle_raw.adapters.tilelang.regions import BufferRegion, constant, is_global, region_of
from tle_raw.adapters.tilelang.tir_types import Buffer
from tle_raw.adapters.tilelang.traced.effects import holds
from tle_raw.adapters.tilelang.traced.pipelined_body import A, B, Unfit, is_whole, nodes, size_of
from tle_raw.adapters.tilelang.traced.types import padded

DTYPES = ("float16", "bfloat16")
_BYTES = 2  # of their elements
_ROWS, _COLUMNS = range(8, 257), range(16, 1025)  # of a tile


@dataclass(frozen=True, eq=False)
class Load:
    """A copy of a tile from an array of the PrimFunc into a shared buffer.

    The array is seen as a matrix: the dims before ``split`` are its rows, the others its columns. ``descriptor`` is the
    parameter that describes it to the copy engine.
    """

    call: Any
    source: BufferRegion
    target: Buffer
    array: str
    split: int
    descriptor: str

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns."""
        return size_of(self.target.shape[0]), size_of(self.target.shape[1])

    @property
    def bytes(self) -> int:
        """Of one tile."""
        return prod(self.tile) * _BYTES


class Loads:
    """Reads the copies of a program. ``products`` are its products."""

    def __init__(self, program: Program, products: Sequence[Any]) -> None:
        self._program, self._products = program, products
        self._written = written_memory(program.body)
        self._accesses = [n for n in nodes(program.body) if type(n).__name__ in ("BufferLoad", "BufferStore")]
        self._safe = program.annotations.get("safe_value_map", {})
        self._count = 0

    def readers(self, buffer: Buffer) -> int:
        """How many operands of products are the whole buffer."""
        operands = [region_of(call.args[which]) for call in self._products for which in (A, B)]
        return sum(box.buffer.data.same_as(buffer.data) and is_whole(box) for box in operands)

    def of(self, statement: Any) -> Load:
        """A copy into a shared buffer.

        Raises
        ------
        Unfit : the copy engine does not take it, or something else than products reads the buffer.
        """
        source, target = (region_of(argument) for argument in statement.value.args[:2])
        buffer, name = target.buffer, str(target.buffer.name)
        if str(buffer.dtype) not in DTYPES or len(buffer.shape) != 2 or not is_whole(target):
            raise Unfit(f"`{name}` is filled in another way than by whole tiles of two dims and sixteen bits")
        rows, columns = (size_of(extent) for extent in buffer.shape)
        if rows not in _ROWS or columns not in _COLUMNS or any(n != padded(n) for n in (rows, columns)):
            raise Unfit(f"the copy engine takes no tile of {rows} by {columns}, as `{name}` has it")
        readers = self.readers(buffer)
        if not readers or sum(a.buffer.data.same_as(buffer.data) for a in self._accesses) != 1 + readers:
            raise Unfit(f"`{name}` is used by something else than products")
        array, split = self._array(source, [rows, columns])
        return Load(statement.value, source, buffer, array, split, self._new_name(array))

    def _new_name(self, array: str) -> str:
        self._count += 1
        name = f"{array}_tile_{self._count}"
        while name in self._program.order or name in self._program.dims:
            name += "_"
        return name

    def _array(self, box: BufferRegion, tile: Sequence[int]) -> tuple[str, int]:
        """The parameter whose array it is, and how many dims of it are rows."""
        buffer = box.buffer
        name = next((n for n, b in self._program.buffers.items() if b.same_as(buffer)), None)
        if name is None or holds(self._written, buffer.data) or buffer.data in self._safe:
            raise Unfit(f"`{buffer.name}` is no array that is only read")
        if str(buffer.dtype) not in DTYPES or not _is_compact(buffer):
            raise Unfit(f"the rows of `{name}` do not lie behind each other")
        if any(type(node).__name__ in ("BufferLoad", "Call") for origin in box.origin for node in nodes(origin)):
            raise Unfit(f"where a tile of `{name}` begins is read from memory")
        walked = [d for d, extent in enumerate(box.extents) if constant(extent) != 1]
        if len(walked) != 2 or walked[1] != len(buffer.shape) - 1 or [constant(box.extents[d]) for d in walked] != tile:
            raise Unfit(f"the tiles of `{name}` are no rows of its innermost dim")
        return name, walked[0] + 1


def _is_compact(buffer: Buffer) -> bool:
    from tvm import arith

    analyzer, expected = arith.Analyzer(), 1
    for stride, extent in reversed(list(zip(buffer.strides, buffer.shape))):
        if not analyzer.can_prove_equal(stride, expected):
            return False
        expected = expected * extent
    return True


def check_reads(body: Sequence[Any], loads: Sequence[Load]) -> None:
    """All that a loop's body takes from global memory are these copies: other loads would not be fetched ahead.

    Raises
    ------
    Unfit : there are others.
    """
    for statement in body:
        if any(load.call.same_as(getattr(statement, "value", None)) for load in loads):
            continue
        for node in nodes(statement):
            if type(node).__name__ == "BufferLoad" and is_global(node.buffer):
                raise Unfit(f"`{node.buffer.name}` is touched in the pipelined loop by something else than a copy")
