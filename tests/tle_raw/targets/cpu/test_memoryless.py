"""Tensors that have no memory are refused, in words that say what they are; empty ones and None are not."""

import warnings

import numpy as np
import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("torch")

import torch
import triton
import triton.language as tl
from torch._subclasses.fake_tensor import FakeTensorMode

import tle_raw


@triton.jit
def double(x, B: tl.constexpr):
    offsets = tl.arange(0, B)
    tl.store(x + offsets, tl.load(x + offsets) * 2)


@triton.jit
def write_unless_null(x, o):
    tl.store(o, 1 if x is None else 2)


def launched(x):
    y = x.clone()
    double[(1,)](y, B=32)
    return y


def fake():
    with FakeTensorMode():
        double[(1,)](torch.zeros(32), B=32)


def freed():
    tensor = torch.zeros(32)
    tensor.untyped_storage().resize_(0)
    return tensor


MEMORYLESS = {
    "FunctionalTensor": lambda: torch.func.functionalize(launched)(torch.arange(32.0)),
    "BatchedTensor": lambda: torch.func.vmap(launched)(torch.arange(64.0).reshape(2, 32)),
    "GradTrackingTensor": lambda: torch.func.grad(lambda x: launched(x).sum())(torch.arange(32.0)),
    "FakeTensor": fake,
    "device    cpu       meta": lambda: double[(1,)](torch.zeros(32, device="meta"), B=32),
    "layout sparse_coo": lambda: double[(1,)](torch.zeros(32).to_sparse(), B=32),
    "freed": lambda: double[(1,)](freed(), B=32),
    "storage has 0 bytes": lambda: double[(1,)](triton.reinterpret(freed(), tl.int32), B=32),
}


@pytest.fixture(autouse=True)
def on_the_cpu():
    with tle_raw.knobs.scope() as knobs, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of a FakeTensor's address
        knobs.target = "cpu"
        yield


@pytest.mark.parametrize("told", MEMORYLESS)
def test_a_tensor_without_memory_is_refused_and_named(told):
    with pytest.raises(tle_raw.errors.LaunchError) as caught:
        MEMORYLESS[told]()
    assert " ".join(told.split()) in " ".join(str(caught.value).split())
    assert "argument `x`" in str(caught.value)


def test_an_empty_tensor_needs_no_memory():
    double[(0,)](torch.empty(0), B=32)
    double[(0,)](np.empty(0, np.float32), B=32)


def test_none_is_a_null_pointer():
    written = np.zeros(1, np.int32)
    write_unless_null[(1,)](None, written)
    assert written[0] == 1
