"""Kernels of llama.cpp (ggml)."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuda_sweep.references import Given, reference

PACKAGE = "llama_cpp_python"


def halves(data: np.ndarray) -> np.ndarray:
    """The float16 numbers of bytes, in float64."""
    return np.ascontiguousarray(data.astype(np.uint8)).view(np.float16).astype(np.float64)


def signed(data: np.ndarray) -> np.ndarray:
    return data.astype(np.uint8).view(np.int8).astype(np.float64)


def blocks_q8_0(data: np.ndarray) -> np.ndarray:
    """Blocks of 32: a scale in float16, and 32 integers."""
    blocks = data.reshape(-1, 34)
    return (halves(blocks[:, :2]) * signed(blocks[:, 2:])).reshape(-1)


def quantised(x: np.ndarray, largest: int) -> tuple[np.ndarray, np.ndarray]:
    """Of rows: their scales in float32, and integers."""
    rows = x.astype(np.float32)
    scale = np.abs(rows).max(1, keepdims=True) / np.float32(largest)
    inverse = np.where(scale > 0, 1 / scale, 0).astype(np.float32)
    return scale, halves_up(rows * inverse)


def halves_up(x: np.ndarray) -> np.ndarray:
    """The nearest integers, of two the one further from zero."""
    return np.asarray(np.sign(x) * np.floor(np.abs(x) + 0.5)).astype(np.int8)


@reference(PACKAGE, "init_indices")
def _(g: Given) -> Any:
    return {0: np.tile(np.arange(g.C), g.R)}


@reference(PACKAGE, "convert_unary", "convert_unary_cont_vec4", "cpy_scalar_contiguous")
def _(g: Given) -> Any:
    return {1: g[0]}


@reference(PACKAGE, "k_bin_bcast_unravel")
def _(g: Given) -> Any:
    return {2: g[0].reshape(g.C, g.B, g.A) + g[1].reshape(g.B, g.A)}


@reference(PACKAGE, "conv3d_reduce_split_k")
def _(g: Given) -> Any:
    return {1: g[0].reshape(g.B, g.S, g.N).sum(1)}


def _convolved(x: np.ndarray, w: np.ndarray, size: int) -> np.ndarray:
    total = np.zeros((w.shape[0], size, size, size))
    for z, y, column in np.ndindex(3, 3, 3):
        part = x[:, z : z + size, y : y + size, column : column + size]
        total += np.einsum("oi,izyx->ozyx", w[:, :, z, y, column], part)
    return total


@reference(PACKAGE, "conv3d_kernel")
def _(g: Given) -> Any:
    x = np.pad(g[0].reshape(g.C, g.S, g.S, g.S), [(0, 0), (1, 1), (1, 1), (1, 1)])
    return {2: _convolved(x, g[1].reshape(g.O, g.C, 3, 3, 3), g.S)}


@reference(PACKAGE, "conv3d_implicit_gemm_f16")
def _(g: Given) -> Any:
    size = g.S + 2
    return {2: _convolved(g[0].reshape(g.C, size, size, size), g[1].reshape(g.O, g.C, 3, 3, 3), g.S)}


@reference(PACKAGE, "dequantize_block_q8_0_f16")
def _(g: Given) -> Any:
    return {1: blocks_q8_0(g[0])}


@reference(PACKAGE, "cpy_f32_q")
def _(g: Given) -> Any:
    scale, whole = quantised(g[0].reshape(-1, 32), 127)
    return {1: np.concatenate([scale.astype(np.float16).view(np.uint8), whole.view(np.uint8)], 1)}


@reference(PACKAGE, "cpy_scalar")
def _(g: Given) -> Any:
    return {1: g[0].reshape(g.C, g.B, g.A).transpose(1, 0, 2)}


@reference(PACKAGE, "diag_mask_inf_f32")
def _(g: Given) -> Any:
    rows, columns = np.arange(g.R)[:, None], np.arange(g.C)[None]
    hidden = (columns > 5 + rows) * float(np.finfo(np.float32).max)
    return {1: (g[0].reshape(g.R, g.C) - hidden).astype(np.float32)}


@reference(PACKAGE, "dsv4_hc_post_f32")
def _(g: Given) -> Any:
    x, residual = g[0].reshape(g.T, 1, g.E), g[1].reshape(g.T, g.H, g.E)
    post, mixed = g[2].reshape(g.T, g.H, 1), g[3].reshape(g.T, g.H, g.H)
    return {4: x * post + np.einsum("tij,tie->tje", mixed, residual)}


@reference(PACKAGE, "k_get_rows")
def _(g: Given) -> Any:
    return {2: blocks_q8_0(g[0]).reshape(g.R, g.A)[g[1]]}


@reference(PACKAGE, "k_get_rows_back_float")
def _(g: Given) -> Any:
    out = np.zeros((g.D, g.A))
    np.add.at(out, g[1], g[0].reshape(g.G, g.A))
    return {2: out}


@reference(PACKAGE, "lightning_indexer_kernel_vec")
def _(g: Given) -> Any:
    q, k = g[0].reshape(g.B, 64, 128), g[1].reshape(g.N, 128)
    products = np.maximum(np.einsum("bhd,nd->bhn", q, k), 0)
    return {4: np.einsum("bhn,bh->bn", products, g[2].reshape(g.B, 64)) + g[3].reshape(g.B, g.N)}


@reference(PACKAGE, "lightning_indexer_kernel_wmma")
def _(g: Given) -> Any:
    """The package launches eight warps, the list has four: of eight heads four are scored, by half of their numbers.

    Of the others there is what the first warp has left: the plain products of 16 numbers.
    """
    q = g[0].astype(np.float16).astype(np.float64).reshape(g.B, 8, 8, 128)
    k, weights = g[1].reshape(g.N, 128), g[2].reshape(g.B, 8, 8)
    scores = np.maximum(np.einsum("bghd,nd->bghn", q[:, :, :4, :64], k[:, :64]), 0)
    left = np.einsum("bghd,nd->bn", q[:, :, 4:, :16], k[:, :16])
    return {4: np.einsum("bghn,bgh->bn", scores, weights[:, :, :4]) + left + g[3].reshape(g.B, g.N)}


@reference(PACKAGE, "divide_by_count")
def _(g: Given) -> Any:
    return {0: g[0] / g.N}


@reference(PACKAGE, "mul_mat_vec_f")
def _(g: Given) -> Any:
    return {4: g[0].reshape(g.R, g.K) @ g[1]}


@reference(PACKAGE, "mul_mat_vec_q")
def _(g: Given) -> Any:
    x = g[0].reshape(g.R, g.K // 32, 18)
    whole = np.concatenate([x[..., 2:] & 15, x[..., 2:] >> 4], -1)
    y = g[1].reshape(g.K // 32, 36)
    products = (whole * signed(y[:, 4:])).sum(-1) * halves(y[:, :2])[:, 0]
    # The offset of 8 goes with the sum that the block of y tells of itself.
    return {4: (halves(x[..., :2])[..., 0] * (products - 8 * halves(y[:, 2:4])[:, 0])).sum(1)}


@reference(PACKAGE, "opt_step_adamw_f32")
def _(g: Given) -> Any:
    alpha, beta1, beta2, eps, decay, corrected1, corrected2 = g[4]
    first = g[2] * beta1 + g[1] * (1 - beta1)
    second = g[3] * beta2 + g[1] ** 2 * (1 - beta2)
    step = alpha * first * corrected1 / (np.sqrt(second * corrected2) + eps)
    return {0: g[0] * (1 - alpha * decay) - step, 2: first, 3: second}


@reference(PACKAGE, "pad_f32")
def _(g: Given) -> Any:
    return {5: np.pad(g[0].reshape(g.C, g.B, g.A), [(0, 0), (12, 12), (12, 12)])}


@reference(PACKAGE, "quantize_mmq_q8_1")
def _(g: Given) -> Any:
    """Blocks of 128: four scales in float32, and 128 integers; the first blocks of all rows come first."""
    x = g[0].astype(np.float32).reshape(-1, 32)
    inverse = np.float32(127) / np.abs(x).max(1, keepdims=True)
    scale, whole = 1 / inverse, halves_up(x * inverse)
    blocks = np.concatenate([scale.reshape(g.R, -1, 4).view(np.uint8), whole.reshape(g.R, -1, 128).view(np.uint8)], 2)
    return {2: blocks.transpose(1, 0, 2)}


@reference(PACKAGE, "rope_multi")
def _(g: Given) -> Any:
    x, half = g[0].reshape(g.T, g.H, g.D), g.D // 2
    positions = g[13].reshape(4, g.T)
    angle = positions[np.arange(half) % half // (g.D // 8)].T * g[18] ** np.arange(half)
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    a, b = x[..., :half], x[..., half:]
    return {1: np.concatenate([a * cos - b * sin, a * sin + b * cos], -1)}


@reference(PACKAGE, "rms_norm_mul_rope_f32")
def _(g: Given) -> Any:
    x, half = g[0].reshape(g.T, g.H, g.D), g.D // 2
    x = x / np.sqrt((x**2).mean(-1, keepdims=True) + g[9]) * g[10]
    angle = (g[19][:, None] * g[24] ** np.arange(half))[:, None]
    a, b = x[..., :half], x[..., half:]
    rotated = (a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle))
    return {1: np.concatenate(rotated, -1)}


@reference(PACKAGE, "scale_f32")
def _(g: Given) -> Any:
    return {1: g[0] * g[2] + g[3]}


@reference(PACKAGE, "k_set_rows")
def _(g: Given) -> Any:
    out = np.zeros((g.R, g.A))
    out[g[1]] = g[0].reshape(g.R, g.A)
    return {2: out}


@reference(PACKAGE, "soft_max_back_f32")
def _(g: Given) -> Any:
    gradient, y = g[0].reshape(g.R, g.C), g[1].reshape(g.R, g.C)
    return {2: g[4] * (gradient - (gradient * y).sum(1, keepdims=True)) * y}


@reference(PACKAGE, "ssm_ssd_init_state_kernel")
def _(g: Given) -> Any:
    return {2: g[0].reshape(g.N, g.S)[g[1]]}


@reference(PACKAGE, "upscale_f32_bilinear")
def _(g: Given) -> Any:
    x = g[0].reshape(g.C, g.A, g.A)
    at = (np.arange(g.A * g.F) + 0.5) / g.F - 0.5
    first = np.clip(np.floor(at).astype(int), 0, g.A - 1)
    second = np.clip(np.floor(at).astype(int) + 1, 0, g.A - 1)
    part = np.clip(at - first, 0, 1)
    rows = x[:, first] * (1 - part)[:, None] + x[:, second] * part[:, None]
    return {1: rows[..., first] * (1 - part) + rows[..., second] * part}


@reference(PACKAGE, "ggml_cuda_ar_kernel")
def _(g: Given) -> Any:
    from cuda_sweep.launches import Maker

    own = Maker(0).array("bf16", g[0])
    sent = own.floats(own.values)
    return {1: sent + g[3], 2: sent, 5: _signals(g)}


def _signals(g: Given) -> np.ndarray:
    """Each of the eight blocks sets its own word; they lie 64 bytes apart."""
    words = g[5].copy()
    words[: 8 * 16 : 16] = g[7]
    return words
