"""Warp functions without a mask, as CUDA had them before Volta, get the mask of the lanes that are there.

``llvm.nvvm.shfl.down.f32`` becomes ``llvm.nvvm.shfl.sync.down.f32`` with ``llvm.nvvm.activemask``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tle_raw.linker.llvm.calls import CallInstruction, calls
from tle_raw.linker.llvm.text import Edit, Module
from tle_raw.linker.ptx.unmasked import Unmasked, find_unmasked

_SHUFFLE = re.compile(r"@llvm\.nvvm\.shfl\.(up|down|bfly|idx)\.(i32|f32)")
_VOTE = re.compile(r"@llvm\.nvvm\.vote\.(all|any|uni|ballot)")
_ATTRIBUTES = "convergent nounwind memory(inaccessiblemem: readwrite)"


@dataclass(frozen=True)
class Masked:
    """A function that got its mask; ``location`` is the call's, such as ``!12``."""

    function: Unmasked
    location: str


def add_masks(module: Module) -> tuple[Module, tuple[Masked, ...]]:
    """The module, and what was changed in it. Instructions of inline assembly stay as they are."""
    edits: list[Edit] = []
    masked: list[Masked] = []
    declared: set[str] = set()
    for entity in module.of_kind("define"):
        for call in calls(module, entity, "@llvm.nvvm.shfl.", "@llvm.nvvm.vote."):
            name = _masked_name(call)
            function = find_unmasked(call.callee)
            if name is None or function is None:
                continue
            mask = f"%tle.mask.{len(edits)}"
            types = ", ".join(map(str, call.types))
            declared.add(f"declare {call.result} {name}(i32, {types}) {_ATTRIBUTES}")
            passed = ", ".join(f"{kind} {value}" for kind, value in zip(call.types, call.arguments))
            given = f"{call.assigned} = " if call.assigned else ""
            edits.append(
                Edit(
                    call.start,
                    call.end,
                    f"{mask} = call i32 @llvm.nvvm.activemask(){_dbg(call)}\n"
                    f"  {given}call {call.result} {name}(i32 {mask}, {passed})",
                )
            )
            masked.append(Masked(function, call.location))
    if not edits:
        return module, ()
    known = {entity.name for entity in module.of_kind("declare")}
    declared.add(f"declare i32 @llvm.nvvm.activemask() {_ATTRIBUTES}")
    added = [line for line in sorted(declared) if line.split("@")[1].split("(")[0] not in known]
    end = len(module.text)
    return module.edited([*edits, Edit(end, end, "\n" + "\n".join(added) + "\n")]), tuple(masked)


def _dbg(call: CallInstruction) -> str:
    """Calls in a function with debug information have a place."""
    return f", !dbg {call.location}" if call.location else ""


def _masked_name(call: CallInstruction) -> str | None:
    shuffle = _SHUFFLE.fullmatch(call.callee)
    if shuffle:
        return f"@llvm.nvvm.shfl.sync.{shuffle[1]}.{shuffle[2]}"
    vote = _VOTE.fullmatch(call.callee)
    return f"@llvm.nvvm.vote.{vote[1]}.sync" if vote else None


def describe(masked: Masked) -> str:
    """What is told of it."""
    function = masked.function
    return f"`{function.name}` names no mask: it gets that of the lanes that are there; write `{function.masked}`"
