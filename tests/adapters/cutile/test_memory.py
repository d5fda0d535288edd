"""Loads and stores of tiles, gather and scatter: edges, padding, order, overlap, indices outside."""

from __future__ import annotations

import re

import cuda.tile as ct
import numpy as np
import pytest
import torch

from tests.adapters.cutile.arrays import compile_for_gpu, launch

pytestmark = pytest.mark.every_triton(1)

Int = ct.Constant[int]
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.uint8, torch.int64, torch.bool]


def numbers(dtype, *shape, seed=0):
    made = np.random.default_rng(seed).uniform(-100, 100, shape)
    return torch.from_numpy(made > 0 if dtype == torch.bool else made).to(dtype)


@ct.kernel
def copy(X, Y, TM: Int, TN: Int):
    at = (ct.bid(0), ct.bid(1))
    ct.store(Y, at, ct.load(X, at, (TM, TN)))


@pytest.mark.parametrize("dtype", [*DTYPES, torch.float8_e4m3fn, torch.float8_e5m2])
def test_tiles_at_the_edges_of_an_array(dtype):
    x = numbers(dtype, 37, 53)
    y = torch.zeros(40, 64, dtype=torch.float32).to(dtype)[:37, :53]
    launch(copy, (3, 4), x, y, 16, 16)
    assert torch.equal(x.view(torch.uint8).view(-1), y.contiguous().view(torch.uint8).view(-1))


PADDINGS = {"ZERO": 0.0, "NEG_ZERO": -0.0, "NAN": np.nan, "POS_INF": np.inf, "NEG_INF": -np.inf}


@pytest.mark.parametrize("mode", PADDINGS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_what_lies_outside_is_the_padding(mode, dtype):
    def with_mode(X, Y, Z):
        ct.store(Y, (0, 0), ct.load(X, (0, 0), (8, 16), padding_mode=getattr(ct.PaddingMode, mode)))
        ct.store(Z, (0, 0), ct.load(X, (7, 9), (8, 16), padding_mode=getattr(ct.PaddingMode, mode)))

    x, y, z = numbers(dtype, 5, 11), numbers(dtype, 8, 16), numbers(dtype, 8, 16)
    launch(with_mode, (1,), x, y, z)
    wanted = np.full((8, 16), PADDINGS[mode])
    np.testing.assert_array_equal(z.double().numpy(), wanted)
    assert mode == "NAN" or np.array_equal(np.signbit(z.double().numpy()), np.signbit(wanted))
    wanted[:5, :11] = x.double().numpy()
    np.testing.assert_array_equal(y.double().numpy(), wanted)


@ct.kernel
def turned(X, Y, TM: Int, TN: Int):
    i, j = ct.bid(0), ct.bid(1)
    x = ct.load(X, (i, j), (TM, TN), order="F", padding_mode=ct.PaddingMode.ZERO, latency=3, allow_tma=False)
    ct.store(Y, (i, j), x)


@ct.kernel
def of_three_dims(X, Y):
    i, j, k = ct.bid(0), ct.bid(1), ct.bid(2)
    x = ct.load(X, (i, j, k), (4, 8, 2), order=(2, 0, 1))
    ct.store(Y, (i, j, k), x, order=(0, 1, 2))


def test_order_turns_the_axes():
    x, y = numbers(torch.float32, 50, 70), torch.zeros(70, 50)
    launch(turned, (3, 4), x, y, 32, 16)
    assert torch.equal(y, x.T)
    x, y = numbers(torch.float32, 9, 13, 7), torch.zeros(7, 9, 13)
    launch(of_three_dims, (2, 2, 7), x, y)
    assert torch.equal(y, x.permute(2, 0, 1))


@ct.kernel
def strided(X, Y):
    view = X.tiled_view((4, 4), padding_mode=ct.PaddingMode.NEG_INF, traversal_steps=(3, 2))
    ct.store(Y, (0, 0), view.load((1, 1)))
    ct.store(Y, (1, 0), ct.full((4, 4), view.num_tiles(0) * 100 + view.num_tiles(1), ct.float32))


def test_views_whose_tiles_overlap():
    x, y = torch.arange(36, dtype=torch.float32).reshape(6, 6), torch.zeros(8, 4)
    launch(strided, (1,), x, y)
    wanted = torch.full((4, 4), -torch.inf)
    wanted[:3, :] = x[3:6, 2:6]
    assert torch.equal(y[:4], wanted) and torch.all(y[4:] == 203)


def test_strides_of_any_kind():
    base = numbers(torch.float32, 40, 80)
    x, y = base[::2, ::3], torch.zeros(27, 20).T
    launch(copy, (2, 2), x, y, 16, 16)
    assert torch.equal(x, y)


@ct.kernel
def gathered(X, Is, Js, Y, T: Int):
    at = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    i, j = ct.gather(Is, at, padding_value=-1), ct.gather(Js, at, padding_value=3)
    v = ct.gather(X, (i, j), mask=j != 5, padding_value=7.5)
    ct.scatter(Y, at, v, mask=i != 2)


def test_gather_and_scatter_with_indices_outside():
    rng = np.random.default_rng(0)
    x = torch.arange(400, dtype=torch.float32).reshape(40, 10)
    i = torch.from_numpy(rng.integers(-5, 60, 200).astype("i4"))
    j = torch.from_numpy(rng.integers(-3, 14, 200).astype("i4"))
    y = torch.full((200,), -1.0)
    launch(gathered, (2,), x, i, j, y, 128)
    inside = (i >= 0) & (i < 40) & (j >= 0) & (j < 10) & (j != 5)
    wanted = torch.where(inside, x[i.clip(0, 39).long(), j.clip(0, 9).long()], 7.5)
    assert torch.equal(y, torch.where(i != 2, wanted, -1.0))


@ct.kernel
def ordered(X, Y, ORDER: ct.Constant[int]):
    if ORDER == 0:
        x = ct.load(X, (0,), (16,), memory_order=ct.MemoryOrder.ACQUIRE, memory_scope=ct.MemoryScope.SYS)
        ct.store(Y, (0,), x, memory_order=ct.MemoryOrder.RELEASE, memory_scope=ct.MemoryScope.DEVICE)
    else:
        x = ct.load(
            X, (0,), (16,), padding_mode=ct.PaddingMode.NEG_INF, memory_order=ct.MemoryOrder.RELAXED,
            memory_scope=ct.MemoryScope.BLOCK,
        )  # fmt: skip
        ct.store(Y, (0,), x, memory_order=ct.MemoryOrder.RELAXED, memory_scope=ct.MemoryScope.BLOCK)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64])
