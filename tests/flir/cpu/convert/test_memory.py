"""Loads and stores: masks, what stands in for masked elements, overlaps, odd addresses, every element type."""

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
    assert_lines,
    assert_same,
    random_tensor,
)

pytestmark = pytest.mark.every_triton(4)

B = 128


@triton.jit
def copy(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


@pytest.mark.parametrize("dtype", [torch.bool, *INTEGERS, *UNSIGNED, *FLOATS], ids=str)
def test_masked_copies_of_every_type(dtype):
    x = random_tensor(dtype, 300)
    out = torch.zeros(300, dtype=dtype)
    copy[(3,)](x, out, 277, B=B)
    assert_same(out[:277], x[:277])
    assert not out[277:].any()


@pytest.mark.parametrize("dtype", SMALL_FLOATS, ids=str)
def test_copies_of_small_floats(dtype):
    x = torch.arange(256, dtype=torch.uint8).view(dtype)
    out = torch.zeros(256, dtype=torch.uint8).view(dtype)
    copy[(2,)](x, out, 255, B=B)
    assert torch.equal(out.view(torch.uint8)[:255], x.view(torch.uint8)[:255])


@triton.jit
def others(x, out, n, other, B: tl.constexpr):
    at = tl.arange(0, B)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside))
    tl.store(out + B + at, tl.load(x + at, mask=inside, other=0))
    tl.store(out + 2 * B + at, tl.load(x + at, mask=inside, other=other))
    tl.store(out + 3 * B + at, tl.load(x + at, mask=inside, other=at.to(x.dtype.element_ty)))
    tl.store(out + 4 * B + at, tl.load(x + at, mask=inside, other=-float("inf")))
    tl.store(out + 5 * B + at, tl.load(x + at, mask=inside & (at % 3 != 0), other=tl.load(x + B - 1 - at)))
    tl.store(out + 6 * B + at, tl.load(x + at, mask=n > 1000, other=2))
    tl.store(out + 7 * B + at, tl.load(x + at, mask=n < 1000, other=2))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
def test_what_masked_elements_are(dtype):
    x, at = random_tensor(dtype, B), torch.arange(B)
    out = torch.empty(8, B, dtype=dtype)
    others[(1,)](x, out, 99, 7.5, B=B)
    inside = at < 99
    expected = [
        torch.where(inside, x, torch.tensor(other, dtype=dtype)) for other in (0.0, 0.0, 7.5)
    ]  # what has no `other` is zero here
    expected.append(torch.where(inside, x, at.to(dtype)))
    expected.append(torch.where(inside, x, torch.tensor(-torch.inf, dtype=dtype)))
    expected.append(torch.where(inside & (at % 3 != 0), x, x.flip(0)))
    expected += [torch.full((B,), 2, dtype=dtype), x]
    assert_same(out, torch.stack(expected))


@triton.jit
def single(x, out, n):
    value = tl.load(x + 3)
    tl.store(out, value)
    tl.store(out + 1, tl.load(x + 10000000, mask=n > 5, other=4))
    tl.store(out + 2, value, mask=n > 5)
    tl.store(out + 3, tl.load(x + n, mask=n < 5))
    tl.store(out + 4, 9)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int16, torch.float16, torch.float64], ids=str)
def test_scalars(dtype):
    x = random_tensor(dtype, 8)
    out = torch.zeros(6, dtype=dtype)
    single[(1,)](x, out, 2)
    assert_same(
        out, torch.stack([x[3], torch.tensor(4).to(dtype), out[2] * 0, x[2], torch.tensor(9).to(dtype), out[5]])
    )


