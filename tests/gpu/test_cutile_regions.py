"""cuTile functions as regions of Triton kernels: tiles and arrays in, results out, and memory that both touch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import tle_raw
from tests.gpu.device import DEVICE, TIMES, check_close, check_norm, needs_device, numbers, poisoned, random

pytest.importorskip("cuda.tile")

import cuda.tile as ct

pytestmark = pytest.mark.gpu
ZERO = ct.PaddingMode.ZERO


@tle_raw.dialect("cutile")
def softmax(x):
    e = ct.exp(x - ct.max(x, axis=1, keepdims=True))
    return e / ct.sum(e, axis=1, keepdims=True)


@tle_raw.dialect("cutile")
def normal(x, eps: ct.Constant[float] = 1e-5):
    """Two results: the rows without their mean in units of their deviation, and the means."""
    mean = ct.sum(x, axis=1, keepdims=True) / x.shape[1]
    return (x - mean) * ct.rsqrt(ct.sum((x - mean) ** 2, axis=1, keepdims=True) / x.shape[1] + eps), mean


@triton.jit
def norm_and_softmax(x_ptr, mean_ptr, y_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    at = row * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    rows, mean = normal(tl.load(x_ptr + at) * 2)
    tl.store(mean_ptr + row, mean)
    tl.store(y_ptr + at, softmax(rows) + 1)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
def test_functions_of_tiles_between_triton_code(num_warps):
    x = random("f32", (24, 256))
    mean, y = poisoned(x, (24,)), poisoned(x)
    norm_and_softmax[(6,)](x, mean, y, 4, 256, num_warps=num_warps)
    wide = numbers(x) * 2
    check_close(mean, wide.mean(1), 1e-4, 1e-6)
    rows = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    e = np.exp(rows - rows.max(1, keepdims=True))
    check_close(y, e / e.sum(1, keepdims=True) + 1, 1e-5)


def product(A, B, m, n, tm: int, tn: int, tk: int):
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a, b = ct.load(A, (m, k), (tm, tk), padding_mode=ZERO), ct.load(B, (k, n), (tk, tn), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    return total


ordered_product = tle_raw.fragment(product, dialect="cutile")
lone_product = tle_raw.fragment(product, dialect="cutile", alone=True)
whole_product = tle_raw.fragment(product, dialect="cutile", alone=True, multiples={"A": (64, 32), "B": (32, 64)})


@triton.jit
def product_and_bias(
    f: tl.constexpr, a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K, T: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    m, n = tl.program_id(0), tl.program_id(1)
    total = f((a_ptr, (M, K), (K, 1)), (b_ptr, (K, N), (N, 1)), m, n, T, T, D)
    row, column = m * T + tl.arange(0, T), n * T + tl.arange(0, T)
    total += tl.load(bias_ptr + column, column < N, 0.0)[None, :]
    at = c_ptr + row[:, None] * N + column[None, :]
    tl.store(at, tl.maximum(total, 0.0), (row[:, None] < M) & (column[None, :] < N))


@pytest.mark.parametrize("f", [ordered_product, lone_product, whole_product], ids=["ordered", "lone", "whole"])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
def test_a_product_of_cutile_with_an_epilogue_of_triton(f, dtype):
    m, n, k = (128, 192, 96) if f is whole_product else (100, 150, 72)
    a, b, bias = random(dtype, (m, k)), random(dtype, (k, n), 1), random("f32", (n,), 2)
    c = poisoned(bias, (m, n))
    grid = triton.cdiv(m, 64), triton.cdiv(n, 64)
    product_and_bias[grid](f, a, b, bias, c, m, n, k, 64, 32)
    check_norm(c, np.maximum(numbers(a) @ numbers(b) + numbers(bias), 0), 1e-5)


@triton.jit
def product_of_descriptors(a_ptr, b_ptr, c_ptr, M, N, K, T: tl.constexpr, D: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [T, D])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [D, T])
    m, n = tl.program_id(0), tl.program_id(1)
    total = lone_product(a, b, m, n, T, T, D)
    row, column = m * T + tl.arange(0, T)[:, None], n * T + tl.arange(0, T)[None, :]
    tl.store(c_ptr + row * N + column, total, (row < M) & (column < N))


def test_tiles_of_tensor_descriptors(device_allocator):
    a, b = random("f16", (100, 72)), random("f16", (72, 152), 1)
    c = poisoned(random("f32", (1,)), (100, 152))
    product_of_descriptors[(2, 3)](a, b, c, 100, 152, 72, 64, 32)
    check_norm(c, numbers(a) @ numbers(b), 1e-5)


@tle_raw.dialect("cutile", grid={0: "row"})
def add_to_row(X, V, T: ct.Constant[int]):
    ct.store(X, (ct.bid(0), 0), ct.load(X, (ct.bid(0), 0), (1, T)) + ct.load(V, (ct.bid(0),), ()))


@triton.jit
def add_to_even_rows(x_ptr, v_ptr, rows, T: tl.constexpr):
    """A region in a branch in a loop; the row is the caller's number."""
    row = tl.program_id(0)
    while row < rows:
        if row % 2 == 0:
            add_to_row((x_ptr, (rows, T), (T, 1)), (v_ptr, (rows,), (1,)), T, row=row)
        row += tl.num_programs(0)


def test_a_region_in_a_branch_in_a_loop():
    x, v = random("f32", (37, 128)), random("f32", (37,), 1)
    wanted = numbers(x)
    wanted[::2] += numbers(v)[::2, None]
    add_to_even_rows[(5,)](x, v, 37, 128)
    check_close(x, wanted, 1e-6, 1e-6)


@tle_raw.dialect("cutile")
def turn_around(X, Y, i, T: ct.Constant[int]):
    """The block's row of X backwards, into Y."""
    at = T - 1 - ct.arange(T, dtype=ct.int32)
    ct.store(Y, (i, 0), (ct.gather(X, (i, at)) + 1).reshape((1, T)))


@triton.jit
def around_a_region(x_ptr, y_ptr, z_ptr, rows, T: tl.constexpr):
    """What Triton stores the region's other threads load, and the other way round."""
    i = tl.program_id(0)
    at = i * T + tl.arange(0, T)
    x = tl.load(x_ptr + at)
    tl.store(x_ptr + at, x * 2)
    turn_around((x_ptr, (rows, T), (T, 1)), (y_ptr, (rows, T), (T, 1)), i, T)
    turned = tl.load(y_ptr + i * T + T - 1 - tl.arange(0, T))
    tl.store(z_ptr + at, turned)


@needs_device
def test_memory_is_in_order_at_the_border_of_a_region():
    """Many times: threads run in another order each time."""
    blocks, size = 256, 1024
    start = torch.arange(blocks * size, dtype=torch.float32, device=DEVICE).reshape(blocks, size)
    wrong = torch.zeros((), dtype=torch.int64, device=DEVICE)
    for _ in range(TIMES):
        x, y, z = start.clone(), torch.zeros_like(start), torch.zeros_like(start)
        around_a_region[(blocks,)](x, y, z, blocks, size, num_warps=8)
        wrong += (z != start * 2 + 1).sum() + (y != start.flip(1) * 2 + 1).sum()
    assert int(wrong) == 0
