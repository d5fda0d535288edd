"""Atomic operations against NumPy, from many programs at once."""

from __future__ import annotations

import cuda.tile as ct
import numpy as np
import pytest
import torch

from tests.adapters.cutile.arrays import compile_for_gpu, launch

Int = ct.Constant[int]


@ct.kernel
def many(X, Is, ADD, MAX, MIN, AND, OR, XOR, T: Int):
    at = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    x, i = ct.gather(X, at), ct.gather(Is, at, padding_value=-1)
    ct.atomic_add(ADD, i, x)
    ct.atomic_max(MAX, i, x)
    ct.atomic_min(MIN, i, x)
    ct.atomic_and(AND, i, x)
    ct.atomic_or(OR, i, x)
    ct.atomic_xor(XOR, i, x)


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8"])
def test_atomics_of_integers(dtype):
    rng = np.random.default_rng(0)
    limits = np.iinfo(dtype)
    x = rng.integers(limits.min, limits.max, 300, dtype=dtype)
    i = rng.integers(-2, 12, 300, dtype="i4")
    starts = [np.zeros(10, dtype), np.full(10, limits.min, dtype), np.full(10, limits.max, dtype)]
    starts += [np.full(10, limits.max, dtype), np.zeros(10, dtype), np.zeros(10, dtype)]
    tensors = [torch.from_numpy(a.copy()) for a in starts]
    launch(many, (3,), torch.from_numpy(x), torch.from_numpy(i), *tensors, 128)
    inside = (i >= 0) & (i < 10)
    functions = (np.add, np.maximum, np.minimum, np.bitwise_and, np.bitwise_or, np.bitwise_xor)
    for function, start, got in zip(functions, starts, tensors):
        function.at(start, i[inside], x[inside])
        np.testing.assert_array_equal(got.numpy(), start)


@ct.kernel
def of_floats(X, Is, ADD, OLD, T: Int):
    at = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    ct.atomic_add(ADD, ct.gather(Is, at, padding_value=-1), ct.gather(X, at))
    old = ct.atomic_xchg(OLD, at, ct.gather(X, at))
    ct.atomic_add(ADD, 3, ct.sum(ct.where(at < 300, old, 0)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_additions_and_exchanges_of_floats(dtype):
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.uniform(-1, 1, 300)).to(dtype)
    i = torch.from_numpy(rng.integers(-2, 12, 300, dtype="i4"))
    total, old = torch.zeros(10, dtype=dtype), torch.from_numpy(rng.uniform(-1, 1, 300)).to(dtype)
    before = old.double().sum()
    launch(of_floats, (3,), x, i, total, old, 128)
    inside = (i >= 0) & (i < 10)
    wanted = torch.zeros(10, dtype=torch.float64)
    wanted.index_add_(0, i[inside].long(), x[inside].double())
    wanted[3] += before
    torch.testing.assert_close(total.double(), wanted, rtol=1e-5, atol=1e-4)
    assert torch.equal(old, x)


@ct.kernel
def swaps(X, Is, EXPECTED, OLD, T: Int):
    at = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    i = ct.gather(Is, at, padding_value=-1)
    expected = ct.gather(EXPECTED, at)
    old = ct.atomic_cas(X, i, expected, expected * 10)
    ct.scatter(OLD, at, old)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float32, torch.float64])
def test_compare_and_swap_with_indices_outside(dtype):
    rng = np.random.default_rng(0)
    x = torch.arange(1, 101).to(dtype)
    i = torch.from_numpy(rng.permutation(np.arange(-20, 180, dtype="i4")))
    expected = (i + rng.integers(1, 3, 200)).to(dtype)
    old, start = torch.zeros(200, dtype=dtype), x.clone()
    launch(swaps, (2,), x, i, expected, old, 128)
    inside = (i >= 0) & (i < 100)
    at = i.clip(0, 99).long()
    assert torch.equal(old, torch.where(inside, start[at], expected))
    hits = inside & (start[at] == expected)
    assert hits.sum() > 10
    start[at[hits]] = expected[hits] * 10
    assert torch.equal(x, start)


def test_a_swap_that_is_all_masked_out_touches_nothing():
    x, i = torch.arange(8).to(torch.int32), torch.full((128,), -1, dtype=torch.int32)
    expected, old = torch.arange(128).to(torch.int32), torch.zeros(128, dtype=torch.int32)
    launch(swaps, (1,), x, i, expected, old, 128)
    assert torch.equal(x, torch.arange(8).to(torch.int32)) and torch.equal(old, expected)


@ct.kernel
def lock(X, COUNT):
    while ct.atomic_cas(X, 0, 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) == 1:
        pass
    n = ct.load(COUNT, (0,), ())
    ct.store(COUNT, (0,), n + 1)
    ct.atomic_xchg(X, 0, 0, memory_order=ct.MemoryOrder.RELEASE)


def test_a_lock():
    x, count = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    launch(lock, (200,), x, count)
    assert int(count) == 200


@ct.kernel
def into_view(X, Y):
    view = Y.tiled_view((8, 8))
    view.atomic_store_add((1, 0), ct.load(X, (0, 0), (8, 8)))


def test_additions_to_a_tile_of_an_array():
    x, y = torch.rand(8, 8), torch.rand(11, 5)
    wanted = y.double()
    wanted[8:] += 3 * x.double()[:3, :5]
    launch(into_view, (3,), x, y)
    torch.testing.assert_close(y.double(), wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("function", [swaps, lock])
def test_machine_code_for_a_gpu(function):
    x = torch.zeros(8, dtype=torch.int32)
    arguments = (x, x) if function is lock else (x, x, x, x, 128)
    kernel = compile_for_gpu(function, *arguments)
    assert kernel.asm["cubin"] and "atom" in kernel.asm["ptx"]
