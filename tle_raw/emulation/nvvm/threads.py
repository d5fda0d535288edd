"""Who a thread is, and where: special registers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tle_raw.emulation.instructions import FunctionBody
from tle_raw.emulation.nvvm.table import intrinsic


@intrinsic(r"read\.ptx\.sreg\.(tid|ntid|ctaid|nctaid|clusterid|nclusterid)\.([xyzw])")
def _index(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    what, axis = match[1].replace("cluster", "cta"), "xyzw".index(match[2])
    if match[1] != what and axis == 0:  # clusters lie along x
        blocks = body.call("i32", "tle_team_program" if what == "ctaid" else "tle_team_grid", "i32 0")
        return body.value(f"udiv i32 {blocks}, {body.call('i32', 'tle_team_cluster_size')}")
    if what == "tid":
        return body.call("i32", "tle_team_thread") if axis == 0 else "0"
    if what == "ntid":
        return body.call("i32", "tle_team_threads") if axis == 0 else "1"
    if axis == 3:
        return "0" if what == "ctaid" else "1"
    return body.call("i32", "tle_team_program" if what == "ctaid" else "tle_team_grid", f"i32 {axis}")


@intrinsic(r"read\.ptx\.sreg\.cluster\.(n?cta(?:id|rank))(?:\.([xyzw]))?")
def _cluster(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return place_in_cluster(body, match[1], match[2] or "x")


def place_in_cluster(body: FunctionBody, what: str, axis: str) -> str:
    """``ctaid`` or ``ctarank``, or with an n before it how many there are: all blocks of a cluster lie along x."""
    is_count = what.startswith("n")
    if axis != "x":
        return "1" if is_count else "0"
    return body.call("i32", "tle_team_cluster_size" if is_count else "tle_team_cluster_rank")


def is_in_cluster(body: FunctionBody) -> str:
    """An i1 that says whether the launch has clusters."""
    return body.value(f"icmp ugt i32 {body.call('i32', 'tle_team_cluster_size')}, 1")


@intrinsic(r"read\.ptx\.sreg\.(laneid|warpid|nwarpid|warpsize|smid|nsmid|gridid)")
def _place(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return special_register(body, match[1], result)


def special_register(body: FunctionBody, name: str, result: str) -> str:
    """A special register that does not depend on an axis."""
    if name in ("laneid", "warpid"):
        thread = body.call("i32", "tle_team_thread")
        return body.value(f"and i32 {thread}, 31" if name == "laneid" else f"lshr i32 {thread}, 5")
    if name == "nwarpid":
        return body.value(f"lshr i32 {body.call('i32', 'tle_team_threads')}, 5")
    return {"warpsize": "32", "WARP_SZ": "32", "nsmid": "1"}.get(name, "0")


@intrinsic(r"read\.ptx\.sreg\.lanemask\.(eq|le|lt|ge|gt)")
def _lane_mask(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return lane_mask(body, match[1])


def lane_mask(body: FunctionBody, which: str) -> str:
    lane = special_register(body, "laneid", "i32")
    bit = body.value(f"shl i32 1, {lane}")
    below = body.value(f"sub i32 {bit}, 1")
    up_to = body.value(f"or i32 {bit}, {below}")
    if which in ("eq", "lt", "le"):
        return {"eq": bit, "lt": below, "le": up_to}[which]
    return body.value(f"xor i32 {below if which == 'ge' else up_to}, -1")


@intrinsic(r"read\.ptx\.sreg\.(clock|clock64|globaltimer)")
def _clock(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    value = body.call("i64", "tle_team_clock")
    return value if result == "i64" else body.value(f"trunc i64 {value} to i32")


@intrinsic(r"read\.ptx\.sreg\.(pm\d|dynamic_smem_size|total_smem_size|envreg(?:[03-9]|\d\d+))")
def _nothing(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return "0"


@intrinsic(r"read\.ptx\.sreg\.envreg([12])")
def _grid_memory(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return grid_memory(body, high=match[1] == "1")


def grid_memory(body: FunctionBody, *, high: bool) -> str:
    """Half of the address at which cooperative groups have the barrier of the grid, as the driver gives it."""
    address = body.call("i64", "tle_team_grid_memory")
    return body.value(f"trunc i64 {body.value(f'lshr i64 {address}, 32') if high else address} to i32")


@intrinsic(r"is_explicit_cluster")
def _is_cluster(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return is_in_cluster(body)
