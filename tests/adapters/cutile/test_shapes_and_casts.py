"""Shapes, pieces, conversions and constants against NumPy and torch."""

from __future__ import annotations

import cuda.tile as ct
import numpy as np
import pytest
import torch

from tests.adapters.cutile.tiles import compile_for_gpu, run

pytestmark = pytest.mark.every_triton(2)


def tile(*shape, dtype=torch.float32, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).uniform(-50, 50, shape)).to(dtype)


def shapes(x):
    return (
        ct.reshape(x, (2, 2, 8)),
        ct.permute(ct.reshape(x, (2, 2, 8)), (2, 0, 1)),
        ct.transpose(x),
        ct.broadcast_to(ct.reshape(x, (1, 4, 8)), (2, 4, 8)),
        ct.expand_dims(x, 1),
        ct.cat((x, x * 2), axis=0),
        ct.cat((x, x * 2), axis=1),
        ct.extract(x, (1, 2), (2, 2)),
        ct.reshape(ct.extract(x, (1, 2), ()), (1,)),
        x[None, :, None],
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int8, torch.bool])
def test_shapes(dtype):
    x = tile(4, 8, dtype=dtype) if dtype != torch.bool else tile(4, 8) > 0
    if dtype == torch.bool:
        wanted = [x.reshape(2, 2, 8), x.reshape(2, 2, 8).permute(2, 0, 1), x.T, x[2:4, 4:6]]

        def of_truths(x):
            y = ct.reshape(x, (2, 2, 8))
            return y, ct.permute(y, (2, 0, 1)), ct.transpose(x), ct.extract(x, (1, 2), (2, 2))

        for found, expected in zip(run(of_truths, x, results=wanted), wanted):
            assert torch.equal(found, expected)
        return
    wanted = [
        x.reshape(2, 2, 8),
        x.reshape(2, 2, 8).permute(2, 0, 1),
        x.T,
        x.expand(2, 4, 8),
        x[:, None],
        torch.cat((x, x * 2)),
        torch.cat((x, x * 2), 1),
        x[2:4, 4:6],
        x[1, 2].reshape(1),
        x[None, :, None],
    ]
    for found, expected in zip(run(shapes, x, results=wanted), wanted):
        assert torch.equal(found, expected)


def pieces(x, i, j, v):
    return (
        ct.extract(x, (i, j), (2, 4)),
        ct.insert(x, (i, j), v),
        ct.insert(x, (i, 0), ct.full((1, 8), 3.0, ct.float32)),
    )


@pytest.mark.parametrize(("i", "j"), [(0, 0), (1, 1), (1, 0)])
def test_pieces_at_run_time_indices(i, j):
    x, v = tile(4, 8), tile(2, 4, seed=1)
    numbers = [torch.tensor(n, dtype=torch.int32) for n in (i, j)]
    piece, inserted, row = run(pieces, x, *numbers, v, results=[v, x, x])
    assert torch.equal(piece, x[2 * i : 2 * i + 2, 4 * j : 4 * j + 4])
    wanted, with_row = x.clone(), x.clone()
    wanted[2 * i : 2 * i + 2, 4 * j : 4 * j + 4], with_row[i] = v, 3.0
    assert torch.equal(inserted, wanted) and torch.equal(row, with_row)


NAMES = {
    torch.float16: ct.float16, torch.bfloat16: ct.bfloat16, torch.float32: ct.float32, torch.float64: ct.float64,
    torch.int8: ct.int8, torch.int32: ct.int32, torch.int64: ct.int64, torch.uint8: ct.uint8, torch.bool: ct.bool_,
    torch.float8_e4m3fn: ct.float8_e4m3fn, torch.float8_e5m2: ct.float8_e5m2,
}  # fmt: skip


@pytest.mark.parametrize("source", NAMES)
def test_conversions(source):
    x = tile(64).abs().add(0.3).clip(0, 100)
    x = x > 20 if source == torch.bool else x.to(source)
    targets = tuple(d for d in NAMES if d != source)
    names = tuple(NAMES[d] for d in targets)

    def convert(x):
        made = ()
        for dtype in ct.static_iter(names):
            made = (*made, ct.astype(x, dtype))
        return made

    got = run(convert, x, results=[torch.zeros(64).to(d) for d in targets])
    for found, dtype in zip(got, targets):
        wanted = x.double().to(dtype) if dtype != torch.bool else x.double() != 0
        assert torch.equal(found.double(), wanted.double()), dtype
    assert compile_for_gpu(convert, x, results=[torch.zeros(64).to(d) for d in targets]).asm["cubin"]


def to_fp8(x):
    return ct.astype(x, ct.float8_e4m3fn), ct.astype(x, ct.float8_e5m2)


def test_f64_is_rounded_once_to_fp8():
    middle = 1.0625 * 2.0 ** torch.arange(-4, 4, dtype=torch.float64)  # between two numbers of e4m3
    beside = torch.cat((middle, middle * (1 + 2.0**-40), middle * (1 - 2.0**-40), -middle * (1 + 2.0**-45)))
    wanted = [beside.to(torch.float8_e4m3fn), beside.to(torch.float8_e5m2)]
    exact = torch.cat((middle / 1.0625, middle / 1.0625 * 1.125, middle / 1.0625, -middle / 1.0625 * 1.125))
    found, other = run(to_fp8, beside, results=wanted)
    assert torch.equal(found.double(), exact) and torch.equal(other.double(), wanted[1].double())


def rounded(x):
    return (
        ct.astype(x, ct.float16, rounding_mode=ct.RoundingMode.RZ),
        ct.astype(x, ct.bfloat16, rounding_mode=ct.RoundingMode.RZ),
        ct.astype(ct.astype(x, ct.tfloat32), ct.float32),
        ct.astype(ct.astype(x, ct.tfloat32, rounding_mode=ct.RoundingMode.RZ), ct.float32),
    )


