"""PTX's asynchronous copies: they are done at once."""

from __future__ import annotations

from tle_raw.emulation.ptx.function import PtxFunction, UnknownInstruction, instruction
from tle_raw.emulation.ptx.mbarrier import arrive_for_copies
from tle_raw.emulation.ptx.memory import address
from tle_raw.emulation.ptx.parse import InlineStatement
from tle_raw.emulation.ptx.tensor_copies import copy_block

BULK_GRANULE = "16"  # bytes


@instruction("cp")
def _copy(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    """Asynchronous copies are done at once: waiting for them is nothing."""
    if parts[:3] == ["async", "bulk", "prefetch"]:
        return None  # caches are the host's own
    if parts[:3] == ["async", "bulk", "tensor"]:
        return copy_block(f, s)
    if parts[:1] != ["async"] or "reduce" in parts:
        raise UnknownInstruction(s.opcode)
    if parts[1] in ("commit_group", "wait_group", "wait_all") or parts[1:3] in (
        ["bulk", "commit_group"],
        ["bulk", "wait_group"],
    ):
        return None
    if parts[1] == "bulk":
        return _bulk_copy(f, s, parts)
    if parts[1] == "mbarrier":
        return arrive_for_copies(f, s, parts)
    if parts[1] not in ("ca", "cg"):
        raise UnknownInstruction(s.opcode)
    to, source = address(f, s.operands[0], "shared"), address(f, s.operands[1], "global")
    size = f"{f.get(s.operands[2], 'i64')}"
    _check_places(f, to, source, size)
    third = s.operands[3] if len(s.operands) > 3 else ""
    if third and not _is_policy(parts):
        size = _bytes_to_read(f, third, size, to)
    f.body.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")
    return None


def _check_places(f: PtxFunction, to: str, source: str, granule: str) -> None:
    """Both addresses are multiples of the granule, or the region fails, as it does on a GPU."""
    f.body.do(f"call void @tle_team_check_copy(ptr {to}, ptr {source}, i64 {granule}, i32 %site)")


def _is_policy(parts: list[str]) -> bool:
    return "L2::cache_hint" in ".".join(parts)


def _bytes_to_read(f: PtxFunction, operand: str, size: str, to: str) -> str:
    """The fourth operand: so many bytes are read (or, a predicate, none), the rest is zeros."""
    f.body.do(f"call void @llvm.memset.p0.i64(ptr {to}, i8 0, i64 {size}, i1 false)")
    name = operand.lstrip("!")
    if name in f.variables and f.variables[name][1] == "i1":
        return f.body.value(f"select i1 {f.get(operand, 'i1')}, i64 0, i64 {size}")
    wanted = f.body.value(f"zext i32 {f.get(operand, 'i32')} to i64")
    return f.body.call("i64", "llvm.umin.i64", f"i64 {wanted}", f"i64 {size}")


def _bulk_copy(f: PtxFunction, s: InlineStatement, parts: list[str]) -> None:
    spaces = [part.split("::")[0] for part in parts if part.split("::")[0] in ("shared", "global")]
    if len(spaces) != 2 or "multicast" in s.opcode:
        raise UnknownInstruction(s.opcode)
    to, source = address(f, s.operands[0], spaces[0]), address(f, s.operands[1], spaces[1])
    size = f.body.value(f"zext i32 {f.get(s.operands[2], 'i32')} to i64")
    _check_places(f, to, source, BULK_GRANULE)
    f.body.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")
    if "mbarrier::complete_tx::bytes" in s.opcode:
        barrier = address(f, s.operands[3], "shared")
        f.body.do(
            f"call void @tle_team_mbarrier_arrive(ptr {barrier}, i32 0, i64 {f.body.value(f'sub i64 0, {size}')})"
        )
