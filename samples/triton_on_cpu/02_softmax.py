"""Tutorial 02, softmax of rows: as many programs as asked for, each goes through its share of the rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import triton
import triton.language as tl

sys.path.insert(0, str(Path(__file__).parent))
import arrays


@triton.jit
def softmax_kernel(out_ptr, x_ptr, out_stride, x_stride, rows, columns, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    inside = column < columns
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * x_stride + column, mask=inside, other=-float("inf"))
        power = tl.exp(x - tl.max(x, axis=0))  # the largest exponent is 0: nothing overflows
        tl.store(out_ptr + row * out_stride + column, power / tl.sum(power, axis=0), mask=inside)


def softmax(x: Any, programs: int = 64, out: Any = None) -> Any:
    """``x`` may have any distance between its rows; each row is contiguous."""
    rows, columns = x.shape
    out = arrays.empty(x.shape, x) if out is None else out
    grid = (min(programs, rows),)
    softmax_kernel[grid](
        out, x, arrays.strides(out)[0], arrays.strides(x)[0], rows, columns, BLOCK=triton.next_power_of_2(columns)
    )
    return out


def reference(x: Any) -> np.ndarray:
    x = arrays.double(x)
    power = np.exp(x - x.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True)


def check():
    import torch

    for rows, columns in ((1, 1), (7, 33), (1823, 781), (130, 4096)):
        x = torch.randn(rows, columns, device=arrays.device()) * 4
        yield f"{rows} x {columns}", arrays.largest_share(softmax(x), reference(x), 1e-5, 1e-9)


if __name__ == "__main__":
    sys.exit(arrays.main("02 softmax", check))
