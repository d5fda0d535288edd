"""Loops, branches, jumps, early returns; what cuTile computes while it compiles."""

from __future__ import annotations

import dataclasses

import cuda.tile as ct
import numpy as np
import pytest
import torch

from tests.adapters.cutile.arrays import launch
from tests.adapters.cutile.tiles import compile_for_gpu, run


def number(n):
    return torch.tensor(n, dtype=torch.int32)


def evaluate(function, *arguments):
    return int(run(function, *map(number, arguments), results=[number(0)]))


def breaks(x, n):
    s = ct.zeros((), ct.int32)
    for i in range(n):
        if i > x:
            break
        s = s + i
    while s > 10:
        s = s // 2
        if s == 7:
            return s + 1
    return s


def breaks_in_python(x, n):
    s = 0
    for i in range(n):
        if i > x:
            break
        s += i
    while s > 10:
        s //= 2
        if s == 7:
            return s + 1
    return s


def continues(x, n):
    s = ct.zeros((), ct.int32)
    for i in range(1, n, 2):
        if i % 3 == 0:
            if x > 5:
                continue
            s = s + 100
        elif i % 5 == 0:
            if x % 2 != 0:
                s = s + 7
            else:
                s = s + 1000
                continue
        s = s + i
    return s


def continues_in_python(x, n):
    s = 0
    for i in range(1, n, 2):
        if i % 3 == 0:
            if x > 5:
                continue
            s = s + 100
        elif i % 5 == 0:
            if x % 2 != 0:
                s = s + 7
            else:
                s = s + 1000
                continue
        s = s + i
    return s


def returns(x, n):
    if x < 2:
        return x - 5
    s = ct.zeros((), ct.int32)
    k = ct.zeros((), ct.int32)
    while True:
        k = k + 1
        if k > n:
            break
        if k % 2 == 0:
            continue
        s = s + k
        if s > 20:
            return s * 2
    return s


def returns_in_python(x, n):
    if x < 2:
        return x - 5
    s = k = 0
    while True:
        k = k + 1
        if k > n:
            break
        if k % 2 == 0:
            continue
        s = s + k
        if s > 20:
            return s * 2
    return s


RETURNS_FROM_LOOPS = tuple(int(v) for v in ct.__version__.split(".")[:2]) >= (1, 7)
CASES = {
    "breaks": (breaks, breaks_in_python, [(x, n) for x in (-1, 0, 3, 8) for n in (0, 1, 5, 8)]),
    "continues": (continues, continues_in_python, [(x, n) for x in (2, 3, 6, 7) for n in (0, 4, 17, 18)]),
    "returns": (returns, returns_in_python, [(x, n) for x in (1, 2) for n in (0, 3, 12)]),
}


@pytest.mark.parametrize("name", CASES)
def test_jumps(name):
    function, in_python, cases = CASES[name]
    if not RETURNS_FROM_LOOPS and name != "continues":
        pytest.skip("cuTile 1.6 refuses to return from inside a loop")
    for arguments in cases:
        assert evaluate(function, *arguments) == in_python(*arguments), arguments


def nested(x, n):
    total = ct.zeros((4,), ct.float32)
    for i in range(n):
        row = x
        for j in range(i, 6):
            if j == 4:
                break
            row = row * 0.5 + j
        total = total + row
        if i == 2:
            total = total * 2
    return total, n + 1


def test_nested_loops_that_carry_tiles():
    x = torch.from_numpy(np.random.default_rng(0).uniform(-1, 1, 4)).float()
    for n in (0, 1, 5):
        got, count = run(nested, x, number(n), results=[x, number(0)])
        total = torch.zeros(4, dtype=torch.float64)
        for i in range(n):
            row = x.double()
            for j in range(i, 6):
                if j == 4:
                    break
                row = row * 0.5 + j
            total = total + row
            if i == 2:
                total = total * 2
        torch.testing.assert_close(got.double(), total, rtol=1e-6, atol=1e-6)
        assert int(count) == n + 1


def return_in_a_loop(x, n):
    for i in range(n):
        if i * i > x:
            return i
    return n * 100


def test_a_return_inside_a_loop_over_a_range():
    if not RETURNS_FROM_LOOPS:
        pytest.skip("cuTile 1.6 refuses it itself")
    for x, n in ((5, 10), (50, 3), (0, 4)):
        wanted = next((i for i in range(n) if i * i > x), n * 100)
        assert evaluate(return_in_a_loop, x, n) == wanted


SCALE = 2.5


@dataclasses.dataclass(frozen=True)
class Pair:
    first: object
    second: object

    def swapped(self):
        return Pair(self.second, self.first)


def scaled_by(factor):
    def scale(x):
        return x * factor * SCALE

    return scale


twice = scaled_by(2.0)


def while_compiling(x, n):
    pair = Pair(x, twice(x)).swapped()
    sizes = ct.static_eval(tuple(i * i for i in range(3)))
    total = pair.first
    for k in ct.static_iter(range(3)):
        total = total + sizes[k] * pair.second
    low, (high, _) = ct.min(x), (ct.max(x), n)
    if x.shape[0] == 8:
        total = total + 1
    return total, low, high, (x.shape[0], n)


def first_three(x, n):
    total, low, high, _ = while_compiling(x, n)
    return total, low, high


def test_closures_dataclasses_tuples_and_static_values():
    x = torch.from_numpy(np.random.default_rng(0).uniform(-1, 1, 8)).float()
    total, low, high = run(first_three, x, 7, results=[x, x[0], x[0]])
    wanted = x.double() * 5 + sum(i * i for i in range(3)) * x.double() + 1
    torch.testing.assert_close(total.double(), wanted, rtol=1e-6, atol=1e-6)
    assert low == x.min() and high == x.max()


@ct.kernel
def early_exit(X, Y, n):
    i = ct.bid(0)
    if i >= n:
        return
    x = ct.load(X, (i,), (8,))
    if ct.sum(x) > 0:
        ct.store(Y, (i,), x)
    else:
        ct.store(Y, (i,), -x)


def test_a_kernel_that_returns_early():
    x = torch.from_numpy(np.random.default_rng(0).uniform(-1, 1, 40)).float()
    y = torch.zeros(40)
    launch(early_exit, (5,), x, y, 4)
    rows = x.reshape(5, 8)
    wanted = torch.where(rows.sum(1, keepdim=True) > 0, rows, -rows)
    wanted[4] = 0
    assert torch.equal(y.reshape(5, 8), wanted)


@pytest.mark.parametrize("name", CASES if RETURNS_FROM_LOOPS else ["continues"])
def test_machine_code_for_a_gpu(name):
    kernel = compile_for_gpu(CASES[name][0], number(1), number(2), results=[number(0)])
    assert kernel.asm["cubin"] and kernel.asm["ptx"].count(".entry") == 1
