"""Kernels for TRITON_INTERPRET=1, run by test_interpreter in a process of their own: Triton decides at import."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import tle_raw.language as tle
from tests.frontends.lite import executor_numbers as executed
from tests.frontends.lite import pipeline_kernels as loops
from tests.interpreting import run_chosen
from tle_raw.errors import (
    ArgumentTypeError,
    RegionError,
    ScheduleError,
    ShapeError,
    TileIndexError,
    TLEError,
)


@triton.jit
def tiles(x, y, taken, put, n, R: tl.constexpr, C: tl.constexpr, T: tl.constexpr, U: tl.constexpr):
    pid = tl.program_id(0)
    large = pid * R * C + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    small = pid * T * U + tl.arange(0, T)[:, None] * U + tl.arange(0, U)[None, :]
    block, new = tle.load(x + large, is_async=True), tle.load(y + small)
    tl.store(taken + small, tle.extract_tile(block, pid, (T, U)))
    other = block.extract_tile(index=[n, 1], shape=[T, U])
    tl.store(put + large, block.insert_tile(new, index=pid).insert_tile(other, index=[0, n]))


@triton.jit
def sums(x, exclusive, total, R: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    e, t = tle.cumsum(tl.load(x + i), axis=AXIS, reverse=REVERSE)
    tl.store(exclusive + i, e)
    tl.store(total + tl.arange(0, C if AXIS == 0 else R), t)


@triton.jit
def wrong(x, WHAT: tl.constexpr):
    b = tl.load(x + tl.arange(0, 16))
    if WHAT == 0:
        b.extract_tile(index=4, shape=[4])
    else:
        tle.extract_tile(b, 0, [3])


def test_tiles():
    for dtype in (torch.bool, torch.int8, torch.int64, torch.float16, torch.bfloat16, torch.float32):
        x = torch.randint(0, 2, (3, 8, 16)).to(dtype)
        y = torch.randint(0, 2, (3, 4, 8)).to(dtype)
        taken, put = torch.zeros_like(y), torch.zeros_like(x)
        tiles[(3,)](x, y, taken, put, 1, 8, 16, 4, 8)
        for program in range(3):
            block = x[program]
            row, column = divmod(program, 2)
            here = block[row * 4 : row * 4 + 4, column * 8 : column * 8 + 8]
            assert torch.equal(taken[program], here), dtype
            expected = block.clone()
            expected[row * 4 : row * 4 + 4, column * 8 : column * 8 + 8] = y[program]
            expected[0:4, 8:16] = block[4:8, 8:16]
            assert torch.equal(put[program], expected), dtype


def test_sums():
    for dtype in (torch.int32, torch.float32):
        for axis, reverse in ((0, False), (1, True), (1, False)):
            x = torch.randint(0, 9, (4, 8)).to(dtype)
            exclusive, total = torch.zeros_like(x), torch.zeros(8 if axis == 0 else 4, dtype=dtype)
            sums[(1,)](x, exclusive, total, 4, 8, axis, reverse)
            wide = x.flip(axis) if reverse else x
            expected = wide.cumsum(axis) - wide
            assert torch.equal(exclusive, (expected.flip(axis) if reverse else expected).to(dtype))
            assert torch.equal(total, x.sum(axis).to(dtype))


def test_errors_name_the_kernels_line():
    for what, kind, text in (
        (0, TileIndexError, "b.extract_tile(index=4"),
        (1, ShapeError, "tle.extract_tile(b, 0, [3"),
    ):
        try:
            wrong[(1,)](torch.zeros(16), what)
        except Exception as error:
            cause = error
            while cause.__cause__ is not None:
                cause = cause.__cause__
            assert isinstance(cause, kind), repr(cause)
            assert text in cause.context.call_site.text, cause
        else:
            raise AssertionError("no error")


def test_loops():
    x = torch.randn(9, 64)

    def run(name, o, **constants):
        getattr(loops, name)[(1,)](x, o, 9, B=64, **constants)
        return o

    wide = x.double()
    assert torch.allclose(run("automatic", torch.zeros(64), STAGES=3), x.sum(0), atol=1e-5)
    assert torch.allclose(run("automatic", torch.zeros(64), STAGES=(0, 2)), x.sum(0), atol=1e-5)
    assert torch.allclose(run("twice", torch.zeros(64)), 2 * x.sum(0), atol=1e-5)
    weighted = (wide * torch.arange(9)[:, None]).sum(0).float()
    assert torch.allclose(run("unrolled", torch.zeros(64), STAGES=(0, 2)), weighted, atol=1e-4)
    assert torch.equal(run("reordered", torch.zeros(9, 64), REORDER=True), x * 2)
    assert torch.allclose(run("outer", torch.zeros(9, 64), STAGES=(0, 1)), wide.cumsum(0).float(), atol=1e-5)


def test_products_and_chains():
    a, b, o = torch.randn(33, 47).half(), torch.randn(47, 20).half(), torch.zeros(33, 20)
    loops.product[(2, 1)](a, b, o, 33, 20, 47, B=32, STAGES=(0, 0, 2), ORDERS=(1, 0, 2))
    assert torch.allclose(o.double(), a.double() @ b.double(), atol=1e-4)
    x, index, o = torch.randn(100), torch.randint(0, 100, (5, 40), dtype=torch.int32), torch.zeros(5, 40)
    loops.gathered[(2,)](x, index, o, 5, 40, B=32, STAGES=(0, 1, 2), ASYNC=True)
    assert torch.allclose(o, x[index.long()].cumsum(0), atol=1e-5)


def test_loops_with_several_executors():
    for got, expected in (executed.product("cpu", (100, 70, 65), 3), executed.dequantised("cpu", 64)):
        executed.close(got, expected)


@triton.jit
def wrong_loop(x, n, WHAT: tl.constexpr):
    if WHAT == 0:
        for _ in tle.range(n, pipe_stages=[0, 1], executors=[0, 1]):
            pass
    if WHAT == 1:
        for _ in tle.range(n, pipe_stages=[0, 1]):
            with tle.pipeline_group(0):
                tl.store(x, 1)
    if WHAT == 2:
        for _ in tle.range(n, pipe_stages=[0, 1]):
            with tle.pipeline_group(2):
                tl.store(x, 1)
    if WHAT == 3:
        with tle.pipeline_group(0):
            tl.store(x, 1)
    if WHAT == 4:
        for _ in tle.range(n, pipe_stages="two"):
            pass
    if WHAT == 5:
        for _ in tle.range(n, pipe_stages=[0, 1]):
            with tle.pipeline_group(0), tle.pipeline_group(1):
                tl.store(x, 1)


def test_errors_of_loops():
    kinds = [
        ScheduleError,
        ScheduleError,
        ArgumentTypeError,
        RegionError,
        ArgumentTypeError,
        RegionError,
    ]
    for what, kind in enumerate(kinds):
        cause = None
        try:
            wrong_loop[(1,)](torch.zeros(16), 3, what)
        except Exception as error:
            cause = error
            while cause.__cause__ is not None:
                cause = cause.__cause__
        assert isinstance(cause, kind) and isinstance(cause, TLEError), (what, cause)
        assert "tle." in cause.context.call_site.text, (what, cause)


if __name__ == "__main__":
    run_chosen(globals())
