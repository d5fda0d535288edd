"""How many blocks of a kernel shall run at a time on a multiprocessor, as ``__launch_bounds__`` of its source says.

A kernel that is one region alone is launched as Triton's own, whose attributes say how many threads a block has and no
more; ptxas then guesses how many registers a thread may have. ``__launch_bounds__(128, 1)`` tells it that one block is
enough: it keeps as many loads under way as registers hold, where the guess was that 16 blocks were to fit. A limit that
the launch gives to a thread's registers says the same, and wins.

Several blocks are told where that leaves a thread few registers, which is what such a bound is for. Where it leaves it
many ptxas takes more than it would have, and fewer blocks run at a time than before: ``__launch_bounds__(128, 3)`` made
a scan of mamba-ssm 1.19 times as slow on an H200 (143 registers in place of 128). What it pays says
samples/benchmarks/RESULTS.md; ``TLE_RAW_DISABLE_PASSES=launch-bounds`` compiles without it.
"""

from __future__ import annotations

import re

_TOLD = re.compile(r'"nvvm\.minctasm"="(\d+)"|!"minctasm", i32 (\d+)')  # by clang 21, and before
_KERNEL = re.compile(r"^define [^\n]*\bptx_kernel\b[^\n]*?(?= #\d+| !dbg| \{$)", re.MULTILINE)
_LIMIT = "nvvm.maxnreg"
_REGISTERS = 65536  # of a multiprocessor
_FEW = 64  # of a thread


def least_blocks(text: str) -> int:
    """How many blocks a fragment's kernels ask for, the fewest where they differ; 0 where none asks."""
    return min((int(new or old) for new, old in _TOLD.findall(text)), default=0)


def with_launch_bounds(text: str, blocks: int, threads: int) -> str:
    """The kernel's module, asking for so many blocks of so many threads; unchanged where its registers are limited, and
    where several such blocks leave a thread many.
    """
    if _LIMIT in text or (blocks > 1 and _REGISTERS // (blocks * threads) > _FEW):
        return text
    return _KERNEL.sub(lambda kernel: f'{kernel[0]} "nvvm.minctasm"="{blocks}"', text)
