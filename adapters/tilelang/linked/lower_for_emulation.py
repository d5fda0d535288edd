"""Lowers a PrimFunc for a target that emulates a GPU's threads and warps, and has none of its larger engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tle_raw.adapters.tilelang.linked.host_call import descriptors_missing
from tle_raw.adapters.tilelang.linked.lower import Lowered
from tle_raw.adapters.tilelang.linked.lower_tiles import lower_with_tiles
from tle_raw.adapters.tilelang.linked.products_by_warps import products_by_warps
from tle_raw.adapters.tilelang.named_buffers import NamedBuffer
from tle_raw.adapters.tilelang.named_tiles import NamedTile
from tle_raw.adapters.tilelang.tir_types import PrimFunc
from tle_raw.errors import CompilationFailed, TLEError, UnsupportedFeatureError

# The newest architecture whose operations are all those of threads and warps; and the one that has barriers in shared
# memory, too, with which products are made by warps all the same.
BY_WARPS, WITH_BARRIERS = "sm_89", "sm_90a"
_BY_WARPS = {"tl.disable_wgmma": True}


def lower_for_emulation(
    prim_func: PrimFunc,
    tiles: Mapping[str, NamedTile],
    settings: Mapping[str, Any] | None = None,
    buffers: Sequence[NamedBuffer] = (),
    tma: bool = False,
) -> tuple[Lowered, str]:
    """Like ``lower_with_tiles``; and the architecture that it was lowered for.

    Parameters
    ----------
    buffers : the caller's shared buffers that the kernel multiplies.
    tma : the caller passes TMA descriptors. They are there for copies that ask for them, ``T.tma_copy``.

    Raises
    ------
    CompilationFailed : TileLang refused the PrimFunc.
    HostValueError : it takes descriptors without ``tma``.
    UnsupportedFeatureError : it multiplies buffers of the caller.
    """
    for buffer in buffers:
        raise UnsupportedFeatureError(
            f"`{buffer.name}` of buffers= is an operand of `wgmma`, which cannot be emulated on the CPU",
            hint="leave buffers= out there: the kernel then has tiles of its own",
        )
    prim_func = products_by_warps(prim_func)
    try:
        lowered, arch = lower_with_tiles(prim_func, tiles, BY_WARPS, settings), BY_WARPS
    except CompilationFailed as error:
        try:
            lowered, arch = (
                lower_with_tiles(prim_func, tiles, WITH_BARRIERS, {**(settings or {}), **_BY_WARPS}),
                WITH_BARRIERS,
            )
        except TLEError:
            raise error from None
    if lowered.descriptors and not tma:
        raise descriptors_missing(len(lowered.descriptors))
    return lowered, arch
