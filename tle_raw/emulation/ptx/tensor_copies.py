"""PTX's copies of blocks by a tensor map (``cp.async.bulk.tensor``): done at once, by ``team/tensor_map.h``."""

from __future__ import annotations

import re

from tle_raw.emulation.ptx.function import PtxFunction, UnknownInstruction
from tle_raw.emulation.ptx.memory import address
from tle_raw.emulation.ptx.parse import InlineStatement

_MOST_AXES = 5
_PLACE = re.compile(r"\[\s*(?P<map>[^\s,\]]+)\s*,\s*\{(?P<places>[^}]*)\}\s*\]")
# Of the opcode, behind the number of axes: a load that a barrier counts, and a store of a group.
_LOADS = ("shared::cluster.global.mbarrier::complete_tx::bytes", "shared::cta.global.mbarrier::complete_tx::bytes")
_STORES = ("global.shared::cta.bulk_group",)


def copy_block(f: PtxFunction, s: InlineStatement) -> None:
    """Copy a block in or out; what waits for it, has waited."""
    match = re.fullmatch(r"cp\.async\.bulk\.tensor\.([1-5])d\.(.*)", s.opcode)
    form = match[2].replace("tile.", "").removesuffix(".L2::cache_hint") if match else ""
    if match is None or form not in (*_LOADS, *_STORES):
        raise UnknownInstruction(s.opcode)
    if form in _STORES:
        tensor, shared = s.operands[0], address(f, s.operands[1], "shared")
        _copy(f, "tle_team_store_box", tensor, shared, int(match[1]))
        return
    shared, tensor = address(f, s.operands[0], "shared"), s.operands[1]
    size = _copy(f, "tle_team_load_box", tensor, shared, int(match[1]))
    barrier = address(f, s.operands[2], "shared")
    come = f.body.value(f"sub i64 0, {size}")
    f.body.do(f"call i64 @tle_team_mbarrier_arrive(ptr {barrier}, i32 0, i64 {come})")


def _copy(f: PtxFunction, function: str, tensor: str, shared: str, rank: int) -> str:
    """The bytes of the block."""
    match = _PLACE.fullmatch(tensor)
    names = [name.strip() for name in match["places"].split(",")] if match else []
    if match is None or len(names) != rank:
        raise UnknownInstruction(tensor)
    map_ = f.body.value(f"inttoptr i64 {f.get(match['map'], 'i64')} to ptr")
    places = [f"i32 {f.get(name, 'i32')}" for name in names] + ["i32 0"] * (_MOST_AXES - rank)
    return f.body.call("i64", function, f"ptr {map_}", f"ptr {shared}", *places, "i32 %site")
