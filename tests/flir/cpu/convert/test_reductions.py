"""Reductions, scans and sorts: every axis, every standard combination, tuples, ties, control flow."""

import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("torch")

import torch
import triton
import triton.language as tl

from tests.flir.cpu.convert.support import assert_close, assert_lines, assert_same, random_tensor

pytestmark = pytest.mark.every_triton(4)


@triton.jit
def put(out, tile):
    tl.store(out + tl.arange(0, tile.numel), tile.reshape(tile.numel))


@triton.jit
def load(x, SHAPE: tl.constexpr):
    at = tl.arange(0, SHAPE[0])
    if len(SHAPE) > 1:
        at = at[:, None] * SHAPE[1] + tl.arange(0, SHAPE[1])[None, :]
    if len(SHAPE) > 2:
        at = at[:, :, None] * SHAPE[2] + tl.arange(0, SHAPE[2])[None, None, :]
    return tl.load(x + at)


@triton.jit
def reduced(x, sums, largest, smallest, xors, SHAPE: tl.constexpr, AXIS: tl.constexpr, INTEGERS: tl.constexpr):
    a = load(x, SHAPE)
    put(sums, tl.sum(a, axis=AXIS, keep_dims=True))
    put(largest, tl.max(a, axis=AXIS, keep_dims=True))
    put(smallest, tl.min(a, axis=AXIS, keep_dims=True))
    if INTEGERS:
        put(xors, tl.xor_sum(a, axis=AXIS, keep_dims=True))


SHAPES = [((128,), 0), ((8, 64), 0), ((8, 64), 1), ((64, 2), 1), ((4, 8, 16), 0), ((4, 8, 16), 1), ((4, 8, 16), 2)]


@pytest.mark.parametrize("shape, axis", [*SHAPES, ((1, 16), 0), ((16, 1), 1), ((4, 8, 4), None)])
@pytest.mark.parametrize("dtype", [torch.int32, torch.float32], ids=str)
def test_reductions_along_every_axis(shape, axis, dtype):
    x = random_tensor(dtype, *shape)
    count = x.numel() // (x.numel() if axis is None else shape[axis])
    sums, largest, smallest, xors = torch.zeros(4, count, dtype=dtype)
    reduced[(1,)](x, sums, largest, smallest, xors, SHAPE=shape, AXIS=axis, INTEGERS=dtype == torch.int32)
    flat = x.flatten()[None] if axis is None else x.movedim(axis, -1).reshape(count, -1)
    if dtype == torch.int32:
        assert_same(sums, flat.sum(1).int())
        assert_same(xors, torch.tensor([_xor(row) for row in flat.tolist()]))
    else:
        assert_close(sums, flat.double().sum(1), 1e-5)
    assert_same(largest, flat.max(1).values)
    assert_same(smallest, flat.min(1).values)


def _xor(row):
    result = 0
    for number in row:
        result ^= number
    return result


@triton.jit
def extremes(x, out, at, N: tl.constexpr):
    a = tl.load(x + tl.arange(0, N))
    for i in tl.static_range(2):
        value, index = tl.max(a, 0, return_indices=True, return_indices_tie_break_left=i == 0)
        tl.store(out + i, value)
        tl.store(at + i, index)
        value, index = tl.min(a, 0, return_indices=True, return_indices_tie_break_left=i == 0)
        tl.store(out + 2 + i, value)
        tl.store(at + 2 + i, index)
    tl.store(out + 4, tl.max(a, 0))
    tl.store(out + 5, tl.min(a, 0))
    tl.store(out + 6, tl.sum(a, 0).to(out.dtype.element_ty))
    tl.store(at + 4, tl.argmax(a, 0))
    tl.store(at + 5, tl.argmin(a, 0))


