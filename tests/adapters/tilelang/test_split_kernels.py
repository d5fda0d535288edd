"""A PrimFunc with several T.Kernels, as a PrimFunc for each: numbers against torch in float64."""

import pytest
import tilelang.language as T
import torch

import tle_raw
from tests.adapters.tilelang import kernels
from tests.adapters.tilelang.test_numbers import agree, random
from tle_raw.adapters.tilelang import split_kernels
from tle_raw.errors import FragmentSourceError

pytestmark = pytest.mark.usefixtures("on_cpu")


def doubled_and_summed(size, block=16):
    @T.prim_func
    def steps(A: T.Tensor((size,), "float32"), B: T.Tensor((size,), "float32"), C: T.Tensor((1,), "float32")):
        with T.Kernel(T.ceildiv(size, block), threads=32) as bx:
            for i in T.Parallel(block):
                if bx * block + i < size:
                    B[bx * block + i] = A[bx * block + i] * 2
        with T.Kernel(1, threads=64):
            values, total = T.alloc_fragment((size,), "float32"), T.alloc_fragment((1,), "float32")
            T.copy(B, values)
            T.reduce_sum(values, total)
            T.copy(total, C)

    return steps


@pytest.mark.parametrize("size", [33, 64])
def test_each_is_a_launch(size):
    prim_func = doubled_and_summed(size)
    with pytest.raises(FragmentSourceError, match=r"several T.Kernels") as caught:
        tle_raw.fragment(prim_func)
    assert "split_kernels(prim_func)" in str(caught.value)
    first, second = (tle_raw.fragment(p).as_kernel() for p in split_kernels(prim_func))
    a, b, c = random(size), torch.zeros(size), torch.zeros(1)
    assert (first.grid(a, b, c), second.grid(a, b, c)) == ((-(-size // 16),), (1,))
    first(a, b, c)
    assert torch.equal(b, a * 2) and c.item() == 0
    second(a, b, c)
    agree(c, a.double().sum()[None] * 2, 1e-5)


def test_a_single_one_stays_as_it_is():
    prim_func = kernels.add()
    assert split_kernels(prim_func) == [prim_func]


@pytest.mark.parametrize("size", [33, 64])
def test_memory_of_its_own_becomes_a_parameter(size):
    @T.prim_func
    def steps(A: T.Tensor((size,), "float32"), C: T.Tensor((1,), "float32")):
        B = T.alloc_global((size,), "float32")
        with T.Kernel(T.ceildiv(size, 16), threads=32) as bx:
            for i in T.Parallel(16):
                if bx * 16 + i < size:
                    B[bx * 16 + i] = A[bx * 16 + i] * 2
        with T.Kernel(1, threads=64):
            values, total = T.alloc_fragment((size,), "float32"), T.alloc_fragment((1,), "float32")
            T.copy(B, values)
            T.reduce_sum(values, total)
            T.copy(total, C)

    a, b, c = random(size), torch.zeros(size), torch.zeros(1)
    parts = split_kernels(steps)
    assert [len(part.params) for part in parts] == [3, 3]
    for part in parts:
        tle_raw.fragment(part).as_kernel()(a, c, b)
    assert torch.equal(b, a * 2)
    agree(c, a.double().sum()[None] * 2, 1e-5)
