"""PTX's barriers in shared memory."""

from __future__ import annotations

from tle_raw.emulation.ptx.function import PtxFunction, UnknownInstruction, instruction
from tle_raw.emulation.ptx.memory import address, space_of
from tle_raw.emulation.ptx.parse import InlineStatement


@instruction("mbarrier")
def _barrier(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    """init, inval, arrive, expect_tx, complete_tx, test_wait and try_wait; a word of the block's own in 64 bits."""
    what, space = parts[0], space_of(parts)
    if what == "init":
        pointer = address(f, s.operands[0], space)
        f.body.do(f"call void @tle_team_mbarrier_init(ptr {pointer}, i32 {f.get(s.operands[1], 'i32')})")
    elif what == "inval":
        pass
    elif what in ("arrive", "arrive_drop"):
        _arrive(f, s, parts, space)
    elif what in ("expect_tx", "complete_tx"):
        pointer, count = address(f, s.operands[0], space), f.get(s.operands[1], "i64")
        _arrive_at(f, "_", pointer, "0", count if what == "expect_tx" else f.body.value(f"sub i64 0, {count}"))
    elif what in ("test_wait", "try_wait"):
        pointer = address(f, s.operands[1], space)
        if "parity" in parts:
            phase = f.body.value(f"zext i32 {f.get(s.operands[2], 'i32')} to i64")
        else:
            phase = f.body.value(f"lshr i64 {f.get(s.operands[2], 'i64')}, 63")
        done = f.body.call("i32", "tle_team_mbarrier_test", f"ptr {pointer}", f"i64 {phase}", "i32 %site")
        f.set(s.operands[0], f.body.value(f"icmp ne i32 {done}, 0"), "i1")
    else:
        raise UnknownInstruction(s.opcode)


def _arrive(f: PtxFunction, s: InlineStatement, parts: list[str], space: str) -> None:
    if parts[0] == "arrive_drop":
        raise UnknownInstruction(s.opcode)
    to, operands = (s.operands[0], s.operands[1:]) if not s.operands[0].startswith("[") else ("_", s.operands)
    pointer, count = address(f, operands[0], space), operands[1] if len(operands) > 1 else "1"
    if "expect_tx" in parts:
        return _arrive_at(f, to, pointer, "1", f.get(count, "i64"))
    return _arrive_at(f, to, pointer, f.get(count, "i32"), "0")


def _arrive_at(f: PtxFunction, to: str, pointer: str, count: str, bytes: str) -> None:
    state = f.body.call("i64", "tle_team_mbarrier_arrive", f"ptr {pointer}", f"i32 {count}", f"i64 {bytes}")
    f.set(to, state, "i64")


def arrive_for_copies(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    """``cp.async.mbarrier.arrive``: the copies are done. Without noinc the arrival is counted on top."""
    if "noinc" in parts:
        _arrive_at(f, "_", address(f, s.operands[0], space_of(parts)), "1", "0")
