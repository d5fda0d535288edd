"""Kernels of cuTile launched through Triton, with the arguments of ``ct.launch``."""

from __future__ import annotations

import cuda.tile as ct
import numpy as np
import pytest
import torch

import tle_raw
from tle_raw.errors import ArgumentCountError, ArgumentTypeError, DialectError, LaunchError

Int = ct.Constant[int]


@ct.kernel(num_worker_warps=8, occupancy=2)
def matmul(A, B, C, tm: Int, tn: Int, tk: Int):
    m, n = ct.bid(0), ct.bid(1)
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, (m, k), (tm, tk), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, (k, n), (tk, tn), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(a, b, acc)
    ct.store(C, (m, n), ct.astype(acc, C.dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_a_product_with_ragged_tiles(dtype):
    a, b = (
        torch.from_numpy(np.random.default_rng(i).uniform(-1, 1, s)).to(dtype)
        for i, s in enumerate([(70, 50), (50, 40)])
    )
    c = torch.zeros(70, 40, dtype=torch.float32)
    whole = tle_raw.fragment(matmul).as_kernel()
    assert whole.num_warps == 8
    compiled = whole[3, 2](a, b, c, 32, 32, 16)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-5, atol=1e-4)
    c.zero_()
    whole.launch(None, (3, 2, 1), (a, b.T.contiguous().T, c, 32, 32, 16), num_warps=4)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-5, atol=1e-4)
    report = str(tle_raw.report(compiled))
    assert "matmul" in report and "belong to the launch: occupancy=2, num_worker_warps=8" in report


@ct.kernel
def everything(X, Ys, pair, n, scale, flag, Out, name: ct.Constant[str], sizes: ct.Constant[tuple[int, int]]):
    x = ct.load(X, (0,), sizes[:1])
    for i in range(len(Ys)):
        x = x + ct.load(Ys[i], (0,), sizes[:1]) * (i + 1)
    first, number = pair
    x = x * scale + n + ct.load(first, (0,), sizes[:1]) * number
    if flag:
        x = -x
    if ct.static_eval(name == "double"):
        x = x * sizes[1]
    ct.store(Out, (0,), x)


@pytest.mark.parametrize("n", [1, 7, -3, 2**40])
def test_arguments_of_every_kind(n):
    x, y0, y1, first, out = (torch.rand(16) for _ in range(5))
    whole = tle_raw.fragment(everything).as_kernel()
    for flag in (True, False):
        whole[1](x, [y0, y1, y0], (first, 2.5), n, 0.5, flag, out, "double", (16, 3))
        d = (x.double() + y0 + y1.double() * 2 + y0.double() * 3) * 0.5 + n + first.double() * 2.5
        torch.testing.assert_close(out.double(), (-d if flag else d) * 3, rtol=1e-5, atol=1e-4)


def test_arrays_of_numpy():
    a, b, c = (np.random.default_rng(i).random((16, 16), "f4") for i in range(3))
    tle_raw.fragment(matmul).as_kernel()[1, 1](a, b, c, 16, 16, 16)
    np.testing.assert_allclose(c, a.astype("f8") @ b, rtol=1e-5)


def test_what_cannot_be_launched():
    whole = tle_raw.fragment(matmul).as_kernel()
    x = torch.rand(16, 16)
    with pytest.raises(ArgumentCountError, match="takes 6 arguments, got 2"):
        whole[1](x, x)
    with pytest.raises(LaunchError, match="one to three"):
        whole[1, 1, 1, 1](x, x, x, 16, 16, 16)

    def function(x):
        return x

    with pytest.raises(DialectError, match="has no grid of its own"):
        tle_raw.fragment(function, dialect="cutile").as_kernel()
    with pytest.raises(DialectError, match="no caller"):
        tle_raw.fragment(matmul, grid={0: "row"}).as_kernel()
    with pytest.raises(Exception, match="Axis 1 is out of range for rank 1") as caught:
        whole[1](x[0], x, x, 16, 16, 16)
    assert "matmul" in str(caught.value)
    with pytest.raises(ArgumentTypeError, match="empty list"):
        tle_raw.fragment(everything).as_kernel()[1](x[0], [], (x[0], 1), 1, 1.0, True, x[0], "a", (16, 1))
    for stranger, told in ((3, "int"), (None, "None"), ("x", "str"), ([x[0]], "list"), ((x[0], 1), "tuple")):
        for items in ([x[0], stranger], [stranger], [stranger, stranger]):
            with pytest.raises(ArgumentTypeError, match="holds others") as refused:
                tle_raw.fragment(everything).as_kernel()[1](x[0], items, (x[0], 1), 1, 1.0, True, x[0], "a", (16, 1))
            assert {row.got for row in refused.value.table} == {told}


