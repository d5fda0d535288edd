"""Tensor descriptors and block pointers: loads, stores, boundaries, gathers, scatters, reductions, in loops."""

import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("torch")

import torch
import triton
import triton.language as tl

from tests.flir.cpu.convert.support import assert_close, assert_same, random_tensor
from tests.support import TRITON

needs_block_pointers = pytest.mark.skipif(TRITON >= (3, 9), reason="Triton 3.9 has no block pointers")


@triton.jit
def moved(x, out, rows, columns, N: tl.constexpr, M: tl.constexpr):
    a = tl.make_tensor_descriptor(x, shape=[rows, columns], strides=[columns, 1], block_shape=[N, M])
    b = tl.make_tensor_descriptor(out, shape=[rows, columns], strides=[columns, 1], block_shape=[N, M])
    i, j = tl.program_id(0) * N, tl.program_id(1) * M
    b.store([i, j], a.load([i, j]) * 2)


@pytest.mark.parametrize("dtype", [torch.int8, torch.float16, torch.float32, torch.float64], ids=str)
def test_descriptors_load_and_store_within_their_bounds(dtype):
    rows, columns = 21, 48
    x = random_tensor(dtype, rows + 2, columns)
    out = torch.zeros(rows + 2, columns, dtype=dtype)
    moved[(3, 3)](x, out, rows, columns, N=8, M=16)
    assert_same(out[:rows], x[:rows] * 2)
    assert not out[rows:].any()


@triton.jit
def outside(x, out, rows, columns, i, j, N: tl.constexpr, M: tl.constexpr):
    a = tl.make_tensor_descriptor(x, shape=[rows, columns], strides=[columns, 1], block_shape=[N, M])
    b = tl.make_tensor_descriptor(out, shape=[N, M], strides=[M, 1], block_shape=[N, M])
    b.store([0, 0], a.load([i, j]))


@pytest.mark.parametrize("at", [(-3, -5), (14, 20), (100, 100), (-100, 0), (0, 8)])
@pytest.mark.every_triton(2)
def test_what_lies_outside_of_a_descriptor_is_zero(at):
    x = random_tensor(torch.float32, 20, 32)
    out = torch.full((8, 16), 9.0)
    outside[(1,)](x, out, 20, 32, *at, N=8, M=16)
    padded = torch.nn.functional.pad(x, (200, 200, 200, 200))
    assert_same(out, padded[200 + at[0] :, 200 + at[1] :][:8, :16])


@triton.jit
def of_rank(x, out, R: tl.constexpr):
    if R == 1:
        a = tl.make_tensor_descriptor(x, shape=[100], strides=[1], block_shape=[32])
        b = tl.make_tensor_descriptor(out, shape=[100], strides=[1], block_shape=[32])
        for i in range(4):
            b.store([i * 32], a.load([i * 32]) + 1)
    elif R == 3:
        a = tl.make_tensor_descriptor(x, shape=[5, 6, 16], strides=[96, 16, 1], block_shape=[2, 4, 16])
        b = tl.make_tensor_descriptor(out, shape=[5, 6, 16], strides=[96, 16, 1], block_shape=[2, 4, 16])
        for i in range(3):
            for j in range(2):
                b.store([i * 2, j * 4, 0], a.load([i * 2, j * 4, 0]) + 1)
    else:
        a = tl.make_tensor_descriptor(
            x, shape=[2, 3, 4, 4, 8], strides=[384, 128, 32, 8, 1], block_shape=[1, 2, 2, 4, 8]
        )
        b = tl.make_tensor_descriptor(
            out, shape=[2, 3, 4, 4, 8], strides=[384, 128, 32, 8, 1], block_shape=[1, 2, 2, 4, 8]
        )
        for i in range(2):
            for j in range(2):
                for k in range(2):
                    at = [i, j * 2, k * 2, 0, 0]
                    b.store(at, a.load(at) + 1)


@pytest.mark.parametrize("rank, shape", [(1, (100,)), (3, (5, 6, 16)), (5, (2, 3, 4, 4, 8))])
def test_descriptors_of_every_rank(rank, shape):
    x, out = random_tensor(torch.float32, *shape), torch.zeros(shape)
    of_rank[(1,)](x, out, R=rank)
    assert_same(out, x + 1)


