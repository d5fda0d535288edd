"""What a call may pass: tiles, scalars, constants, arrays in every form, descriptors, block ids; what comes back."""

from __future__ import annotations

from typing import Annotated

import cuda.tile as ct
import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import tle_raw
from tests.adapters.cutile.arrays import launch
from tests.support import cause_of
from tle_raw.errors import ArgumentCountError, ArgumentTypeError, ShapeError, SignatureError

Int = ct.Constant[int]


@tle_raw.dialect("cutile")
def mean_and_rest(x, keep: Int, scale=2.0):
    """A docstring."""
    mean = ct.sum(x, axis=1, keepdims=True) / x.shape[1]
    return mean, (x - mean) * scale if keep else x * scale


@triton.jit
def call_function(x_ptr, m_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    mean, rest = mean_and_rest(tl.load(x_ptr + i * N + j), keep=True)
    tl.store(m_ptr + i, mean)
    tl.store(y_ptr + i * N + j, rest)


def test_a_function_that_is_called_by_keyword_and_default():
    x, m, y = torch.rand(8, 16), torch.zeros(8, 1), torch.zeros(8, 16)
    report = tle_raw.report(call_function[(1,)](x, m, y, M=8, N=16))
    mean = x.double().mean(1, keepdim=True)
    torch.testing.assert_close(m.double(), mean, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(y.double(), (x.double() - mean) * 2, rtol=1e-6, atol=1e-6)
    assert "mean_and_rest" in str(report) and "traced" in str(report) and "cutile" in str(report)


@tle_raw.dialect("cutile", grid={0: "row", 1: 0})
def copy_row(X, Y, n):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(Y, (i, j), ct.load(X, (i, j), (1, 16)) * n + ct.num_blocks(1))


@triton.jit
def rows(x_ptr, y_ptr, M, N, n):
    for row in range(M):
        copy_row((x_ptr, (M, N), (N, 1)), (y_ptr, (M, N), (N, 1)), n, row=row)


def test_block_ids_that_the_call_passes():
    x, y = torch.rand(5, 40), torch.zeros(5, 40)
    rows[(3,)](x, y, 5, 40, 7)
    torch.testing.assert_close(y, x * 7 + 3)


@triton.jit
def from_host(x, y):
    copy_all(x, y)


@tle_raw.dialect("cutile")
def copy_all(X, Y):
    at = (ct.bid(0), ct.bid(1))
    ct.store(Y, at, ct.load(X, at, (8, 16)) + X.shape[1] * 1000 + Y.strides[0])


def test_arrays_that_a_launch_describes():
    x, y = torch.rand(20, 40)[:, ::2], torch.zeros(20, 20)
    from_host[(3, 2)](tle_raw.array(x), tle_raw.array(y))
    torch.testing.assert_close(y, x + 20020)
    a, b = np.random.default_rng(0).random((9, 9), "f4"), np.zeros((9, 9), "f4")
    from_host[(2, 1)](tle_raw.array(a), tle_raw.array(b))
    np.testing.assert_allclose(b, a + 9009)


@ct.kernel
def with_static_shape(X: Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(1,))], Y, n, on: ct.Constant[bool]):
    if on:
        ct.store(Y, (0, 0), ct.load(X, (0, 0), (4, X.shape[1])) + n)


static = tle_raw.fragment(with_static_shape)


@triton.jit
def call_static(x_ptr, y_ptr, N: tl.constexpr, COUNT: tl.constexpr):
    static((x_ptr, (4, N), (N, 1)), (y_ptr, (4, N), (N, 1)), COUNT, True)


def test_annotations_of_cutile():
    x, y = torch.rand(4, 8), torch.zeros(4, 8)
    call_static[(1,)](x, y, N=8, COUNT=3)
    torch.testing.assert_close(y, x + 3)


def two(X, Y):
    ct.store(Y, (0,), ct.load(X, (0,), (8,)))


two_arrays = tle_raw.fragment(two, dialect="cutile")


@triton.jit
def pass_a_pointer(x_ptr):
    two_arrays(x_ptr, x_ptr)


@triton.jit
def pass_too_few(x_ptr):
    two_arrays((x_ptr, (8,), (1,)))


@triton.jit
def pass_other_ranks(x_ptr):
    two_arrays((x_ptr, (8, 8), (1,)), (x_ptr, (8,), (1,)))


@triton.jit
def pass_a_float_size(x_ptr):
    two_arrays((x_ptr, (8.0,), (1,)), (x_ptr, (8,), (1,)))


@triton.jit
def pass_no_constant(x_ptr, n):
    static((x_ptr, (4, 8), (8, 1)), (x_ptr, (4, 8), (8, 1)), 1, n)


