"""Lowers a PrimFunc as TileLang itself would launch it: with TMA, and warps that only load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tle_raw.adapters.tilelang.linked.lower import WITHOUT_TMA, Lowered
from tle_raw.adapters.tilelang.linked.lower_tiles import lower_with_tiles
from tle_raw.adapters.tilelang.named_tiles import NamedTile
from tle_raw.adapters.tilelang.tir_types import PrimFunc
from tle_raw.errors import CompilationFailed

# TileLang's own passes fail on some loops that they would specialise. What follows leaves more and more out.
_TRIES: tuple[Mapping[str, Any], ...] = ({}, {"tl.disable_warp_specialized": True}, WITHOUT_TMA)


def lower_for_launch(
    prim_func: PrimFunc, tiles: Mapping[str, NamedTile], arch: str, settings: Mapping[str, Any] | None = None
) -> Lowered:
    """Like ``lower_with_tiles`` with ``tma``; where TileLang's passes fail on that, with less of it.

    Raises
    ------
    CompilationFailed : TileLang refused the PrimFunc in each form; the error is that of the first.
    """
    first: CompilationFailed | None = None
    for left_out in _TRIES:
        try:
            return lower_with_tiles(prim_func, tiles, arch, {**(settings or {}), **left_out}, tma=True)
        except CompilationFailed as error:
            first = first or error
    assert first is not None
    raise first
