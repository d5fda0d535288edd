"""Kernels of vLLM, exllamav2 and DeepSpeed on quantised numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuda_sweep.references import Given, reference
from cuda_sweep.references.llama import halves, signed

PACKAGE = "vllm"
_NEAREST_OF_4_BITS = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113])


@reference(PACKAGE, "dynamic_scaled_int8_quant_kernel")
def _(g: Given) -> Any:
    x = g[0].reshape(g.T, g.H).astype(np.float32)
    largest = np.abs(x).max(1, keepdims=True)
    return {1: np.rint(x * (np.float32(127) / largest)), 2: largest / 127}


@reference(PACKAGE, "static_scaled_int8_azp_quant_kernel")
def _(g: Given) -> Any:
    scaled = np.rint(g[0].astype(np.float32) / np.float32(g[2][0])) + g[3][0]
    return {1: np.clip(scaled, -128, 127)}


@reference(PACKAGE, "scaled_fp8_quant_kernel")
def _(g: Given) -> Any:
    import torch

    scaled = g[1].astype(np.float32) * (np.float32(1) / np.float32(g[2][0]))
    return {0: torch.from_numpy(np.clip(scaled, -448, 448)).to(torch.float8_e4m3fn).view(torch.uint8).numpy()}


@reference(PACKAGE, "dequantize_block_iq4_xs")
def _(g: Given) -> Any:
    blocks = g[0].reshape(g.N, 136)
    high, low = blocks[:, 2] | blocks[:, 3] << 8, blocks[:, 4:8]
    part = np.arange(8)
    scales = (low[:, part // 2] >> 4 * (part % 2) & 15 | (high[:, None] >> 2 * part & 3) << 4) - 32
    whole = blocks[:, 8:].reshape(g.N, 8, 16)
    values = _NEAREST_OF_4_BITS[np.concatenate([whole & 15, whole >> 4], -1)]
    return {1: halves(blocks[:, :2])[..., None] * scales[..., None] * values}


@reference(PACKAGE, "dequantize_block_iq2_xxs")
def _(g: Given) -> Any:
    """Of 32 numbers four bytes name eight sizes each, in the package's table; then signs, and a scale of four bits."""
    assert g.file is not None
    text = g.file.with_name("ggml-common.h").read_text().partition("iq2xxs_grid[256] = {")[2].partition("}")[0]
    sizes = np.array([int(word, 16) for word in text.replace("\n", " ").split(",") if word.strip()], np.uint64)
    blocks = g[0].reshape(g.N, 66).astype(np.uint8)
    parts = np.ascontiguousarray(blocks[:, 2:]).reshape(g.N, 8, 8)
    rest = np.ascontiguousarray(parts[..., 4:]).view(np.uint32)[..., 0].astype(np.int64)
    signs = rest[..., None] >> 7 * np.arange(4) & 127
    bits = signs[..., None] >> np.arange(7) & 1
    bits = np.concatenate([bits, bits.sum(-1, keepdims=True) % 2], -1)  # an even number of them is negative
    values = sizes[parts[..., :4]][..., None].view(np.uint8).reshape(g.N, 8, 4, 8)
    scale = halves(blocks[:, :2])[..., None, None] * (0.5 + (rest >> 28))[..., None, None] / 4
    return {1: scale * values * (1 - 2 * bits)}


@reference(PACKAGE, "dequantize_block_q2_K")
def _(g: Given) -> Any:
    blocks = g[0].reshape(g.N, 84)
    scales, whole = blocks[:, :16], blocks[:, 16:80].reshape(g.N, 2, 1, 32)
    values = (whole >> 2 * np.arange(4)[:, None] & 3).reshape(g.N, 16, 16)
    both = halves(blocks[:, 80:])
    return {1: both[:, :1, None] * (scales & 15)[..., None] * values - both[:, 1:, None] * (scales >> 4)[..., None]}


