"""Arithmetic of tiles against NumPy: signs, roundings, flushing, comparisons, bits, elementary functions."""

from __future__ import annotations

import cuda.tile as ct
import numpy as np
import pytest
import torch

from tests.adapters.cutile.tiles import compile_for_gpu, run

pytestmark = pytest.mark.every_triton(1)

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64]
TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 2e-6, torch.float64: 1e-12}


def floats(dtype, *shape, seed=0, low=-4.0, high=4.0):
    made = np.random.default_rng(seed).uniform(low, high, shape)
    return torch.from_numpy(made).to(dtype)


def integers(dtype, *shape, seed=0):
    limits = torch.iinfo(dtype)
    made = np.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype=str(dtype)[6:], endpoint=True)
    return torch.from_numpy(made)


def close(got, expected, dtype):
    torch.testing.assert_close(
        got.double(), torch.as_tensor(expected).double(), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype], equal_nan=True
    )


def basic(x, y):
    return x + y, x - y, x * y, x / y, x // y, x % y, ct.minimum(x, y), ct.maximum(x, y), -x, abs(x), x**2


@pytest.mark.parametrize("dtype", FLOATS)
def test_arithmetic_of_floats(dtype):
    x, y = floats(dtype, 32, 8), floats(dtype, 32, 8, seed=1)
    y[0, 0] = x[0, 0]
    got = run(basic, x, y, results=[x] * 11)
    a, b = x.double().numpy(), y.double().numpy()
    rounded = (x / y).double().numpy()  # the quotient is rounded before it is cut off
    expected = [a + b, a - b, a * b, a / b, np.floor(rounded), None, np.minimum(a, b), np.maximum(a, b), -a, abs(a)]
    for found, wanted in zip(got, [*expected, a * a]):
        if wanted is not None:
            close(found, wanted, dtype)
    remainder = got[5].double().numpy()
    assert np.all((remainder == 0) | (np.sign(remainder) == np.sign(b))) and np.all(abs(remainder) <= abs(b))
    close(torch.from_numpy(remainder), np.mod(a, b), dtype)