TYPES = [torch.int8, torch.uint8, torch.int16, torch.uint32, torch.int64, torch.uint64]
TYPES += [torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_extremes_and_where_they_are(dtype):
    x = random_tensor(dtype, 256)
    top = x.double().max() if x.is_floating_point() else None
    if top is None:  # the ends of the type only where they are put
        x = (x.double() / 2 + 1).to(dtype)
    numbers = x.numpy() if dtype != torch.bfloat16 else x
    for at in (7, 200):
        numbers[at] = top.item() if top is not None else torch.iinfo(dtype).max
    for at in (9, 199):
        numbers[at] = -top.item() - 30 if top is not None else torch.iinfo(dtype).min
    out, at = torch.zeros(7, dtype=dtype), torch.full((6,), -1, dtype=torch.int32)
    extremes[(1,)](x, out, at, N=256)
    assert at.tolist()[0] == at[4] == 7
    assert at.tolist()[2] == at[5] == 9
    assert at[1] in (7, 200)  # without the tie broken to the left, either will do
    assert at[3] in (9, 199)
    assert_same(out[:6].double(), torch.stack([x[7], x[7], x[9], x[9], x[7], x[9]]).double())
    if x.is_floating_point():
        assert_close(out[6:], x.double().sum()[None], torch.finfo(torch.bfloat16).eps * 4 if x.itemsize == 2 else 1e-5)


@triton.jit
def with_nans(x, out, at, N: tl.constexpr):
    a = tl.load(x + tl.arange(0, N))
    tl.store(out, tl.max(a, 0))
    tl.store(out + 1, tl.min(a, 0))
    tl.store(out + 2, tl.sum(a, 0))
    tl.store(at, tl.argmax(a, 0))


def test_reductions_of_infinities_and_nans():
    x = torch.full((32,), -torch.inf)
    out, at = torch.zeros(3), torch.zeros(1, dtype=torch.int32)
    with_nans[(1,)](x, out, at, N=32)
    assert out.tolist() == [-torch.inf] * 3
    assert at.item() == 0
    x = random_tensor(torch.float32, 32)
    x[5] = torch.nan
    with_nans[(1,)](x, out, at, N=32)
    assert out[0] == x.nan_to_num(-100).max()
    assert out[1] == x.nan_to_num(100).min()
    assert out[2].isnan()


@triton.jit
def welford(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    if n > 0:
        d = mean_b - mean_a
        mean = mean_a + d * (n_b / n)
        m2 = m2_a + m2_b + d * d * (n_a * n_b / n)
    else:
        mean, m2 = 0.0, 0.0
    return mean, m2, n


@triton.jit
def variances(x, out, ROWS: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    a = load(x, (ROWS, N))
    mean, m2, n = tl.reduce((a, a * 0, a * 0 + 1), AXIS, welford)
    count: tl.constexpr = ROWS * N // a.shape[AXIS]
    put(out, mean)
    put(out + count, m2 / n)
    mean, m2, n = tl.associative_scan((a, a * 0, a * 0 + 1), AXIS, welford)
    put(out + 2 * count, mean)


@pytest.mark.parametrize("axis", [0, 1])
def test_tuples_and_control_flow_in_a_combination(axis):
    x = random_tensor(torch.float32, 8, 128)
    count = 8 * 128 // x.shape[axis]
    out = torch.zeros(2 * count + 8 * 128)
    variances[(1,)](x, out, ROWS=8, N=128, AXIS=axis)
    exact = x.double()
    assert_close(out[:count], exact.mean(axis), 1e-5)
    assert_close(out[count : 2 * count], exact.var(axis, correction=0), 1e-5)
    counts = torch.arange(1, x.shape[axis] + 1).reshape((-1, 1) if axis == 0 else (1, -1))
    assert_close(out[2 * count :], (exact.cumsum(axis) / counts).flatten(), 1e-5)


@triton.jit
def last_positive(a, b):
    if b > 0:
        return b
    return a


@triton.jit
def narrow(a, b):
    return ((a.to(tl.int64) * 31 + b) % 251).to(a.dtype)


@triton.jit
def linear(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def scanned(x, sums, backwards, products, positive, SHAPE: tl.constexpr, AXIS: tl.constexpr):
    a = load(x, SHAPE)
    put(sums, tl.cumsum(a, axis=AXIS))
    put(backwards, tl.cumsum(a, axis=AXIS, reverse=True))
    put(products, tl.cumprod(a, axis=AXIS, reverse=AXIS == 0))
    put(positive, tl.associative_scan(a, AXIS, last_positive, reverse=AXIS == 1))


@pytest.mark.parametrize("shape, axis", [*SHAPES, ((1, 16), 0)])
@pytest.mark.parametrize("dtype", [torch.int64, torch.float64], ids=str)
def test_scans_along_every_axis(shape, axis, dtype):
    x = random_tensor(dtype, *shape)
    sums, backwards, products, positive = torch.zeros(4, *shape, dtype=dtype)
    scanned[(1,)](x, sums, backwards, products, positive, SHAPE=shape, AXIS=axis)
    same = assert_same if dtype == torch.int64 else lambda a, e: assert_close(a, e, 1e-12)
    same(sums, x.cumsum(axis))
    same(backwards, x.flip(axis).cumsum(axis).flip(axis))
    same(products, x.flip(axis).cumprod(axis).flip(axis) if axis == 0 else x.cumprod(axis))
    y = x.flip(axis) if axis == 1 else x
    rows = y.movedim(axis, 0).clone()
    for i in range(1, len(rows)):
        rows[i] = torch.where(rows[i] > 0, rows[i], rows[i - 1])
    expected = rows.movedim(0, axis)
    assert_same(positive, expected.flip(axis) if axis == 1 else expected)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.float16, torch.bfloat16], ids=str)
def test_scans_of_small_types(dtype):
    x = (random_tensor(torch.int8, 4, 32) % 3).to(dtype)
    sums, backwards, products, positive = torch.zeros(4, 4, 32, dtype=dtype)
    scanned[(1,)](x, sums, backwards, products, positive, SHAPE=(4, 32), AXIS=1)
    expected = (x.long() if not x.is_floating_point() else x.double()).cumsum(1)
    assert_same(sums, expected.to(dtype))


@triton.jit
def recurrences(x, y, out, bools, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.load(x + at), tl.load(y + at)
    p, q = tl.associative_scan((a, b), 0, linear)
    tl.store(out + at, q + p * 0)
    p, q = tl.associative_scan((a, b), 0, linear, reverse=True)
    tl.store(out + N + at, q)
    tl.store(bools, tl.reduce(a > 0.5, 0, either))
    tl.store(bools + 1, tl.reduce(a > 0.5, 0, both))
    tl.store(bools + 2 + at, tl.associative_scan(a > 1.5, 0, either))


@triton.jit
def either(a, b):
    return a | b


@triton.jit
def both(a, b):
    return a & b


def test_scans_of_tuples_and_reductions_of_bools():
    n = 64
    x, y = (random_tensor(torch.float64, n, seed=seed).abs() * 0.3 for seed in (1, 2))
    out, bools = torch.zeros(2, n, dtype=torch.float64), torch.zeros(n + 2, dtype=torch.bool)
    recurrences[(1,)](x, y, out, bools, N=n)
    for row, (a, b) in enumerate([(x, y), (x.flip(0), y.flip(0))]):
        value, expected = 0.0, []
        for i in range(n):
            value = value * a[i].item() + b[i].item()
            expected.append(value)
        expected = torch.tensor(expected, dtype=torch.float64)
        assert_close(out[row], expected if row == 0 else expected.flip(0), 1e-12)
    assert bools[0] == (x > 0.5).any()
    assert bools[1] == (x > 0.5).all()
    assert_same(bools[2:], (x > 1.5).cumsum(0) > 0)


@triton.jit
def sorted_(x, out, top, turned, ROWS: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + at)
    tl.store(out + at, tl.sort(a))
    tl.store(out + ROWS * N + at, tl.sort(a, descending=True))
    tl.store(top + tl.arange(0, ROWS)[:, None] * K + tl.arange(0, K)[None, :], tl.topk(a, K))
    tl.store(turned + at, tl.flip(a, 1))


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8, torch.float16, torch.float32], ids=str)
@pytest.mark.every_triton(2)
def test_sorts(dtype):
    rows, n, k = 4, 32, 4
    x = random_tensor(dtype, rows, n)
    out, top, turned = torch.zeros(2, rows, n, dtype=dtype), torch.zeros(rows, k, dtype=dtype), torch.zeros_like(x)
    sorted_[(1,)](x, out, top, turned, ROWS=rows, N=n, K=k)
    expected = x.double().sort(1).values.to(dtype)
    assert_same(out, torch.stack([expected, expected.flip(1)]))
    assert_same(top, expected.flip(1)[:, :k])
    assert_same(turned, x.flip(1))


@triton.jit
def softmaxed(x, out, N: tl.constexpr):
    at = tl.arange(0, 8)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.softmax(tl.load(x + at).T, 0).T)
    tl.store(out + 8 * N + at, tl.sigmoid(tl.load(x + at)))