@triton.jit
def reductions(sums, most, least, bits, values, N: tl.constexpr, M: tl.constexpr):
    at = tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :]
    v = tl.load(values + at)
    for target in tl.static_range(4):
        pointer = sums if target == 0 else (most if target == 1 else (least if target == 2 else bits))
        d = tl.make_tensor_descriptor(pointer, shape=[N - 3, M], strides=[M, 1], block_shape=[N, M])
        if target == 0:
            d.atomic_add([0, 0], v)
        elif target == 1:
            d.atomic_max([0, 0], v)
        elif target == 2:
            d.atomic_min([0, 0], v)
        else:
            d.atomic_xor([0, 0], v)
            d.atomic_or([0, 0], v & 1)
            d.atomic_and([0, 0], v | 7)


def test_descriptors_reduce_into_memory():
    values, start = (random_tensor(torch.int32, 8, 16, seed=seed) for seed in (1, 2))
    sums, most, least, bits = (start.clone() for _ in range(4))
    reductions[(5,)](sums, most, least, bits, values, N=8, M=16)
    inside = torch.arange(8)[:, None] < 5
    assert_same(sums, torch.where(inside, start + 5 * values, start))
    assert_same(most, torch.where(inside, torch.maximum(start, values), start))
    assert_same(least, torch.where(inside, torch.minimum(start, values), start))
    assert_same(bits[5:], start[5:])
    expected = start[:5].clone()
    for _ in range(5):
        expected = ((expected ^ values[:5]) | (values[:5] & 1)) & (values[:5] | 7)
    # Each kind is atomic by itself; five programs may mix them. One after the other gives this:
    if not torch.equal(bits[:5], expected):
        changed = bits[:5] & ~(values[:5] | 7)
        assert not changed.any()


@triton.jit
def rows_by_index(x, rows, out, again, n, N: tl.constexpr, M: tl.constexpr):
    at = tl.load(rows + tl.arange(0, N))
    a = tl.make_tensor_descriptor(x, shape=[n, M * 2], strides=[M * 2, 1], block_shape=[1, M])
    b = tl.make_tensor_descriptor(again, shape=[n, M * 2], strides=[M * 2, 1], block_shape=[1, M])
    v = a.gather(at, M)
    tl.store(out + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :], v)
    b.scatter(v + 1, at, 0)


