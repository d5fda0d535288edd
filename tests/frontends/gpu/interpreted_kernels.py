"""Kernels for TRITON_INTERPRET=1, run by test_interpreter in a process of their own: Triton decides at import."""

from __future__ import annotations

import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw.language as tle
from tests.frontends.gpu import barrier_kernels as barriers
from tests.frontends.gpu import buffer_kernels as kernels
from tests.frontends.gpu import place_kernels, reduce_kernels
from tests.frontends.gpu import product_kernels as products
from tests.frontends.gpu import tensor_memory_kernels as tensors
from tests.interpreting import run_chosen
from tle_raw.errors import SharedBufferError

B = 16


def run(name, x, o, n=0, **constants):
    getattr(kernels, name)[(1,)](x, o, n, constants.pop("B", B), **constants)
    return o


def tiles(count, dtype=torch.float32):
    return torch.randint(-8, 8, (count, B, B)).to(dtype)


def test_rings():
    x = tiles(6)
    assert torch.equal(run("while_ring", x, torch.zeros(B, B), 5), x[:5].sum(0))
    if triton.__version__.startswith("3.6"):
        return  # its interpreter cannot count to a run-time number with NumPy 2.4
    assert torch.equal(run("ring", x, torch.zeros(B, B), 5), x[:5].sum(0))
    weights = torch.arange(1, 7)[:, None, None]
    for stages in (2, 3, 4):
        assert torch.equal(run("groups", x, torch.zeros(B, B), 6, S=stages), (x * weights).sum(0))


def test_a_branch_gives_a_buffer():
    x = tiles(3)
    assert torch.equal(run("chosen", x, torch.zeros(B, B), 2), x[2])
    assert torch.equal(run("chosen", x, torch.zeros(B, B), 1), x[0])


def test_copies():
    for dtype in (torch.int8, torch.float16, torch.bfloat16, torch.float32, torch.int64):
        x = tiles(1, dtype)[0]
        assert torch.equal(run("copied", x, torch.zeros_like(x)), x.T)
        o = torch.full_like(x, 7)
        run("masked", x, o, 5)
        expected = torch.full_like(x, 7)
        expected[:5] = 0
        expected[:5, :5] = x[:5, :5]
        assert torch.equal(o, expected)


def test_places_of_tiles():
    x = torch.randn(40, 64)
    for places, wrong in (((-3, -4, 9, 40), ""), ((0, 2, 0, 0), "16 bytes"), ((0, 0, -2, 0), "negative")):
        o = torch.zeros_like(x)
        descriptors = [TensorDescriptor.from_tensor(each, [16, 32]) for each in (x, o)]
        try:
            place_kernels.moved[(1,)](*descriptors, *places, M=16, N=32)
        except Exception as error:
            assert wrong and wrong in str(error.__cause__ or error), error
        else:
            assert not wrong and torch.equal(o[12:25, 44:64], x[:13, :20])


