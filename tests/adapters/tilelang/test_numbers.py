"""Kernels of all kinds, traced: their numbers on the CPU against float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tle_raw
from tests.adapters.tilelang import kernels

pytestmark = [pytest.mark.usefixtures("on_cpu"), pytest.mark.every_triton(1)]

UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "int32": 0.0}


def random(*shape: int, dtype: str = "float32", seed: int = 0, scale: float = 1.0) -> Any:
    made = torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * scale
    return made.to(getattr(torch, dtype))


def integers(low: int, high: int, *shape: int, dtype: str = "int32", seed: int = 0) -> Any:
    made = torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))
    return made.to(getattr(torch, dtype))


def run(prim_func: Any, *arguments: Any) -> None:
    tle_raw.fragment(prim_func).as_kernel()(*arguments)


def agree(got: Any, expected: Any, tolerance: float) -> None:
    """Largest difference against the largest expected number."""
    expected = torch.as_tensor(expected).double()
    assert torch.isfinite(got.double()).all()
    assert (got.double() - expected).abs().max() <= tolerance * max(float(expected.abs().max()), 1e-30)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (100, 70), (64, 128), (33, 129)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32"])
def test_elementwise(m, n, dtype):
    make = integers if dtype == "int32" else lambda low, high, *s, **k: random(*s, **k)
    a, b = make(-99, 99, m, n, dtype=dtype, seed=1), make(-99, 99, m, n, dtype=dtype, seed=2)
    c = torch.zeros_like(a)
    run(kernels.add(m, n, dtype=dtype), a, b, c)
    assert torch.equal(c, a + b)


@pytest.mark.parametrize("n", [1, 255, 256, 3001])
def test_dynamic_sizes_come_from_the_arrays(n):
    a, b = random(n, seed=1), random(n, seed=2)
    expected = a.double() * 0.75 + b.double()
    run(kernels.scaled_add(), a, b, 0.75)
    agree(b, expected, 1e-6)


@pytest.mark.parametrize("turn_a", [False, True])
@pytest.mark.parametrize("turn_b", [False, True])
@pytest.mark.parametrize(("m", "n", "k"), [(128, 128, 128), (100, 70, 90), (1, 5, 33)])
def test_gemm(m, n, k, turn_a, turn_b):
    a = random(*((k, m) if turn_a else (m, k)), dtype="float16", seed=1)
    b = random(*((n, k) if turn_b else (k, n)), dtype="float16", seed=2)
    c = torch.zeros(m, n, dtype=torch.float16)
    run(kernels.gemm(m, n, k, turn_a=turn_a, turn_b=turn_b), a, b, c)
    expected = (a.T if turn_a else a).double() @ (b.T if turn_b else b).double()
    agree(c, expected, 2 * UNIT["float16"])


@pytest.mark.parametrize(
    ("dtype", "accumulate", "out", "tolerance"),
    [
        ("bfloat16", "float32", "bfloat16", 2 * 2.0**-8),
        ("float32", "float32", "float32", 1e-6),
        ("float16", "float16", "float16", 2.0**-7),
        ("int8", "int32", "int32", 0),
        ("float8_e4m3fn", "float32", "float32", 1e-6),
        ("float8_e5m2", "float32", "float16", 2.0**-10),
    ],
)
def test_gemm_of_every_dtype(dtype, accumulate, out, tolerance):
    if dtype == "int8":
        a, b = integers(-9, 9, 64, 96, dtype=dtype, seed=1), integers(-9, 9, 96, 64, dtype=dtype, seed=2)
    else:
        a, b = random(64, 96, dtype=dtype, seed=1), random(96, 64, dtype=dtype, seed=2)
    c = torch.zeros(64, 64, dtype=getattr(torch, out))
    run(kernels.gemm(64, 64, 96, dtype=dtype, accumulate=accumulate, out=out), a, b, c)
    agree(c, a.double() @ b.double(), tolerance)


def test_a_depth_that_is_no_power_of_two_adds_nothing():
    a, b = random(64, 72, dtype="float16", seed=1), random(72, 64, dtype="float16", seed=2)
    c = torch.zeros(64, 64, dtype=torch.float32)
    run(kernels.gemm(64, 64, 72, bm=24, bn=40, bk=24, out="float32"), a, b, c)
    agree(c, a.double() @ b.double(), 1e-6)


def test_a_depth_below_the_tensor_cores_own_is_joined_with_zeros():
    a, b = random(32, 24, dtype="float16", seed=1), random(24, 32, dtype="float16", seed=2)
    c = torch.zeros(32, 32, dtype=torch.float32)
    run(kernels.gemm(32, 32, 24, bm=32, bn=32, bk=8, out="float32"), a, b, c)
    agree(c, a.double() @ b.double(), 1e-6)


def test_gemm_with_epilogue():
    a, b = random(128, 64, dtype="bfloat16", seed=1), random(64, 128, dtype="bfloat16", seed=2)
    bias, c = random(128, seed=3), torch.zeros(128, 128)
    run(kernels.gemm_with_epilogue(), a, b, bias, c)
    agree(c, torch.nn.functional.gelu(a.double() @ b.double() + bias.double()), 1e-6)


@pytest.mark.parametrize("make", [kernels.gemm_split_k, kernels.gemm_stream_k])
def test_gemm_whose_programs_share_a_result(make):
    m, n, k = (64, 64, 256) if make is kernels.gemm_split_k else (64, 96, 128)
    a, b = random(m, k, dtype="float16", seed=1), random(k, n, dtype="float16", seed=2)
    c = torch.zeros(m, n)
    run(make(), a, b, c)
    agree(c, a.double() @ b.double(), 1e-6)


def test_gemm_of_four_bit_weights():
    m, n, k, group = 64, 64, 128, 32
    a, scales = random(m, k, dtype="float16", seed=1), random(n, k // group, dtype="float16", seed=2)
    packed = integers(0, 256, n, k // 2, dtype="uint8", seed=3)
    c = torch.zeros(m, n, dtype=torch.float16)
    run(kernels.gemm_int4(m, n, k, group=group), a, packed, scales, c)
    nibbles = torch.stack([packed & 15, packed >> 4], dim=-1).reshape(n, k).double() - 8
    weights = (nibbles.half() * scales.repeat_interleave(group, dim=1)).double()
    agree(c, a.double() @ weights.T, 2 * UNIT["float16"])


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("rows", [96, 64, 80])
def test_attention(causal, rows):
    shape = (2, rows, 2, 32)
    q, k, v = (random(*shape, dtype="float16", seed=s) for s in (1, 2, 3))
    out = torch.zeros(shape, dtype=torch.float16)
    run(kernels.attention(rows=rows, causal=causal), q, k, v, out)
    turned = [x.double().transpose(1, 2) for x in (q, k, v)]
    expected = torch.nn.functional.scaled_dot_product_attention(*turned, is_causal=causal).transpose(1, 2)
    agree(out, expected, 2.0**-9)


def test_attention_that_leaves_blocks_out():
    q, k, v = (random(128, 32, dtype="float16", seed=s) for s in (1, 2, 3))
    mask = integers(0, 2, 4, 4, dtype="int8", seed=4)
    mask[:, 0] = 1
    out = torch.zeros(128, 32)
    run(kernels.sparse_attention(), q, k, v, mask, out)
    allowed = mask.bool().repeat_interleave(32, 0).repeat_interleave(32, 1)
    double = [x.double() for x in (q, k, v)]
    agree(out, torch.nn.functional.scaled_dot_product_attention(*double, attn_mask=allowed), 2.0**-9)


def test_latent_attention():
    q, q_pe = random(2, 16, 64, dtype="float16", seed=1), random(2, 16, 16, dtype="float16", seed=2)
    kv, k_pe = random(2, 64, 64, dtype="float16", seed=3), random(2, 64, 16, dtype="float16", seed=4)
    out = torch.zeros(2, 16, 64, dtype=torch.float16)
    run(kernels.mla_decode(), q, q_pe, kv, k_pe, out)
    scores = (q.double() @ kv.double().mT + q_pe.double() @ k_pe.double().mT) * 80**-0.5
    agree(out, scores.softmax(-1) @ kv.double(), 2.0**-9)


@pytest.mark.parametrize(("m", "n", "bm"), [(50, 100, 8), (3, 64, 4), (7, 1, 2), (9, 33, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_softmax(m, n, bm, dtype):
    x, y = random(m, n, dtype=dtype, scale=3), torch.zeros(m, n, dtype=getattr(torch, dtype))
    run(kernels.softmax(m, n, bm, dtype), x, y)
    agree(y, x.double().softmax(1), 1e-6 if dtype == "float32" else 2.0**-10)


def test_softmax_in_two_passes():
    x, y = random(20, 300, dtype="float16", scale=3), torch.zeros(20, 300)
    run(kernels.online_softmax(), x, y)
    agree(y, x.double().softmax(1), 1e-5)


def test_rms_norm():
    x, w, y = random(50, 96, seed=1), random(96, seed=2), torch.zeros(50, 96)
    run(kernels.rms_norm(), x, w, y)
    agree(y, x.double() * (x.double().pow(2).mean(1, keepdim=True) + 1e-6).rsqrt() * w.double(), 1e-6)


@pytest.mark.parametrize("rows", [1, 13])
def test_layer_norm(rows):
    x, w, b = random(rows, 200, dtype="float16", seed=1), random(200, seed=2), random(200, seed=3)
    y = torch.zeros_like(x)
    run(kernels.layer_norm(), x, w, b, y)
    agree(y, torch.nn.functional.layer_norm(x.double(), (200,), w.double(), b.double()), 2.0**-10)


def test_convolution():
    x, w = random(2, 9, 11, 16, dtype="float16", seed=1), random(3, 3, 16, 32, dtype="float16", seed=2)
    y = torch.zeros(2, 9, 11, 32)
    run(kernels.convolution(), x, w, y)
    expected = torch.nn.functional.conv2d(x.double().permute(0, 3, 1, 2), w.double().permute(3, 2, 0, 1), padding=1)
    agree(y, expected.permute(0, 2, 3, 1), 1e-6)


@pytest.mark.parametrize(
    ("size", "stride", "dilation", "edge"), [(3, 1, 1, 1), (3, 2, 1, 1), (3, 1, 2, 0), (1, 1, 1, 0)]
)
def test_convolution_by_im2col(size, stride, dilation, edge):
    x, w = random(2, 9, 11, 16, dtype="float16", seed=1), random(size, size, 16, 32, dtype="float16", seed=2)
    expected = torch.nn.functional.conv2d(
        x.double().permute(0, 3, 1, 2), w.double().permute(3, 2, 0, 1), stride=stride, dilation=dilation, padding=edge
    ).permute(0, 2, 3, 1)
    y = torch.zeros(expected.shape)
    run(kernels.convolution_by_im2col(size=size, stride=stride, dilation=dilation, edge=edge), x, w, y)
    agree(y, expected, 1e-6)


def test_top_k():
    x = random(20, 64, seed=1)
    values, places = torch.zeros(20, 4), torch.zeros(20, 4, dtype=torch.int32)
    run(kernels.top_k(), x, values, places)
    expected = x.topk(4)
    assert torch.equal(values, expected.values) and torch.equal(places.long(), expected.indices)


def test_linear_attention():
    q, k, v = (random(128, 32, dtype="float16", seed=s, scale=0.3) for s in (1, 2, 3))
    out = torch.zeros(128, 32)
    run(kernels.linear_attention(), q, k, v, out)
    expected = (q.double() @ k.double().T).tril() @ v.double()
    agree(out, expected, 2.0**-9)


def test_selective_scan():
    a, b, h = random(50, 48, seed=1, scale=0.5), random(50, 48, seed=2), torch.zeros(50, 48)
    run(kernels.selective_scan(), a, b, h)
    expected, state = [], torch.zeros(48, dtype=torch.float64)
    for row in range(50):
        state = a[row].double() * state + b[row].double()
        expected.append(state)
    agree(h, torch.stack(expected), 1e-6)


def test_histogram():
    x, h, total = integers(0, 16, 1000), torch.zeros(16, dtype=torch.int32), torch.zeros(1)
    run(kernels.histogram(), x, h, total)
    assert torch.equal(h, torch.bincount(x, minlength=16).int()) and total.item() == x.sum().item()


def test_numpy_arrays_do_as_well():
    a, b = np.arange(77, dtype=np.float32), np.ones(77, dtype=np.float32)
    run(kernels.scaled_add(), a, b, 2.0)
    assert (b == np.arange(77) * 2 + 1).all()
