"""Barriers: those that cuTile's tokens demand, at the region's border too, and no others."""

from __future__ import annotations

import cuda.tile as ct
import pytest
import torch

import tle_raw
from tests.adapters.cutile.arrays import compile_for_gpu, launch
from tests.adapters.cutile.tiles import jit
from tests.support import compile_kernel, report_of

Int = ct.Constant[int]


def barriers(function, *arguments, **options) -> int:
    return compile_for_gpu(function, *arguments, **{"alone": True, **options}).asm["ttir"].count("barrier")


def vector(n=128):
    return torch.rand(n)


def copies(X, Y, T: Int):
    ct.store(Y, (ct.bid(0),), ct.load(X, (ct.bid(0),), (T,)) + 1)


def in_place(X, T: Int):
    ct.store(X, (0,), ct.load(X, (0,), (T,)) + 1)


def store_then_reversed_gather(X, Y, T: Int):
    ct.store(X, (0,), ct.load(X, (0,), (T,)) * 2)
    ct.store(Y, (0,), ct.gather(X, T - 1 - ct.arange(T, dtype=ct.int32)))


def two_stores_then_two_loads(X, Y, Z, T: Int):
    ct.store(X, (0,), ct.load(Z, (0,), (T,)))
    ct.store(Y, (0,), ct.load(Z, (1,), (T,)))
    a = ct.gather(X, T - 1 - ct.arange(T, dtype=ct.int32))
    b = ct.gather(Y, T - 1 - ct.arange(T, dtype=ct.int32))
    ct.store(Z, (2,), a + b)


def in_a_loop(X, Y, N: Int, T: Int):
    for i in range(N):
        x = ct.gather(X, (ct.arange(T, dtype=ct.int32) + i) % T)
        ct.scatter(X, ct.arange(T, dtype=ct.int32), x + 1)
    ct.store(Y, (0,), ct.load(X, (0,), (T,)))


def rows_of_their_own(X, Y, N: Int, T: Int):
    for i in range(N):
        ct.store(Y, (i,), ct.load(X, (i,), (T,)) + 1)


@ct.kernel
def in_one_branch(X, Y, n, T: Int):
    if n > 0:
        ct.store(X, (0,), ct.full((T,), 1.0, ct.float32))
    ct.store(Y, (0,), ct.gather(X, T - 1 - ct.arange(T, dtype=ct.int32)))


def adds_and_reads(X, Y, T: Int):
    ct.atomic_add(X, ct.arange(T, dtype=ct.int32) // 2, 1.0)
    ct.store(Y, (0,), ct.load(X, (0,), (T,)))


# In a loop one barrier stands before the read, that of the last turn's write, and one before the write.
DEMANDED = {
    "copies": (copies, (vector(), vector(), 128), 0),
    "in_place": (in_place, (vector(), 128), 1),
    "store_then_reversed_gather": (store_then_reversed_gather, (vector(), vector(), 128), 2),
    "two_stores_then_two_loads": (two_stores_then_two_loads, (vector(), vector(), vector(384), 128), 1),
    "in_a_loop": (in_a_loop, (vector(), vector(), 3, 128), 3),
    "rows_of_their_own": (rows_of_their_own, (vector(512), vector(512), 4, 128), 0),
    "in_one_branch": (in_one_branch, (vector(), vector(), 1, 128), 1),
    "adds_and_reads": (adds_and_reads, (vector(), vector(), 128), 1),
}


@pytest.mark.parametrize("name", DEMANDED)
@pytest.mark.every_triton(3)
def test_barriers_that_the_tokens_demand(name):
    function, arguments, count = DEMANDED[name]
    assert barriers(function, *arguments) == count


def among_triton(function, **options):
    """A kernel that stores, calls the function on (X, Y, T), and loads."""
    fragment = tle_raw.fragment(function, dialect="cutile", **options)
    text = """def kernel(x, y):
    tl.store(y, 1.0)
    fragment((x, (128,), (1,)), (y, (128,), (1,)), 128)
    tl.store(x, tl.load(y + 1))
"""
    return compile_kernel(jit(text, fragment=fragment), {"x": "*fp32", "y": "*fp32"})


def computes(X, Y, T: Int):
    ct.sum(ct.full((T,), 1.0, ct.float32))


@pytest.mark.parametrize(
    "function, options, count",
    [(copies, {}, 2), (copies, {"alone": True}, 0), (copies, {"ordered": False}, 0), (computes, {}, 0)],
)
def test_barriers_at_the_border(function, options, count):
    kernel = among_triton(function, **options)
    assert kernel.asm["ttgir"].count("barrier") == count
    assert (
        "2 block barriers order its memory with the code around it" in str(report_of(kernel, machine_code=False))
    ) == (count > 0)


def test_no_barriers_where_nothing_stands_around():
    assert "barrier" not in compile_for_gpu(copies, vector(), vector(), 128).asm["ttgir"]
    assert compile_for_gpu(in_place, vector(), 128).asm["ttgir"].count("barrier") == 1


@pytest.mark.parametrize("name", ["store_then_reversed_gather", "in_a_loop", "adds_and_reads", "in_one_branch"])
def test_results(name):
    function, arguments, _ = DEMANDED[name]
    x, y = torch.rand(128), torch.zeros(128)
    before = x.clone()
    launch(function, (1,), x, y, *arguments[2:])
    if name == "store_then_reversed_gather":
        assert torch.equal(y, before.flip(0) * 2)
    elif name == "in_a_loop":
        for i in range(3):
            before = before.roll(-i) + 1
        torch.testing.assert_close(y, before)
    elif name == "adds_and_reads":
        before[:64] += 2
        torch.testing.assert_close(y, before)
    else:
        assert torch.all(y == 1)
