"""A launch like an earlier one takes its kernel; one that differs in what the kernel depends on does not."""

from __future__ import annotations

import cuda.tile as ct
import numpy as np
import pytest
import torch

import tle_raw
from tle_raw.adapters.cutile import seen_launches
from tle_raw.adapters.cutile.seen_launches import SeenLaunches

Int = ct.Constant[int]


@ct.kernel
def shift_by_one(X, Y, offset, T: Int):
    """Y is X one further, and more; in place, too, where all is read before anything is written."""
    at = ct.arange(T, dtype=ct.int32)
    ct.scatter(Y, at, ct.gather(X, T - 1 - at) + offset)


def test_launches_that_are_alike_look_once(monkeypatch):
    whole = tle_raw.fragment(shift_by_one).as_kernel()
    asked = []
    ways_for = whole.ways_for
    monkeypatch.setattr(whole, "ways_for", lambda arguments: asked.append(1) or ways_for(arguments))
    x, y = torch.rand(16), torch.zeros(16)
    for number in (1.0, 2.0, 3.5):
        whole[1](x, y, number, 16)
        assert torch.equal(y, x.flip(0) + number)
    assert len(asked) == 1
    weights = torch.nn.Parameter(torch.rand(16), requires_grad=False)
    whole[1](weights, y, 1.0, 16)
    assert torch.equal(y, weights.flip(0) + 1)
    before = y.clone()
    whole[1](y, y, 1.0, 16)  # the two are one memory: their accesses are ordered
    assert torch.equal(y, before.flip(0) + 1)
    whole[1](x[:8], y[:8], 1, 8)
    assert torch.equal(y[:8], x[:8].flip(0) + 1) and len(asked) == 4


def test_what_makes_another_launch():
    seen = SeenLaunches([False, False, True])
    x, made = torch.zeros(64), []

    def find(*arguments):
        kernel, passed = seen.find(arguments, lambda: made.append(1) or len(made))
        assert passed is not None and passed[1:] == list(arguments[1:])
        return kernel

    known = find(x, 3, 16)
    assert find(x, 4, 16) == known
    others = [
        find(x[1:], 3, 16), find(x[:32], 3, 16), find(x.reshape(8, 8), 3, 16), find(x.reshape(8, 8).T, 3, 16),
        find(x.to(torch.int32), 3, 16), find(x, 3.0, 16), find(x, True, 16), find(x, 3, 32), find(x, 3, 16.0),
    ]  # fmt: skip
    assert len({known, *others}) == 10 and find(x, 3, 16) == known


@pytest.mark.parametrize("argument", [np.zeros(4), [torch.zeros(4)], (torch.zeros(4), 1), None, "name"])
def test_other_arguments_are_looked_at_every_time(argument):
    seen, made = SeenLaunches([False]), []
    for _ in range(2):
        assert seen.find([argument], lambda: made.append(1) or "kernel") == ("kernel", None)
    assert len(made) == 2


def test_launches_are_not_kept_without_end(monkeypatch):
    monkeypatch.setattr(seen_launches, "MOST", 4)
    seen, memory = SeenLaunches([False]), torch.zeros(64)
    for start in range(20):
        seen.find([memory[start:]], lambda: "kernel")
        assert len(seen._kernels) <= 4