@triton.jit
def shifted(x, by, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(x + by + at, tl.load(x + at) + 1)


@triton.jit
def shifted_between(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.load(x + at) * 2)


@pytest.mark.parametrize("by", [1, -1, 17, -17, 64, 0, 128, -128, 200])
def test_a_tile_is_loaded_before_any_of_it_is_stored(by):
    x = random_tensor(torch.float32, 600)
    y, z = x.clone(), x.clone()
    shifted[(1,)](y[200:], by, B=B)
    expected = x.clone()
    expected[200 + by : 200 + by + B] = x[200 : 200 + B] + 1
    assert_same(y, expected)
    shifted_between[(1,)](z[200:], z[200 + by :], B=B)
    expected[200 + by : 200 + by + B] = x[200 : 200 + B] * 2
    assert_same(z, torch.cat([x[: 200 + by], x[200 : 200 + B] * 2, x[200 + by + B :]]))


@triton.jit
def in_place(x, N: tl.constexpr, M: tl.constexpr):
    row, column = tl.arange(0, N)[:, None], tl.arange(0, M)[None, :]
    at = row * M + column
    back = (N - 1 - row) * M + (M - 1 - column)
    tl.store(x + back, tl.load(x + at))
    tl.debug_barrier()
    tl.store(x + at % (N * M), tl.load(x + (at + 1) % (N * M)))
    value = tl.load(x + at)
    tl.store(x + at, value * value, mask=value > 0)
    tl.store(x + column, tl.load(x + at).to(tl.float32).sum(axis=0)[None, :])


def test_overlaps_of_two_dimensional_tiles():
    x = torch.round(random_tensor(torch.float32, 8, 16))
    y = x.clone()
    in_place[(1,)](y, N=8, M=16)
    expected = x.flatten().flip(0).roll(-1)
    expected = torch.where(expected > 0, expected * expected, expected).reshape(8, 16)
    expected[0] = expected.sum(0)
    assert_same(y, expected)


@triton.jit
def transposed_in_place(x, N: tl.constexpr):
    row, column = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tl.store(x + column * N + row, tl.load(x + row * N + column))


def test_a_matrix_is_transposed_in_place():
    x = random_tensor(torch.float32, 32, 32)
    y = x.clone()
    transposed_in_place[(1,)](y, N=32)
    assert_same(y, x.T)


@triton.jit
def rearranged_in_place(x, N: tl.constexpr, HOW: tl.constexpr):
    flat = tl.arange(0, N * N)
    at = flat.reshape(N, N)
    if HOW == "transposed":
        tl.store(x + at, tl.trans(tl.load(x + at)))
    elif HOW == "flipped":
        tl.store(x + flat, tl.flip(tl.load(x + flat), 0))
    elif HOW == "scattered":
        where = x + (flat * 5) % (N * N)
        tl.store(where, tl.flip(tl.load(where), 0) + 1)
    elif HOW == "spread":
        row = tl.arange(0, N)
        tl.store(x + row[:, None] * N + row[None, :], tl.load(x + row * N + 1)[:, None] + row[None, :])
    else:
        a, b = tl.split(tl.load(x + flat).reshape(N * N // 2, 2))
        tl.store(x + flat, tl.reshape(tl.join(b, a), (N * N,)))


@pytest.mark.parametrize("how", ["transposed", "flipped", "scattered", "spread", "pairs"])
def test_a_tile_is_rearranged_in_place(how):
    n = 16
    x = random_tensor(torch.float32, n, n)
    y = x.clone()
    rearranged_in_place[(1,)](y, N=n, HOW=how)
    flat = x.flatten()
    expected = {
        "transposed": lambda: x.T,
        "flipped": lambda: flat.flip(0),
        "spread": lambda: x[:, 1:2] + torch.arange(n),
        "pairs": lambda: flat.reshape(-1, 2).flip(1).flatten(),
        "scattered": lambda: _scattered(flat),
    }[how]()
    assert_same(y, expected.reshape(n, n))


def _scattered(flat):
    where = torch.arange(flat.numel()) * 5 % flat.numel()
    result = torch.empty_like(flat)
    result[where] = flat[where].flip(0) + 1
    return result


@triton.jit
def two_outputs(x, a, b, n, B: tl.constexpr):
    at = tl.arange(0, B)
    value = tl.load(x + at, mask=at < n)
    tl.store(a + at, value + 1, mask=at < n)
    tl.store(b + at, value + 2, mask=at < n)
    tl.store(x + at, tl.load(a + at) + tl.load(b + at))


def test_a_tile_stored_twice_is_what_was_loaded():
    x = random_tensor(torch.int64, B)
    y, a = x.clone(), torch.empty_like(x)
    two_outputs[(1,)](y, a, y, B, B=B)
    assert_same(a, x + 1)
    assert_same(y, x + 1 + x + 2)


@triton.jit
def by_index(x, index, out, B: tl.constexpr):
    at = tl.arange(0, B)
    where = tl.load(index + at)
    tl.store(out + where, tl.load(x + where) + at)
    tl.store(index + where, at.to(tl.int32))


def test_accesses_by_loaded_indices():
    x, index = random_tensor(torch.int64, B), torch.randperm(B, generator=torch.manual_seed(3)).int()
    inverse, out = index.clone(), torch.empty_like(x)
    by_index[(1,)](x, inverse, out, B=B)
    expected = torch.empty_like(x)
    expected[index] = x[index] + torch.arange(B)
    assert_same(out, expected)
    assert_same(inverse[index], torch.arange(B))


@triton.jit
def strided(x, out, rows, columns, row_stride, column_stride, N: tl.constexpr, M: tl.constexpr):
    row = tl.program_id(0) * N + tl.arange(0, N)[:, None]
    column = tl.arange(0, M)[None, :]
    inside = (row < rows) & (column < columns)
    value = tl.load(x + row * row_stride + column * column_stride, mask=inside)
    tl.store(out + row * columns + column, value, mask=inside)


@pytest.mark.parametrize("view", ["rows", "transposed", "every second", "backwards", "one value"])
def test_views(view):
    x = random_tensor(torch.float32, 40, 56)
    y = {
        "rows": x[3:, 5:29],
        "transposed": x.T[:, :21],
        "every second": x[::2, ::2],
        "backwards": x,
        "one value": x[:1, :1].expand(17, 19),
    }[view]
    strides = y.stride()
    if view == "backwards":
        expected, start, strides = x.flip(0, 1), x.view(-1)[-1:], (-56, -1)
    else:
        expected, start = y, y
    rows, columns = y.shape
    out = torch.zeros(rows, columns)
    strided[(triton.cdiv(rows, 8),)](start, out, rows, columns, *strides, N=8, M=64)
    assert_same(out, expected)


@pytest.mark.parametrize("dtype", [np.int16, np.float32, np.float64])
def test_addresses_that_are_no_multiple_of_the_elements_size(dtype):
    memory = np.zeros(1200, np.uint8)
    x = memory[1 : 1 + 100 * np.dtype(dtype).itemsize].view(dtype)
    x[:] = np.arange(100)
    out = np.zeros(903, np.uint8)[3 : 3 + 100 * np.dtype(dtype).itemsize].view(dtype)
    copy[(1,)](x, out, 100, B=B)
    np.testing.assert_array_equal(out, np.arange(100))


@triton.jit
def hinted(x, out, n, B: tl.constexpr):
    tl.assume(n > 0)
    at = tl.max_contiguous(tl.multiple_of(tl.program_id(0) * B, B) + tl.arange(0, B), B)
    a = tl.load(x + at, mask=at < n, volatile=True)
    b = tl.load(x + at, mask=at < n, cache_modifier=".cg", eviction_policy="evict_last")
    tl.debug_barrier()
    c = tl.load(tl.multiple_of(x, 16) + at, mask=at < n, cache_modifier=".ca", eviction_policy="evict_first")
    tl.store(out + at, a + b + c, mask=at < n, cache_modifier=".cs", eviction_policy="evict_first")


def test_hints_change_nothing(tmp_path):
    x = torch.round(random_tensor(torch.float32, 300))
    out = torch.zeros(300)
    text = hinted[(3,)](x, out, 299, B=B).asm["linalg"]
    assert_same(out[:299], x[:299] * 3)
    assert_lines(text, "// CHECK: llvm.load volatile\n// CHECK-NOT: assume", tmp_path)


@triton.jit
def positions(out, counts):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    n, m = tl.num_programs(0), tl.num_programs(1)
    tl.store(out + (z * m + y) * n + x, x * 10000 + y * 100 + z)
    tl.store(counts + 0, n)
    tl.store(counts + 1, m)
    tl.store(counts + 2, tl.num_programs(2))


def test_programs_know_their_place_in_three_dimensions():
    out, counts = torch.full((4, 5, 7), -1, dtype=torch.int32), torch.zeros(3, dtype=torch.int32)
    positions[(7, 5, 4)](out, counts)
    z, y, x = torch.meshgrid(*(torch.arange(n) for n in (4, 5, 7)), indexing="ij")
    assert_same(out, x * 10000 + y * 100 + z)
    assert counts.tolist() == [7, 5, 4]


@pytest.mark.parametrize("grid", [(0,), (3, 0), (0, 2, 2)])
def test_grids_of_nothing(grid):
    out = torch.full((4,), -1, dtype=torch.int32)
    positions[grid](out, out)
    assert_same(out, torch.full((4,), -1))


@triton.jit
def through_pointers(table, out, n, B: tl.constexpr):
    at = tl.arange(0, B)
    rows = tl.load(table + at).to(tl.pointer_type(tl.float32))
    tl.store(out + at, tl.load(rows + at, mask=at < n, other=-1))
    first = tl.load(table).to(tl.pointer_type(tl.float32))
    tl.store(out + B + at, tl.load(first + at))
    chosen = tl.where(at % 2 == 0, first + at, rows)
    tl.store(out + 2 * B + at, tl.load(chosen))
    bytes_ = (out + 3 * B).to(tl.pointer_type(tl.uint8), bitcast=True)
    tl.store(bytes_ + at * 4 + 3, 0x40)
    tl.store((out + 4 * B).to(tl.pointer_type(tl.int64), bitcast=True) + at // 2, first.to(tl.int64), mask=at % 2 == 0)


def test_pointers_are_loaded_chosen_and_cast():
    rows = [random_tensor(torch.float32, 64, seed=seed) for seed in range(64)]
    table = torch.tensor([row.data_ptr() for row in rows])
    out = torch.zeros(5, 64)
    through_pointers[(1,)](table, out, 61, B=64)
    diagonal = torch.stack([row[i] for i, row in enumerate(rows)])
    diagonal[61:] = -1
    assert_same(out[0], diagonal)
    assert_same(out[1], rows[0])
    assert_same(out[2], torch.stack([rows[0][i] if i % 2 == 0 else rows[i][0] for i in range(64)]))
    assert_same(out[3], torch.full((64,), 2.0))
    assert (out[4].view(torch.int64) == rows[0].data_ptr()).all()


@triton.jit
def of_rank(x, out, R: tl.constexpr):
    at = tl.arange(0, 32)
    if R == 1:
        tl.store(out + at, tl.load(x + at) + 1)
    elif R == 3:
        cube = at.reshape(2, 4, 4)
        tl.store(out + cube, tl.load(x + cube) + 1)
    elif R == 4:
        cube = at.reshape(2, 1, 4, 4)
        tl.store(out + cube, tl.load(x + cube, mask=cube < 30, other=5) + 1)
    else:
        cube = at.reshape(2, 2, 2, 2, 2)
        tl.store(out + cube, tl.load(x + cube.permute(4, 3, 2, 1, 0)) + 1)


@pytest.mark.parametrize("rank", [1, 3, 4, 5])
def test_tiles_of_every_rank(rank):
    x = random_tensor(torch.float32, 32)
    out = torch.zeros(32)
    of_rank[(1,)](x, out, R=rank)
    expected = x + 1
    if rank == 4:
        expected[30:] = 6
    if rank == 5:
        expected = (x + 1).reshape(2, 2, 2, 2, 2).permute(4, 3, 2, 1, 0).flatten()
    assert_same(out, expected)
