"""Refuse regions that cannot work where they stand, before anything is compiled for them."""

from __future__ import annotations

from typing import Any

import triton

from tle_raw.errors import RegionError, Row
from tle_raw.flir.check_block import WARP, check_block
from tle_raw.flir.nvidia.read_ports import Region, RegionPlace
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.fragments.fragment import Fragment, fragment_by_identity
from tle_raw.linker.mlir.structure import nests, read_structure
from tle_raw.triton_version import VERSION

__all__ = ["WARP", "asks_triton", "check_compiled", "check_launch", "check_not_specialised", "check_warps"]

_AUTOMATIC = "tt.warp_specialize"
_HOPPER, _BLACKWELL = 90, 100


def check_launch(region: Region, fragment: Fragment, options: Any, threads: int, place: RegionPlace) -> None:
    """The block and the cluster must be what the fragment was written for.

    ``threads`` is the block that the kernel gets whatever ``num_warps`` says; 0 where there is none. ``place`` says
    whose warps run the region.

    Raises
    ------
    RegionError : more than one CTA, or ``block=`` of another size than ``num_warps * 32``.
    """
    if region.is_element:
        return
    if options.num_ctas > 1 and region.record.bound.tiles:
        raise RegionError(
            "a region works on one block: its tiles cannot be spread over a cluster",
            table=[Row("num_ctas", "1", str(options.num_ctas))],
            hint="launch this kernel with num_ctas=1; elementwise fragments work with any",
        )
    if options.num_ctas > 1 and VERSION < (3, 9):
        raise RegionError(
            "a kernel without tensors is launched in clusters by Triton 3.9 or later",
            table=[Row("Triton", "3.9", triton.__version__)],
            hint="install triton>=3.9; or launch each block alone, without cluster= and __cluster_dims__, where the "
            "kernel takes the size of its cluster from cooperative groups",
        )
    if not threads:
        check_block(fragment.block, place.num_warps, place.name)


def check_compiled(region: Region, fragment: CompiledFragment, place: RegionPlace) -> None:
    """The block must be the one that the compiler itself wrote the code for.

    Raises
    ------
    RegionError : it has another size than ``num_warps * 32``, of the launch or the partition.
    """
    try:
        check_block(fragment.block, place.num_warps, place.name)
    except RegionError as e:
        location = fragment_by_identity(region.record.fragment).location
        raise e.at(fragment=region.record.bound.name, source=location, call_site=region.record.call_site) from None


def asks_triton(text: str, capability: int) -> bool:
    """Whether a loop asks Triton to specialise the kernel's warps, and the GPU is one that it does so for."""
    return capability >= _HOPPER and _AUTOMATIC in text


def check_not_specialised(lines: list[str], regions: list[Region], capability: int) -> None:
    """No region stands where Triton's passes for warp specialisation meet it: they do not survive foreign operations.

    From sm_100 on that is in a loop that asks for it, before and behind which a region may stand; on sm_90, where they
    look at the whole kernel, anywhere beside such a loop. GPUs before have no such passes.

    Raises
    ------
    RegionError : a region does.
    """
    if capability < _HOPPER or not any(_AUTOMATIC in line for line in lines):
        return
    if capability < _BLACKWELL:
        _refuse_specialised(regions)
        return
    for nest in nests(read_structure(lines)):
        if nest.is_loop and _AUTOMATIC in lines[nest.end] + nest.text:
            _refuse_specialised([region for region in regions if nest.begin < region.call.line < nest.end])


def check_warps(num_warps: int, regions: list[Region], options: Any) -> None:
    """The finished kernel has the warps that were asked for: partitions of a specialised one would have more.

    Raises
    ------
    RegionError : Triton split the kernel's warps by itself.
    """
    if num_warps != options.num_warps:
        _refuse_specialised(regions)


def _refuse_specialised(regions: list[Region]) -> None:
    """A region's barriers would wait for warps that never come. An elementwise region has none."""
    blocks = [r for r in regions if not r.is_element]
    if blocks:
        raise RegionError(
            "Triton specialises the kernel's warps by itself: a region's threads and barriers would no longer be the "
            "whole block",
            hint="put the loop's parts into functions, and give them to tle.gpu.warp_specialize([(multiply, (...)), "
            "(load, (...))], worker_num_warps=[4]): its partitions call fragments; or remove warp_specialize=True from "
            "tl.range. Elementwise fragments work with it, from sm_100 on also regions before and behind the loop",
        ).at(fragment=blocks[0].record.bound.name, call_site=blocks[0].record.call_site)