def test_views():
    x = tiles(1)[0]
    half = B // 2
    expected = x.roll((half, half), (0, 1))
    assert torch.equal(run("parts", x, torch.zeros(B, B)), expected)
    o = run("reshaped", x, torch.zeros(B, B), 3)
    assert torch.equal(o[1:], x[1:] * 2) and torch.equal(o[0], x[3])
    o = run("aliased", x, torch.zeros(2 * B))
    assert torch.equal(o[:B], x[0]) and torch.equal(o[B:], torch.ones(B))
    o = run("uneven", x, torch.zeros(2 * B * B))
    assert torch.equal(o[: B * B].reshape(B, B), x) and (o[B * B : B * B * 3 // 2] == 1).all()


def test_layouts_change_no_value():
    x = tiles(1)[0]
    for layout in ("columns", "padded", "default"):
        assert torch.equal(run("laid_out", x, torch.zeros(B, B), LAYOUT=layout), 2 * x)


def test_dtypes():
    for dtype in (torch.bool, torch.int8, torch.int64, torch.float16, torch.bfloat16, torch.float64):
        x = torch.randint(0, 2, (B,)).to(dtype)
        assert torch.equal(run("dtypes", x, torch.zeros_like(x)), x), dtype


def test_products():
    if triton.__version__.startswith("3.6"):
        return  # its interpreter cannot count to a run-time number with NumPy 2.4
    m, n, k, count = 64, 16, 32, 5
    a, b = torch.randn(m, count * k, dtype=torch.float16), torch.randn(n, count * k, dtype=torch.float16)
    expected = a.float() @ b.float().T
    for name, stages in (("from_buffers", {}), ("async_gemm", {"S": 3})):
        c = torch.zeros(m, n)
        getattr(products, name)[(1, 1)](a, b, c, count, m, n, k, **stages)
        torch.testing.assert_close(c, expected, rtol=1e-3, atol=1e-3)
    c = torch.zeros(m, n)
    tiles = TensorDescriptor.from_tensor(a, [m, k]), TensorDescriptor.from_tensor(b, [n, k])
    products.tma_gemm[(1, 1)](*tiles, c, count, m, n, k, 3)
    torch.testing.assert_close(c, expected, rtol=1e-3, atol=1e-3)
    x, o = torch.randn(3 * m, n), torch.zeros(3 * m, n)
    given, taken = TensorDescriptor.from_tensor(x, [m, n]), TensorDescriptor.from_tensor(o, [m, n])
    products.tma_copied[(1,)](given, taken, 3, m, n)
    assert torch.equal(x, o)
    x, o = torch.randn(4, 32), torch.zeros(4, 32)
    products.handed_over[(1,)](x, o, 4, 32)
    assert torch.equal(o, x + 1)


def test_regions_and_barriers():
    x = torch.randn(16, 8)
    for fetch, arrivals in ((barriers.fetch, 1), (barriers.fetch_async, 64)):
        o = torch.zeros_like(x)
        barriers.fetched_once[(1,)](x, o, fetch, arrivals, 16, 8, num_warps=2)
        assert torch.equal(o, 2 * x), fetch.name
    if triton.__version__.startswith("3.6"):
        return  # its interpreter cannot count to a run-time number with NumPy 2.4
    x = torch.randn(5, 16, 8)
    for fetch, arrivals in ((barriers.fetch, 1), (barriers.fetch_async, 128)):
        for slots in (1, 3):
            o = torch.zeros_like(x)
            barriers.fetched[(1,)](x, o, 5, fetch, arrivals, 16, 8, slots, num_warps=4)
            assert torch.equal(o, 2 * x), (fetch.name, slots)
    x, o = torch.randn(80, 32), torch.zeros(5)
    barriers.waited_for[(1,)](TensorDescriptor.from_tensor(x, [16, 32]), o, 5, 16, 32, 3)
    torch.testing.assert_close(o, x.reshape(5, -1).sum(1), rtol=1e-4, atol=1e-4)
    x, o = torch.randn(6, 32), torch.zeros(6, 32)
    barriers.named[(1,)](x, o, 6, 64, 32, num_warps=2)
    assert torch.equal(o, x + 1)
    o = torch.zeros(4, 16, 8)
    barriers.numbered[(1,)](o, 4, 2, 16, 8, num_warps=2)
    assert torch.equal(o, torch.arange(4)[:, None, None] + torch.arange(128.0).reshape(16, 8))


def test_tiles_combined_with_global_memory():
    for kind, combine in (("add", torch.add), ("max", torch.maximum), ("xor", torch.bitwise_xor)):
        x = torch.randint(-99, 99, (3, 16, 32), dtype=torch.int32)
        o = torch.randint(-99, 99, (11, 32), dtype=torch.int32)
        expected = o.clone()
        for tile in x:
            expected[2:] = combine(expected[2:], tile[:9])
        reduce_kernels.combined[(3,)](x, TensorDescriptor.from_tensor(o, [16, 32]), KIND=kind, M=16, N=32)
        assert torch.equal(o, expected), kind


def test_tensor_memory():
    x = torch.randn(64, 32).to(torch.float16)
    c = torch.zeros(64, 64)
    tensors.once[(1,)](x, c, 64, 32)
    torch.testing.assert_close(c, x.float() @ x.float().T + 1, rtol=1e-3, atol=1e-3)


@triton.jit
def waits_for_nobody(x):
    full = tle.gpu.alloc_barrier(2)
    tle.gpu.barrier_arrive(full, 1, 0)
    tle.gpu.barrier_wait(full, 0)


def test_a_wait_for_nobody_is_an_error():
    try:
        waits_for_nobody[(1,)](torch.zeros(1))
    except Exception as error:
        cause = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        assert isinstance(cause, SharedBufferError) and "nobody completes" in str(cause), repr(cause)
        assert "barrier_wait(full, 0)" in cause.context.call_site.text, cause
    else:
        raise AssertionError("no error")


@triton.jit
def freed(x):
    tile = tle.gpu.alloc([16], x.dtype.element_ty)
    tile.free()
    tile.load()


def test_errors_name_the_kernels_line():
    try:
        freed[(1,)](torch.zeros(16))
    except Exception as error:
        cause = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        assert isinstance(cause, SharedBufferError), repr(cause)
        assert "tile.load()" in cause.context.call_site.text, cause
    else:
        raise AssertionError("no error")


if __name__ == "__main__":
    run_chosen(globals())