def _activations(g: Given) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Blocks of 32: their scale, the sum that they tell of themselves, and integers."""
    y = g[1].reshape(g.C, g.K // 32, 36)
    both = halves(y[..., :4])
    return both[..., 0], both[..., 1], signed(y[..., 4:])


def _products(weights: np.ndarray, g: Given) -> tuple[np.ndarray, np.ndarray]:
    """Of each block the product of its integers, scaled, and the sums of y's blocks; by columns and rows."""
    scale, sums, values = _activations(g)
    return np.einsum("rbi,cbi->crb", weights, values) * scale[:, None], sums[:, None]


@reference(PACKAGE, "mul_mat_q4_0")
def _(g: Given) -> Any:
    x = g[0].reshape(g.R, g.K // 32, 18)
    products, sums = _products(np.concatenate([x[..., 2:] & 15, x[..., 2:] >> 4], -1), g)
    return {2: (halves(x[..., :2])[..., 0] * (products - 8 * sums)).sum(-1)}


@reference(PACKAGE, "mul_mat_q4_1")
def _(g: Given) -> Any:
    x = g[0].reshape(g.R, g.K // 32, 20)
    products, sums = _products(np.concatenate([x[..., 4:] & 15, x[..., 4:] >> 4], -1), g)
    both = halves(x[..., :4])
    return {2: (both[..., 0] * products + both[..., 1] * sums).sum(-1)}


@reference(PACKAGE, "mul_mat_q5_1")
def _(g: Given) -> Any:
    x = g[0].reshape(g.R, g.K // 32, 24)
    fifth = (x[..., 4:8, None] >> np.arange(8) & 1).reshape(*x.shape[:2], 32)
    products, sums = _products(np.concatenate([x[..., 8:] & 15, x[..., 8:] >> 4], -1) | fifth << 4, g)
    both = halves(x[..., :4])
    return {2: (both[..., 0] * products + both[..., 1] * sums).sum(-1)}


def _fields(words: np.ndarray, bits: int) -> np.ndarray:
    """The numbers in words of 32 bits, along a new last axis."""
    return words[..., None] >> np.arange(0, 32, bits) & (1 << bits) - 1


def _gptq_weights(g: Given, words: Any, zeros: Any, scales: Any, bits: int, shuffled: bool) -> np.ndarray:
    """K by N. In shuffled words the even numbers come first; one more than the zero point is subtracted."""
    count = 32 // bits
    whole = _fields(words.reshape(g.K // count, g.N), bits)
    if shuffled:
        order = np.arange(count).reshape(2, count // 2).T.reshape(-1)
        whole = whole[..., order]
    whole = whole.transpose(0, 2, 1).reshape(g.K, g.N)
    offsets = _fields(zeros.reshape(g.G, g.N // count), bits).reshape(g.G, g.N) + 1
    groups = np.arange(g.K) // (g.K // g.G)
    return np.asarray((whole - offsets[groups]) * scales.reshape(g.G, g.N)[groups])


@reference(PACKAGE, "gemm_half_q_half_gptq_2bit_kernel")
def _(g: Given) -> Any:
    return {4: g[0].reshape(g.M, g.K) @ _gptq_weights(g, g[1], g[2], g[3], 2, True)}


@reference(PACKAGE, "gemm_half_q_half_gptq_4bit_kernel")
@reference("exllamav2", "gemm_half_q_half_gptq_kernel")
def _(g: Given) -> Any:
    return {4: g[0].reshape(g.M, g.K) @ _gptq_weights(g, g[1], g[2], g[3], 4, True)}


@reference("exllamav2", "reconstruct_gptq_kernel")
def _(g: Given) -> Any:
    return {8: _gptq_weights(g, g[0], g[2], g[3], 4, True)}


@reference(PACKAGE, "gemm_forward_4bit_cuda_m16nXk32")
def _(g: Given) -> Any:
    """Eight numbers of a word lie in the order 0, 2, 4, 6, 1, 3, 5, 7; each of S parts takes every S-th 32 rows."""
    places = np.argsort([0, 2, 4, 6, 1, 3, 5, 7])

    def unpacked(words: np.ndarray, rows: int) -> np.ndarray:
        return _fields(words.reshape(rows, g.OC // 8) & 0xFFFFFFFF, 4)[..., places].reshape(rows, g.OC)

    groups = np.arange(g.IC) // g.G
    scales, zeros = g[4].reshape(-1, g.OC), unpacked(g[5], g.IC // g.G)
    weights = (unpacked(g[3], g.IC) - zeros[groups]) * scales[groups]
    part = np.arange(g.IC) // 32 % g.S
    x = g[2].reshape(g.M, g.IC)
    return {9: np.stack([x[:, part == s] @ weights[part == s] for s in range(g.S)])}


def _codes(g: Given, codes: Any, book: Any, rows: int) -> np.ndarray:
    """Each code stands for eight numbers; rows from the middle on take the second book."""
    books = book.reshape(2, 65536, 8)
    which = np.arange(rows)[:, None] >= rows // 2
    return np.asarray(books[which.astype(int), codes.reshape(rows, g.K // 8)].reshape(rows, g.K))


@reference(PACKAGE, "Code1x16Dequant")
def _(g: Given) -> Any:
    return {1: _codes(g, g[0], g[2], g.M)}


@reference(PACKAGE, "Code1x16MatVec")
def _(g: Given) -> Any:
    return {2: _codes(g, g[0], g[3], g.M) @ g[1]}


@reference(PACKAGE, "Code2x8MatVec")
def _(g: Given) -> Any:
    """Two codes of a byte, one of each of two books, are added."""
    codes, books = g[0].reshape(g.M, g.K // 8, 2), g[3].reshape(2, 2, 256, 8)[0]
    return {2: (books[0][codes[..., 0]] + books[1][codes[..., 1]]).reshape(g.M, g.K) @ g[1]}


@reference("deepspeed", "apply_selective_dequantization")
def _(g: Given) -> Any:
    """Groups of bytes and a scale. A number takes its sign from the next byte: the package counts a bit too many."""
    blocks = g[0].astype(np.uint8).reshape(g.N, g.G, g.S + 4)[g[2][: g.I]]
    scales = np.ascontiguousarray(blocks[..., g.S :]).view(np.float32).astype(np.float64)
    own = blocks[..., : g.S].reshape(-1, 8).astype(np.uint16)
    sign = np.concatenate([own[:, 1:] & 1, np.zeros((len(own), 1), np.uint16)], 1)
    values = (sign << 15 | (own >> 3) << 10 | (own & 7) << 7).astype(np.uint16).view(np.float16)
    return {1: values.astype(np.float64).reshape(g.I, g.G, g.S) * scales}


@reference("deepspeed", "QUANT_GEMM_Kernel")
def _(g: Given) -> Any:
    """Weights of six bits: two of a number lie in one array and four in the other, in the order of the registers."""
    shape = (g.M // 64, g.K // 64, 4)  # of 64 rows, of 64 columns, of 16 columns of these
    turn, byte = np.arange(8), np.arange(4)
    two = g[0].reshape(*shape, 2, 32)[..., turn // 4, :, None]  # (..., turn, lane, byte)
    four = g[1].reshape(*shape, 4, 32)[..., turn // 2, :, None]
    high = two >> (8 * byte + 6 - 2 * (turn % 4)[:, None, None]) & 3
    codes = high << 4 | four >> (8 * byte + 4 - 4 * (turn % 2)[:, None, None]) & 15
    exponent, fraction = codes >> 2 & 7, codes & 3
    size = np.where(exponent > 0, (4 + fraction) * 2.0 ** (exponent - 5), fraction / 16)
    values = np.where(codes & 32, -size, size)
    lane = np.arange(32)[:, None]
    row = turn[:, None, None] // 2 * 16 + lane // 4 + 8 * (byte % 2 == 0)
    column = turn[:, None, None] % 2 * 8 + lane % 4 * 2 + byte // 2
    weights = np.empty((*shape, 64, 16))
    weights[..., row, column] = values
    weights = weights.transpose(0, 3, 1, 2, 4).reshape(g.M, g.K)
    return {4: g[3].reshape(g.N, g.K) @ (weights * g[2][:, None]).astype(np.float16).astype(np.float64).T}
