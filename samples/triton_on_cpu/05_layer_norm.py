"""Tutorial 05, layer norm: forward, and backward in two steps with partial sums behind locks."""

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
def forward_kernel(x_ptr, out_ptr, weight_ptr, bias_ptr, mean_ptr, rstd_ptr, stride, columns, eps, BLOCK: tl.constexpr):
    """One program is one row, read in blocks: once for the mean, once for the variance, once to normalise."""
    row = tl.program_id(0)
    x_ptr += row * stride
    out_ptr += row * stride
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + column, mask=column < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + column, mask=column < columns, other=0.0).to(tl.float32)
        centred = tl.where(column < columns, x - mean, 0.0)
        squares += centred * centred
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < columns
        weight = tl.load(weight_ptr + column, mask=inside)
        bias = tl.load(bias_ptr + column, mask=inside)
        x = tl.load(x_ptr + column, mask=inside, other=0.0).to(tl.float32)
        tl.store(out_ptr + column, (x - mean) * rstd * weight + bias, mask=inside)


@triton.jit
def backward_dx_kernel(
    dx_ptr, dout_ptr, dweight_ptr, dbias_ptr, x_ptr, weight_ptr, mean_ptr, rstd_ptr, lock_ptr, stride, columns,
    GROUPS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The gradient of one row; its share of the gradients of weight and bias goes into one of GROUPS partial sums.

    ``lock_ptr`` holds a lock for each group, then a flag for each that tells whether its sums were begun.
    """
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    x = tl.load(x_ptr + row * stride + column, mask=inside, other=0.0).to(tl.float32)
    dout = tl.load(dout_ptr + row * stride + column, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + column, mask=inside, other=0.0).to(tl.float32)
    mean = tl.load(mean_ptr + row)
    rstd = tl.load(rstd_ptr + row)
    normal = tl.where(inside, (x - mean) * rstd, 0.0)
    scaled = tl.where(inside, weight * dout, 0.0)
    along_normal = tl.sum(normal * scaled, axis=0) / columns
    along_one = tl.sum(scaled, axis=0) / columns
    dx = (scaled - (normal * along_normal + along_one)) * rstd
    tl.store(dx_ptr + row * stride + column, dx, mask=inside)

    dweight = (dout * normal).to(weight_ptr.dtype.element_ty)
    dbias = dout.to(weight_ptr.dtype.element_ty)
    group = row % GROUPS
    lock = lock_ptr + group
    begun = lock_ptr + GROUPS + group
    dweight_at = dweight_ptr + group * columns + column
    dbias_at = dbias_ptr + group * columns + column
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(begun) == 0:
        tl.atomic_xchg(begun, 1)
    else:
        dweight += tl.load(dweight_at, mask=inside)
        dbias += tl.load(dbias_at, mask=inside)
    tl.store(dweight_at, dweight, mask=inside)
    tl.store(dbias_at, dbias, mask=inside)
    tl.debug_barrier()  # all stores are done before the lock is given back
    tl.atomic_xchg(lock, 0)


@triton.jit
def backward_sums_kernel(
    dweight_ptr, dbias_ptr, out_weight_ptr, out_bias_ptr, groups, columns,
    BLOCK_ROWS: tl.constexpr, BLOCK_COLUMNS: tl.constexpr,
):  # fmt: skip
    """Adds up the partial sums of all groups, for a block of columns."""
    column = tl.program_id(0) * BLOCK_COLUMNS + tl.arange(0, BLOCK_COLUMNS)
    dweight = tl.zeros((BLOCK_ROWS, BLOCK_COLUMNS), tl.float32)
    dbias = tl.zeros((BLOCK_ROWS, BLOCK_COLUMNS), tl.float32)
    for start in range(0, groups, BLOCK_ROWS):
        row = start + tl.arange(0, BLOCK_ROWS)
        inside = (row[:, None] < groups) & (column[None, :] < columns)
        at = row[:, None] * columns + column[None, :]
        dweight += tl.load(dweight_ptr + at, mask=inside, other=0.0)
        dbias += tl.load(dbias_ptr + at, mask=inside, other=0.0)
    tl.store(out_weight_ptr + column, tl.sum(dweight, axis=0), mask=column < columns)
    tl.store(out_bias_ptr + column, tl.sum(dbias, axis=0), mask=column < columns)


def layer_norm(x: Any, weight: Any, bias: Any, eps: float = 1e-5, block: int = 0, out: Any = None):
    """The normalised rows, and the mean and the reciprocal deviation of each row for the way back."""
    rows, columns = x.shape
    out = arrays.empty(x.shape, x) if out is None else out
    mean, rstd = (arrays.empty((rows,), x, "float32") for _ in range(2))
    block = block or min(1024, triton.next_power_of_2(columns))
    stride = arrays.strides(x)[0]
    forward_kernel[(rows,)](x, out, weight, bias, mean, rstd, stride, columns, eps, BLOCK=block)
    return out, mean, rstd


def layer_norm_backward(dout: Any, x: Any, weight: Any, mean: Any, rstd: Any, groups: int = 8):
    """The gradients of x, weight and bias."""
    rows, columns = x.shape
    dx = arrays.empty(x.shape, x)
    locks = arrays.zeros((2 * groups,), x, "int32")
    partial = [arrays.zeros((groups, columns), weight) for _ in range(2)]
    dweight, dbias = (arrays.empty((columns,), weight) for _ in range(2))
    backward_dx_kernel[(rows,)](
        dx, dout, *partial, x, weight, mean, rstd, locks, arrays.strides(x)[0], columns,
        GROUPS=groups, BLOCK=triton.next_power_of_2(columns),
    )  # fmt: skip
    backward_sums_kernel[(triton.cdiv(columns, 64),)](
        *partial, dweight, dbias, min(groups, rows), columns, BLOCK_ROWS=16, BLOCK_COLUMNS=64
    )
    return dx, dweight, dbias


def reference(x: Any, weight: Any, bias: Any, eps: float = 1e-5) -> np.ndarray:
    x, weight, bias = map(arrays.double, (x, weight, bias))
    mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps) * weight + bias


def backward_reference(dout: Any, x: Any, weight: Any, eps: float = 1e-5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    dout, x, weight = map(arrays.double, (dout, x, weight))
    rstd = 1 / np.sqrt(x.var(axis=1, keepdims=True) + eps)
    normal = (x - x.mean(axis=1, keepdims=True)) * rstd
    scaled = dout * weight
    along_normal = (normal * scaled).mean(axis=1, keepdims=True)
    dx = (scaled - normal * along_normal - scaled.mean(axis=1, keepdims=True)) * rstd
    return dx, (dout * normal).sum(axis=0), dout.sum(axis=0)


def check():
    import torch

    for rows, columns in ((1, 7), (63, 512), (151, 1151)):
        x = torch.randn(rows, columns, device=arrays.device()) * 2.3 - 0.5
        weight, bias = (torch.rand(columns, device=arrays.device()) for _ in range(2))
        out, mean, rstd = layer_norm(x, weight, bias)
        yield f"forward {rows} x {columns}", arrays.largest_share(out, reference(x, weight, bias), 1e-5, 1e-5)
        dout = torch.randn_like(x)
        got, want = layer_norm_backward(dout, x, weight, mean, rstd), backward_reference(dout, x, weight)
        for name, g, w in zip(("x", "weight", "bias"), got, want, strict=True):
            yield f"backward {rows} x {columns}, d{name}", arrays.largest_share(g, w, 1e-4, 1e-4)


if __name__ == "__main__":
    sys.exit(arrays.main("05 layer norm", check))