@triton.jit
def pass_no_static_shape(x_ptr, n):
    static((x_ptr, (4, n), (8, 1)), (x_ptr, (4, 8), (8, 1)), 1, True)


@triton.jit
def pass_no_row(x_ptr):
    copy_row((x_ptr, (8, 8), (8, 1)), (x_ptr, (8, 8), (8, 1)), 1)


MISTAKES = {
    "pointer": (pass_a_pointer, ArgumentTypeError, "nothing says what shape"),
    "count": (pass_too_few, ArgumentCountError, "missing a required argument: 'Y'"),
    "rank": (pass_other_ranks, ShapeError, "2 sizes and 1 strides"),
    "size": (pass_a_float_size, ArgumentTypeError, "no integer"),
    "constant": (pass_no_constant, ArgumentTypeError, "a ct.Constant"),
    "static": (pass_no_static_shape, ArgumentTypeError, "is a constant, by its annotation"),
    "row": (pass_no_row, ArgumentCountError, "needs the block id `row`"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_calls_that_do_not_fit(name):
    kernel, kind, words = MISTAKES[name]
    arguments = (torch.zeros(64), 64) if "n" in kernel.arg_names else (torch.zeros(64),)
    with pytest.raises(Exception, match=words) as caught:
        kernel[(1,)](*arguments)
    error = cause_of(caught.value)
    assert isinstance(error, kind)
    site = error.context.call_site
    assert site.file == __file__ and site.text.strip().startswith(("two_arrays(", "static(", "copy_row("))


def test_names_that_options_get_wrong():
    with pytest.raises(SignatureError, match="dtypes= names `Z`"):
        tle_raw.fragment(two, dialect="cutile", dtypes={"Z": "float8_e8m0fnu"})
    with pytest.raises(SignatureError, match="which is taken"):
        tle_raw.fragment(two, dialect="cutile", grid={0: "X"})


def anything(*xs):
    return xs[0]


def test_a_function_of_any_number_of_arguments():
    with pytest.raises(SignatureError, match="takes \\*xs"):
        tle_raw.fragment(anything, dialect="cutile")


def store_twice(X, Y):
    ct.store(Y, (0,), ct.load(X, (0,), (8,)) + 1)
    ct.store(X, (0,), ct.load(Y, (0,), (8,)) * 2)


def test_one_memory_passed_twice():
    from tests.adapters.cutile.tiles import jit

    fragment = tle_raw.fragment(store_twice, dialect="cutile")
    x = torch.arange(8.0)
    jit("def kernel(x):\n    fragment((x, (8,), (1,)), (x, (8,), (1,)))\n", fragment=fragment)[(1,)](x)
    assert torch.equal(x, (torch.arange(8.0) + 1) * 2)
    y, z = torch.arange(8.0), torch.zeros(8)
    launch(store_twice, (1,), y, z)
    assert torch.equal(z, torch.arange(8.0) + 1) and torch.equal(y, z * 2)


@tle_raw.dialect("cutile")
def scale_tile(X, Y, factor):
    at = (ct.bid(0), ct.bid(1))
    x = ct.load(X, at, (16, 32), padding_mode=ct.PaddingMode.ZERO)
    ct.store(Y, at, x * factor + X.shape[0])


@tle_raw.dialect("cutile")
def gather_first(X, Y, factor):
    ct.store(Y, (0, 0), ct.full((16, 32), ct.sum(ct.gather(X, (0, ct.arange(4, dtype=ct.int32)))), ct.float32))


@tle_raw.dialect("cutile")
def other_tile(X, Y, factor):
    ct.store(Y, (0, 0), ct.load(X, (0, 0), (8, 32)) * factor)


@triton.jit
def through_descriptors(f: tl.constexpr, x_ptr, y_ptr, M, N):
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [16, 32])
    y = tl.make_tensor_descriptor(y_ptr, [M, N], [N, 1], [16, 32])
    f(x, y, 2.0)


def test_arrays_as_tensor_descriptors():
    x, y = torch.rand(40, 64), torch.zeros(40, 64)
    through_descriptors[(3, 2)](scale_tile, x, y, 40, 64)
    torch.testing.assert_close(y, x * 2 + 40)
    types = {"f": "constexpr", "x_ptr": "*fp32", "y_ptr": "*fp32", "M": "i32", "N": "i32"}
    source = ASTSource(through_descriptors, types, {"f": scale_tile})
    ptx = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    assert "cp.async.bulk.tensor" in ptx


@pytest.mark.parametrize(("f", "words"), [(gather_first, "by address"), (other_tile, "another shape")])
def test_what_tensor_descriptors_cannot_do(f, words):
    with pytest.raises(Exception, match=words) as caught:
        through_descriptors[(1,)](f, torch.rand(40, 64), torch.zeros(40, 64), 40, 64)
    assert cause_of(caught.value).context.source.file == __file__
