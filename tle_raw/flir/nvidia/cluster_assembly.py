"""The instructions of what blocks of a cluster and of a grid do with each other, as inline assembly.

Each takes the operands of its function (``tle_raw/regions/clusters.py``) and gives its result.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tle_raw.regions import clusters


class Assembly(NamedTuple):
    """Instructions, the constraints of their result and operands, and whether that is all that they do."""

    text: str
    constraints: str
    pure: bool = False


_NOTHING = "mov.u32 $0, 0;"
_SYNCED = "fence.mbarrier_init.release.cluster; "
# One thread of a warp, whatever the others do meanwhile.
_ONE = ".reg .pred p, q; bar.warp.sync -1; elect.sync _|p, -1;"
_EACH = ".reg .pred p; setp.eq.u32 p, 0, 0;"  # thread of a warp
_ADDRESS = "cvt.u32.u64 {0}, {1};"
_NARROW = ".reg .b32 a; cvt.u32.u64 a, $1;"
ARRIVED, WAITED = "barrier.cluster.arrive.release.aligned;", "barrier.cluster.wait.acquire.aligned;"
# Tells of no memory but the barriers that a fence has told of: it does not wait for all that its threads wrote.
BEGUN = "barrier.cluster.arrive.relaxed.aligned;"
MARK = "// tle.multicast"

# A word in memory that the driver hands to cooperative launches counts the blocks: each adds one, and the first as much
# as is missing for the highest bit to change when all have come.
_GRID = (
    "{ .reg .pred p; .reg .b32 t, x, y, n, old; .reg .b64 w; "
    "mov.u32 t, %tid.x; setp.ne.u32 p, t, 0; @p bra LEAVE; "
    "mov.u32 x, %envreg1; mov.u32 y, %envreg2; mov.b64 w, {y, x}; "
    "mov.u32 x, %nctaid.x; mov.u32 y, %nctaid.y; mul.lo.u32 n, x, y; mov.u32 x, %nctaid.z; mul.lo.u32 n, n, x; "
    "sub.u32 n, 0x80000001, n; "
    "mov.u32 x, %ctaid.x; mov.u32 y, %ctaid.y; or.b32 x, x, y; mov.u32 y, %ctaid.z; or.b32 x, x, y; "
    "setp.eq.u32 p, x, 0; selp.u32 n, n, 1, p; "
    "fence.acq_rel.gpu; atom.relaxed.gpu.global.add.u32 old, [w+4], n; "
    "AGAIN: ld.acquire.gpu.global.u32 x, [w+4]; xor.b32 x, x, old; setp.ge.s32 p, x, 0; @p bra AGAIN; "
    "fence.acq_rel.gpu; LEAVE: bar.warp.sync -1; " + _NOTHING + " }"
)


def assembly_of(
    symbol: str, record: dict[str, Any], *, inits: bool, by_warps: int, by_threads: bool, orders: bool
) -> Assembly:
    """The instructions of one function.

    Parameters
    ----------
    inits : an arrival tells the others of mbarriers that were initialised before, too.
    by_warps : as how many arrivals each warp's counts, where each warp arrives by itself; 0 where one thread does for
        all warps of the block or the partition, which have met.
    by_threads : each thread of such a warp arrives.
    orders : arrivals at other blocks' barriers tell of what threads wrote into other blocks. Where only copies and
        products touch what is handed over, none waits for all that its thread wrote, which takes long.
    """
    if symbol == clusters.RANK:
        return Assembly("mov.u32 $0, %cluster_ctarank;", "=r,r", True)
    if symbol == clusters.ARRIVE:
        return Assembly(f"{_SYNCED if inits else ''}{ARRIVED} {_NOTHING}", "=r,r")
    if symbol == clusters.LEAVE:
        return Assembly(_NOTHING, "=r,r")
    if symbol == clusters.WAIT:
        return Assembly(f"{WAITED} {_NOTHING}", "=r,r")
    if symbol == clusters.MAP:
        text = f"{{ {_NARROW} mapa.shared::cluster.u32 a, a, $2; cvt.u64.u32 $0, a; }}"
        return Assembly(text, "=l,l,r", True)
    if symbol == clusters.GRID_BARRIER:
        return Assembly(_GRID, "=r,r")
    if symbol == clusters.SIGNAL:
        return _signal(record, by_warps, by_threads, orders)
    if symbol == clusters.COPY:
        return _copy(record, orders)
    if symbol == clusters.MEET:
        return _meet(record)
    if symbol == clusters.MULTICAST:
        return Assembly(f"{MARK} $1", "=r,r")
    assert symbol == clusters.ALONE, symbol
    return Assembly(MARK, "=r,r")


def own_address() -> Assembly:
    """An address within a block's shared memory as one among those of the cluster."""
    return Assembly("{ .reg .b32 r; mov.u32 r, %cluster_ctarank; mapa.shared::cluster.u32 $0, $1, r; }", "=r,r", True)


