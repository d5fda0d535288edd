"""Conversions between element types: every pair, roundings, saturation, bit casts."""

import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("torch")

import numpy as np
import torch
import triton
import triton.language as tl

from tests.flir.cpu.convert.support import (
    FLOATS,
    INTEGERS,
    SMALL_FLOATS,
    UNSIGNED,
    assert_same,
    name_of,
    random_tensor,
)
from tests.support import TRITON

pytestmark = pytest.mark.every_triton(4)

B = 256
NUMBERS = (torch.bool, *INTEGERS, *UNSIGNED, *FLOATS)


@triton.jit
def to_each(x, outs, B: tl.constexpr):
    at = tl.arange(0, B)
    value = tl.load(x + at)
    for i in tl.static_range(len(outs)):
        tl.store(outs[i] + at, value.to(outs[i].dtype.element_ty))


def _saturated(x, dtype):
    """Floats to integers as GPUs do it: cut, NaN is 0, out of range is the nearest end."""
    ends = np.iinfo(name_of(dtype))
    with np.errstate(all="ignore"):
        exact = [0 if v != v else max(ends.min, min(ends.max, _cut(v))) for v in x.double().tolist()]
    return torch.from_numpy(np.array(exact, dtype=name_of(dtype)))


def _cut(value):
    return int(value) if abs(value) != float("inf") else (1 << 70) * (1 if value > 0 else -1)


@pytest.mark.parametrize("source", NUMBERS, ids=str)
def test_numbers_become_every_other_kind(source):
    x = random_tensor(source, B, special=True)
    if source.is_floating_point:
        x[50:60] = torch.tensor([127.5, 128.0, -128.9, -129.0, 255.9, 256.0, 3e9, -3e9, 1e19, -1e19]).to(source)
    outs = [torch.zeros(B, dtype=target) for target in NUMBERS]
    to_each[(1,)](x, tuple(outs), B=B)
    for target, out in zip(NUMBERS, outs):
        if target == torch.bool:
            expected = x != 0
        elif source.is_floating_point and not target.is_floating_point:
            expected = _saturated(x, target)
        elif source.is_floating_point or source == torch.bool:
            expected = x.double().to(target) if source != torch.float32 else x.to(target)
        elif target.is_floating_point:
            numbers = x.numpy()  # NumPy rounds integers to f16 once; torch has no unsigned ones
            expected = _rounded(numbers, target)
        else:
            expected = torch.from_numpy(x.numpy().astype(name_of(target)))
        assert_same(out, expected, f"{source} to {target}")


def _rounded(numbers, target):
    """Integers rounded once to a float type."""
    if target == torch.float64:
        return torch.from_numpy(numbers.astype(np.float64))
    if target == torch.float32:
        return torch.from_numpy(numbers.astype(np.float32))
    exact = [_nearest(int(n), 11 if target == torch.float16 else 8) for n in numbers]
    largest = torch.finfo(target).max
    return torch.tensor([n if abs(n) <= largest else n * float("inf") for n in exact], dtype=torch.float64).to(target)


def _nearest(number, bits):
    """An integer rounded to so many significant bits, ties to even."""
    size = abs(number)
    drop = max(size.bit_length() - bits, 0)
    kept, rest = size >> drop, size & ((1 << drop) - 1)
    half = 1 << drop >> 1
    if drop and (rest > half or (rest == half and kept & 1)):
        kept += 1
    return float((kept << drop) * (1 if number >= 0 else -1))


@triton.jit
def rounded(x, nearest, down, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + at)
    tl.store(nearest + at, value.to(nearest.dtype.element_ty, fp_downcast_rounding="rtne"))
    tl.store(down + at, value.to(down.dtype.element_ty, fp_downcast_rounding="rtz"))


