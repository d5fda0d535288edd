"""Stage B, first: which core computes which blocks.

``global``: the blocks in row-major order, an equal contiguous share for each core. ``local_shard``: the blocks' rows
and columns are cut into rectangles, one for each core, as sharded tensors are. Leaves ``tt.partition_mode``,
``tt.grid_tiles``, ``tt.core_ranges``, ``tt.runtime_args``, and ``tt.shard_grid`` with the latter.
"""

from __future__ import annotations

from dataclasses import replace

from tle_raw.targets.tenstorrent.ir import CoreWork, Module, WorkItem
from tle_raw.targets.tenstorrent.options import Options


def layout_aware_work_partition_tt_v5(module: Module, options: Options) -> Module:
    """The module with its cores' work."""
    columns, rows, batches = module.grid
    attributes = dict(module.attributes)
    attributes["tt.grid_tiles"] = {"Mt": rows, "Nt": columns, "batches": batches}
    attributes["tt.partition_mode"] = options.partition
    if options.partition == "local_shard":
        cores, used = _rectangles(module, options)
        attributes["tt.shard_grid"] = {"Gy": used[1], "Gx": used[0]}
        names = ["start_id", "count", "Mt", "Nt", "Sm", "Sn", "Gy", "Gx", "sy", "sx"]
    else:
        cores = _shares(module, options)
        names = ["start_id", "count", "Mt", "Nt"]
    attributes["tt.runtime_args"] = names
    attributes["tt.core_ranges"] = _ranges([(core.x, core.y) for core in cores], options.core_grid[0])
    return replace(module, cores=cores, core_grid=options.core_grid, attributes=attributes)


def _shares(module: Module, options: Options) -> tuple[CoreWork, ...]:
    columns, rows, batches = module.grid
    width, height = options.core_grid
    total = columns * rows * batches
    count = min(total, width * height)
    cores, start = [], 0
    for number in range(count):
        share = total // count + (number < total % count)
        items = tuple(_item(block, columns, rows) for block in range(start, start + share))
        values = {"start_id": start, "count": share, "Mt": rows, "Nt": columns}
        cores.append(CoreWork(number % width, number // width, values, items))
        start += share
    return tuple(cores)


def _item(block: int, columns: int, rows: int) -> WorkItem:
    return WorkItem(block // columns % rows, block % columns, block // (columns * rows))


def _rectangles(module: Module, options: Options) -> tuple[tuple[CoreWork, ...], tuple[int, int]]:
    columns, rows, batches = module.grid
    width, height = (min(cores, blocks) for cores, blocks in zip(options.core_grid, (columns, rows)))
    wide, high = -(-columns // width), -(-rows // height)
    width, height = -(-columns // wide), -(-rows // high)
    cores = []
    for y in range(height):
        for x in range(width):
            own_wide, own_high = min(wide, columns - x * wide), min(high, rows - y * high)
            items = tuple(
                WorkItem(y * high + i, x * wide + j, batch, tile_order="match_shard")
                for batch in range(batches)
                for i in range(own_high)
                for j in range(own_wide)
            )
            values = {
                "start_id": 0,
                "count": len(items),
                "Mt": rows,
                "Nt": columns,
                "Sm": own_high,
                "Sn": own_wide,
                "Gy": height,
                "Gx": width,
                "sy": y * high,
                "sx": x * wide,
            }
            cores.append(CoreWork(x, y, values, items))
    return tuple(cores), (width, height)


def _ranges(cores: list[tuple[int, int]], width: int) -> list[dict[str, list[int]]]:
    """Rectangles that hold just the cores: those of rows that are alike together."""
    by_row: dict[int, int] = {}
    for x, y in cores:
        by_row[y] = max(by_row.get(y, 0), x + 1)
    found: list[dict[str, list[int]]] = []
    for y, extent in sorted(by_row.items()):
        if found and found[-1]["extent"][0] == extent:
            found[-1]["extent"][1] += 1
        else:
            found.append({"start": [0, y], "extent": [extent, 1]})
    return found
