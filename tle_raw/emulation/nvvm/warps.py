"""What the lanes of a warp do together."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tle_raw.emulation.instructions import FunctionBody, truth
from tle_raw.emulation.nvvm.table import intrinsic

# Operations of a warp, by their numbers in team/warp.h.
SYNC, UP, DOWN, XOR, INDEX, ALL, ANY, EQUAL, BALLOT, MATCH_ANY, MATCH_ALL = range(11)
SHUFFLES = {"up": UP, "down": DOWN, "bfly": XOR, "idx": INDEX}
VOTES = {"all": ALL, "any": ANY, "uni": EQUAL, "ballot": BALLOT}
REDUCTIONS = {"add": 11, "min": 12, "max": 13, "umin": 14, "umax": 15, "and": 16, "or": 17, "xor": 18}


def warp(
    body: FunctionBody, operation: int, mask: str, value: str = "0", argument: str = "0", site: str = "%site"
) -> str:
    """One operation of the lanes in ``mask``; i64: the value in the low half, the predicate in bit 32."""
    return body.call(
        "i64", "tle_team_warp", f"i32 {mask}", f"i32 {operation}", f"i64 {value}", f"i32 {argument}", f"i32 {site}"
    )


@intrinsic(r"bar\.warp\.sync")
def _warp_sync(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> None:
    warp(body, SYNC, "%a0")


def shuffle(
    body: FunctionBody, mode: str, mask: str, value: str, distance: str, clamp: str, site: str = "%site"
) -> str:
    wide = body.value(f"zext i32 {value} to i64")
    low = body.value(f"and i32 {distance}, 65535")
    argument = body.value(f"or i32 {low}, {body.value(f'shl i32 {clamp}, 16')}")
    return warp(body, SHUFFLES[mode], mask, wide, argument, site)


@intrinsic(r"shfl\.sync\.(up|down|bfly|idx)\.(i32|f32)(p?)")
def _shuffle(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    value = "%a1" if match[2] == "i32" else body.value("bitcast float %a1 to i32")
    both = shuffle(body, match[1], "%a0", value, "%a2", "%a3")
    low = body.value(f"trunc i64 {both} to i32")
    if match[2] == "f32":
        low = body.value(f"bitcast i32 {low} to float")
    return with_predicate(body, low, both, result) if match[3] else low


def with_predicate(body: FunctionBody, value: str, both: str, result: str) -> str:
    """``{ value, i1 }`` of what a warp operation gave."""
    bit = truth(body, body.value(f"lshr i64 {both}, 32"), "i64")
    kind = result.strip("{ }").split(",")[0]
    first = body.value(f"insertvalue {result} poison, {kind} {value}, 0")
    return body.value(f"insertvalue {result} {first}, i1 {bit}, 1")


@intrinsic(r"vote\.(all|any|uni|ballot)\.sync")
def _vote(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    both = warp(body, VOTES[match[1]], "%a0", body.value("zext i1 %a1 to i64"))
    low = body.value(f"trunc i64 {both} to i32")
    return low if result == "i32" else truth(body, low)


@intrinsic(r"match\.(any|all)\.sync\.(i32|i64)(p?)")
def _match(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    value = "%a1" if match[2] == "i64" else body.value("zext i32 %a1 to i64")
    both = warp(body, MATCH_ANY if match[1] == "any" else MATCH_ALL, "%a0", value)
    low = body.value(f"trunc i64 {both} to i32")
    return with_predicate(body, low, both, result) if match[3] else low


@intrinsic(r"redux\.sync\.(add|umin|umax|min|max|and|or|xor)")
def _reduce(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    both = warp(body, REDUCTIONS[match[1]], "%a1", body.value("zext i32 %a0 to i64"))
    return body.value(f"trunc i64 {both} to i32")


@intrinsic(r"activemask")
def _active(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return body.call("i32", "tle_team_active", "i32 %site")
