"""Latent attention (MLA) in plain Triton, as it is written today: decode, and attention to chosen keys.

The software pipeliner copies the next tiles of keys while one is multiplied. It is what the samples 15 and 16 of
TLE-Struct are measured against, in the best of many configurations.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _weights(s, largest, total, scale):
    """Weights of a tile's scores, the new largest and sum of each row, and what the rows so far shrink by."""
    now = tl.maximum(largest, tl.max(s, 1) * scale)
    weights = tl.math.exp2(s * scale - now[:, None])
    shrink = tl.math.exp2(largest - now)
    return weights, now, total * shrink + tl.sum(weights, 1), shrink


@triton.jit
def _queries(q_ptr, row, is_head, column, WIDTH: tl.constexpr):
    return tl.load(q_ptr + row[:, None] * WIDTH + column[None, :], mask=is_head[:, None], other=0.0)


@triton.jit
def decode(
    q_ptr, kv_ptr, kv_desc, extra_desc, lengths_ptr, o_ptr, heads, keys, scale,
    HEADS: tl.constexpr, KEYS: tl.constexpr, LATENT: tl.constexpr, EXTRA: tl.constexpr, COPIES: tl.constexpr,
):  # fmt: skip
    """q is [batch, heads, LATENT + EXTRA], kv [batch, keys, LATENT + EXTRA]; with COPIES by descriptors."""
    WIDTH: tl.constexpr = LATENT + EXTRA
    block, entry = tl.program_id(0), tl.program_id(1)
    head = block * HEADS + tl.arange(0, HEADS)
    is_head, row = head < heads, entry * heads + head
    q = _queries(q_ptr, row, is_head, tl.arange(0, LATENT), WIDTH)
    q_extra = _queries(q_ptr, row, is_head, LATENT + tl.arange(0, EXTRA), WIDTH)
    kv_ptr += entry.to(tl.int64) * keys * WIDTH
    length = tl.load(lengths_ptr + entry)
    largest, total = tl.full((HEADS,), float("-inf"), tl.float32), tl.zeros((HEADS,), tl.float32)
    acc = tl.zeros((HEADS, LATENT), tl.float32)
    for start in range(0, length, KEYS):
        key = start + tl.arange(0, KEYS)
        if COPIES:
            k, extra = kv_desc.load([entry * keys + start, 0]), extra_desc.load([entry * keys + start, LATENT])
        else:
            at = kv_ptr + tl.minimum(key, keys - 1)[:, None] * WIDTH
            k, extra = tl.load(at + tl.arange(0, LATENT)[None, :]), tl.load(at + LATENT + tl.arange(0, EXTRA)[None, :])
        s = tl.dot(q_extra, extra.T, tl.dot(q, k.T))
        s = tl.where((key < length)[None, :], s, float("-inf"))
        weights, largest, total, shrink = _weights(s, largest, total, scale)
        acc = tl.dot(weights.to(k.dtype), k, acc * shrink[:, None])
    o = acc / total[:, None]
    tl.store(o_ptr + row[:, None] * LATENT + tl.arange(0, LATENT)[None, :], o.to(q.dtype), mask=is_head[:, None])


@triton.jit
def sparse(
    q_ptr, kv_ptr, chosen_ptr, o_ptr, heads, keys, count, scale,
    HEADS: tl.constexpr, KEYS: tl.constexpr, LATENT: tl.constexpr, EXTRA: tl.constexpr,
):  # fmt: skip
    """q is [tokens, heads, LATENT + EXTRA], kv [keys, LATENT + EXTRA], chosen [tokens, count]; -1 is no key."""
    WIDTH: tl.constexpr = LATENT + EXTRA
    block, token = tl.program_id(0), tl.program_id(1)
    head = block * HEADS + tl.arange(0, HEADS)
    is_head, row = head < heads, token * heads + head
    q = _queries(q_ptr, row, is_head, tl.arange(0, LATENT), WIDTH)
    q_extra = _queries(q_ptr, row, is_head, LATENT + tl.arange(0, EXTRA), WIDTH)
    chosen_ptr += token * count
    largest, total = tl.full((HEADS,), -1e30, tl.float32), tl.zeros((HEADS,), tl.float32)
    acc = tl.zeros((HEADS, LATENT), tl.float32)
    for start in range(0, count, KEYS):
        number = start + tl.arange(0, KEYS)
        key = tl.load(chosen_ptr + number, mask=number < count, other=-1)
        is_key = (key >= 0) & (key < keys)
        at = kv_ptr + tl.where(is_key, key, 0).to(tl.int64)[:, None] * WIDTH
        k, extra = tl.load(at + tl.arange(0, LATENT)[None, :]), tl.load(at + LATENT + tl.arange(0, EXTRA)[None, :])
        s = tl.dot(q_extra, extra.T, tl.dot(q, k.T))
        s = tl.where(is_key[None, :], s, float("-inf"))
        weights, largest, total, shrink = _weights(s, largest, total, scale)
        acc = tl.dot(weights.to(k.dtype), k, acc * shrink[:, None])
    o = acc / tl.where(total > 0, total, 1.0)[:, None]
    tl.store(o_ptr + row[:, None] * LATENT + tl.arange(0, LATENT)[None, :], o.to(q.dtype), mask=is_head[:, None])
