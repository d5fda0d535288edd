"""Floats that Triton has no dtype for, and roundings away from zero, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

pytest.importorskip("cuda.tile")
import cuda.tile as ct

import tle_raw
from tests.adapters.cutile.tiles import compile_for_gpu, run
from tle_raw.errors import ArgumentTypeError

pytestmark = pytest.mark.every_triton(2)

FOUR = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
FOUR = np.concatenate([FOUR, -FOUR])


def every_four_bits(x):
    return ct.astype(ct.unpack_from_bytes(x, ct.float4_e2m1fn), ct.float32)


def test_numbers_of_four_bits():
    packed = torch.arange(256, dtype=torch.int32).to(torch.uint8)
    got = run(every_four_bits, packed, results=[torch.zeros(512)]).numpy()
    wanted = FOUR[np.stack([packed.numpy() & 15, packed.numpy() >> 4], -1).ravel()]
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))


def to_four_bits(x):
    return ct.pack_to_bytes(ct.astype(x, ct.float4_e2m1fn))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_the_nearest_number_of_four_bits(dtype):
    rng = np.random.default_rng(0)
    middles = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 6.5, np.inf])
    x = np.concatenate([middles, -middles, [0.0, -0.0, np.nan], rng.normal(0, 3, 256 - 21)])
    x = torch.from_numpy(x).to(dtype)
    got = run(to_four_bits, x, results=[torch.zeros(128, dtype=torch.uint8)]).numpy()
    codes = np.stack([got & 15, got >> 4], -1).ravel()
    numbers = x.double().numpy()
    size, sign = np.abs(numbers), np.signbit(numbers)
    distance = np.abs(np.minimum(size, 6)[:, None] - FOUR[None, :8]) + 1e-9 * (np.arange(8) % 2)
    wanted = np.where(np.isnan(numbers), 7, np.argmin(np.nan_to_num(distance, nan=9), 1) + 8 * sign)
    np.testing.assert_array_equal(codes, wanted)


@pytest.mark.skipif(not hasattr(ct, "float8_e5m3fnu"), reason="a dtype of cuTile 1.7")
def test_numbers_without_a_sign():
    def numbers(x):
        return ct.astype(x, ct.float32)

    x = torch.arange(256, dtype=torch.int32).to(torch.uint8)
    got = run(numbers, x, results=[x.float()], dtypes={"x": "float8_e5m3fnu"}).numpy()
    exponent, part = np.arange(256) >> 3, np.arange(256) & 7
    wanted = np.where(exponent == 0, part * 2.0**-17, (1 + part / 8) * np.exp2(exponent - 15.0))
    wanted[255] = np.nan
    np.testing.assert_array_equal(got, wanted)


def constants(x):
    scale = ct.full((4,), 8.0, dtype=ct.float8_e8m0fnu)
    four = ct.full((4,), -1.5, dtype=ct.float4_e2m1fn)
    return x * ct.astype(scale, ct.float32) + ct.astype(four, ct.float32)


def test_constants_of_them():
    np.testing.assert_array_equal(run(constants, torch.arange(4.0)).numpy(), np.arange(4) * 8 - 1.5)


def of_four_bits(a, sa, b, sb, c):
    a = ct.reshape(ct.unpack_from_bytes(ct.reshape(a, (-1,)), ct.float4_e2m1fn), (32, 64))
    b = ct.reshape(ct.unpack_from_bytes(ct.reshape(b, (-1,)), ct.float4_e2m1fn), (32, 64))
    return ct.mma_scaled(a, sa, ct.permute(b, (1, 0)), sb, c)


@pytest.mark.parametrize(("scale", "block"), [("float8_e8m0fnu", 32), ("float8_e8m0fnu", 16), ("e4m3", 16)])
def test_scaled_products_of_four_bits(scale, block):
    rng = np.random.default_rng(0)
    a, b = (torch.from_numpy(rng.integers(0, 256, (32, 32), dtype="u1")) for _ in range(2))
    c = torch.from_numpy(rng.normal(size=(32, 32)).astype("f4"))
    codes = [rng.integers(120, 134, s, dtype="u1") for s in ((32, 64 // block), (64 // block, 32))]
    if scale == "e4m3":
        sa, sb = (torch.from_numpy(s - 80).view(torch.float8_e4m3fn) for s in codes)
        numbers, dtypes = [sa.double().numpy(), sb.double().numpy()], {}
    else:
        sa, sb = map(torch.from_numpy, codes)
        numbers, dtypes = [np.exp2(s - 127.0) for s in codes], {"sa": scale, "sb": scale}
    got = run(of_four_bits, a, sa, b, sb, c, results=[c], dtypes=dtypes)
    x, y = (FOUR[np.stack([v.numpy() & 15, v.numpy() >> 4], -1).reshape(32, 64)] for v in (a, b))
    wanted = (x * numbers[0].repeat(block, 1)) @ (y.T * numbers[1].repeat(block, 0)) + c.double().numpy()
    np.testing.assert_allclose(got.double().numpy(), wanted, rtol=1e-5, atol=1e-3)
    if scale == "e4m3":
        assert "mma" in compile_for_gpu(of_four_bits, a, sa, b, sb, c, results=[c]).asm["ptx"]


def scaled_batch(a, sa, b, sb, c):
    return ct.mma_scaled(a, sa, b, sb, c)


def test_a_batch_of_scaled_products():
    rng = np.random.default_rng(0)
    a, b = (torch.from_numpy(rng.normal(size=s)).to(torch.float8_e5m2) for s in ((2, 16, 64), (2, 64, 16)))
    sa, sb = (torch.from_numpy(rng.integers(124, 130, s, dtype="u1")) for s in ((2, 16, 2), (2, 2, 16)))
    c = torch.zeros(2, 16, 16)
    dtypes = {"sa": "float8_e8m0fnu", "sb": "float8_e8m0fnu"}
    got = run(scaled_batch, a, sa, b, sb, c, results=[c], dtypes=dtypes)
    x = a.double() * torch.exp2(sa.double() - 127).repeat_interleave(32, 2)
    y = b.double() * torch.exp2(sb.double() - 127).repeat_interleave(32, 1)
    torch.testing.assert_close(got.double(), x @ y, rtol=1e-5, atol=1e-4)


@ct.kernel
def scales(one, pair, many, y):
    at = ct.bid(0)
    total = ct.astype(ct.load(one, (at,), (16,)), ct.float32) + ct.astype(ct.load(pair[0], (at,), (16,)), ct.float32)
    ct.store(y, (at,), (total + ct.astype(ct.load(many[at], (0,), (16,)), ct.float32)) * pair[1])


def test_arrays_of_scales_are_launch_arguments():
    codes = torch.from_numpy(np.random.default_rng(0).integers(120, 134, (4, 32), dtype="u1"))
    one, two, *many = codes.view(torch.float8_e8m0fnu)
    y = torch.zeros(32)
    tle_raw.fragment(scales).as_kernel()[2](one, (two, 2.0), many, y)
    x = torch.exp2(codes.double().cpu() - 127)
    wanted = 2 * (x[0] + x[1] + torch.cat([x[2, :16], x[3, :16]]))
    torch.testing.assert_close(y.double().cpu(), wanted, rtol=0, atol=0)
    with pytest.raises(ArgumentTypeError, match="not alike"):
        tle_raw.fragment(scales).as_kernel()[2](one, (two, 2.0), [many[0], codes[3]], y)
    with pytest.raises(ArgumentTypeError, match="a kernel cannot have"):
        tle_raw.fragment(scales).as_kernel()[2](y.to(torch.complex64), (two, 2.0), many, y)


def away(x, small):
    tf32 = ct.astype(x, ct.tfloat32, rounding_mode=ct.RoundingMode.RA)
    return ct.astype(tf32, ct.float32), ct.astype(small, ct.float16, rounding_mode=ct.RoundingMode.RA)


def test_halves_are_rounded_away_from_zero():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 256, dtype="u4") & 0xFF7FFFFF | 0x1000  # a half of what tf32 loses
    x = torch.from_numpy(bits.view("f4").copy())
    x[::2] = torch.from_numpy(rng.normal(size=128).astype("f4"))
    small = torch.from_numpy(np.arange(256) * 2.0**-25 * np.where(np.arange(256) % 3, 1, -1)).to(torch.bfloat16)
    try:
        single, half = run(away, x, small, results=[x, small.half()])
    except tle_raw.TLEError as e:
        pytest.skip(f"not in this release of cuTile: {e}")
    wanted = ((x.numpy().view("u4") + 0x1000) & 0xFFFFE000).view("f4")
    finite = np.isfinite(x.numpy())
    np.testing.assert_array_equal(single.numpy()[finite], wanted[finite])
    steps = small.double().numpy() * 2.0**24
    nearest = np.sign(steps) * np.floor(np.abs(steps) + 0.5) * 2.0**-24
    np.testing.assert_array_equal(half.double().numpy(), nearest)


@ct.kernel
def through_foreign_pointers(x, y):
    later = ct.bid(0) == 1
    second = x.slice(axis=0, start=8, stop=16)
    pointer = ct.where(ct.astile(later, dtype=ct.bool_), second.foreign_pointer, x.foreign_pointer)
    pointers = ct.reshape(ct.broadcast_to(pointer, (4,)), (2, 2))
    source = ct.Array.from_foreign(ct.extract(pointers, (1, 0), shape=()), (8,), (1,))
    ct.store(y, (ct.bid(0),), ct.load(source, (0,), (8,)) + 1)


@pytest.mark.skipif(not hasattr(ct.Array, "from_foreign"), reason="from cuTile 1.7 on")
def test_foreign_pointers():
    x = torch.rand(16)
    y = torch.zeros_like(x)
    tle_raw.fragment(through_foreign_pointers).as_kernel()[2](x, y)
    assert torch.equal(y, x + 1)
