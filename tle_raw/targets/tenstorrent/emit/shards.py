"""How the pages of a sharded array are dealt out, in the words of the host API."""

from __future__ import annotations

from tle_raw.errors import LoweringError
from tle_raw.targets.tenstorrent.ir import TILE, Tensor


def sharding(tensor: Tensor) -> str:
    """The C++ value that says it, or "" for an interleaved array: one shard a core, or a bank of DRAM, row by row.

    Raises
    ------
    LoweringError : a sharded array without the shape of a shard, or one in DRAM that is cut both ways.
    """
    if tensor.layout == "interleaved":
        return ""
    if tensor.shard is None:
        raise LoweringError(f"{tensor.name} is sharded, but the shape of a shard is not known")
    rows, columns = tensor.matrices * tensor.tile_rows, tensor.tile_columns
    down, across = -(-rows // tensor.shard[0]), -(-columns // tensor.shard[1])
    if tensor.memory == "L1":
        grid, kind = (across, down), "BLOCK"
    elif across == 1 or down == 1:
        grid, kind = (across * down, 1), "HEIGHT" if across == 1 else "WIDTH"
    else:
        raise LoweringError(
            f"{tensor.name} is sharded in DRAM by rows and by columns; banks of DRAM are in a row",
            hint="shards of whole rows or of whole columns, or in L1",
        )
    elements = f"{{{tensor.shard[0] * TILE}, {tensor.shard[1] * TILE}}}"
    cores = f"CoreRangeSet(CoreRange({{0, 0}}, {{{grid[0] - 1}, {grid[1] - 1}}}))"
    pages = f"{{{TILE}, {TILE}}}, {{{rows}, {columns}}}"
    spec = f"ShardSpecBuffer({cores}, {elements}, ShardOrientation::ROW_MAJOR, {pages})"
    return f"BufferShardingArgs({spec}, TensorMemoryLayout::{kind}_SHARDED)"
