"""Exclusive sums and totals on the CPU, against NumPy."""

import numpy as np
import pytest
import triton
import triton.language as tl

pytest.importorskip("cffi")
pytest.importorskip("llvmlite")
pytest.importorskip("torch_mlir")

import tle_raw.language as tle

WIDENED = {"bool": "uint32", "int8": "int32", "uint8": "uint32", "int16": "int32", "bfloat16": "float32"}
DTYPES = [*WIDENED, "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]


@triton.jit
def sums(x, exclusive, total, B: tl.constexpr, REVERSE: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * B + tl.arange(0, B)
    e, t = tle.cumsum(tl.load(x + i), reverse=REVERSE)
    tl.store(exclusive + i, e)
    tl.store(total + pid, t)


@triton.jit
def along(x, exclusive, total, R: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    e, t = tle.cumsum(tl.load(x + i), axis=AXIS, reverse=REVERSE)
    tl.store(exclusive + i, e)
    tl.store(total + tl.arange(0, C if AXIS == 0 else R), t)


@triton.jit
def of_scalars(x, o):
    e, t = tle.cumsum(tl.load(x))
    tl.static_assert(t.dtype == tl.int32)
    tl.store(o, e)
    tl.store(o + 1, t)


@triton.jit
def in_wider(x, exclusive, total, B: tl.constexpr):
    e, t = tle.cumsum(tl.load(x + tl.arange(0, B)), dtype=tl.float32)
    tl.static_assert(e.dtype == tl.float32)
    tl.store(exclusive + tl.arange(0, B), e)
    tl.store(total, t)


def dtype_of(name):
    return np.dtype(pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else name)


def expected_sums(x, axis, reverse):
    """What lies before each element, and the sum of all."""
    wide = np.flip(x, axis) if reverse else x
    inclusive = np.cumsum(wide, axis, dtype=np.float64 if x.dtype.kind == "f" else x.dtype)
    exclusive = inclusive - wide
    return (np.flip(exclusive, axis) if reverse else exclusive), np.take(inclusive, -1, axis)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.every_triton(6)
def test_every_dtype_and_direction(dtype, reverse):
    """Small whole numbers: every order of summing gives the same."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2 if dtype == "bool" else 9, (3, 64)).astype(dtype_of(dtype))
    wide = np.dtype(WIDENED.get(dtype, dtype))
    exclusive, total = np.zeros((3, 64), wide), np.zeros(3, wide)
    sums[(3,)](x, exclusive, total, 64, reverse)
    wanted, all_ = expected_sums(x.astype(wide), 1, reverse)
    assert (exclusive == wanted).all() and (total == all_).all()


def test_random_floats_sum_to_what_numpy_sums():
    x = np.random.default_rng(2).standard_normal((5, 256)).astype(np.float32)
    exclusive, total = np.zeros_like(x), np.zeros(5, np.float32)
    sums[(5,)](x, exclusive, total, 256, False)
    wanted, all_ = expected_sums(x.astype(np.float64), 1, False)
    assert np.allclose(exclusive, wanted, atol=1e-4) and np.allclose(total, all_, atol=1e-4)


def test_integers_wrap_round():
    x = np.full((1, 8), 2**31 - 1, np.int32)
    exclusive, total = np.zeros_like(x), np.zeros(1, np.int32)
    sums[(1,)](x, exclusive, total, 8, False)
    wanted, all_ = expected_sums(x, 1, False)
    assert (exclusive == wanted).all() and (total == all_).all()


@pytest.mark.parametrize("reverse", [False, True])
def test_what_lies_before_an_infinity_or_a_nan_is_exact(reverse):
    x = np.array([[1, 2, 3, 4, np.inf, 5, np.nan, 6]], np.float32)
    x = np.ascontiguousarray(x[:, ::-1]) if reverse else x
    exclusive, total = np.zeros_like(x), np.zeros(1, np.float32)
    sums[(1,)](x, exclusive, total, 8, reverse)
    found = exclusive[0, ::-1] if reverse else exclusive[0]
    assert np.array_equal(found, [0, 1, 3, 6, 10, np.inf, np.inf, np.nan], equal_nan=True)
    assert np.isnan(total[0])


@pytest.mark.parametrize("axis, reverse", [(0, False), (1, True), (-1, False), (0, True)])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.every_triton(3)
def test_along_every_axis(dtype, axis, reverse):
    x = np.random.default_rng(3).integers(-9, 9, (8, 16)).astype(dtype)
    exclusive, total = np.zeros_like(x), np.zeros(16 if axis == 0 else 8, dtype)
    along[(1,)](x, exclusive, total, 8, 16, axis, reverse)
    wanted, all_ = expected_sums(x, axis, reverse)
    assert (exclusive == wanted).all() and (total == all_).all()


def test_a_scalar_gives_zero_and_itself():
    x, o = np.array([-7], np.int8), np.ones(2, np.int32)
    of_scalars[(1,)](x, o)
    assert o.tolist() == [0, -7]


def test_sums_in_another_dtype():
    x = np.full(64, 200, np.float16) * np.float16(10)
    exclusive, total = np.zeros(64, np.float32), np.zeros(1, np.float32)
    in_wider[(1,)](x, exclusive, total, 64)
    assert total[0] == 128000 and exclusive[-1] == 126000
