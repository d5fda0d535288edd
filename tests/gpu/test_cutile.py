"""cuTile on a GPU: its programs, and every pattern of accesses for which its tokens demand a barrier, many times."""

from __future__ import annotations

import pytest
import torch

from tests.gpu.device import DEVICE, TIMES, needs_device

pytest.importorskip("cuda.tile")

import cuda.tile as ct

import tle_raw
from tests.adapters.cutile import test_programs as programs

pytestmark = [pytest.mark.gpu, needs_device]
Int = ct.Constant[int]

# Every program that runs on the CPU; compiling ahead tells a GPU nothing.
PROGRAMS = {
    name.removeprefix("test_"): test
    for name, test in vars(programs).items()
    if name.startswith("test_") and name not in ("test_attention", "test_machine_code_for_a_gpu")
}
PROGRAMS |= {"attention": lambda: programs.test_attention(False), "causal": lambda: programs.test_attention(True)}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, monkeypatch):
    monkeypatch.setattr(programs, "DEVICE", DEVICE)
    PROGRAMS[name]()


def turned(T: Int):
    return T - 1 - ct.arange(T, dtype=ct.int32)


@ct.kernel
def store_then_gather(X, Y, T: Int):
    i = ct.bid(0) * T
    ct.store(X, (ct.bid(0),), ct.load(X, (ct.bid(0),), (T,)) + 1)
    ct.store(Y, (ct.bid(0),), ct.gather(X, i + turned(T)))


@ct.kernel
def gather_then_store(X, Y, T: Int):
    i = ct.bid(0) * T
    x = ct.gather(X, i + turned(T))
    ct.store(X, (ct.bid(0),), ct.full((T,), -5.0, ct.float32))
    ct.store(Y, (ct.bid(0),), x + 1)


@ct.kernel
def store_twice(X, Y, T: Int):
    i = ct.bid(0) * T
    x = ct.gather(X, i + turned(T)) + 1
    ct.store(Y, (ct.bid(0),), ct.full((T,), -5.0, ct.float32))
    ct.scatter(Y, i + turned(T), ct.gather(X, i + ct.arange(T, dtype=ct.int32)) + 1)
    ct.scatter(Y, i + ct.arange(T, dtype=ct.int32), x)


@ct.kernel
def round_and_round(X, Y, T: Int):
    i = ct.bid(0) * T
    for _ in range(9):
        x = ct.gather(X, i + turned(T))
        ct.store(X, (ct.bid(0),), x)
    ct.store(Y, (ct.bid(0),), ct.load(X, (ct.bid(0),), (T,)) + 1)


@ct.kernel
def in_a_branch(X, Y, T: Int):
    i = ct.bid(0) * T
    if ct.bid(0) % 2 == 0:
        ct.store(X, (ct.bid(0),), ct.load(X, (ct.bid(0),), (T,)) + 1)
    else:
        ct.scatter(X, i + turned(T), ct.gather(X, i + turned(T)) + 1)
    ct.store(Y, (ct.bid(0),), ct.gather(X, i + turned(T)))


@ct.kernel
def add_then_load(X, Y, T: Int):
    i = ct.bid(0) * T
    ct.atomic_add(X, i + turned(T), 1.0)
    ct.store(Y, (ct.bid(0),), ct.gather(X, i + turned(T)))


PATTERNS = (store_then_gather, gather_then_store, store_twice, round_and_round, in_a_branch, add_then_load)


@pytest.mark.parametrize("kernel", PATTERNS, ids=lambda k: k._pyfunc.__name__)
def test_threads_see_what_others_stored(kernel):
    """Each gives the rows of X backwards and plus one; threads run in another order each time."""
    blocks, size = 256, 1024
    start = torch.arange(blocks * size, dtype=torch.float32, device=DEVICE)
    wanted = (start.reshape(blocks, size).flip(1) + 1).flatten()
    launcher = tle_raw.fragment(kernel).as_kernel()[blocks]
    wrong = torch.zeros((), dtype=torch.int64, device=DEVICE)
    for _ in range(TIMES):
        x, y = start.clone(), torch.zeros_like(start)
        launcher(x, y, size, num_warps=8)
        wrong += (y != wanted).sum()
    assert int(wrong) == 0