def _toward_zero(x, dtype, nearest):
    """The nearest value, or the one before it in magnitude when that is too large."""
    bits = {1: torch.uint8, 2: torch.int16}[nearest.itemsize]
    too_large = nearest.double().abs() > x.double().abs()
    stepped = (nearest.view(bits) - 1).view(dtype)
    result = torch.where(too_large & ~x.isinf(), stepped.float(), nearest.float())
    return result.to(dtype)


@pytest.mark.parametrize("target", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("source", [torch.float32, torch.float64], ids=str)
def test_roundings_to_sixteen_bits(source, target):
    # Neighbourhoods of representable numbers and of the middles between them, over the whole range and below it.
    bits = torch.randint(0, 0x7C00 if target == torch.float16 else 0x7F80, (2048,), generator=torch.manual_seed(1))
    base = bits.to(torch.int16).view(target).double()
    above = (bits + 1).to(torch.int16).view(target).double().clamp(max=torch.finfo(target).max)
    middle = (base + above) / 2
    tiny = 1 + 2.0**-22 if source == torch.float32 else 1 + 2.0**-50
    x = torch.cat([base, middle, middle * tiny, middle / tiny, base * tiny, base / tiny])
    x = torch.cat([x, -x, torch.tensor([torch.nan, torch.inf, -torch.inf, 1e30, -1e30, 1e-30])])
    x = torch.nn.functional.pad(x, (0, -x.numel() % B)).to(source)
    nearest, down = torch.zeros(2, x.numel(), dtype=target)
    rounded[(x.numel() // B,)](x, nearest, down, B=B)
    exact = _rounded_once(x, target)
    assert_same(nearest, exact, "nearest")
    finite = x.isfinite() & (x.abs() <= torch.finfo(target).max)
    assert_same(down[finite], _toward_zero(x, target, exact)[finite], "toward zero")
    large = x.abs() > torch.finfo(target).max
    assert bool((down[large].double().abs() >= torch.finfo(target).max).all())
    assert bool(down[x.isnan()].isnan().all())


def _rounded_once(x, target):
    if x.dtype == torch.float32:
        return x.to(target)
    if target == torch.float16:
        with np.errstate(over="ignore"):
            return torch.from_numpy(x.numpy().astype(np.float16))
    near = x.float()
    inexact, away = near.double() != x, near.double().abs() > x.abs()
    odd = (near.view(torch.int32) - away.int()) | 1
    usable = inexact & x.isfinite()
    return torch.where(usable, odd.view(torch.float32), near).to(target)


@pytest.mark.parametrize("small", SMALL_FLOATS, ids=str)
def test_every_small_float_widens_exactly(small):
    x = torch.arange(256, dtype=torch.uint8).view(small)
    outs = [torch.zeros(256, dtype=target) for target in FLOATS]
    to_each[(1,)](x, tuple(outs), B=B)
    for out in outs:
        assert_same(out, x.double().to(out.dtype))


@pytest.mark.parametrize("small", SMALL_FLOATS, ids=str)
@pytest.mark.parametrize("source", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_small_floats_round_and_saturate(source, small):
    largest = torch.finfo(small).max
    every = torch.arange(128, dtype=torch.uint8).view(small).double()
    every = every[every.isfinite()]
    middle = (every[1:] + every[:-1]) / 2
    x = torch.cat([every, middle, middle * 1.001, middle * 0.999, random_tensor(torch.float64, 50)])
    x = torch.cat([x, -x, torch.tensor([torch.nan, torch.inf, -torch.inf, largest * 1.01, largest * 4, -largest * 9])])
    x = torch.nn.functional.pad(x, (0, -x.numel() % B)).to(source)
    out, down = torch.zeros(2, x.numel(), dtype=torch.uint8).view(small)
    if source in (torch.float32,):
        rounded[(x.numel() // B,)](x, out, down, B=B)
    else:
        for start in range(0, x.numel(), B):
            to_each[(1,)](x[start:], (out[start:],), B=B)
    limited = x.double().clamp(-largest, largest).float()
    expected = limited.to(small)
    assert_same(out[~x.isnan()].float(), expected[~x.isnan()].float())
    assert bool(out.float()[x.isnan()].isnan().all())
    if source == torch.float32:
        usable = ~x.isnan()
        assert_same(down[usable].float(), _toward_zero(limited, small, expected)[usable].float(), "toward zero")


@triton.jit
def bitcasts(x, out, again, B: tl.constexpr):
    at = tl.arange(0, B)
    value = tl.load(x + at)
    cast = value.to(out.dtype.element_ty, bitcast=True)
    tl.store(out + at, cast)
    tl.store(again + at, (cast + 0).to(x.dtype.element_ty, bitcast=True))
    tl.store(out, tl.load(x).to(out.dtype.element_ty, bitcast=True))


@pytest.mark.parametrize(
    "source, target",
    [
        (torch.float32, torch.int32),
        (torch.float64, torch.int64),
        (torch.float16, torch.int16),
        (torch.bfloat16, torch.uint16),
        (torch.uint16, torch.float16),
        (torch.int8, torch.uint8),
        (torch.uint64, torch.int64),
        (torch.int32, torch.float32),
    ],
    ids=str,
)
def test_bits_are_reinterpreted(source, target):
    x = random_tensor(source, B)
    out, again = torch.zeros(B, dtype=target), torch.zeros(B, dtype=source)
    bitcasts[(1,)](x, out, again, B=B)
    assert torch.equal(out.view(torch.uint8), x.view(torch.uint8))


@triton.jit
def small_bits(x, out, B: tl.constexpr, KIND: tl.constexpr):
    at = tl.arange(0, B)
    value = tl.load(x + at).to(KIND, bitcast=True)
    tl.store(out + at, value.to(tl.float32))
    tl.store(out + B + at, value.to(tl.float16).to(KIND).to(tl.float32))


@pytest.mark.parametrize("kind", ["float8e4nv", "float8e5", "float8e4b15", "float8e4b8", "float8e5b16"])
def test_bytes_are_small_floats(kind):
    x = torch.arange(256, dtype=torch.uint8)
    out = torch.zeros(2, 256)
    torch_kind = {
        "float8e4nv": torch.float8_e4m3fn,
        "float8e5": torch.float8_e5m2,
        "float8e4b8": torch.float8_e4m3fnuz,
        "float8e5b16": torch.float8_e5m2fnuz,
    }.get(kind)
    small_bits[(1,)](x, out, B=B, KIND=getattr(tl, kind))
    if torch_kind is not None:
        assert_same(out[0], x.view(torch_kind).float())
        again = torch.where(out[0].abs() > 6e4, out[0], out[1])
        assert_same(again.nan_to_num(0, 0, 0), out[0].nan_to_num(0, 0, 0))


@triton.jit
def constants(out, DIRECT: tl.constexpr):
    at = tl.arange(0, 16)
    # Triton 3.6 makes no constants of fp8 itself; its folder does.
    if DIRECT:
        tl.store(out + at, tl.full((16,), 1.5, tl.float8e5).to(tl.float32))
    else:
        tl.store(out + at, tl.full((16,), 1.5, tl.float32).to(tl.float8e5).to(tl.float32))
    tl.store(out + 16 + at, tl.full((16,), -2.0, tl.float32).to(tl.float8e4nv).to(tl.float32))
    tl.store(out + 32 + at, tl.zeros((16,), tl.bfloat16) + tl.full((16,), 3.0, tl.bfloat16))
    tl.store(out + 48 + at, tl.full((16,), True, tl.int1).to(tl.float32) + tl.full((), 2, tl.int8))


def test_constants_of_every_kind():
    out = torch.zeros(4, 16)
    constants[(1,)](out, DIRECT=TRITON >= (3, 9))
    assert out[:, 0].tolist() == [1.5, -2.0, 3.0, 3.0]
    assert bool((out == out[:, :1]).all())
