"""Kernels of flashinfer."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuda_sweep.references import Given, reference

PACKAGE = "flashinfer_python"


@reference(PACKAGE, "PrintTensorStatsKernel")
def _(g: Given) -> Any:
    return {}


@reference(PACKAGE, "cudaD2DcpyConvert", "cast_fp32_to_bf16_kernel")
def _(g: Given) -> Any:
    return {0: g[1]}


@reference(PACKAGE, "quantizedKernel")
def _(g: Given) -> Any:
    return {0: np.clip(np.rint(g[1].astype(np.float32) * np.float32(g[3][0])), -128, 127)}


@reference(PACKAGE, "PersistentVariableLengthAttentionSumKernel")
def _(g: Given) -> Any:
    return {2: g[0]}  # each sum has one term


@reference(PACKAGE, "moe_hash_topk_fused")
def _(g: Given) -> Any:
    p = g[0]
    experts = p["tid2eid"].reshape(g.V, g.K)[p["input_id"]]
    chosen = np.sqrt(np.logaddexp(0, np.take_along_axis(p["router_logits"].reshape(g.T, g.E), experts, 1)))
    shared = np.full((g.T, 1), 1 / 2.5)
    weights = np.concatenate([chosen / chosen.sum(1, keepdims=True), shared], 1)
    return {(0, "topk_ids"): np.concatenate([experts, np.full((g.T, 1), g.E)], 1), (0, "topk_weights"): weights}


@reference(PACKAGE, "AppendPagedKVMlaCacheKernel")
def _(g: Given) -> Any:
    """Pages of 64 tokens; a sequence has P of them, in an order of its own."""
    pages = g[0]["indices"]

    def paged(tokens: np.ndarray, size: int) -> np.ndarray:
        out = np.zeros((g.B * g.P, 64, size))
        for token, row in enumerate(tokens.reshape(-1, size)):
            sequence, place = g[3][token], g[4][token]
            out[pages[sequence * g.P + place // 64], place % 64] = row
        return out

    return {(0, "ckv_data"): paged(g[1], 512), (0, "kpe_data"): paged(g[2], 64)}


@reference(PACKAGE, "BatchQKApplyRotaryKernel")
def _(g: Given) -> Any:
    """Neighbours are turned together; a sequence begins at its own position."""
    positions = (g[5][:, None] + np.arange(g.S)).reshape(-1)
    angle = positions[:, None] * 1e-4 ** (np.arange(64) / 64)
    turns = np.exp(1j * angle)[:, None]

    def turned(x: np.ndarray, heads: int) -> np.ndarray:
        pairs = x.reshape(g.B * g.S, heads, 64, 2)
        z = (pairs[..., 0] + 1j * pairs[..., 1]) * turns
        return np.stack([z.real, z.imag], -1)

    return {2: turned(g[0], g.Q), 3: turned(g[1], g.K)}


@reference(PACKAGE, "SegmentPackBitsKernel")
def _(g: Given) -> Any:
    return {1: np.packbits(g[0].reshape(g.B, g.N).astype(bool), axis=1, bitorder="little")}


@reference(PACKAGE, "histogram")
def _(g: Given) -> Any:
    return {1: np.bincount(g[0], minlength=g.E)}


@reference(PACKAGE, "prefix")
def _(g: Given) -> Any:
    starts = np.concatenate([[0], np.cumsum(g[0])])
    padded = np.concatenate([[0], np.cumsum(-(-g[0] // 128) * 128)[:-1]])
    return {1: starts, 2: starts[:-1], 3: padded, 5: [1, 4, 25]}