def test_conversions_rounded_towards_zero_and_to_tf32():
    x = torch.cat((tile(59), torch.tensor([torch.inf, -torch.inf, 1e6, -1e-9, 0.0])))
    half, brain, tf32, cut = run(rounded, x, results=[x.half(), x.bfloat16(), x, x])
    for found in (half, brain):
        nearest = x.to(found.dtype)
        too_large = nearest.double().abs() > x.double().abs()
        wanted = torch.where(too_large, (nearest.view(torch.int16) - 1).view(found.dtype), nearest)
        assert torch.equal(found, wanted)
    finite = x.abs() < torch.inf
    bits = x.view(torch.int32)
    assert torch.equal(cut[finite], (bits & ~0x1FFF).view(torch.float32)[finite]) and torch.equal(
        cut[~finite], x[~finite]
    )
    assert torch.all(tf32.view(torch.int32)[finite] & 0x1FFF == 0)
    spacing = torch.exp2(torch.floor(torch.log2(x.abs().clip(1e-30))) - 10)
    assert torch.all((tf32 - x).abs()[finite] <= spacing[finite] / 2)


def from_double(x):
    return (
        ct.astype(x, ct.float32, rounding_mode=ct.RoundingMode.RZ),
        ct.astype(x, ct.float32, rounding_mode=ct.RoundingMode.RM),
        ct.astype(x, ct.float32, rounding_mode=ct.RoundingMode.RP),
        ct.astype(x, ct.float16, rounding_mode=ct.RoundingMode.RZ),
    )


def test_directed_conversions_of_f64():
    x = tile(64, dtype=torch.float64)
    nearest = x.float()
    down = torch.where(nearest.double() > x, torch.nextafter(nearest, torch.tensor(-torch.inf)), nearest)
    up = torch.where(nearest.double() < x, torch.nextafter(nearest, torch.tensor(torch.inf)), nearest)
    half = x.half()
    half = torch.where(half.double().abs() > x.abs(), (half.view(torch.int16) - 1).view(torch.float16), half)
    wanted = [torch.where(x > 0, down, up), down, up, half]
    for found, expected in zip(run(from_double, x, results=wanted), wanted):
        assert torch.equal(found, expected)


def powers(x):
    return ct.astype(x, ct.float32), ct.astype(x, ct.float64)


def test_scales_are_powers_of_two():
    x = torch.arange(256, dtype=torch.int32).to(torch.uint8)
    wanted = np.exp2(np.arange(256) - 127.0)
    wanted[255] = np.nan
    single, double = run(powers, x, results=[x.float(), x.double()], dtypes={"x": "float8_e8m0fnu"})
    np.testing.assert_array_equal(single.double().numpy(), wanted)
    np.testing.assert_array_equal(double.numpy(), wanted)


def same_bits(x):
    packed = ct.pack_to_bytes(x)
    return (
        ct.bitcast(x, ct.int32),
        packed,
        ct.unpack_from_bytes(packed, ct.float32),
        ct.unpack_from_bytes(packed, ct.uint16),
    )


def test_bits_and_bytes():
    x = tile(32)
    wanted = [x.view(torch.int32), x.view(torch.uint8), x, x.view(torch.uint16)]
    for found, expected in zip(run(same_bits, x, results=wanted), wanted):
        assert torch.equal(found, expected)


def constants(x):
    table = ct.astile((1.5, -0.0, 3.25, 1e-3), dtype=ct.float32)
    return (
        ct.full((4,), -0.0, ct.float32),
        ct.full((4,), 1 / 3, ct.float16),
        ct.full((4,), 1 / 3, ct.bfloat16),
        ct.full((4,), -7, ct.int8),
        ct.full((4,), 250, ct.uint8),
        ct.full((4,), 2**63 + 5, ct.uint64),
        ct.full((4,), float("inf"), ct.float64),
        ct.arange(4, dtype=ct.int64) * 3 + 1,
        ct.ones((4,), ct.float32),
        table,
    )


def test_constants():
    x = tile(4)
    wanted = [
        torch.full((4,), -0.0), torch.full((4,), 1 / 3, dtype=torch.float16),
        torch.full((4,), 1 / 3, dtype=torch.bfloat16), torch.full((4,), -7, dtype=torch.int8),
        torch.full((4,), 250, dtype=torch.uint8), torch.from_numpy(np.full(4, 2**63 + 5, dtype="u8")),
        torch.full((4,), torch.inf, dtype=torch.float64), torch.tensor([1, 4, 7, 10]), torch.ones(4),
        torch.tensor([1.5, -0.0, 3.25, 1e-3]),
    ]  # fmt: skip
    for found, expected in zip(run(constants, x, results=wanted), wanted):
        assert np.array_equal(found.view(torch.uint8).numpy(), expected.view(torch.uint8).numpy()), expected


@pytest.mark.parametrize("function", [shapes, same_bits, rounded])
def test_machine_code_for_a_gpu(function):
    x = tile(4, 8) if function is shapes else tile(32)
    results = {
        same_bits: [x.view(torch.int32), x.view(torch.uint8), x, x.view(torch.uint16)],
        rounded: [x.half(), x.bfloat16(), x, x],
    }.get(function)
    if function is shapes:
        results = [x.reshape(2, 2, 8), x.reshape(2, 2, 8).permute(2, 0, 1), x.T, x.expand(2, 4, 8), x[:, None]]
        results += [torch.cat((x, x)), torch.cat((x, x), 1), x[2:4, 4:6], x[1, 2].reshape(1), x[None, :, None]]
    assert compile_for_gpu(function, x, results=results).asm["cubin"]
