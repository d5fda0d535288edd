"""Eager ``@tilelang.jit`` functions: called like the functions, as fragments, and split into their kernels."""

import pytest
import tilelang
import tilelang.language as T
import torch

import tle_raw
from tests.adapters.tilelang.conftest import compile_for_gpu
from tle_raw.adapters.tilelang import eager_kernel, split_kernels
from tle_raw.errors import ArgumentCountError, FragmentSourceError, ShapeError

pytestmark = pytest.mark.every_triton(2)


@tilelang.jit
def scaled_sum(A, B, scale: float = 2.0):
    N, M = T.const("N, M")
    A: T.Tensor[[N, M], T.float32]
    B: T.Tensor[[N, M], T.float32]
    C = T.empty((N, M), T.float32)
    with T.Kernel(T.ceildiv(N, 32), threads=64) as b:
        for i, j in T.Parallel(32, M):
            C[b * 32 + i, j] = (A[b * 32 + i, j] + B[b * 32 + i, j]) * scale
    return C


@tilelang.jit
def turned(A, B):
    N = T.dynamic("N")
    A: T.Tensor[[N], T.float32]
    B: T.Tensor[[N], T.float32]
    C = T.empty((N,), T.float32)
    D = T.empty((1,), T.int32)
    with T.Kernel(T.ceildiv(N, 64), threads=64) as b:
        for i in T.Parallel(64):
            B[b * 64 + i] = A[b * 64 + i] * 2.0
    with T.Kernel(T.ceildiv(N, 64), threads=64) as b:
        for i in T.Parallel(64):
            C[b * 64 + i] = B[N - 1 - b * 64 - i] + 1.0
        D[0] = N
    return C, D


def test_a_call_gives_what_the_function_returns(on_cpu):
    kernel = eager_kernel(scaled_sum)
    for rows in (50, 33):
        a, b = torch.rand(rows, 8), torch.rand(rows, 8)
        torch.testing.assert_close(kernel(a, b), (a + b) * 2.0, rtol=1e-6, atol=0)
    torch.testing.assert_close(kernel(a, b, scale=3.0), (a + b) * 3.0, rtol=1e-6, atol=0)


def test_each_kernel_is_a_launch(on_cpu):
    a, b = torch.rand(100), torch.zeros(100)
    c, d = eager_kernel(turned)(a, b)
    assert torch.equal(b, a * 2) and torch.equal(c, a.flip(0) * 2 + 1) and d.item() == 100


def test_what_a_call_launches_compiles_ahead():
    a = torch.empty(64, 8, device="meta")
    for kernels in (eager_kernel(scaled_sum).kernels(a, a), eager_kernel(scaled_sum).kernels(N=64, M=8)):
        (kernel,) = kernels
        assert "entry" in kernel.compile("cuda:90").asm["ptx"]
    assert [k.program.name for k in eager_kernel(turned).kernels()] == ["turned_0", "turned_1"]


@pytest.mark.one_triton
def test_as_a_fragment_and_split_it_takes_its_sizes():
    fragment = tle_raw.fragment(scaled_sum, arguments={"N": 64, "M": 8})
    assert [p.name for p in fragment.signature.parameters] == ["A", "B", "C"]
    compile_for_gpu(fragment)
    assert len(split_kernels(turned)) == 2 and len(split_kernels(scaled_sum, N=64, M=8)) == 1


@pytest.mark.one_triton
def test_a_size_that_nothing_gives_is_named():
    with pytest.raises(FragmentSourceError, match="nothing says what `N` is") as caught:
        tle_raw.fragment(scaled_sum)
    assert "arguments=dict(N=1024)" in str(caught.value) and "def scaled_sum" in str(caught.value)


@pytest.mark.one_triton
def test_arrays_are_held_against_the_function(on_cpu):
    with pytest.raises(ShapeError, match="the array for `B`"):
        eager_kernel(scaled_sum)(torch.zeros(4, 8), torch.zeros(5, 8))
    with pytest.raises(ArgumentCountError, match="`scaled_sum` got nothing for `B`"):
        eager_kernel(scaled_sum)(torch.zeros(4, 8))


@pytest.mark.one_triton
def test_a_builder_is_no_eager_function():
    @tilelang.jit
    def built(n):
        @T.prim_func
        def kernel(A: T.Tensor((n,), "float32")):
            with T.Kernel(1, threads=32):
                A[0] = 1.0

        return kernel

    with pytest.raises(FragmentSourceError, match="returns a PrimFunc"):
        eager_kernel(built)(8)
    with pytest.raises(FragmentSourceError, match=r"is a @tilelang\.jit function, got function"):
        eager_kernel(lambda: None)
