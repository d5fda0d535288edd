"""Address spaces, loads, copies and atomics."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tle_raw.emulation.instructions import FunctionBody, truth
from tle_raw.emulation.nvvm.table import intrinsic


@intrinsic(r"isspacep\.(shared|local|global|const|shared\.cluster)")
def _space(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    if match[1] == "const":
        return "false"
    if match[1] == "shared.cluster":
        return truth(body, body.call("i32", "tle_team_is_of_cluster", "ptr %a0"))
    shared = truth(body, body.call("i32", "tle_team_is_shared", "ptr %a0"))
    local = truth(body, body.call("i32", "tle_team_is_local", "ptr %a0"))
    if match[1] != "global":
        return local if match[1] == "local" else shared
    return body.value(f"xor i1 {body.value(f'or i1 {shared}, {local}')}, true")


@intrinsic(r"ld[gu]\.global\.[ifp]\..*")
def _cached_load(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return body.value(f"load {result}, ptr %a0, align 1")


@intrinsic(r"mapa(?:\.shared\.cluster)?")
def _map_address(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return body.call("ptr", "tle_team_cluster_map", "ptr %a0", "i32 %a1", "i32 %site")


@intrinsic(r"getctarank(?:\.shared\.cluster)?")
def _rank_of_address(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return body.call("i32", "tle_team_cluster_rank_of", "ptr %a0")


@intrinsic(r"ptr\..*")
def _same_pointer(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return "%a0"


@intrinsic(r"cp\.async\.c[ag]\.shared\.global\.(4|8|16)(\.s)?")
def _copy(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> None:
    size = match[1]
    if match[2]:  # so many bytes are read, the rest is zeros
        body.do(f"call void @llvm.memset.p0.i64(ptr %a0, i8 0, i64 {size}, i1 false)")
        size = body.value("zext i32 %a2 to i64")
    body.do(f"call void @llvm.memcpy.p0.p0.i64(ptr %a0, ptr %a1, i64 {size}, i1 false)")


@intrinsic(
    r"cp\.async\.(commit\.group|wait\.group|wait\.all)|discard\..*|prefetch.*|applypriority.*|griddepcontrol\..*"
)
def _no_effect(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> None:
    pass  # copies are done at once, and caches are the host's own


_ATOMICS = {"add": "add", "inc": "uinc_wrap", "dec": "udec_wrap"}


@intrinsic(r"atomic\.load\.(add|inc|dec)\.(f32|f64|32)(?:\..*)?")
def _atomic(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    operation = "fadd" if match[2][0] == "f" else _ATOMICS[match[1]]
    return body.value(f"atomicrmw {operation} ptr %a0, {result} %a1 seq_cst")


_GENERIC_ATOMICS = {"add": "add", "exch": "xchg", "max": "max", "min": "min", "inc": "uinc_wrap", "dec": "udec_wrap"}


@intrinsic(r"atomic\.(add|exch|max|min|inc|dec|and|or|xor|cas)\.gen\.([if])\.(cta|sys)\..*")
def _scoped_atomic(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    if match[1] == "cas":
        pair = body.value(f"cmpxchg ptr %a0, {result} %a1, {result} %a2 seq_cst seq_cst")
        return body.value(f"extractvalue {{ {result}, i1 }} {pair}, 0")
    operation = _GENERIC_ATOMICS.get(match[1], match[1])
    return body.value(f"atomicrmw {'f' * (match[2] == 'f')}{operation} ptr %a0, {result} %a1 seq_cst")
