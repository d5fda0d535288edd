"""Block barriers that Triton put before operations which are ordered otherwise.

``flir/nvidia/order_copies.py`` marks such operations, by comments of inline assembly before and behind them. Triton's
barrier stands between the first mark and the operation's own instructions::

    %9 = tail call i32 asm sideeffect "// tle.open", "=r"()
    tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
    tail call void asm sideeffect "@$0 mbarrier.arrive.expect_tx...", "b,r"(i1 %4, i32 %7)
    %10 = tail call i32 asm sideeffect "// tle.close", "=r"()

The marks are removed, and so is the barrier; one anywhere else stays.
"""

from __future__ import annotations

import re

OPEN, CLOSE = "// tle.open", "// tle.close"
_BARRIER = re.compile(r"^\s*(?:tail )?call void @llvm\.nvvm\.barrier(?:0|\.cta\.sync\.aligned\.all)\((?:i32 0)?\)")
# What an instruction between a mark and its barrier may not be: the operation itself, or the end of the block.
_ENDS = re.compile(r"^\s*(?:[\w$.\-]+:|br |ret |switch |store |fence )|\b(?:call|invoke|load|atomicrmw|cmpxchg)\b")


def without_unwanted(text: str) -> tuple[str, int]:
    """LLVM IR without the marks and their barriers; how many barriers there were."""
    kept, found, is_open = [], 0, False
    for line in text.splitlines(keepends=True):
        if f'"{OPEN}"' in line:
            is_open = True
        elif f'"{CLOSE}"' in line:
            is_open = False
        elif is_open and _BARRIER.match(line):
            is_open, found = False, found + 1
        else:
            is_open = is_open and not _ENDS.search(line)
            kept.append(line)
    return "".join(kept), found
