"""PTX's barriers of the block, operations of a warp, branches and ends."""

from __future__ import annotations

from tle_raw.emulation.nvvm import barriers, threads, warps
from tle_raw.emulation.ptx.function import PtxFunction, UnknownInstruction, instruction, value_type
from tle_raw.emulation.ptx.parse import InlineStatement


@instruction("bar", "barrier")
def _barrier(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    parts = [part for part in parts if part not in ("cta", "aligned")]
    what = parts[0] if parts else ""
    if what == "warp":
        warps.warp(f.body, warps.SYNC, f.get(s.operands[0], "i32"))
    elif what == "cluster":
        barriers.cluster_barrier(f.body, "wait" in parts)
    elif what == "sync":
        barriers.barrier(f.body, *(f.get(o, "i32") for o in s.operands))
    elif what == "arrive":
        number, count = (f.get(o, "i32") for o in s.operands)
        f.body.do(f"call void @tle_team_arrive(i32 {number}, i32 {count}, i32 %site)")
    elif what == "red":
        _reduction(f, s, parts)
    else:
        raise UnknownInstruction(s.opcode)


def _reduction(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    to, number, *counts, predicate = s.operands
    expected = f.get(counts[0], "i32") if counts else "0"
    bit = f.body.value(f"zext i1 {f.get(predicate, 'i1')} to i32")
    count = barriers.barrier(f.body, f.get(number, "i32"), expected, bit)
    kind = "i32" if parts[1] == "popc" else "i1"
    f.set(to, barriers.reduced(f.body, parts[1], count, expected, kind), kind)


@instruction("shfl")
def _shuffle(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    if parts[0] != "sync":
        raise UnknownInstruction(s.opcode)
    value, distance, clamp, mask = (f.get(o, "i32") for o in s.operands[1:5])
    both = warps.shuffle(f.body, parts[1], mask, value, distance, clamp)
    to, _, predicate = s.operands[0].partition("|")
    f.set(to, f.body.value(f"trunc i64 {both} to i32"), "i32")
    if predicate:
        high = f.body.value(f"lshr i64 {both}, 32")
        f.set(predicate, f.body.value(f"icmp ne i64 {high}, 0"), "i1")


@instruction("vote", "match", "redux")
def _collective(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    root, kind = s.parts[0], value_type(parts, s)
    if root == "vote":
        operation, mask = warps.VOTES[parts[1]], s.operands[2]
        value = f.body.value(f"zext i1 {f.get(s.operands[1], 'i1')} to i64")
    elif root == "match":
        operation = warps.MATCH_ANY if parts[0] == "any" else warps.MATCH_ALL
        mask, bits = s.operands[2], f"i{kind[1:]}"
        value = f.convert(f.get(s.operands[1], bits), bits, "i64")
    else:
        if kind not in ("s32", "u32", "b32"):
            raise UnknownInstruction(s.opcode)
        name = ("u" if kind == "u32" and parts[1] in ("min", "max") else "") + parts[1]
        operation, mask = warps.REDUCTIONS[name], s.operands[2]
        value = f.body.value(f"zext i32 {f.get(s.operands[1], 'i32')} to i64")
    both = warps.warp(f.body, operation, f.get(mask, "i32"), value)
    to, _, predicate = s.operands[0].partition("|")
    low = f.body.value(f"trunc i64 {both} to i32")
    if kind == "pred":
        return f.set(to, f.body.value(f"icmp ne i32 {low}, 0"), "i1")
    f.set(to, low, "i32")
    if predicate:
        high = f.body.value(f"lshr i64 {both}, 32")
        f.set(predicate, f.body.value(f"icmp ne i64 {high}, 0"), "i1")
    return None


@instruction("activemask")
def _active(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    f.set(s.operands[0], f.body.call("i32", "tle_team_active", "i32 %site"), "i32")


@instruction("elect")
def _elect(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    """The lowest lane of the mask."""
    to, _, predicate = s.operands[0].partition("|")
    mask = f.get(s.operands[1], "i32")
    first = f.body.call("i32", "llvm.cttz.i32", f"i32 {mask}", "i1 false")
    warps.warp(f.body, warps.SYNC, mask)
    f.set(to, first, "i32")
    lane = threads.special_register(f.body, "laneid", "i32")
    f.set(predicate, f.body.value(f"icmp eq i32 {lane}, {first}"), "i1")


@instruction("nanosleep")
def _sleep(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    f.body.do("call void @tle_team_spin(ptr null, i32 %site)")


@instruction("trap", "brkpt")
def _trap(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    f.body.do("call void @tle_team_trap(i32 %site)")


@instruction("exit")
def _exit(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    f.body.do("call void @tle_team_exit()")


@instruction("bra")
def _branch(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    f.body.do(f"br label %{f.block(s.operands[0])}")


@instruction("nop")
def _nothing(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    pass
