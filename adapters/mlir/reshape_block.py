"""Gives code that was written for a block of two or three dimensions its own thread index and block size."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tle_raw.linker.llvm_text import Edit, apply_edits, read_module
from tle_raw.linker.references import global_names

_THREAD, _BLOCK = "llvm.nvvm.read.ptx.sreg.tid.", "llvm.nvvm.read.ptx.sreg.ntid."
_AXES = "xyz"


def reshape_block(llvm_ir: str, block: Sequence[int]) -> str:
    """The same module, in which thread indices are those of a block of this shape; Triton's blocks have one axis."""
    if not block:
        return llvm_ir
    sizes = [*block, 1, 1][:3]
    module = read_module(llvm_ir)
    edits, used = [], set()
    for entity in module.entities:
        if entity.kind == "declare" and entity.name.startswith((_THREAD, _BLOCK)):
            edits.append(Edit(entity.start, entity.end, ""))
        elif entity.kind == "define":
            for name, start, end in global_names(llvm_ir, entity.start, entity.end):
                if name.startswith((_THREAD, _BLOCK)):
                    used.add(name)
                    edits.append(Edit(start, end, f"@{_own(name)}"))
    if not edits:
        return llvm_ir
    definitions = [_definition(name, sizes) for name in sorted(used)]
    needed = f"declare i32 @{_THREAD}x()\n" if any(name.startswith(_THREAD) for name in used) else ""
    return apply_edits(llvm_ir, edits) + "\n" + needed + "".join(definitions)


def _own(name: str) -> str:
    return f"tle_raw_{'thread' if name.startswith(_THREAD) else 'block'}_{name[-1]}"


def _definition(name: str, sizes: Sequence[int]) -> str:
    axis = _AXES.index(name[-1])
    head = f"define internal i32 @{_own(name)}() alwaysinline {{\n"
    if name.startswith(_BLOCK):
        return f"{head}  ret i32 {sizes[axis]}\n}}\n"
    before = math.prod(sizes[:axis])
    return (
        f"{head}  %t = call i32 @{_THREAD}x()\n  %q = udiv i32 %t, {before}\n"
        f"  %r = urem i32 %q, {sizes[axis]}\n  ret i32 %r\n}}\n"
    )
