"""Tiles that lie inside an array as a whole, or outside: no element is looked at alone; none outside is touched."""

from __future__ import annotations

import cuda.tile as ct
import pytest
import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw
from tests.adapters.cutile import programs
from tle_raw.errors import DialectError, ShapeError

Int = ct.Constant[int]


@ct.kernel
def add_one(X, Y, shift: int, tm: Int, tn: Int):
    at = ct.bid(0) + shift, ct.bid(1)
    x = ct.load(X, at, (tm, tn), padding_mode=ct.PaddingMode.ZERO)
    ct.store(Y, at, x + 1)


@pytest.mark.parametrize("sizes", [(64, 96), (50, 96), (50, 90)])
def test_tiles_beyond_an_array_change_nothing(sizes):
    """32 bits do not hold where the far ones begin."""
    launcher = tle_raw.fragment(add_one).as_kernel()[6, 5]
    for shift in (-1, 0, 2**24 - 1, 2**27 - 1):
        around, x = torch.rand(sizes[0] + 200, sizes[1] + 200), torch.rand(sizes)
        before = around.clone()
        launcher(x, around[100 : 100 + sizes[0], 100 : 100 + sizes[1]], shift, 16, 32)
        stop = min(sizes[0], 16 * (6 + shift)) if shift <= 0 else 0
        before[100 : 100 + stop, 100 : 100 + sizes[1]] = x[:stop] + 1
        assert torch.equal(around, before)


def test_a_kernel_for_each_way_that_tiles_divide_sizes():
    whole = tle_raw.fragment(add_one).as_kernel()

    def kernel(m, n):
        return whole.kernel_for((torch.empty(m, n), torch.empty(m, n), 0, 16, 32))

    assert kernel(64, 96) is kernel(32, 192) and kernel(50, 90) is kernel(3, 7)
    assert len({id(kernel(*sizes)) for sizes in [(64, 96), (50, 96), (64, 90), (50, 90)]}) == 4


def ttgir(kernel, *arguments, **options):
    return tle_raw.fragment(kernel).as_kernel().compile(arguments, "cuda:90", **options).asm["ttgir"]


def test_masks_of_whole_tiles_are_numbers():
    def conditions(m):
        lines = ttgir(add_one, torch.empty(m, 96), torch.empty(m, 96), 0, 16, 32).splitlines()
        return [line for line in lines if "arith.cmpi" in line and "tensor<" in line]

    assert conditions(64) == [] and conditions(50)


@pytest.mark.parametrize("name", ["batched_matmul", "attention"])
def test_batches_of_one_go_to_products_as_they_are(name):
    half = torch.empty(4, 512, 64, dtype=torch.float16)
    if name == "attention":
        arguments = (half, half.clone(), half.clone(), half.clone(), 0.125, 64, 64, 64, True, 1)
    else:
        arguments = (half, half.transpose(1, 2).contiguous(), torch.empty(4, 512, 512), 64, 64, 32)
    text = ttgir(getattr(programs, name), *arguments)
    assert "async_copy_global_to_local" in text and "ttg.local_load" not in text and "tt.reshape" not in text


@tle_raw.dialect("cutile", multiples={"X": (32,)}, alone=True)
def sum_of(X, i):
    return ct.sum(ct.load(X, (i,), (32,), padding_mode=ct.PaddingMode.ZERO))


@triton.jit
def sums(x_ptr, y_ptr, n):
    i = triton.language.program_id(0)
    triton.language.store(y_ptr + i, sum_of((x_ptr, (n,), (1,)), i))


def test_multiples_that_a_caller_promises():
    x, y = torch.rand(96), torch.full((4,), -1.0)
    compiled = sums[(4,)](x, y, 96)
    torch.testing.assert_close(y, torch.cat([x.reshape(3, 32).sum(1), torch.zeros(1)]))
    conditions = [line for line in compiled.asm["ttir"].splitlines() if "arith.cmpi" in line]
    assert conditions and not any("tensor<" in line for line in conditions)


def test_promises_that_are_none():
    for promise in ({"X": (0,)}, {"X": 32}, ["X"]):
        with pytest.raises(DialectError, match="multiples"):
            tle_raw.fragment(add_one, multiples=promise)
    wrong = tle_raw.fragment(add_one, multiples={"X": (16,)}, alone=True)
    with pytest.raises(Exception) as caught:  # Triton wraps what goes wrong while it traces
        compile_call(wrong)
    assert isinstance(caught.value.__cause__, ShapeError)


def compile_call(fragment):
    from tests.adapters.cutile.tiles import jit

    kernel = jit("def kernel(x):\n    f((x, (32, 32), (32, 1)), (x, (32, 32), (32, 1)), 0, 16, 16)\n", f=fragment)
    return kernel[(1,)](torch.zeros(32, 32))


def test_a_kernel_takes_tensor_descriptors():
    a, b, c = torch.rand(70, 56).half(), torch.rand(56, 40).half(), torch.zeros(70, 40)
    make = TensorDescriptor.from_tensor
    arrays = make(a, [32, 16]), make(b, [16, 32]), make(c, [32, 32])
    tle_raw.fragment(programs.persistent_matmul).as_kernel()[5](*arrays, 32, 32, 16, 4)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-4, atol=1e-4)
    halves = make(a, [64, 16]), make(b, [16, 64]), make(c.half(), [64, 64])
    compiled = tle_raw.fragment(programs.persistent_matmul).as_kernel().compile((*halves, 64, 64, 16, 4), "cuda:90")
    assert "cp.async.bulk.tensor" in compiled.asm["ptx"] and "wgmma" in compiled.asm["ptx"]