def test_descriptors_gather_and_scatter_rows():
    n, m = 32, 16
    x, again = random_tensor(torch.float32, n, 2 * m), torch.zeros(n, 2 * m)
    rows = torch.randperm(n, generator=torch.manual_seed(2))[:8].int()
    out = torch.zeros(8, m)
    rows_by_index[(1,)](x, rows, out, again, n, N=8, M=m)
    assert_same(out, x[rows.long(), m:])
    expected = torch.zeros(n, 2 * m)
    expected[rows.long(), :m] = x[rows.long(), m:] + 1
    assert_same(again, expected)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    x = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    y = tl.make_tensor_descriptor(b, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    z = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(x.load([i, k]), y.load([j, k]).T, acc)
    z.store([i, j], acc.to(tl.float16))


def test_a_product_over_descriptors():
    m, n, k = 70, 56, 88
    a, b = random_tensor(torch.float16, m, k), random_tensor(torch.float16, n, k, seed=1)
    c = torch.zeros(m, n, dtype=torch.float16)
    matmul[(3, 4)](a, b, c, m, n, k, BM=32, BN=16, BK=32)
    assert_close(c, a.double() @ b.double().T, 1e-3)


@triton.jit
def through_blocks(x, out, rows, columns, N: tl.constexpr, M: tl.constexpr, PADDING: tl.constexpr):
    a = tl.make_block_ptr(x, (rows, columns), (columns, 1), (tl.program_id(0) * N, 0), (N, M), (1, 0))
    b = tl.make_block_ptr(out, (rows, columns), (columns, 1), (tl.program_id(0) * N, 0), (N, M), (1, 0))
    total = tl.zeros((N,), tl.float32)
    for _j in range(0, columns, M):
        v = tl.load(a, boundary_check=(0, 1), padding_option=PADDING)
        total += tl.sum(tl.where(v != v, 0, v), axis=1)
        tl.store(b, v + total[:, None], boundary_check=(0, 1))
        a = tl.advance(a, (0, M))
        b = tl.advance(b, (0, M))


@needs_block_pointers
@pytest.mark.parametrize("padding", ["zero", "nan"])
def test_block_pointers_advance_and_check_boundaries(padding):
    rows, columns, n, m = 13, 37, 4, 16
    x = torch.round(random_tensor(torch.float32, rows, columns) * 8)
    out = torch.zeros(rows + 3, columns)
    through_blocks[(4,)](x, out, rows, columns, N=n, M=m, PADDING=padding)
    sums = torch.stack([x[:, : j + m].sum(1) for j in range(0, columns, m)], 1)
    expected = x + sums.repeat_interleave(m, 1)[:, :columns]
    assert_same(out[:rows], expected)
    assert not out[rows:].any()


@triton.jit
def padded_block(x, out, PADDING: tl.constexpr):
    a = tl.make_block_ptr(x, (3, 5), (1, 3), (0, 0), (4, 8), (0, 1))
    v = tl.load(a, boundary_check=(0, 1), padding_option=PADDING)
    b = tl.make_block_ptr(out, (4, 8), (8, 1), (0, 0), (4, 8), (1, 0))
    tl.store(b, v)
    tl.store(tl.advance(tl.advance(b, (4, 0)), (-4, 0)), v)


@needs_block_pointers
@pytest.mark.parametrize("padding, value", [("zero", 0.0), ("nan", torch.nan)])
def test_padding_of_block_pointers(padding, value):
    x, out = random_tensor(torch.float32, 5, 3), torch.zeros(4, 8)
    padded_block[(1,)](x, out, PADDING=padding)
    expected = torch.full((4, 8), value)
    expected[:3, :5] = x.T
    assert_same(out, expected)


@triton.jit
def padded_descriptor(x, out):
    a = tl.make_tensor_descriptor(x, shape=[3, 5], strides=[8, 1], block_shape=[4, 8], padding_option="nan")
    tl.store(out + tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :], a.load([0, 0]))


def test_padding_of_descriptors():
    x, out = random_tensor(torch.float32, 3, 8), torch.zeros(4, 8)
    padded_descriptor[(1,)](x, out)
    expected = torch.full((4, 8), torch.nan)
    expected[:3, :5] = x[:, :5]
    assert_same(out, expected)


@triton.jit
def chosen(a, b, out, flag):
    d = tl.make_tensor_descriptor(a, shape=[8, 16], strides=[16, 1], block_shape=[8, 16])
    if flag:
        d = tl.make_tensor_descriptor(b, shape=[4, 16], strides=[16, 1], block_shape=[8, 16])
    o = tl.make_tensor_descriptor(out, shape=[8, 16], strides=[16, 1], block_shape=[8, 16])
    o.store([0, 0], d.load([0, 0]))


@pytest.mark.parametrize("flag", [0, 1])
def test_a_descriptor_that_a_branch_chooses(flag):
    a, b = random_tensor(torch.float32, 8, 16), random_tensor(torch.float32, 8, 16, seed=1)
    out = torch.zeros(8, 16)
    chosen[(1,)](a, b, out, flag)
    expected = b.clone() if flag else a
    if flag:
        expected[4:] = 0
    assert_same(out, expected)


@triton.jit
def host_made(x, out, N: tl.constexpr, M: tl.constexpr):
    out.store([tl.program_id(0) * N, 0], x.load([tl.program_id(0) * N, 0]) + 1)


def test_descriptors_made_by_the_host():
    from triton.tools.tensor_descriptor import TensorDescriptor

    x, out = random_tensor(torch.float32, 20, 16), torch.zeros(20, 16)
    host_made[(3,)](TensorDescriptor.from_tensor(x, [8, 16]), TensorDescriptor.from_tensor(out, [8, 16]), N=8, M=16)
    assert_same(out, x + 1)
