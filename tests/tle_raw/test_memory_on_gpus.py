"""Tensors without memory are refused before a kernel with parts of tle_raw is launched on a GPU."""

import warnings

import pytest
import triton
import triton.language as tl
from triton.runtime import driver

import tle_raw.language as tle
from tle_raw.errors import LaunchError

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.every_triton(3)


@pytest.fixture(autouse=True)
def compiling_only():
    from samples.benchmarks.compile_only import CompileOnlyDriver

    before = driver.active
    driver.set_active(CompileOnlyDriver())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of a FakeTensor's address
        yield
    driver.set_active(before)


def new_kernel():
    @triton.jit
    def double(x, B: tl.constexpr):
        buffer = tle.gpu.alloc([B], tl.float32)
        buffer.store(tl.load(x + tl.arange(0, B)))
        tl.store(x + tl.arange(0, B), buffer.load() * 2)

    return double


@triton.jit
def plain(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 0.0)


def freed():
    x = torch.zeros(32)
    x.untyped_storage().resize_(0)
    return x


MEMORYLESS = {
    "FunctionalTensor": lambda launch: torch.func.functionalize(lambda x: launch(x.clone()))(torch.zeros(32)),
    "meta": lambda launch: launch(torch.zeros(32, device="meta")),
    "freed": lambda launch: launch(freed()),
}


@pytest.mark.parametrize("told", MEMORYLESS)
def test_at_the_first_launch_and_later(told):
    kernel = new_kernel()
    for _ in range(2):
        with pytest.raises(LaunchError, match=told):
            MEMORYLESS[told](lambda x: kernel[(1,)](x, B=32))
        kernel[(1,)](torch.zeros(32), B=32)
        kernel[(1,)](torch.zeros(0), B=32)


def test_later_where_triton_itself_refuses_the_first_launch():
    kernel = new_kernel()
    kernel[(1,)](torch.zeros(32), B=32)
    with pytest.raises(LaunchError, match="BatchedTensor"):
        torch.func.vmap(lambda x: kernel[(1,)](x, B=32))(torch.zeros(2, 32))


def test_plain_kernels_are_not_looked_at():
    plain[(1,)](torch.zeros(32, device="meta"), B=32)
    assert not plain.pre_run_hooks