def test_ordered_loads_and_stores(dtype):
    x, y = numbers(dtype, 13), torch.zeros(13, dtype=dtype)
    launch(ordered, (1,), x, y, 0)
    assert torch.equal(x, y)
    ptx = compile_for_gpu(ordered, x, y, 0).asm["ptx"]
    assert re.search(r"acquire\.sys|sys\.acquire", ptx) and re.search(r"release\.gpu|gpu\.release", ptx)
    if dtype.is_floating_point:
        y = torch.zeros(16, dtype=dtype)
        launch(ordered, (1,), x, y, 1)
        assert torch.equal(y[:13], x) and torch.all(y[13:] == -torch.inf)


@ct.kernel
def unchecked(X, Is, Y):
    i = ct.load(Is, (0,), (64,), check_bounds=False)
    ct.scatter(Y, i, ct.gather(X, i, check_bounds=False), check_bounds=False)


def test_without_checks_of_bounds():
    x, y = numbers(torch.float32, 64), torch.zeros(64)
    i = torch.from_numpy(np.random.default_rng(0).permutation(64).astype("i4"))
    launch(unchecked, (1,), x, i, y)
    assert torch.equal(x, y)
    assert "tt.load" in compile_for_gpu(unchecked, x, i, y).asm["ttir"]


@ct.kernel
def advanced(X, Is, Y):
    i = ct.load(Is, (0,), (4,))
    ct.store(Y, (0, 0), ct.load_advanced_indexing(X, (i, ct.Slice(2, 4)), padding_mode=ct.PaddingMode.ZERO))


def test_advanced_indexing():
    x, i, y = torch.arange(48.0).reshape(8, 6), torch.tensor([7, 0, 9, 3], dtype=torch.int32), torch.zeros(4, 4)
    launch(advanced, (1,), x, i, y)
    assert torch.equal(y, torch.stack([x[r, 2:6] if r < 8 else torch.zeros(4) for r in i.tolist()]))


@ct.kernel
def raw(X, Y, T: Int):
    at = ct.arange(T, dtype=ct.int32) * 2
    v = X.get_raw_memory().load_offset(at, mask=at < 20, padding_value=9.0)
    Y.get_raw_memory().store_offset(at, v + 1, mask=at != 4)


def test_raw_memory():
    x, y = numbers(torch.float32, 32), torch.zeros(32)
    launch(raw, (1,), x, y, 16)
    at = torch.arange(0, 32, 2)
    wanted = torch.zeros(32)
    wanted[at] = torch.where(at < 20, x[at], 9.0) + 1
    wanted[4] = 0
    assert torch.equal(y, wanted)


@ct.kernel
def scalars(X, Y):
    n = ct.load(X, (3,), ()) + X.shape[0]
    ct.store(Y, (1,), n)


def test_single_elements_and_sizes():
    x, y = torch.arange(10, dtype=torch.int32), torch.zeros(4, dtype=torch.int32)
    launch(scalars, (1,), x, y)
    assert y.tolist() == [0, 13, 0, 0]


@ct.kernel
def sliced(X, Y, n):
    part = X.slice(axis=0, start=3, stop=n)
    ct.store(Y, (0, 0), ct.load(part, (0, 0), (8, 4), padding_mode=ct.PaddingMode.ZERO))


def test_slices_of_arrays():
    x, y = numbers(torch.float32, 20, 4), torch.ones(8, 4)
    launch(sliced, (1,), x, y, 9)
    assert torch.equal(y[:6], x[3:9]) and torch.all(y[6:] == 0)


@ct.kernel
def from_a_list(Xs, Y, N: Int):
    total = ct.zeros((16,), ct.float32)
    for i in range(N):
        total = total + ct.load(Xs[i], (0,), (16,), padding_mode=ct.PaddingMode.ZERO) * (i + 1)
    ct.store(Y, (0,), total)
    ct.store(Y, (1,), ct.full((16,), len(Xs), ct.float32))


def test_lists_of_arrays():
    xs, y = [numbers(torch.float32, n, seed=n) for n in (16, 5, 11)], torch.zeros(32)
    launch(from_a_list, (1,), xs, y, 3, lists=["Xs"])
    wanted = sum(torch.nn.functional.pad(x, (0, 16 - len(x))).double() * (i + 1) for i, x in enumerate(xs))
    torch.testing.assert_close(y[:16].double(), wanted, rtol=1e-6, atol=1e-4)
    assert torch.all(y[16:] == 3)


@pytest.mark.parametrize("function", [copy, turned])
def test_machine_code_for_a_gpu(function):
    x = numbers(torch.float32, 64, 64)
    kernel = compile_for_gpu(function, x, x, 16, 32)
    assert kernel.asm["cubin"] and kernel.asm["ptx"].count(".entry") == 1
