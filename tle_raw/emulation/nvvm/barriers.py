"""Barriers of a block and of a cluster, barriers in shared memory, fences, and what else orders threads."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tle_raw.emulation.instructions import FunctionBody, truth
from tle_raw.emulation.nvvm.table import intrinsic


def cluster_barrier(body: FunctionBody, waits: bool) -> None:
    """One half of the cluster's barrier."""
    body.do(f"call void @tle_team_cluster_{'wait' if waits else 'arrive'}(i32 %site)")


def barrier(
    body: FunctionBody, number: str = "0", expected: str = "0", predicate: str = "0", site: str = "%site"
) -> str:
    """Wait for the block; how many predicates were true."""
    return body.call("i32", "tle_team_barrier", *(f"i32 {x}" for x in (number, expected, predicate, site)))


@intrinsic(r"barrier0|barrier(?:\.cta)?\.sync(?:\.aligned)?(?:\.(?:all|count|cnt))?|bar\.sync|barrier(?:\.n)?")
def _barrier(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return barrier(body, *(f"%a{i}" for i in range(len(types))))


@intrinsic(r"barrier\.cta\.arrive(?:\.aligned)?\.count")
def _arrive(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> None:
    body.do("call void @tle_team_arrive(i32 %a0, i32 %a1, i32 %site)")


@intrinsic(r"barrier0\.(popc|and|or)|barrier\.cta\.red\.(popc|and|or)(?:\.aligned)?\.(all|count)")
def _barrier_reduction(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    predicate = f"%a{len(types) - 1}"
    numbers = [f"%a{i}" for i in range(len(types) - 1)] if match[2] else []
    if types[-1] == "i1":
        predicate = body.value(f"zext i1 {predicate} to i32")
    number, expected = (*numbers, "0", "0")[:2]
    count = barrier(body, number, expected, predicate)
    return reduced(body, match[1] or match[2], count, expected, result)


def reduced(body: FunctionBody, operation: str, count: str, expected: str, result: str) -> str:
    """What popc, and, or make of the number of true predicates."""
    if operation == "popc":
        return count
    if operation == "and":
        wanted = expected if expected != "0" else body.call("i32", "tle_team_threads")
        bit = body.value(f"icmp uge i32 {count}, {wanted}")
    else:
        bit = truth(body, count)
    return bit if result == "i1" else body.value(f"zext i1 {bit} to {result}")


@intrinsic(r"(membar\.(cta|gl|sys)|fence\..*)")
def _fence(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> None:
    body.do("fence seq_cst")


@intrinsic(r"barrier\.cluster\..*")
def _cluster_barrier(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> None:
    cluster_barrier(body, "wait" in match[0])


@intrinsic(r"mbarrier\.(init|inval|arrive|arrive\.noComplete|test\.wait)(?:\.shared)?|cp\.async\.mbarrier\.arrive(.*)")
def _counting_barrier(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str | None:
    """A word of the block's own in 64 bits, as in inline PTX (``ptx/mbarrier.py``)."""
    if match[1] == "init":
        body.do("call void @tle_team_mbarrier_init(ptr %a0, i32 %a1)")
    elif match[1] == "test.wait":
        phase = body.value("lshr i64 %a1, 63")
        return truth(body, body.call("i32", "tle_team_mbarrier_test", "ptr %a0", f"i64 {phase}", "i32 %site"))
    elif match[1] != "inval" and (match[1] or "noinc" in match[2]):  # without noinc the arrival is counted on top
        count = "%a1" if len(types) > 1 else "1"
        state = body.call("i64", "tle_team_mbarrier_arrive", "ptr %a0", f"i32 {count}", "i64 0")
        return state if result == "i64" else None
    return None


@intrinsic(r"nanosleep")
def _sleep(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> None:
    body.do("call void @tle_team_spin(ptr null, i32 %site)")


@intrinsic(r"exit")
def _exit(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> None:
    body.do("call void @tle_team_exit()")
