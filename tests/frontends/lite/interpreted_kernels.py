"""Kernels for TRITON_INTERPRET=1, run by test_interpreter in a process of their own: Triton decides at import."""

from __future__ import annotations

import sys
import traceback

import torch
import triton
import triton.language as tl

import tle_raw.language as tle
from tle_raw.errors import ShapeError, TileIndexError


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


if __name__ == "__main__":
    for name in sys.argv[1:]:
        try:
            globals()[name]()
            print(f"passed {name}", flush=True)
        except Exception:
            traceback.print_exc()