def whole(x, y):
    return x + y, x - y, x * y, x // y, x % y, ct.cdiv(x, y), ct.minimum(x, y), ct.maximum(x, y), -x, abs(x)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_arithmetic_of_integers(dtype):
    x, y = integers(dtype, 64), integers(dtype, 64, seed=1)
    a, b = x.numpy(), y.numpy()
    b[b == 0] = 3
    a[0], b[0] = 7, 2
    if dtype.is_signed:
        b[b == -1] = 5  # the smallest number divided by -1 is not defined
        a[1:5], b[1:5] = [7, -7, -7, 6], [-2, 2, -2, 3]
    got = run(whole, x, y, results=[x] * 10)
    with np.errstate(over="ignore"):
        ceiling = -((-a.astype(object)) // b.astype(object))
        expected = [a + b, a - b, a * b, a // b, a % b, ceiling.astype(a.dtype), np.minimum(a, b), np.maximum(a, b)]
        expected += [(0 - a).astype(a.dtype), np.abs(a) if dtype.is_signed else a]
    for found, wanted in zip(got, expected):
        np.testing.assert_array_equal(found.numpy(), wanted)


def contracted(x, y, z):
    return x * y + z, x * y - z, z - x * y


@pytest.mark.parametrize("dtype", FLOATS)
def test_products_are_added_without_a_rounding_between(dtype):
    """cuTile contracts them; of numbers that cancel only the product's last bits are left."""
    x, y = floats(dtype, 64), floats(dtype, 64, seed=1)
    z = -(x.double() * y.double()).to(dtype)
    plus, minus, less = run(contracted, x, y, z, results=[x] * 3)
    if dtype != torch.float64:
        exact = x.double() * y.double()
        assert torch.equal(plus, (exact + z.double()).to(dtype))
        assert torch.equal(minus, (exact - z.double()).to(dtype)) and torch.equal(less, (z.double() - exact).to(dtype))
    else:
        close(minus, x * y - z, dtype)
        assert (plus != 0).any() and plus.abs().max() < 1e-14


def compared(x, y):
    return x < y, x <= y, x > y, x >= y, x == y, x != y


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_comparisons(dtype):
    x = floats(dtype, 64) if dtype.is_floating_point else integers(dtype, 64)
    y = floats(dtype, 64, seed=1) if dtype.is_floating_point else integers(dtype, 64, seed=1)
    if dtype.is_floating_point:
        y[:8], x[13], y[17] = x[:8], torch.nan, torch.nan
    else:
        y.numpy()[:8] = x.numpy()[:8]
    got = run(compared, x, y, results=[torch.zeros(64, dtype=torch.bool)] * 6)
    a, b = (v.double().numpy() if dtype.is_floating_point else v.numpy() for v in (x, y))
    for found, wanted in zip(got, [a < b, a <= b, a > b, a >= b, a == b, a != b]):
        np.testing.assert_array_equal(found.numpy(), wanted)


def bits(x, y, n):
    return x & y, x | y, x ^ y, ~x, x << n, x >> n


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits_and_shifts(dtype):
    x, y = integers(dtype, 64), integers(dtype, 64, seed=1)
    n = (torch.arange(64) % 7).to(dtype)
    got = run(bits, x, y, n, results=[x] * 6)
    a, b, by = x.numpy(), y.numpy(), n.numpy()
    for found, wanted in zip(got, [a & b, a | b, a ^ b, ~a, a << by, a >> by]):
        np.testing.assert_array_equal(found.numpy(), wanted)


def truths(x, y):
    return x & y, x | y, x ^ y, ct.where(x, y, ~y), x == y


def test_truth_values():
    x, y = (torch.tensor([a, b] * 8) for a, b in ((True, False), (True, True)))
    got = run(truths, x, y, results=[x] * 5)
    for found, wanted in zip(got, [x & y, x | y, x ^ y, torch.where(x, y, ~y), x == y]):
        assert torch.equal(found, wanted)


def elementary(x):
    return (
        ct.exp(x), ct.exp2(x), ct.log(ct.abs(x)), ct.log2(ct.abs(x)), ct.sqrt(ct.abs(x)), ct.rsqrt(ct.abs(x)),
        ct.sin(x), ct.cos(x), ct.tan(x), ct.sinh(x), ct.cosh(x), ct.tanh(x), ct.floor(x), ct.ceil(x),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
def test_elementary_functions(dtype):
    x = floats(dtype, 64, low=-1.4, high=1.4)
    got = run(elementary, x, results=[x] * 14)
    a = x.double().numpy()
    size = abs(a)
    expected = [np.exp(a), np.exp2(a), np.log(size), np.log2(size), np.sqrt(size), 1 / np.sqrt(size)]
    expected += [np.sin(a), np.cos(a), np.tan(a), np.sinh(a), np.cosh(a), np.tanh(a), np.floor(a), np.ceil(a)]
    for found, wanted in zip(got, expected):
        close(found, wanted, dtype)


def two_of(x, y):
    return ct.pow(ct.abs(x), y), ct.atan2(x, y), ct.mod(x, y)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_functions_of_two_tiles(dtype):
    x, y = floats(dtype, 64), floats(dtype, 64, seed=1)
    got = run(two_of, x, y, results=[x] * 3)
    a, b = x.double().numpy(), y.double().numpy()
    for found, wanted in zip(got, [np.power(abs(a), b), np.arctan2(a, b), np.mod(a, b)]):
        torch.testing.assert_close(found.double(), torch.from_numpy(wanted), rtol=1e-5, atol=1e-6)


def directed(x, y, z):
    modes = (ct.RoundingMode.RZ, ct.RoundingMode.RM, ct.RoundingMode.RP)
    made = ()
    for mode in ct.static_iter(modes):
        made = (
            *made,
            ct.add(x, y, rounding_mode=mode),
            ct.sub(x, y, rounding_mode=mode),
            ct.mul(x, y, rounding_mode=mode),
            ct.truediv(x, y, rounding_mode=mode),
            ct.sqrt(ct.abs(z), rounding_mode=mode),
        )
    return made


def _towards(exact, dtype, mode):
    """The neighbour of an exact value, which has more digits than the dtype, in a direction."""
    nearest = torch.from_numpy(exact.astype(np.float64)).to(dtype)
    infinity = {"RM": -np.inf, "RP": np.inf}.get(mode)
    found = nearest.clone()
    for i in range(len(found)):
        goal = infinity if infinity is not None else 0.0
        value, wanted = float(nearest[i]), exact[i]
        too_far = value > wanted if mode == "RM" or (mode == "RZ" and wanted > 0) else value < wanted
        if too_far:
            found[i] = (
                torch.nextafter(nearest[i].float(), torch.tensor(goal))
                if dtype == torch.float32
                else (_next(nearest[i], goal))
            )
    return found


def _next(value, goal):
    """The next number of a small float towards a goal, by its bits."""
    bits = value.view(torch.int16)
    away = (goal > float(value)) == (float(value) > 0)
    return (bits + (1 if away else -1)).view(value.dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_directed_rounding(dtype):
    x, y = floats(dtype, 64), floats(dtype, 64, seed=1)
    y = torch.where(y == 0, torch.ones_like(y), y)
    z = floats(dtype, 64, seed=2, low=0.1)
    got = iter(run(directed, x, y, z, results=[x] * 15))
    a, b, c = (v.numpy().astype(np.longdouble) if v.dtype == torch.float32 else v.double().numpy() for v in (x, y, z))
    for mode in ("RZ", "RM", "RP"):
        for exact in (a + b, a - b, a * b, a / b, np.sqrt(c)):
            assert torch.equal(next(got), _towards(exact, dtype, mode)), mode


def flushed(x, y):
    return (
        ct.add(x, y, flush_to_zero=True),
        ct.mul(x, y, flush_to_zero=True),
        ct.sub(x, y, rounding_mode=ct.RoundingMode.RZ, flush_to_zero=True),
        ct.maximum(x, y, flush_to_zero=True),
        ct.sqrt(ct.abs(x), flush_to_zero=True),
    )


def test_subnormal_numbers_are_flushed_to_zeros_of_their_sign():
    small, tiny = 2.0**-120, 2.0**-140
    x = torch.tensor([small, -small, tiny, -tiny, 1.0, tiny, 2.0**-63, -(2.0**-70)])
    y = torch.tensor([tiny, tiny, tiny, -0.0, -tiny, -tiny, 2.0**-70, 2.0**-70])
    got = run(flushed, x, y, results=[x] * 5)

    def flush(v):
        return np.where(abs(v) < 2.0**-126, np.copysign(0, v), v)

    a, b = flush(x.double().numpy()), flush(y.double().numpy())
    expected = [a + b, a * b, a - b, np.maximum(a, b), np.sqrt(abs(a))]
    for found, wanted in zip(got[:2] + got[3:], expected[:2] + expected[3:]):
        np.testing.assert_allclose(found.numpy(), flush(wanted), rtol=1e-7, atol=0)
    np.testing.assert_array_equal(np.signbit(got[1].numpy()), np.signbit(a * b))
    np.testing.assert_array_equal(got[2].numpy(), flush((a - b).astype(np.float32)))


def flushed_by_the_instruction(x):
    return ct.exp2(x, flush_to_zero=True), ct.rsqrt(x, flush_to_zero=True)


def test_what_a_gpu_flushes_itself():
    x = floats(torch.float32, 64)
    kernel = compile_for_gpu(flushed_by_the_instruction, x, results=[x, x])
    assert "arith.cmpf" not in kernel.asm["ttir"]
    assert "ex2.approx.ftz.f32" in kernel.asm["ptx"] and "rsqrt.approx.ftz.f32" in kernel.asm["ptx"]
    small = torch.tensor([2.0**-140, -(2.0**-140), 1.0, -127.0])  # on the CPU it is done by hand
    power, root = run(flushed_by_the_instruction, small, results=[small, small])
    np.testing.assert_array_equal(power.numpy(), [1, 1, 2, 0])
    np.testing.assert_array_equal(root.numpy()[:3], [np.inf, -np.inf, 1])


def not_a_number(x, y):
    return (
        ct.minimum(x, y), ct.maximum(x, y), ct.minimum(x, y, propagate_nan=True), ct.maximum(x, y, propagate_nan=True)
    )  # fmt: skip


def test_minimum_and_maximum_with_not_a_number():
    x, y = torch.tensor([1.0, torch.nan, 3.0, torch.nan]), torch.tensor([torch.nan, 2.0, 4.0, torch.nan])
    low, high, low_nan, high_nan = (r.numpy() for r in run(not_a_number, x, y, results=[x] * 4))
    x, y = x.numpy(), y.numpy()
    np.testing.assert_array_equal(low, np.fmin(x, y))
    np.testing.assert_array_equal(high, np.fmax(x, y))
    np.testing.assert_array_equal(low_nan, np.minimum(x, y))
    np.testing.assert_array_equal(high_nan, np.maximum(x, y))


def approximate(x, y):
    return (
        ct.truediv(x, y, rounding_mode=ct.RoundingMode.FULL), ct.truediv(x, y, rounding_mode=ct.RoundingMode.APPROX),
        ct.tanh(x, rounding_mode=ct.RoundingMode.APPROX), ct.sqrt(ct.abs(x), rounding_mode=ct.RoundingMode.APPROX),
    )  # fmt: skip


def test_approximate_modes_are_close():
    x, y = floats(torch.float32, 64), floats(torch.float32, 64, seed=1, low=0.5)
    got = run(approximate, x, y, results=[x] * 4)
    a, b = x.double().numpy(), y.double().numpy()
    for found, wanted in zip(got, [a / b, a / b, np.tanh(a), np.sqrt(abs(a))]):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize("dtype", FLOATS)
def test_machine_code_of_every_dtype_for_a_gpu(dtype):
    x = floats(dtype, 64)
    for function, arguments, results in ((basic, 2, 11), (elementary, 1, 14), (contracted, 3, 3)):
        assert compile_for_gpu(function, *[x] * arguments, results=[x] * results).asm["cubin"]


@pytest.mark.parametrize("function", [basic, directed, flushed, elementary, two_of, approximate, not_a_number])
def test_machine_code_for_a_gpu(function):
    x = floats(torch.float32, 64)
    counts = {basic: 11, directed: 15, flushed: 5, elementary: 14, two_of: 3, approximate: 4, not_a_number: 4}
    arguments = {elementary: 1, directed: 3}.get(function, 2)
    kernel = compile_for_gpu(function, *[x] * arguments, results=[x] * counts[function])
    assert kernel.asm["cubin"] and kernel.asm["ptx"].count(".entry") == 1
