"""Gives code its own thread index and block size: those of the shape it was written for, or of Triton's blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tle_raw.linker.llvm.references import global_names
from tle_raw.linker.llvm.text import Edit, apply_edits, read_module

_THREAD, _BLOCK = "llvm.nvvm.read.ptx.sreg.tid.", "llvm.nvvm.read.ptx.sreg.ntid."
_AXES = "xyz"


def reshape_block(llvm_ir: str, block: Sequence[int]) -> str:
    """The same module, in which thread indices are those of a block of this shape.

    Without a shape the block is Triton's: its threads lie along x, and there is one of the other axes.
    """
    module = read_module(llvm_ir)
    names = {f"{kind}{axis}" for kind in (_THREAD, _BLOCK) for axis in (_AXES if block else "yz")}
    edits, used = [], set()
    for entity in module.entities:
        if entity.kind == "declare" and entity.name in names:
            edits.append(Edit(entity.start, entity.end, ""))
        elif entity.kind == "define":
            for name, start, end in global_names(llvm_ir, entity.start, entity.end):
                if name in names:
                    used.add(name)
                    edits.append(Edit(start, end, f"@{_own(name)}"))
    if not edits:
        return llvm_ir
    definitions = [_definition(name, block) for name in sorted(used)]
    needed = f"declare i32 @{_THREAD}x()\n" if block and any(name.startswith(_THREAD) for name in used) else ""
    return apply_edits(llvm_ir, edits) + "\n" + needed + "".join(definitions)


def _own(name: str) -> str:
    return f"tle_raw_{'thread' if name.startswith(_THREAD) else 'block'}_{name[-1]}"


def _definition(name: str, block: Sequence[int]) -> str:
    axis, is_thread = _AXES.index(name[-1]), name.startswith(_THREAD)
    sizes = [*block, 1, 1, 1][:3]
    head = f"define internal i32 @{_own(name)}() alwaysinline {{\n"
    if sizes[axis] == 1 or not is_thread:
        return f"{head}  ret i32 {0 if is_thread else sizes[axis]}\n}}\n"
    before = math.prod(sizes[:axis])
    return (
        f"{head}  %t = call i32 @{_THREAD}x()\n  %q = udiv i32 %t, {before}\n"
        f"  %r = urem i32 %q, {sizes[axis]}\n  ret i32 %r\n}}\n"
    )
