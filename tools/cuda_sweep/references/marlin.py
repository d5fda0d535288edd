"""Marlin's kernels in vLLM: weights in the order of the registers of tensor cores, and products with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuda_sweep.references import Given, reference

PACKAGE = "vllm"


def _order(bits: int) -> np.ndarray:
    """Which number of four tiles of 16 by 16 stands where: a lane's eight of each, of a word the even ones first."""
    lane = np.arange(32)
    rows = 2 * (lane % 4)[:, None] + [0, 1, 8, 9]
    tile = np.concatenate([16 * rows + (lane // 4 + 8 * half)[:, None] for half in (0, 1)], 1)
    places = (tile[:, None] + 256 * np.arange(4)[:, None]).reshape(-1)
    word = [0, 2, 4, 6, 1, 3, 5, 7] if bits == 4 else [0, 2, 1, 3]
    return np.asarray(places.reshape(-1, len(word))[:, word].reshape(-1))


def _fields(words: np.ndarray, bits: int) -> np.ndarray:
    return (words[..., None] & 0xFFFFFFFF) >> np.arange(0, 32, bits) & (1 << bits) - 1


def _words(numbers: np.ndarray, bits: int) -> np.ndarray:
    parts = numbers.reshape(-1, 32 // bits).astype(np.int64)
    return np.asarray((parts << np.arange(0, 32, bits)).sum(1))


def packed(weights: np.ndarray, bits: int) -> np.ndarray:
    """Integers, K by N, as Marlin's kernels take them."""
    k, n = weights.shape
    tiles = weights.reshape(k // 16, 16, n // 16, 16).transpose(0, 2, 1, 3)
    return _words(tiles.reshape(-1, 1024)[:, _order(bits)], bits)


def unpacked(words: np.ndarray, k: int, n: int, bits: int) -> np.ndarray:
    tiles = np.empty((k * n // 1024, 1024), np.int64)
    tiles[:, _order(bits)] = _fields(words, bits).reshape(-1, 1024)
    return tiles.reshape(k // 16, n // 16, 16, 16).transpose(0, 2, 1, 3).reshape(k, n)


def _scales(scales: np.ndarray, n: int, order: np.ndarray) -> np.ndarray:
    """Rows of scales by the weights' columns."""
    rows = scales.reshape(-1, len(order))
    plain = np.empty_like(rows)
    plain[:, order] = rows
    return plain.reshape(-1, n)


_OF_GROUPS = np.arange(64).reshape(8, 8).T.reshape(-1)
_OF_COLUMNS = (2 * np.arange(4)[:, None] + [0, 1, 8, 9, 16, 17, 24, 25]).reshape(-1)


@reference(PACKAGE, "gptq_marlin_repack_kernel")
def _(g: Given) -> Any:
    """A word holds eight numbers of a column."""
    weights = _fields(g[0].reshape(g.K // 8, g.N), 4).transpose(0, 2, 1).reshape(g.K, g.N)
    return {2: packed(weights, 4)}


@reference(PACKAGE, "awq_marlin_repack_kernel")
def _(g: Given) -> Any:
    """A word holds eight numbers of a row, the even ones first."""
    weights = _fields(g[0].reshape(g.K, g.N // 8), 4)
    return {1: packed(weights[..., [0, 4, 1, 5, 2, 6, 3, 7]].reshape(g.K, g.N), 4)}


def _of_4_bits(g: Given, words: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Weights of -8 to 7 times the scales of 128 rows, in float16."""
    whole = unpacked(words, g.K, g.N, 4) - 8
    factors = np.repeat(_scales(scales, g.N, _OF_GROUPS), 128, axis=0)
    return (whole * factors).astype(np.float16).astype(np.float64)


@reference(PACKAGE, "Marlin")
def _(g: Given) -> Any:
    x = g[0].reshape(g.M, g.K)
    if "G" not in g.sizes:
        return {2: x @ _of_8_bits(unpacked(g[1], g.K, g.N, 8)) * _scales(g[3], g.N, _OF_COLUMNS)}
    return {2: x @ _of_4_bits(g, g[1], g[4]), 3: None}


def _of_8_bits(codes: np.ndarray) -> np.ndarray:
    """A sign, four bits of the exponent, three of the fraction; neither infinities nor NaNs."""
    exponent, fraction = codes >> 3 & 15, codes & 7
    size = np.where(exponent > 0, (8 + fraction) * 2.0 ** (exponent - 10), fraction * 2.0**-9)
    return np.where(codes & 128, -size, size)


@reference(PACKAGE, "MarlinMoE")
def _(g: Given) -> Any:
    """Of each token the choice that is of this expert; other rows stay."""
    out, tokens = g[2].reshape(2 * g.M, g.N).copy(), np.arange(g.M)
    rows = 2 * tokens + tokens % 2
    out[rows] = g[0].reshape(g.M, g.K) @ _of_4_bits(g, g[1], g[5]) * g[4][rows, None]
    return {2: out}
