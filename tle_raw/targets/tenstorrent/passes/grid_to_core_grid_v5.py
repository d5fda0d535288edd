"""Stage B, second: the grid becomes a loop on each core over its blocks, which finds a block's indices.

The runtime arguments are columns of the table per core: ``start_id, count, Mt, Nt``, and for shards ``Sm, Sn`` (blocks
of this core's rectangle), ``sy, sx`` (its first row and column of blocks).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tle_raw.targets.tenstorrent.blocks import Known, Repeat
from tle_raw.targets.tenstorrent.ir import Module
from tle_raw.targets.tenstorrent.options import Options
from tle_raw.tile_program import Apply, Name, Number

WORK = "work"


def grid_to_core_grid_v5(module: Module, options: Options) -> Module:
    """The module with the persistent loop around its body."""
    names = (*module.attributes["block_indices"], *("block_y", "block_z"))[:3]
    x, y, z = (Known(name, value) for name, value in zip(names, _indices(module)))
    known = [k for k, extent in zip((z, y, x), module.grid[::-1]) if extent > 1 or k.name in _own(module)]
    loop = Repeat(WORK, Number(0), Name("count"), (*known, *module.body))
    return replace(module, body=(loop,))


def _own(module: Module) -> tuple[str, ...]:
    return tuple(module.attributes["block_indices"])


def _indices(module: Module) -> tuple[Any, Any, Any]:
    columns, rows, batches = module.grid
    if module.attributes["tt.partition_mode"] == "local_shard":
        place: Any = Name(WORK)
        wide, high, first_x, first_y = (Name(name) for name in ("Sn", "Sm", "sx", "sy"))
    else:
        place = _two("add", Name("start_id"), Name(WORK))
        wide, high, first_x, first_y = Name("Nt"), Name("Mt"), None, None
    x = _two("floormod", place, wide)
    y = _two("floormod", _two("floordiv", place, wide), high)
    z = _two("floordiv", _two("floordiv", place, wide), high)
    if first_x is not None and first_y is not None:
        x, y = _two("add", first_x, x), _two("add", first_y, y)
    return x if columns > 1 else Number(0), y if rows > 1 else Number(0), z if batches > 1 else Number(0)


def _two(function: str, a: Any, b: Any) -> Any:
    return Apply(function, (a, b), "int32")