def _one_of(warps: int) -> str:
    """``p`` of one thread of all warps: of so many, which follow each other, one has a number that they divide."""
    if warps == 1:
        return _ONE
    return (
        f"{_ONE} .reg .b32 w; mov.u32 w, %tid.x; shr.u32 w, w, 5; and.b32 w, w, {warps - 1}; "
        "setp.eq.u32 q, w, 0; and.pred p, p, q;"
    )


def _signal(record: dict[str, Any], by_warps: int, by_threads: bool, orders: bool) -> Assembly:
    if by_warps:
        one = _EACH if by_threads else _ONE
    else:
        one = _one_of(record["warps"])
    count = record["count"] * (by_warps or 1)
    order = ".release.cluster" if orders else ""
    arrive = f"@p mbarrier.arrive{order}.shared::cluster.b64 _, [a], {count};"
    return Assembly(f"{{ {one} {_NARROW} {arrive} {_NOTHING} }}", "=r,l")


def _copy(record: dict[str, Any], orders: bool) -> Assembly:
    size, order = record["bytes"], ".release.cluster" if orders else ""
    return Assembly(
        f"{{ {_one_of(record['warps'])} {_NARROW} .reg .b32 s, b; cvt.u32.u64 s, $2; cvt.u32.u64 b, $3; "
        f"@p mbarrier.arrive.expect_tx{order}.shared::cluster.b64 _, [b], {size}; "
        f"@p cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [a], [s], {size}, [b]; "
        f"{_NOTHING} }}",
        "=r,l,l,l",
    )


def _meet(record: dict[str, Any]) -> Assembly:
    """Each block has a barrier at which the blocks of its group arrive. No phase of it ends before this block has come,
    so that the phase that is under way is known: it is the one whose parity has not been completed.
    """
    members: list[int] = record["members"][0]
    arrivals = " ".join(
        f"mapa.shared::cluster.u32 b, a, {rank}; @p mbarrier.arrive.release.cluster.shared::cluster.b64 _, [b];"
        for rank in members
    )
    mask = sum(1 << rank for rank in members)
    return Assembly(
        "{ .reg .pred p, q; .reg .b32 a, b, t; cvt.u32.u64 a, $1; "
        f"mov.u32 t, %cluster_ctarank; shr.u32 t, {mask}, t; and.b32 t, t, 1; setp.eq.u32 p, t, 0; @p bra PASSED; "
        "mbarrier.test_wait.parity.shared::cta.b64 q, [a], 0; selp.u32 t, 1, 0, q; bar.sync 0; "
        f"mov.u32 b, %tid.x; setp.eq.u32 p, b, 0; {arrivals} "
        "AGAIN: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 q, [a], t; @!q bra AGAIN; "
        f"PASSED: bar.warp.sync -1; {_NOTHING} }}",
        "=r,l",
    )
