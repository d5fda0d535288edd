"""TileLang regions inside Triton kernels: the caller's block tensors and block indices take the place of TileLang's."""

from __future__ import annotations

import re

import pytest
import tilelang
import tilelang.language as T
import torch
import triton
import triton.language as tl

import tle_raw
from tests.adapters.tilelang import kernels
from tests.support import report_of

pytestmark = pytest.mark.usefixtures("on_cpu")


@tle_raw.dialect("tilelang", tiles=["X", "Y"])
@T.prim_func
def row_softmax(X: T.Tensor((1024, 64), "float32"), Y: T.Tensor((1024, 64), "float32")):
    with T.Kernel(256, threads=128) as bx:
        x = T.alloc_fragment((4, 64), "float32")
        highest = T.alloc_fragment((4,), "float32")
        total = T.alloc_fragment((4,), "float32")
        T.copy(X[bx * 4, 0], x)
        T.reduce_max(x, highest, dim=1)
        for i, j in T.Parallel(4, 64):
            x[i, j] = T.exp(x[i, j] - highest[i])
        T.reduce_sum(x, total, dim=1)
        for i, j in T.Parallel(4, 64):
            x[i, j] /= total[i]
        T.copy(x, Y[bx * 4, 0])


@triton.jit
def scaled_softmax(x_ptr, y_ptr, scale):
    at = tl.program_id(0) * 256 + tl.arange(0, 4)[:, None] * 64 + tl.arange(0, 64)[None, :]
    y = row_softmax(tl.load(x_ptr + at) * scale)
    tl.store(y_ptr + at, y + 1.0)


def test_tiles_flow_through_a_region():
    x, y = torch.randn(12, 64), torch.zeros(12, 64)
    kernel = scaled_softmax[(3,)](x, y, 2.0)
    torch.testing.assert_close(y, (x * 2).softmax(1) + 1)
    (region,) = report_of(kernel, machine_code=False).regions
    assert region.route == "traced" and region.call_site.text.strip() == "y = row_softmax(tl.load(x_ptr + at) * scale)"


def test_the_signature_is_read_from_the_prim_func():
    assert str(row_softmax.signature) == "row_softmax(X: Tile[f32, 4, 64], Y: Out[Tile[f32, 4, 64]])"
    gemm = tle_raw.fragment(kernels.gemm(), tiles=["C"])
    assert [str(p) for p in gemm.signature.parameters] == [
        "A: Pointer[f16]",
        "B: Pointer[f16]",
        "C: Out[Tile[f16, 64, 64]]",
    ]
    scaled = tle_raw.fragment(kernels.scaled_add())
    assert [str(p) for p in scaled.signature.parameters] == [
        "A: Pointer[f32]",
        "B: InOut[Pointer[f32]]",
        "alpha: Scalar[f32]",
        "n: Scalar[i32]",
    ]


product = tle_raw.fragment(kernels.gemm(128, 128, 96), tiles=["C"], grid={"bx": "column", "by": "row"})


@triton.jit
def persistent(a_ptr, b_ptr, c_ptr, tiles, columns):
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        row = tile // columns
        column = tile % columns
        c = product(a_ptr, b_ptr, column, row)
        at = (row * 64 + tl.arange(0, 64)[:, None]) * 128 + column * 64 + tl.arange(0, 64)[None, :]
        tl.store(c_ptr + at, c * 2.0)


