"""Prints and assertions of cuTile, on the CPU and in machine code."""

from __future__ import annotations

import cuda.tile as ct
import pytest
import torch

import tle_raw
from tests.adapters.cutile.arrays import launch
from tests.adapters.cutile.tiles import compile_for_gpu
from tests.support import TRITON


@ct.kernel
def prints(X, n):
    x = ct.load(X, (ct.bid(0),), (4,))
    print("rows", n, "and", x)
    ct.printf("sum is %.3f\n", ct.sum(x))
    ct.printf("100%% done\n")


def test_prints(capfd):
    launch(prints, (2,), torch.arange(8.0), 7)
    printed = capfd.readouterr().out
    assert printed.count("rows: 7") == 2 and printed.count("sum is: ") == 2 and printed.count("100% done") == 2
    assert "idx (3) and: 7.0" in printed and "sum is: 6.0" in printed and "sum is: 22.0" in printed


@ct.kernel
def checks(X, Y):
    x = ct.load(X, (0,), (8,))
    ct.assert_(x > 0, "all are positive")
    ct.store(Y, (0,), x)


def test_assertions(monkeypatch):
    import triton

    monkeypatch.setattr(triton.knobs.runtime, "debug", True)
    x, y = torch.rand(8) + 0.1, torch.zeros(8)
    launch(checks, (1,), x, y)
    assert torch.equal(x, y)
    x[5] = -1
    with pytest.raises(tle_raw.errors.KernelFailed, match="all are positive"):
        launch(checks, (1,), x, y)


def prints_in_a_function(x):
    print(f"value {x:.2f}")
    ct.assert_(x < 100, "small")
    return x


def test_machine_code_for_a_gpu():
    kernel = compile_for_gpu(prints_in_a_function, torch.rand(64))
    assert "vprintf" in kernel.asm["ptx"] and kernel.asm["cubin"]


@ct.kernel
def waits(X):
    ct.grid_dependency_control_wait()
    ct.store(X, (0,), ct.load(X, (0,), (8,)) + 1)
    ct.grid_dependency_control_launch_dependents()


def test_waits_for_other_grids():
    from tests.adapters.cutile import arrays

    x = torch.rand(8)
    if TRITON < (3, 9):
        with pytest.raises(Exception, match=r"ahead of Triton 3\.9"):
            arrays.compile_for_gpu(waits, x)
    else:
        ptx = arrays.compile_for_gpu(waits, x).asm["ptx"]
        assert "griddepcontrol.wait" in ptx and "griddepcontrol.launch_dependents" in ptx
