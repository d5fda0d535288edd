"""Pointers into shared buffers: loads, stores and atomics by any index, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.frontends.gpu import pointer_kernels as kernels
from tests.gpu.device import COMPILE_ONLY, DEVICE, DTYPES, ON_CPU, random

pytestmark = pytest.mark.gpu

R, C, N = 32, 64, 512
LOADED = ["i1", "i8", "i16", "i32", "i64", "u8", "f8e5m2", "f16", "bf16", "f32", "f64"]


def integers(low, high, size, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, (size,), generator=generator, dtype=torch.int32).to(DEVICE)


def bits(tensor):
    return tensor.contiguous().view(torch.uint8)


def same(got, expected):
    assert COMPILE_ONLY or torch.equal(bits(got), bits(expected))


def agree(got, expected, tolerance=1e-6):
    if not COMPILE_ONLY:
        np.testing.assert_allclose(got.double().cpu().numpy(), expected, rtol=tolerance, atol=tolerance)


def permutation(size, seed=0):
    return torch.randperm(size, generator=torch.Generator().manual_seed(seed)).to(torch.int32).to(DEVICE)


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("n", [1, 1000, 4096])
@pytest.mark.parametrize("bins", [16, 256, 4096])
def test_histograms(bins, n, warps):
    x = integers(0, bins, n)
    o = torch.empty(bins, dtype=torch.int32, device=DEVICE)
    kernels.histogram[(1,)](x, o, n, B=1024, N=bins, num_warps=warps)
    same(o, torch.bincount(x.long(), minlength=bins).int())


@pytest.mark.parametrize("layout", kernels.LAYOUTS)
@pytest.mark.parametrize("dtype", ["i8", "f16", "f32"])
def test_any_element_of_any_layout(layout, dtype):
    x = random(dtype, (R * C + N,))
    rows, columns = integers(0, R, N, 1), integers(0, C, N, 2)
    o = torch.empty(N, dtype=x.dtype, device=DEVICE)
    kernels.gathered[(1,)](x, rows, columns, o, R=R, C=C, N=N, LAYOUT=layout)
    tile = x[: R * C].reshape(R, C)
    same(o, tile[rows.long(), columns.long()])
    where = permutation(R * C, 3)[:N]
    rows, columns = where // C, where % C
    o = torch.empty(R, C, dtype=x.dtype, device=DEVICE)
    kernels.scattered[(1,)](x, rows, columns, o, R=R, C=C, N=N, LAYOUT=layout)
    expected = tile.clone()
    expected[rows.long(), columns.long()] = x[R * C :]
    same(o, expected)


@pytest.mark.parametrize("dtype", LOADED)
@pytest.mark.parametrize("size", [16, 1024])
@pytest.mark.parametrize("warps", [1, 8])
def test_every_dtype_under_masks(dtype, size, warps):
    x = random(dtype, (size,))
    index = permutation(size)
    o = torch.zeros(size, dtype=x.dtype, device=DEVICE)
    n = size * 2 // 3 + 1
    kernels.masked[(1,)](x, index, o, n, N=size, num_warps=warps)
    i = torch.arange(size, device=DEVICE)
    buffer = torch.full((size,), 3, device=DEVICE).to(x.dtype)
    wanted = i % 3 != 0
    if x.dtype.itemsize == 1:  # torch writes no indexed fp8
        buffer.view(torch.uint8)[index[wanted].long()] = x.view(torch.uint8)[wanted]
    else:
        buffer[index[wanted].long()] = x[wanted]
    expected = buffer.view(torch.uint8).reshape(size, -1).flip(0).clone()
    other = torch.full((size,), 9, device=DEVICE).to(x.dtype).view(torch.uint8).reshape(size, -1)
    expected[n:] = other[n:]
    same(o, expected.reshape(-1).view(x.dtype))


@pytest.mark.parametrize("dtype", ["i8", "f16", "f32", "f64"])
def test_rows_that_come_in_runs(dtype):
    x = random(dtype, (R, C))
    o = torch.empty(R + 1, C, dtype=x.dtype, device=DEVICE)
    kernels.reversed_rows[(1,)](x, o, R=R, C=C)
    same(o[:R], x.view(torch.uint8).reshape(R, -1).flip(0).reshape(-1).view(x.dtype).reshape(R, C))
    same(o[R], x[1])


@pytest.mark.parametrize("dtype", ["i32", "f32"])
@pytest.mark.parametrize("size", [32, 1024])
@pytest.mark.parametrize("warps", [1, 4, 16])
def test_sums_of_all_beginnings(dtype, size, warps):
    """Each step reads what others wrote in the step before: a barrier that is missing is seen."""
    x = integers(-50, 50, size).to(DTYPES[dtype])
    expected = torch.cumsum(x.double(), 0).to(x.dtype)
    for run in (
        lambda o: kernels.scalars[(1,)](x, o, size, N=size, num_warps=warps),
        lambda o: kernels.doubling_sums[(1,)](x, o, N=size, num_warps=warps),
        lambda o: kernels.in_two_buffers[(1,)](x, o, size.bit_length() - 1, N=size, num_warps=warps),
    ):
        o = torch.empty_like(x)
        run(o)
        same(o, expected)


@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize("size, plain", [(32, True), (64, True), (128, False)])
def test_views(dtype, size, plain):
    x = random(dtype, (3, size, size))
    o = torch.zeros(3, size, size, dtype=x.dtype, device=DEVICE)
    kernels.views[(1,)](x, o, B=size, PLAIN=plain)
    half = size // 2
    same(o[0], x[1].T)
    part = x[1][half:, half:]
    same(o[1].reshape(4, half, half)[:2], torch.stack([part, part.T]))
    same(o[2], x[2].flip(1))


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("warps", [1, 4])
def test_pointers_are_passed_and_chosen(n, warps):
    x = permutation(256)
    o = torch.empty(2, 256, dtype=torch.int32, device=DEVICE)
    kernels.through_functions[(1,)](x, o, n, N=256, num_warps=warps)
    a, b = torch.full_like(x, 11), torch.full_like(x, 22)
    first, second = (a, b) if n % 2 == 0 else (b, a)
    same(o[0], b if n > 2 else a)
    same(o[1], torch.where(x % 2 == 0, first, second))


KINDS = {
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
FLOATS = [("add", "f16"), ("add", "bf16"), ("add", "f32"), ("add", "f64"), ("max", "f32"), ("min", "f32")]
INTEGERS = [(kind, dtype) for kind in KINDS for dtype in ("i32", "u32", "i64", "u64")]


@pytest.mark.parametrize("size, elements", [(1024, 16), (1024, 512), (16, 4)])
@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("kind, dtype", [*FLOATS, *INTEGERS])
def test_atomics(kind, dtype, warps, size, elements):
    """Also of fewer elements than there are threads: none is done twice."""
    is_float = dtype in ("f16", "bf16", "f32", "f64")
    x = integers(-3 if is_float else 0, 4 if is_float else 1 << 30, size + elements).to(torch.int64)
    x = x.to(DTYPES[dtype]) if is_float or dtype[0] == "i" else x.to(torch.int64).to(DTYPES[dtype])
    index = integers(0, elements, size, 1)
    o = torch.zeros(elements, dtype=x.dtype, device=DEVICE)
    old = torch.zeros(size, dtype=x.dtype, device=DEVICE)
    kernels.reduced[(1,)](x, index, o, old, KIND=kind, N=size, M=elements, num_warps=warps)
    if COMPILE_ONLY:
        return
    wide = x.double() if is_float else x.view(torch.int64 if x.dtype.itemsize == 8 else torch.int32)
    values = wide.cpu().numpy()
    taken = np.arange(size) % 7 != 3
    expected = values[size:].copy()
    KINDS[kind].at(expected, index.cpu().numpy()[taken], values[:size][taken])
    got = o.double() if is_float else o.view(wide.dtype)
    np.testing.assert_array_equal(got.cpu().numpy(), expected)  # small numbers: floats are exact too


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("dtype", ["i32", "i64", "f32"])
def test_exchanges_lose_nothing(dtype, warps):
    size, elements = 512, 32
    x = (permutation(size + elements) + 1).to(DTYPES[dtype])
    index = integers(0, elements, size, 1)
    o = torch.zeros(elements, dtype=x.dtype, device=DEVICE)
    old = torch.zeros(size, dtype=x.dtype, device=DEVICE)
    kernels.reduced[(1,)](x, index, o, old, KIND="xchg", N=size, M=elements, num_warps=warps)
    if not COMPILE_ONLY:
        taken = torch.arange(size, device=DEVICE) % 7 != 3
        left = torch.cat([o, old[taken]]).sort().values
        given = torch.cat([x[size:], x[:size][taken]]).sort().values
        same(left, given)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("dtype", ["i32", "i64"])
def test_one_of_many_swaps(dtype, warps):
    size, elements = 512, 64
    x = (permutation(size) + 1).to(DTYPES[dtype])
    index = integers(0, elements, size, 1)
    o = torch.zeros(elements, dtype=x.dtype, device=DEVICE)
    old = torch.zeros(size, dtype=x.dtype, device=DEVICE)
    kernels.swapped[(1,)](x, index, o, old, N=size, M=elements, num_warps=warps)
    if COMPILE_ONLY:
        return
    won = old == 0
    assert torch.equal(index[won].sort().values, index.unique())
    same(o[index[won].long()], x[won])
    same(old[~won], o[index[~won].long()])


@pytest.mark.parametrize("size, groups", [(16, 4), (512, 16), (4096, 64)])
@pytest.mark.parametrize("warps", [1, 4, 8])
def test_results_of_atomics_are_places(size, groups, warps):
    keys = integers(0, groups, size)
    o = torch.zeros(size, dtype=torch.int32, device=DEVICE)
    kernels.ranked[(1,)](keys, o, N=size, M=groups, num_warps=warps)
    if not COMPILE_ONLY:
        assert torch.equal(o.sort().values, torch.arange(size, dtype=torch.int32, device=DEVICE))
        same(keys[o.long()], keys.sort().values)


@pytest.mark.parametrize("warps", [1, 8])
def test_scalar_atomics_are_done_once(warps):
    x = integers(0, 1000, 40)
    o = torch.zeros(42, dtype=torch.int32, device=DEVICE)
    kernels.counted_scalar[(1,)](x, o, 40, N=1, num_warps=warps)
    same(o[:41], torch.arange(41, dtype=torch.int32, device=DEVICE) * 2)
    same(o[41:], x.max()[None])


@pytest.mark.parametrize("size", [64, 1024])
def test_freed_memory_is_used_again(size):
    x = integers(-9, 9, size).float()
    o = torch.empty_like(x)
    kernels.freed[(1,)](x, o, N=size)
    same(o, (x.flip(0) + x.sum()).reshape(-1, 2).flip(1).reshape(-1))


@pytest.mark.parametrize("size", [64, 1024])
@pytest.mark.parametrize("warps", [1, 4])
def test_reductions_between_accesses(size, warps):
    x = torch.randn(size, generator=torch.Generator().manual_seed(0)).to(DEVICE)
    o = torch.empty_like(x)
    kernels.with_reductions[(1,)](x, o, 5, N=size, num_warps=warps)
    values = x.double().cpu().numpy()
    for k in range(5):
        taken = np.roll(values, -k)
        values = np.cumsum(taken) / size + taken[k]
    agree(o, values, 1e-4)


@pytest.mark.skipif(ON_CPU, reason="the same code runs there in one order")
def test_many_blocks_many_times():
    """A race shows now and then."""
    x = integers(-50, 50, 1024)
    expected = torch.cumsum(x.double(), 0).int()
    for _ in range(3 if COMPILE_ONLY else 200):
        o = torch.empty_like(x)
        kernels.doubling_sums[(512,)](x, o, N=1024, num_warps=8)
        same(o, expected)
