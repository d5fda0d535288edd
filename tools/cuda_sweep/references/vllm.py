"""Kernels of vLLM that move and count: caches, experts, positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuda_sweep.references import Given, reference

PACKAGE = "vllm"


@reference(PACKAGE, "copy_blocks_kernel")
def _(g: Given) -> Any:
    def copied(blocks: np.ndarray) -> np.ndarray:
        rows = blocks.reshape(2 * g.P, g.N).copy()
        rows[g.P :] = rows[: g.P]
        return rows

    return {(i, layer): copied(g[i][layer]) for i in (0, 1) for layer in range(g.L)}


@reference(PACKAGE, "reshape_and_cache_flash_kernel")
def _(g: Given) -> Any:
    def placed(tokens: np.ndarray, cache: np.ndarray) -> np.ndarray:
        rows = cache.reshape(-1, g.H * g.D).copy()
        rows[g[4]] = tokens.reshape(g.T, -1)
        return rows

    return {2: placed(g[0], g[2]), 3: placed(g[1], g[3])}


@reference(PACKAGE, "causal_conv1d_update_kernel")
def _(g: Given) -> Any:
    return conv_update(g)


def conv_update(g: Given) -> Any:
    """A step of a causal convolution of four, whose last three inputs are kept; with SiLU."""
    p = g[0]
    state = p["conv_state_ptr"].reshape(g.B, g.D, 3)
    window = np.concatenate([state, p["x_ptr"].reshape(g.B, g.D, 1)], 2)
    sums = (window * p["weight_ptr"].reshape(g.D, 4)).sum(2) + p["bias_ptr"]
    return {(0, "out_ptr"): sums / (1 + np.exp(-sums)), (0, "conv_state_ptr"): window[:, :, 1:]}


@reference("causal_conv1d", "causal_conv1d_update_kernel")
def _(g: Given) -> Any:
    return conv_update(g)


@reference("causal_conv1d", "causal_conv1d_fwd_kernel")
def _(g: Given) -> Any:
    p = g[0]
    x = np.pad(p["x_ptr"].reshape(g.B, g.D, g.L), [(0, 0), (0, 0), (3, 0)])
    weights = p["weight_ptr"].reshape(g.D, 4)
    sums = sum(x[..., i : i + g.L] * weights[:, i, None] for i in range(4)) + p["bias_ptr"][:, None]
    return {(0, "out_ptr"): sums / (1 + np.exp(-sums))}


@reference(PACKAGE, "compute_expert_offsets")
def _(g: Given) -> Any:
    counts = np.bincount(g[0], minlength=128)
    return {1: np.concatenate([[0], np.cumsum(-(-counts // 16) * 16)])}


@reference(PACKAGE, "permute_cols_kernel")
def _(g: Given) -> Any:
    return {2: g[0].reshape(g.M, g.K)[:, g[1]]}


def _softmax(x: np.ndarray) -> np.ndarray:
    exponents = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(exponents / exponents.sum(-1, keepdims=True))


@reference(PACKAGE, "moeSoftmax")
def _(g: Given) -> Any:
    return {2: _softmax(g[0].reshape(g.T, g.E))}


def _chosen(scores: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The largest of each row, of equal ones the first; which these are; and where rows stand by columns."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    source = np.arange(count)[None] * len(scores) + np.arange(len(scores))[:, None]
    return np.take_along_axis(scores, best, 1), best, source


@reference(PACKAGE, "moeTopK")
def _(g: Given) -> Any:
    return dict(zip((2, 3, 4), _chosen(g[0].reshape(g.T, g.E), g.K)))


@reference(PACKAGE, "topkGatingSoftmax")
def _(g: Given) -> Any:
    return dict(zip((2, 4, 5), _chosen(_softmax(g[0].reshape(g.T, 64)), g.K)))


@reference(PACKAGE, "moe_align_block_size_kernel")
def _(g: Given) -> Any:
    """Tokens by their experts, each of whose parts begins at a block; one number for the expert of each block."""
    experts, tokens, blocks = g[0], g[1].copy(), g[2].copy()
    counts = -(-np.bincount(experts, minlength=g.E) // g.B) * g.B
    starts = np.concatenate([[0], np.cumsum(counts)])
    for expert in range(g.E):
        own = np.flatnonzero(experts == expert)
        tokens[starts[expert] : starts[expert] + len(own)] = own
        blocks[starts[expert] // g.B : starts[expert + 1] // g.B] = expert
    return {1: tokens, 2: blocks, 3: starts[-1:]}


def _rotated(x: np.ndarray, cache: np.ndarray, heads: int, size: int) -> np.ndarray:
    """By halves: of a token's row in the cache the first half are cosines, the second sines."""
    x, half = x.reshape(len(cache), heads, size), size // 2
    cos, sin = cache[:, None, :half], cache[:, None, half:]
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


@reference(PACKAGE, "rotary_embedding_kernel", "batched_rotary_embedding_kernel")
def _(g: Given) -> Any:
    offsets = g[4] if isinstance(g[4], np.ndarray) else 0
    cache = g[3].reshape(-1, g.D)[g[0] + offsets]
    return {1: _rotated(g[1], cache, g.H, g.D), 2: _rotated(g[2], cache, g.KV, g.D)}


def _advanced(g: Given, first: int, pads: bool) -> Any:
    """The next step of the first Q sequences of N: their tokens, positions, lengths and slots, in blocks of 16."""
    tokens, sampled, positions, lengths, slots, tables = (g[first + i].copy() for i in range(6))
    active = np.arange(g.Q)
    before = lengths[: g.Q].copy()
    tokens[: g.Q], positions[: g.Q], lengths[: g.Q] = sampled[: g.Q], before, before + 1
    slots[: g.Q] = tables.reshape(g.N, g.S)[active, before // 16] * 16 + before % 16
    if pads:
        tokens[g.Q :], positions[g.Q :], slots[g.Q :] = 0, 0, -1
    return {first: tokens, first + 2: positions, first + 3: lengths, first + 4: slots}


@reference(PACKAGE, "advance_step_flashattn_kernel")
def _(g: Given) -> Any:
    return _advanced(g, 3, True)


@reference(PACKAGE, "advance_step_flashinfer_kernel")
def _(g: Given) -> Any:
    before, last, bounds = g[7][: g.Q], g[11].copy(), g[12].copy()
    last[: g.Q], bounds[: g.Q] = before % 16 + 1, before // 16 + 1
    return {**_advanced(g, 4, False), 11: last, 12: bounds}


@reference(PACKAGE, "advance_step_flashinfer_indices_kernel")
def _(g: Given) -> Any:
    tables, indices, starts, counts = g[3].reshape(g.N + 1, g.S), g[5].copy(), g[6].copy(), g[7]
    for row in range(g.Q):
        indices[starts[row] : starts[row] + counts[row]] = tables[row, : counts[row]]
    starts[g.Q + 1 :] = starts[g.Q]
    return {5: indices, 6: starts}
