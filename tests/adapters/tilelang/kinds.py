"""One case of each kind of kernel that TileLang's own examples hold, of a size that both routes take.

TileLang lays values out over the threads of a block; pieces that are too small for 128 of them it refuses, so that the
tiles here are those of real kernels. Lengths are odd wherever the kernel allows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from samples.benchmarks import tilelang_kernels as large
from tests.adapters.tilelang import kernels, more_kernels

Tensor = torch.Tensor
LINKED_ONLY = ("top_k_selector",)  # written for the threads of a block
TRACED_ONLY = ("ragged_softmax", "ragged_layer_norm")  # TileLang finds no layout for rows of these lengths


@dataclass(frozen=True)
class Case:
    """``expected`` is what some of the arguments hold afterwards; ``most`` bounds the norm of the error, relatively."""

    prim_func: Any
    arguments: tuple[Any, ...]
    expected: dict[int, Tensor]
    most: float
    order: bool = True  # False: a set of places, in no order


def normal(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0, scale: float = 1.0) -> Tensor:
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * scale).to(dtype)


def halves(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    return normal(*shape, dtype=torch.float16, seed=seed, scale=scale)


def integers(low: int, high: int, *shape: int, dtype: torch.dtype = torch.int32, seed: int = 0) -> Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def add() -> Case:
    a, b = normal(333, 130, seed=1), normal(333, 130, seed=2)
    return Case(kernels.add(333, 130), (a, b, torch.zeros_like(a)), {2: a.double() + b.double()}, 1e-7)


def scaled_add() -> Case:
    a, b = normal(3001, seed=1), normal(3001, seed=2)
    return Case(kernels.scaled_add(), (a, b, 0.75), {1: a.double() * 0.75 + b.double()}, 1e-7)


def _gemm(m: int, n: int, k: int, dtype: torch.dtype, out: torch.dtype, most: float, **options: Any) -> Case:
    is_integer = not dtype.is_floating_point
    a, b = (
        integers(-9, 9, *s, dtype=dtype, seed=i) if is_integer else normal(*s, dtype=dtype, seed=i)
        for i, s in enumerate(((m, k), (n, k)))
    )
    names = {"dtype": str(dtype).removeprefix("torch."), "out": str(out).removeprefix("torch.")}
    accumulate = "int32" if is_integer else "float32"
    kernel = kernels.gemm(m, n, k, 64, 64, 64, turn_b=True, accumulate=accumulate, **names, **options)
    return Case(kernel, (a, b, torch.zeros(m, n, dtype=out)), {2: a.double() @ b.double().T}, most)


def gemm() -> Case:
    return _gemm(200, 136, 328, torch.float16, torch.float16, 1e-3)


def gemm_of_bfloat16() -> Case:
    return _gemm(64, 192, 128, torch.bfloat16, torch.bfloat16, 5e-3, stages=3)


def gemm_of_int8() -> Case:
    return _gemm(128, 64, 192, torch.int8, torch.int32, 0.0)


def gemm_of_fp8() -> Case:
    return _gemm(64, 128, 256, torch.float8_e4m3fn, torch.float32, 5e-3)  # tensor cores add few bits


def gemm_with_epilogue() -> Case:
    a, b = normal(128, 64, dtype=torch.bfloat16, seed=1), normal(64, 128, dtype=torch.bfloat16, seed=2)
    bias, c = normal(128, seed=3), torch.zeros(128, 128)
    expected = torch.nn.functional.gelu(a.double() @ b.double() + bias.double())
    return Case(kernels.gemm_with_epilogue(), (a, b, bias, c), {3: expected}, 1e-5)


def gemm_split_k() -> Case:
    a, b = halves(64, 512, seed=1), halves(512, 64, seed=2)
    arguments = (a, b, torch.zeros(64, 64))
    return Case(kernels.gemm_split_k(k=512, bm=64, bn=64), arguments, {2: a.double() @ b.double()}, 1e-5)


def gemm_stream_k() -> Case:
    a, b = halves(128, 256, seed=1), halves(256, 192, seed=2)
    arguments = (a, b, torch.zeros(128, 192))
    kernel = kernels.gemm_stream_k(128, 192, 256, 64, 64, 32, programs=7)
    return Case(kernel, arguments, {2: a.double() @ b.double()}, 1e-5)


def gemm_int4() -> Case:
    m, n, k, group = 100, 136, 256, 32
    a, scales = halves(m, k, seed=1), halves(n, k // group, seed=2)
    packed = integers(0, 256, n, k // 2, dtype=torch.uint8, seed=3)
    nibbles = torch.stack([packed & 15, packed >> 4], dim=-1).reshape(n, k).double() - 8
    weights = (nibbles.half() * scales.repeat_interleave(group, dim=1)).double()
    arguments = (a, packed, scales, torch.zeros(m, n, dtype=torch.float16))
    kernel = kernels.gemm_int4(m, n, k, 64, 64, 64, group)
    return Case(kernel, arguments, {3: a.double() @ weights.T}, 1e-3)


def _attention(rows: int, causal: bool, dtype: torch.dtype = torch.float16) -> Case:
    q, k, v = (normal(2, rows, 2, 64, dtype=dtype, seed=s) for s in (1, 2, 3))
    turned = [x.double().transpose(1, 2) for x in (q, k, v)]
    expected = torch.nn.functional.scaled_dot_product_attention(*turned, is_causal=causal).transpose(1, 2)
    name = str(dtype).removeprefix("torch.")
    kernel = kernels.attention(rows=rows, width=64, bm=64, bn=64, causal=causal, dtype=name)
    return Case(kernel, (q, k, v, torch.zeros_like(q)), {3: expected}, 2e-3 if dtype == torch.float16 else 1e-2)


def attention() -> Case:
    return _attention(200, causal=False)


def causal_attention() -> Case:
    return _attention(200, causal=True)


def causal_attention_of_bfloat16() -> Case:
    return _attention(128, causal=True, dtype=torch.bfloat16)


def sparse_attention() -> Case:
    q, k, v = (halves(256, 64, seed=s) for s in (1, 2, 3))
    mask = integers(0, 2, 4, 4, dtype=torch.int8, seed=4)
    mask[:, 0] = 1
    allowed = mask.bool().repeat_interleave(64, 0).repeat_interleave(64, 1)
    expected = torch.nn.functional.scaled_dot_product_attention(*(x.double() for x in (q, k, v)), attn_mask=allowed)
    arguments = (q, k, v, mask, torch.zeros(256, 64))
    return Case(kernels.sparse_attention(256, 64, 64, 64), arguments, {4: expected}, 2e-3)


def mla_decode() -> Case:
    """Two groups of heads with a cache each, and keys that fill no whole number of blocks."""
    batch, heads, length, groups, dim, extra = 2, 128, 100, 2, 128, 32
    q, q_pe = halves(batch, heads, dim, seed=1), halves(batch, heads, extra, seed=2)
    kv, k_pe = halves(batch, length, groups, dim, seed=3), halves(batch, length, groups, extra, seed=4)
    keys, positions = (x.double().repeat_interleave(heads // groups, 2).transpose(1, 2) for x in (kv, k_pe))
    scores = torch.einsum("bhd,bhld->bhl", q.double(), keys) + torch.einsum("bhd,bhld->bhl", q_pe.double(), positions)
    expected = torch.einsum("bhl,bhld->bhd", (scores * (dim + extra) ** -0.5).softmax(2), keys)
    kernel = large.mla_decode(batch, heads, length, dim, extra, groups)
    return Case(kernel, (q, q_pe, kv, k_pe, torch.zeros_like(q)), {4: expected}, 2e-3)


def _softmax(m: int, n: int, bm: int) -> Case:
    x = normal(m, n, scale=3)
    return Case(kernels.softmax(m, n, bm), (x, torch.zeros_like(x)), {1: x.double().softmax(1)}, 1e-6)


def softmax() -> Case:
    return _softmax(51, 128, 8)


def ragged_softmax() -> Case:
    return _softmax(50, 100, 8)


def online_softmax() -> Case:
    x = halves(20, 300, scale=3)
    return Case(kernels.online_softmax(), (x, torch.zeros(20, 300)), {1: x.double().softmax(1)}, 1e-5)


def rms_norm() -> Case:
    x, w = normal(53, 96, seed=1), normal(96, seed=2)
    expected = x.double() * (x.double().pow(2).mean(1, keepdim=True) + 1e-6).rsqrt() * w.double()
    return Case(kernels.rms_norm(53), (x, w, torch.zeros_like(x)), {2: expected}, 1e-6)


def rms_norm_of_bfloat16() -> Case:
    x, w = normal(9, 256, dtype=torch.bfloat16, seed=1), normal(256, dtype=torch.bfloat16, seed=2)
    expected = x.double() * (x.double().pow(2).mean(1, keepdim=True) + 1e-6).rsqrt() * w.double()
    return Case(kernels.rms_norm(9, 256, 2, "bfloat16"), (x, w, torch.zeros_like(x)), {2: expected}, 5e-3)


def _layer_norm(m: int, n: int, dtype: torch.dtype, most: float) -> Case:
    x, w, b = normal(m, n, dtype=dtype, seed=1), normal(n, seed=2), normal(n, seed=3)
    expected = torch.nn.functional.layer_norm(x.double(), (n,), w.double(), b.double())
    kernel = kernels.layer_norm(n, str(dtype).removeprefix("torch."))
    return Case(kernel, (x, w, b, torch.zeros_like(x)), {3: expected}, most)


def layer_norm() -> Case:
    return _layer_norm(13, 256, torch.float16, 1e-3)


def layer_norm_of_float32() -> Case:
    return _layer_norm(5, 512, torch.float32, 1e-6)


def ragged_layer_norm() -> Case:
    return _layer_norm(13, 200, torch.bfloat16, 5e-3)


def _convolved(x: Tensor, w: Tensor, **options: int) -> Tensor:
    turned = x.double().permute(0, 3, 1, 2), w.double().permute(3, 2, 0, 1)
    return torch.nn.functional.conv2d(*turned, **options).permute(0, 2, 3, 1)


def convolution() -> Case:
    x, w = halves(2, 9, 11, 16, seed=1), halves(3, 3, 16, 32, seed=2)
    expected = _convolved(x, w, padding=1)
    return Case(kernels.convolution(), (x, w, torch.zeros(expected.shape)), {2: expected}, 1e-5)


def convolution_by_im2col() -> Case:
    x, w = halves(2, 9, 11, 64, seed=1), halves(3, 3, 64, 64, seed=2)
    expected = _convolved(x, w, padding=1, stride=2)
    kernel = kernels.convolution_by_im2col(channels=64, filters=64, bm=64, bn=64, bk=64)
    return Case(kernel, (x, w, torch.zeros(expected.shape)), {2: expected}, 1e-5)


def top_k() -> Case:
    x = normal(21, 64)
    best = x.topk(4)
    arguments = (x, torch.zeros(21, 4), torch.zeros(21, 4, dtype=torch.int32))
    return Case(kernels.top_k(21), arguments, {1: best.values.double(), 2: best.indices.double()}, 0.0)


def top_k_selector() -> Case:
    x = normal(3, 5001)
    places = torch.zeros(3, 65, dtype=torch.int32)
    expected = x.topk(65).indices.sort(1).values.double()
    return Case(more_kernels.top_k_selector(3, 5001, 65), (x, places), {1: expected}, 0.0, order=False)


def linear_attention() -> Case:
    q, k, v = (halves(256, 64, seed=s, scale=0.3) for s in (1, 2, 3))
    expected = (q.double() @ k.double().T).tril() @ v.double()
    return Case(kernels.linear_attention(256, 64, 64), (q, k, v, torch.zeros(256, 64)), {3: expected}, 2e-3)


def selective_scan() -> Case:
    a, b = normal(50, 48, seed=1, scale=0.5), normal(50, 48, seed=2)
    states = [torch.zeros(48, dtype=torch.float64)]
    for row in range(50):
        states.append(a[row].double() * states[-1] + b[row].double())
    return Case(kernels.selective_scan(), (a, b, torch.zeros(50, 48)), {2: torch.stack(states[1:])}, 1e-6)


def mamba_chunk_scan() -> Case:
    rows, heads, width, states, chunk = 256, 3, 64, 64, 64
    x = halves(rows, heads, width, seed=1)
    b, c = halves(rows, states, seed=2, scale=0.2), halves(rows, states, seed=3, scale=0.2)
    dt, a = normal(heads, rows, seed=4).sigmoid(), -normal(heads, rows, seed=5).sigmoid() / 8
    sums = a.reshape(heads, -1, chunk).cumsum(2).reshape(heads, rows)
    state, expected = torch.zeros(heads, states, width, dtype=torch.float64), []
    for row in range(rows):
        step = dt[:, row, None, None].double() * b[row].double()[None, :, None] * x[row].double()[:, None, :]
        state = a[:, row, None, None].double().exp() * state + step
        expected.append(torch.einsum("s,hsw->hw", c[row].double(), state))
    arguments = (x, dt, sums, b, c, torch.zeros(rows, heads, width))
    return Case(
        more_kernels.mamba_chunk_scan(rows, heads, width, states, chunk), arguments, {5: torch.stack(expected)}, 2e-3
    )


def histogram() -> Case:
    x = integers(0, 16, 1001)
    counts = torch.bincount(x, minlength=16).double()
    arguments = (x, torch.zeros(16, dtype=torch.int32), torch.zeros(1))
    return Case(kernels.histogram(1001), arguments, {1: counts, 2: x.double().sum()[None]}, 0.0)


KINDS: dict[str, Callable[[], Case]] = {
    make.__name__: make
    for make in (
        add, scaled_add, gemm, gemm_of_bfloat16, gemm_of_int8, gemm_of_fp8, gemm_with_epilogue, gemm_split_k,
        gemm_stream_k, gemm_int4, attention, causal_attention, causal_attention_of_bfloat16, sparse_attention,
        mla_decode, softmax, ragged_softmax, online_softmax, rms_norm, rms_norm_of_bfloat16, layer_norm,
        layer_norm_of_float32, ragged_layer_norm, convolution, convolution_by_im2col, top_k, top_k_selector,
        linear_attention, selective_scan, mamba_chunk_scan, histogram,
    )
}  # fmt: skip
ROUTES = [
    (kind, route)
    for kind in KINDS
    for route, other in (("traced", LINKED_ONLY), ("linked", TRACED_ONLY))
    if kind not in other
]


def differences(case: Case, arguments: tuple[Any, ...]) -> list[str]:
    """What is wrong in the arguments after a run; nothing is good."""
    found = []
    for number, expected in case.expected.items():
        got = arguments[number].cpu().double()
        got = got if case.order else got.sort(1).values
        error = ((got - expected).norm() / expected.norm()).item()
        if not error <= case.most:
            found.append(f"argument {number}: relative error {error:.3g}, at most {case.most:.3g} is right")
    return found
