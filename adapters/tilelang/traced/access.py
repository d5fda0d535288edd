"""Reading and writing one element in each lane: of global memory, of a block tensor, of a caller's tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triton.language import core

from tle_raw.adapters.tilelang.narrow import per_byte
from tle_raw.adapters.tilelang.regions import is_global
from tle_raw.adapters.tilelang.tir_types import Buffer
from tle_raw.adapters.tilelang.traced import block_reads, block_writes, global_memory, packed_memory
from tle_raw.adapters.tilelang.traced.tracer import Tracer


def load(tracer: Tracer, buffer: Buffer, indices: Sequence[Any]) -> core.tensor:
    """The elements at ``indices`` in each lane; with axes of size 1 where the indices do not vary."""
    if named(tracer, buffer):
        return block_reads.read(tracer, buffer, inside_tile(tracer, buffer, indices))
    if is_global(buffer):
        memory = packed_memory if per_byte(buffer.dtype) > 1 else global_memory
        return memory.load(tracer, buffer, indices)
    return block_reads.read(tracer, buffer, indices)


def store(tracer: Tracer, buffer: Buffer, indices: Sequence[Any], value: core.tensor) -> None:
    """Write ``value`` at ``indices`` in each lane, where the guards hold."""
    value = tracer.cast(value, tracer.storage(buffer.dtype))
    if named(tracer, buffer):
        block_writes.write(tracer, buffer, inside_tile(tracer, buffer, indices), value)
    elif is_global(buffer):
        memory = packed_memory if per_byte(buffer.dtype) > 1 else global_memory
        memory.store(tracer, buffer, indices, value)
    else:
        block_writes.write(tracer, buffer, indices, value)


def named(tracer: Tracer, buffer: Buffer) -> bool:
    """Whether a tile of the caller stands for a piece of this global buffer."""
    return any(tile.buffer.data.same_as(buffer.data) for tile in tracer.named.values())


def inside_tile(tracer: Tracer, buffer: Buffer, indices: Sequence[Any]) -> list[Any]:
    """Indices into the caller's tile, from indices into the buffer that it stands for a piece of."""
    tile = next(t for t in tracer.named.values() if t.buffer.data.same_as(buffer.data))
    return [tracer.simplify(indices[d] - tile.origin[d]) for d in tile.kept]
