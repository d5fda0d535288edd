"""Norms of rows, forwards and backwards, of several packages."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuda_sweep.references import Given, reference


def scaled_rows(x: np.ndarray, epsilon: float) -> np.ndarray:
    """Rows over the root of the mean of their squares."""
    return np.asarray(x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon))


def centred_rows(x: np.ndarray, epsilon: float) -> np.ndarray:
    mean = x.mean(-1, keepdims=True)
    return np.asarray((x - mean) / np.sqrt(x.var(-1, keepdims=True) + epsilon))


@reference("vllm", "rms_norm_kernel")
def _(g: Given) -> Any:
    return {0: scaled_rows(g[1].reshape(g.T, g.H), g[3]) * g[2]}


@reference("vllm", "fused_add_rms_norm_kernel")
def _(g: Given) -> Any:
    total = (g[0] + g[1]).astype(np.float16).astype(np.float64).reshape(g.T, g.H)
    return {0: scaled_rows(total, g[3]) * g[2], 1: total}


@reference("exllamav2", "rms_norm_kernel")
def _(g: Given) -> Any:
    return {2: scaled_rows(g[0].reshape(g.R, g.D), g[3]) * g[1]}


@reference("flashinfer_python", "RMSNormKernel")
def _(g: Given) -> Any:
    return {2: scaled_rows(g[0].reshape(g.T, g.D), g[7]) * (g[1] + g[6])}


@reference("deepspeed", "rms_norm")
def _(g: Given) -> Any:
    return {0: scaled_rows(g[1].reshape(g.R, 8), g[3]) * g[2]}


@reference("llama_cpp_python", "norm_f32")
def _(g: Given) -> Any:
    return {1: centred_rows(g[0].reshape(g.R, g.C), 1e-5)}


@reference("llama_cpp_python", "group_norm_f32")
def _(g: Given) -> Any:
    return {1: centred_rows(g[0].reshape(g.N, g.S), 1e-5)}


@reference("flash_attn", "ln_fwd_kernel")
def _(g: Given) -> Any:
    p = g[0]
    x = (p["x0"] + p["residual"]).reshape(g.R, 1024)
    mean, scale = x.mean(1), 1 / np.sqrt(x.var(1) + p["epsilon"])
    z = (x - mean[:, None]) * scale[:, None] * p["gamma"] + p["beta"]
    return {(0, "x"): x, (0, "mu"): mean, (0, "rs"): scale, (0, "z"): z}


@reference("flash_attn", "ln_bwd_kernel")
def _(g: Given) -> Any:
    dx, parts = _backwards(g, ("",))
    return {**parts, (0, "dx0"): dx, (0, "dresidual"): dx}


@reference("flash_attn", "ln_parallel_residual_bwd_kernel")
def _(g: Given) -> Any:
    dx, parts = _backwards(g, ("", "1"))
    return {**parts, (0, "dx0"): dx, (0, "dx1"): dx, (0, "dresidual"): dx}


def _backwards(g: Given, sides: tuple[str, ...]) -> tuple[np.ndarray, dict[Any, np.ndarray]]:
    """The gradient of the rows, added to that of the residual; of gamma and beta G blocks in turn sum four rows."""
    p = g[0]
    y = (p["x"].reshape(g.R, 1024) - p["mu"][:, None]) * p["rs"][:, None]
    given = {side: p[f"dz{side}"].reshape(g.R, 1024) for side in sides}
    dy = sum(given[side] * p[f"gamma{side}"] for side in sides)
    along = (dy * y).mean(1, keepdims=True) * y + dy.mean(1, keepdims=True)
    dx = p["rs"][:, None] * (dy - along) + p["dx"].reshape(g.R, 1024)
    parts, block_of = {}, np.arange(g.R) // 4 % g.G
    for side, dz in given.items():
        for name, terms in (("dbeta", dz), ("dgamma", dz * y)):
            sums = np.stack([terms[block_of == block].sum(0) for block in range(g.G)])
            parts[0, f"{name}{side}_part"] = sums
    return dx, parts


@reference("flash_attn", "ln_bwd_finalize_kernel")
def _(g: Given) -> Any:
    p = g[0]
    return {(0, name): p[f"{name}_part"].reshape(g.G, 1024).sum(0) for name in ("dbeta", "dgamma")}