@ct.kernel
def hinted(X, Y):
    x = ct.load(X, (0,), (16,), latency=3, allow_tma=False)
    ct.store(Y, (0,), x, latency=2)


def test_hints_without_effect_are_reported():
    x, y = torch.rand(16), torch.zeros(16)
    report = tle_raw.report(tle_raw.fragment(hinted).as_kernel()[1](x, y))
    assert "hints of loads and stores without effect: latency=3, allow_tma=False, latency=2" in str(report)
    assert torch.equal(x, y)


@ct.kernel
def of_tuples(cfg: tuple[tuple[ct.Constant[int], int], float], pair, empty, big: ct.ScalarInt64, mixed, Out):
    (size, shift), factor = cfg
    x = ct.load(pair[0], (0,), (size,)) * factor + shift + len(empty)
    if big > 2**33:
        x = x + pair[1][1]
    for i in range(len(mixed[0])):
        x = x + ct.load(mixed[0][i], (0,), (size,))
    ct.store(Out, (0,), x * mixed[1])


@pytest.mark.parametrize("big", [5, 2**40])
def test_tuples_that_hold_constants_arrays_and_lists(big):
    x, y, z, out = (torch.rand(16) for _ in range(4))
    tle_raw.fragment(of_tuples).as_kernel()[1](((16, 3), 0.5), (x, (7, 11)), (), big, ([y, z], 2), out)
    wanted = (x.double() * 0.5 + 3 + (11 if big > 2**33 else 0) + y + z) * 2
    torch.testing.assert_close(out.double(), wanted, rtol=1e-5, atol=1e-5)
    with pytest.raises(ArgumentTypeError, match="of another length"):
        tle_raw.fragment(of_tuples).as_kernel()[1](((16, 3, 4), 0.5), (x, (7, 11)), (), big, ([y, z], 2), out)


@ct.kernel
def neighbours(X, Y, T: Int):
    """Reads what it stores through another name, where the arrays overlap."""
    ct.store(X, (0,), ct.arange(T, dtype=ct.int32))
    ct.store(Y, (1,), ct.gather(Y, ct.arange(T, dtype=ct.int32)) + 100)


@pytest.mark.parametrize("kind", [torch.Tensor, np.ndarray])
def test_arrays_that_overlap_are_ordered(kind):
    whole = tle_raw.fragment(neighbours).as_kernel()
    memory = torch.zeros(40, dtype=torch.int32)
    apart = torch.zeros(40, dtype=torch.int32)
    x, y, z = (a if kind is torch.Tensor else a.numpy() for a in (memory[:16], memory[4:], apart))
    assert [whole[1](x, other, 16).asm["ttir"].count("barrier") for other in (z, y)] == [1, 2]
    memory.zero_()
    whole[1](x, y, 16)
    wanted = np.zeros(36, int)
    wanted[:12] = np.arange(4, 16)
    wanted[16:32] = wanted[:16] + 100
    assert memory[4:].tolist() == wanted.tolist()


def test_groups_of_arrays_that_may_overlap():
    x = torch.rand(8)
    with pytest.raises(DialectError, match="alias= takes"):
        tle_raw.fragment(neighbours, alias="XY")
    from tests.adapters.cutile.arrays import compile_for_gpu

    def barriers(**options):
        return compile_for_gpu(neighbours, x.int(), x.int(), 16, alone=True, **options).asm["ttir"].count("barrier")

    assert barriers() == 1 and barriers(alias=[("X", "Y")]) == 2
