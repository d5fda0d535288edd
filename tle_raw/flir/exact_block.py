"""Kernels without block tensors: they take the block that their regions were compiled for, whatever its size.

Triton lays tensors out over 1, 2, 4, … warps. Where there is none, nothing of a kernel depends on their number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from tle_raw.flir.check_block import WARP

_MOST = 1024  # threads of a block
_TENSOR = re.compile(r"\btensor<")
_THREADS = re.compile(r'"nvvm\.reqntid"="\d+"')


def exact_block(lines: Iterable[str], blocks: Iterable[tuple[int, ...] | None]) -> int:
    """The threads that the regions want, where no launch of Triton's has as many and the kernel has no tensor; else 0.

    ``lines`` are the kernel's IR, ``blocks`` what each region was written or compiled for: nothing, where any will do.

    A number that Triton can launch is the user's to say, and is held against what the launch says.
    """
    wanted = {math.prod(block) for block in blocks if block}
    if len(wanted) != 1:
        return 0
    (threads,) = wanted
    odd = threads % WARP == 0 and threads <= _MOST and threads & (threads - 1)
    return threads if odd and not any(_TENSOR.search(line) for line in lines) else 0


def with_block(text: str, threads: int) -> str:
    """The kernel's LLVM IR for a launch of so many threads."""
    return _THREADS.sub(f'"nvvm.reqntid"="{threads}"', text)
