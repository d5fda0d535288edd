"""Lowers a PrimFunc some of whose buffers are tiles of the caller, and makes sure that any memory will do for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tle_raw.adapters.tilelang.linked.lower import Lowered, lower
from tle_raw.adapters.tilelang.linked.tile_memory import NO_ASYNC, NO_WIDE, with_tile_memory
from tle_raw.adapters.tilelang.named_tiles import NamedTile
from tle_raw.adapters.tilelang.tir_types import PrimFunc
from tle_raw.errors import UnsupportedFeatureError


def lower_with_tiles(
    prim_func: PrimFunc,
    tiles: Mapping[str, NamedTile],
    arch: str,
    settings: Mapping[str, Any] | None = None,
    tma: bool = False,
) -> Lowered:
    """Like ``lower``; ``tiles`` are the named buffers.

    Raises
    ------
    UnsupportedFeatureError : an operation on a named buffer is one of global memory only.
    """
    if not tiles:
        return lower(prim_func, arch, settings, tma)
    moved = with_tile_memory(prim_func, tiles)
    found = lower(moved, arch, {**(settings or {}), **NO_WIDE}, tma)
    if not found.addressed.isdisjoint(tiles):  # TileLang copies in the background wherever a pipeline lets it
        found = lower(moved, arch, {**(settings or {}), **NO_WIDE, **NO_ASYNC}, tma)
    for name in sorted(found.addressed.intersection(tiles)):
        raise UnsupportedFeatureError(
            f"`{name}` of tiles= is a tile in shared memory, and the kernel takes its address as one of global memory",
            hint=f"copy `{name}` by T.copy or by its elements, or leave it out of tiles=, so that it stays a pointer",
        ).at(source=tiles[name].location)
    return found
