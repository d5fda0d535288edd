"""Floats of eight bits in traced regions: constants, fills, casts, arithmetic, as in torch; on a GPU traced, too."""

from __future__ import annotations

import pytest
import tilelang.language as T
import torch

import tle_raw
from tle_raw.regions.small_floats import encode

pytestmark = pytest.mark.usefixtures("on_cpu")

DTYPES = {"float8_e4m3fn": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2}


def everything(dtype):
    @T.prim_func
    def everything(X: T.Tensor((64,), dtype), Y: T.Tensor((8, 64), dtype), Z: T.Tensor((1,), dtype)):
        with T.Kernel(1, threads=64):
            zero = T.alloc_fragment((64,), dtype)
            filled = T.alloc_fragment((64,), dtype)
            x = T.alloc_fragment((64,), dtype)
            most = T.alloc_fragment((1,), dtype)
            T.clear(zero)
            T.fill(filled, 3)
            T.copy(X, x)
            T.reduce_max(x, most, dim=0)
            T.copy(most, Z)
            for i in T.Parallel(64):
                Y[0, i] = zero[i]
                Y[1, i] = filled[i]
                Y[2, i] = T.max_value(dtype)
                Y[3, i] = T.Cast(dtype, i)
                Y[4, i] = x[i] + x[i]
                Y[5, i] = T.max(x[i], T.Cast(dtype, 0.5))
                Y[6, i] = T.if_then_else(x[i] > T.Cast(dtype, 1.0), T.Cast(dtype, 2.5), -x[i])
                Y[7, i] = T.Cast(dtype, T.Cast("int32", x[i]))

    return tle_raw.fragment(everything)


def expected(x, dtype):
    f = x.float()
    zero = torch.zeros(64)
    rows = [zero, zero + 3, zero + torch.finfo(dtype).max, torch.arange(64.0), f + f, f.clamp(min=0.5)]
    rows += [torch.where(f > 1, 2.5, -f), f.int().float()]
    return torch.stack(rows).to(dtype)


@pytest.mark.parametrize("name", DTYPES)
def test_numbers_are_torchs(name):
    dtype = DTYPES[name]
    x = torch.linspace(-4, 4, 64).to(dtype)
    y, z = torch.zeros(8, 64).to(dtype), torch.zeros(1).to(dtype)
    everything(name).as_kernel()(x, y, z)
    torch.testing.assert_close(y.float(), expected(x, dtype).float(), rtol=0, atol=0)
    assert z.item() == 4.0


@pytest.mark.parametrize("name", DTYPES)
def test_on_a_gpu_they_are_traced(name):
    kernel = everything(name).as_kernel()
    kernel.compile("cuda:90")
    assert kernel.untraceable is None


@pytest.mark.parametrize("name, dtype", [("fp8e4nv", torch.float8_e4m3fn), ("fp8e5", torch.float8_e5m2)])
def test_constants_have_the_bits_of_torchs_conversion(name, dtype):
    generator = torch.Generator().manual_seed(3)
    wide = torch.randn(500, generator=generator) * torch.exp2(torch.randint(-20, 9, (500,), generator=generator))
    own = torch.arange(256).to(torch.uint8).view(dtype).float()
    numbers = torch.cat([wide, own[own.isfinite()], torch.tensor([0.0, -0.0])])
    numbers = numbers.clamp(-torch.finfo(dtype).max, torch.finfo(dtype).max)
    codes = torch.tensor([encode(float(n), name) for n in numbers], dtype=torch.uint8)
    assert torch.equal(codes, numbers.to(dtype).view(torch.uint8))
    assert encode(float("inf"), name) == encode(torch.finfo(dtype).max, name)


def padded_rows(rows, columns, padding):
    @T.prim_func
    def padded_rows(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows, columns), "float32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((rows, columns + padding), "float32")
            r = T.alloc_fragment((rows, columns), "float32")
            for i, j in T.Parallel(rows, columns):
                s[i, j] = X[i, j]
            for i, j in T.Parallel(rows, columns):
                r[i, j] = s[i, j] * 2.0
            for i, j in T.Parallel(rows, columns):
                Y[i, j] = r[i, j]

    return tle_raw.fragment(padded_rows).as_kernel()


@pytest.mark.parametrize("rows", [1, 2])
def test_few_rows_of_a_padded_buffer_are_traced(rows):
    kernel = padded_rows(rows, 64, 8)
    kernel.compile("cuda:90")
    assert kernel.untraceable is None
    x, y = torch.randn(rows, 64), torch.zeros(rows, 64)
    kernel(x, y)
    assert torch.equal(y, x * 2)