def test_block_indices_come_from_the_caller():
    a, b, c = torch.randn(128, 96).half(), torch.randn(96, 128).half(), torch.zeros(128, 128)
    persistent[(3,)](a, b, c, 4, 2)
    torch.testing.assert_close(c.double(), 2 * (a.double() @ b.double()), rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("axis", [0, 1])
def test_block_indices_come_from_any_axis_of_the_programs(axis):
    add = tle_raw.fragment(kernels.add(64, 64, 32, 64), grid={"by": axis, "bx": 1 - axis})

    @triton.jit
    def kernel(a, b, c):
        add(a, b, c)

    a, b, c = torch.randn(64, 64), torch.randn(64, 64), torch.zeros(64, 64)
    kernel[(2, 1) if axis == 0 else (1, 2)](a, b, c)
    assert torch.equal(c, a + b)


def test_a_program_beyond_the_grid_touches_nothing():
    add = tle_raw.fragment(kernels.add(64, 64, 32, 64))

    @triton.jit
    def kernel(a, b, c):
        add(a, b, c)

    memory = torch.zeros(4096 + 4096)
    kernel[(2, 5)](torch.ones(64, 64), torch.ones(64, 64), memory[:4096])
    assert (memory[:4096] == 2).all() and (memory[4096:] == 0).all()


@T.prim_func
def normalise(X: T.Tensor((256, 48), "float16"), W: T.Tensor((48,), "float32"), Y: T.Tensor((256, 48), "float16")):
    with T.Kernel(64, threads=128) as bx:
        x = T.alloc_fragment((4, 48), "float32")
        power = T.alloc_fragment((4,), "float32")
        squares = T.alloc_fragment((4, 48), "float32")
        T.copy(X[bx * 4, 0], x)
        for i, j in T.Parallel(4, 48):
            squares[i, j] = x[i, j] * x[i, j]
        T.reduce_sum(squares, power, dim=1)
        for i, j in T.Parallel(4, 48):
            Y[bx * 4 + i, j] = x[i, j] * T.rsqrt(power[i] / 48 + 1e-6) * W[j]


normalised = tle_raw.fragment(normalise, tiles=["X", "Y"])


@triton.jit
def normalise_sum(a_ptr, b_ptr, w_ptr, y_ptr):
    column = tl.arange(0, 64)[None, :]
    at = (tl.program_id(0) * 4 + tl.arange(0, 4)[:, None]) * 48 + column
    inside = column < 48
    x = tl.load(a_ptr + at, mask=inside, other=float("nan")) + tl.load(b_ptr + at, mask=inside, other=float("nan"))
    tl.store(y_ptr + at, normalised(x, w_ptr), mask=inside)


def test_a_tile_is_wider_than_what_is_read_of_it():
    a, b, w = torch.randn(12, 48).half(), torch.randn(12, 48).half(), torch.randn(48)
    y = torch.zeros(12, 48).half()
    normalise_sum[(3,)](a, b, w, y)
    x = (a + b).double()
    expected = x * (x.pow(2).mean(1, keepdim=True) + 1e-6).rsqrt() * w.double()
    torch.testing.assert_close(y.double(), expected, rtol=2e-3, atol=2e-3)


@T.prim_func
def accumulate(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((64, 64), "float32")):
    with T.Kernel(2, 4, threads=128) as (bx, by):
        for i, j in T.Parallel(16, 32):
            Y[by * 16 + i, bx * 32 + j] += X[by * 16 + i, bx * 32 + j]


def test_a_buffer_that_is_read_and_written_comes_back_updated():
    accumulated = tle_raw.fragment(accumulate, tiles=["Y"])
    assert str(accumulated.signature.parameters[1]) == "Y: InOut[Tile[f32, 16, 32]]"

    @triton.jit
    def kernel(x_ptr, y_ptr):
        y = accumulated(x_ptr, tl.full((16, 32), 3.0, tl.float32))
        at = (
            (tl.program_id(1) * 16 + tl.arange(0, 16)[:, None]) * 64 + tl.program_id(0) * 32 + tl.arange(0, 32)[None, :]
        )
        tl.store(y_ptr + at, y)

    x, y = torch.randn(64, 64), torch.zeros(64, 64)
    kernel[(2, 4)](x, y)
    assert torch.equal(y, x + 3)


def test_two_regions_flow_into_each_other():
    gemm = tle_raw.fragment(kernels.gemm(64, 64, 64, 64, 64, 32, out="float32"), tiles=["C"])
    soft = tle_raw.fragment(kernels.softmax(64, 64, 64), tiles=["X"])

    @triton.jit
    def kernel(a, b, y):
        soft(gemm(a, b), y)

    a, b, y = torch.randn(64, 64).half(), torch.randn(64, 64).half(), torch.zeros(64, 64)
    report = tle_raw.report(kernel[(1,)](a, b, y))
    torch.testing.assert_close(y.double(), (a.double() @ b.double()).softmax(1), rtol=1e-4, atol=1e-6)
    assert [r.name for r in report.regions] == ["gemm", "softmax"]


def test_scalars_may_be_constants():
    scaled = tle_raw.fragment(kernels.scaled_add())

    @triton.jit
    def kernel(a, b, n: tl.constexpr):
        scaled(a, b, 0.5, n)

    a, b = torch.randn(300), torch.zeros(300)
    kernel[(2,)](a, b, 300)
    assert torch.equal(b, a * 0.5)


# ways to declare


def test_a_function_that_builds_the_prim_func():
    @tle_raw.dialect("tilelang", arguments={"m": 10, "n": 20})
    def build(m, n):
        return kernels.add(m, n)

    assert build.name == "build" and [p.name for p in build.signature.parameters] == ["A", "B", "C"]
    a, b, c = torch.randn(10, 20), torch.randn(10, 20), torch.zeros(10, 20)
    build.as_kernel()(a, b, c)
    assert torch.equal(c, a + b)


def test_a_jit_function_of_either_style():
    @tilelang.jit(out_idx=[-1])
    def lazy(m, n):
        return kernels.add(m, n)

    @tilelang.jit
    def eager(A, B, block: int = 64):
        m = T.const("m")
        A: T.Tensor[[m], "float32"]
        B: T.Tensor[[m], "float32"]
        with T.Kernel(T.ceildiv(m, block), threads=128) as bx:
            for i in T.Parallel(block):
                B[bx * block + i] = A[bx * block + i] + 1.0

    a, b, c = torch.randn(10, 20), torch.randn(10, 20), torch.zeros(10, 20)
    tle_raw.fragment(lazy, arguments={"m": 10, "n": 20}).as_kernel()(a, b, c)
    assert torch.equal(c, a + b)
    x, y = torch.randn(100), torch.zeros(100)
    tle_raw.fragment(eager, arguments={"m": 100}).as_kernel()(x, y)
    assert torch.equal(y, x + 1)


def test_a_compiled_kernel_gives_its_prim_func():
    class JITKernel:  # the compiled kernel itself needs a CUDA compiler; a fragment takes of it only this
        __module__ = "tilelang.jit.kernel"
        prim_func = kernels.add(10, 20)

    a, b, c = torch.randn(10, 20), torch.randn(10, 20), torch.zeros(10, 20)
    tle_raw.fragment(JITKernel()).as_kernel()(a, b, c)
    assert torch.equal(c, a + b)


def test_the_content_of_a_prim_func_is_in_the_key():
    keys = {
        tle_raw.fragment(kernels.add(100, 70)).cache_key,
        tle_raw.fragment(kernels.add(100, 71)).cache_key,
        tle_raw.fragment(kernels.add(100, 70), grid={"bx": 1, "by": 0}).cache_key,
        tle_raw.fragment(kernels.add(100, 70), in_grid=True).cache_key,
    }
    assert len(keys) == 4
    assert tle_raw.fragment(kernels.add(100, 70)).cache_key in keys


def test_the_prototype_shows_the_call_and_the_text():
    text = row_softmax.prototype()
    assert text.startswith("row_softmax(X: Tile[f32, 4, 64]") and re.search(r"T\.reduce", text)
