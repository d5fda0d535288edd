"""Tutorial 01, vector add: one program for each block, the last one masked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import triton
import triton.language as tl

sys.path.insert(0, str(Path(__file__).parent))
import arrays


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < n
    x = tl.load(x_ptr + index, mask=inside)
    y = tl.load(y_ptr + index, mask=inside)
    tl.store(out_ptr + index, x + y, mask=inside)


def add(x: Any, y: Any, block: int = 1024, out: Any = None) -> Any:
    out = arrays.empty(x.shape, x) if out is None else out
    n = x.shape[0]
    add_kernel[(triton.cdiv(n, block),)](x, y, out, n, BLOCK=block)
    return out


def check():
    import torch

    for n in (1, 1023, 98_432, 1_000_003):
        x, y = (torch.randn(n, device=arrays.device()) for _ in range(2))
        want = arrays.double(x) + arrays.double(y)
        yield f"n = {n}", arrays.largest_share(add(x, y), want, 2**-24, 2**-149)


if __name__ == "__main__":
    sys.exit(arrays.main("01 vector add", check))
