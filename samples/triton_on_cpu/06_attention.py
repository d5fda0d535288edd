"""Tutorial 06, attention forward: keys and values in blocks, a running softmax, causal or not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import triton
import triton.language as tl

sys.path.insert(0, str(Path(__file__).parent))
import arrays

LOG2_E = 1.4426950408889634


@triton.jit
def attend_to(
    acc, total, largest, q, k_ptr, v_ptr, k_row, v_row, first, last, length, query, scale,
    CAUSAL_EDGE: tl.constexpr, BLOCK_N: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Take the keys from ``first`` to ``last`` into the running result; CAUSAL_EDGE: some of them are in the future."""
    d = tl.arange(0, WIDTH)
    for start in tl.range(first, last, BLOCK_N):
        key = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + key[None, :] * k_row + d[:, None], mask=key[None, :] < length, other=0.0)
        score = tl.dot(q, k, input_precision="ieee") * scale
        seen = key[None, :] < length
        if CAUSAL_EDGE:
            seen = seen & (query[:, None] >= key[None, :])
        score = tl.where(seen, score, -1.0e6)  # not -inf, that a row without any key would make NaN
        larger = tl.maximum(largest, tl.max(score, 1))
        p = tl.where(seen, tl.exp2(score - larger[:, None]), 0.0)
        correction = tl.exp2(largest - larger)
        total = total * correction + tl.sum(p, 1)
        v = tl.load(v_ptr + key[:, None] * v_row + d[None, :], mask=key[:, None] < length, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * correction[:, None], input_precision="ieee")
        largest = larger
    return acc, total, largest


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, scale, heads, length,
    q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, out_batch, out_head, out_row,
    CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """A block of queries of one head of one batch, against all of its keys."""
    first = tl.program_id(0) * BLOCK_M
    batch = (tl.program_id(1) // heads).to(tl.int64)
    head = (tl.program_id(1) % heads).to(tl.int64)
    q_ptr += batch * q_batch + head * q_head
    k_ptr += batch * k_batch + head * k_head
    v_ptr += batch * v_batch + head * v_head
    out_ptr += batch * out_batch + head * out_head
    query, d = first + tl.arange(0, BLOCK_M), tl.arange(0, WIDTH)
    inside = query[:, None] < length
    q = tl.load(q_ptr + query[:, None] * q_row + d[None, :], mask=inside, other=0.0)
    acc = tl.zeros((BLOCK_M, WIDTH), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    largest = tl.full((BLOCK_M,), -1.0e6, tl.float32)
    if CAUSAL:  # first what is all in the past, then the blocks that the diagonal cuts
        past = first // BLOCK_N * BLOCK_N
        acc, total, largest = attend_to(
            acc, total, largest, q, k_ptr, v_ptr, k_row, v_row, 0, past, length, query, scale, False, BLOCK_N, WIDTH
        )
        last = tl.minimum(first + BLOCK_M, length)
        acc, total, largest = attend_to(
            acc, total, largest, q, k_ptr, v_ptr, k_row, v_row, past, last, length, query, scale, True, BLOCK_N, WIDTH
        )
    else:
        acc, total, largest = attend_to(
            acc, total, largest, q, k_ptr, v_ptr, k_row, v_row, 0, length, length, query, scale, False, BLOCK_N, WIDTH
        )
    out = (acc / total[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + query[:, None] * out_row + d[None, :], out, mask=inside)
    tl.store(lse_ptr + tl.program_id(1) * length + query, largest + tl.log2(total), mask=query < length)


def attention(q: Any, k: Any, v: Any, causal: bool, scale: float | None = None, blocks: tuple[int, int] = (64, 32)):
    """Arrays are batch x heads x length x width, width a power of two. Returns the result and each row's log2-sum."""
    batches, heads, length, width = q.shape
    scale = width**-0.5 if scale is None else scale
    out = arrays.empty(q.shape, q)
    lse = arrays.empty((batches, heads, length), q, "float32")
    block_m, block_n = blocks
    grid = (triton.cdiv(length, block_m), batches * heads)
    attention_kernel[grid](
        q, k, v, out, lse, scale * LOG2_E, heads, length,
        *(stride for array in (q, k, v, out) for stride in arrays.strides(array)[:3]),
        CAUSAL=causal, BLOCK_M=block_m, BLOCK_N=block_n, WIDTH=width,
    )  # fmt: skip
    return out, lse


def reference(q: Any, k: Any, v: Any, causal: bool, scale: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    q, k, v = map(arrays.double, (q, k, v))
    score = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        length = score.shape[-1]
        score = np.where(np.tril(np.ones((length, length), bool)), score, -np.inf)
    largest = score.max(axis=-1, keepdims=True)
    power = np.exp(score - largest)
    total = power.sum(axis=-1, keepdims=True)
    return power / total @ v, ((largest + np.log(total)) * LOG2_E)[..., 0]


def check():
    import torch

    for shape, causal in (((1, 2, 64, 32), False), ((2, 3, 100, 64), True), ((1, 1, 257, 16), True)):
        for dtype, allowed in ((torch.float32, 1e-5), (torch.float16, 2e-3)):
            q, k, v = (torch.randn(shape).to(arrays.device(), dtype) for _ in range(3))
            got, want = attention(q, k, v, causal), reference(q, k, v, causal)
            what = f"{'x'.join(map(str, shape))} {dtype}{' causal' * causal}"
            yield what, arrays.largest_share(got[0], want[0], allowed, allowed)
            yield f"{what}, log-sums", arrays.largest_share(got[1], want[1], allowed, allowed)


if __name__ == "__main__":
    sys.exit(arrays.main("06 attention", check))