def test_softmax_and_sigmoid():
    x = random_tensor(torch.float32, 8, 64)
    out = torch.zeros(2, 8, 64)
    softmaxed[(1,)](x, out, N=64)
    assert_close(out, torch.stack([x.double().softmax(1), x.double().sigmoid()]), 1e-6)


@triton.jit
def ordered(x, out, N: tl.constexpr):
    tl.store(out, tl.reduce(tl.load(x + tl.arange(0, N)), 0, narrow))


def test_the_last_axis_is_reduced_in_lanes(tmp_path):
    x, out = random_tensor(torch.uint8, 256), torch.zeros(1, dtype=torch.uint8)
    text = ordered[(1,)](x, out, N=256).asm["linalg"]
    lines = """
        // CHECK: linalg.generic {{.*}} outs(%[[LANES:.*]] : memref<64xi8>)
        // CHECK: scf.for
        // CHECK: linalg.generic {{.*}} outs(%[[LANES]] : memref<64xi8>)
        // CHECK: memref.load %[[LANES]]
        // CHECK: arith.trunci
    """
    assert_lines(text, lines, tmp_path)


@triton.jit
def or_reduced(x, out, N: tl.constexpr):
    tl.store(out, tl.reduce_or(tl.load(x + tl.arange(0, N)), 0))


@pytest.mark.skipif(not hasattr(tl, "reduce_or"), reason="newer versions of the language have reduce_or")
def test_reduce_or():
    x, out = random_tensor(torch.int32, 64) & 0x1111, torch.zeros(1, dtype=torch.int32)
    or_reduced[(1,)](x, out, N=64)
    expected = 0
    for number in x.tolist():
        expected |= number
    assert out.item() == expected
