"""Block barriers that Triton put before operations which are ordered otherwise.

``flir/nvidia/order_copies.py`` marks such operations, by comments of inline assembly before and behind them. Triton's
barrier stands between the first mark and the operation's own instructions::

    %9 = tail call i32 asm sideeffect "// tle.open", "=r"()
    tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
    tail call void asm sideeffect "@$0 mbarrier.arrive.expect_tx...", "b,r"(i1 %4, i32 %7)
    %10 = tail call i32 asm sideeffect "// tle.close", "=r"()

The marks are removed, and so is the barrier; one anywhere else stays. Where the first mark says so, one behind the
operation's instructions goes too: Triton 3.9 puts one behind the wait for the products of several warpgroups.
"""

from __future__ import annotations

import re

OPEN, OPEN_WIDE, CLOSE = "// tle.open", "// tle.open wide", "// tle.close"
_ANY = "// tle."
# Of the block, or of a partition of its warps.
_NAMES = (
    *(r"barrier0\(", r"barrier\.cta\.sync\.aligned\.all\(i32 0"),
    *(r"barrier\.cta\.sync\.aligned\.count\(i32 \d+, i32 \d+", r"bar\.warp\.sync\(i32 -1"),
)
_CALL = "@llvm.nvvm.bar"  # a part of it, which most lines do not have
_BARRIER = re.compile(rf"^\s*(?:tail )?call void @llvm\.nvvm\.(?:{'|'.join(_NAMES)})\)")
_MARK = re.compile(rf'asm sideeffect "({OPEN_WIDE}|{OPEN}|{CLOSE})"')
# The end of a block, and what only an operation's own instructions can be.
_LEAVES = re.compile(r"^\s*(?:[\w$.\-]+:|br |ret |switch |unreachable)")
_BEGINS = re.compile(r"^\s*(?:store|fence) |\b(?:call|invoke|load|atomicrmw|cmpxchg)\b")


def without_unwanted(text: str) -> tuple[str, int]:
    """LLVM IR without the marks and their barriers; how many marks there were."""
    kept, found, end = list[str](), 0, 0
    while (place := text.find(_ANY, end)) >= 0:
        begin = text.rfind("\n", 0, place) + 1
        kept.append(text[end:begin])
        end, opened, is_first = begin, "", True
        while opened or is_first:  # line by line from a mark on
            begin, end, is_first = end, text.find("\n", end) + 1 or len(text), False
            line = text[begin:end]
            if _ANY in line and (mark := _MARK.search(line)):
                opened, found = "" if mark[1] == CLOSE else mark[1], found + 1
            elif not (opened and _CALL in line and _BARRIER.match(line)):
                if not line or _LEAVES.match(line) or (opened == OPEN and _BEGINS.search(line)):
                    opened = ""
                kept.append(line)
    return "".join((*kept, text[end:])), found
