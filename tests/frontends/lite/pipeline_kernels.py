"""Loops with groups, for the tests on every target."""

from __future__ import annotations

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def product(a, b, o, m, n, k, B: tl.constexpr, STAGES: tl.constexpr, ORDERS: tl.constexpr):
    """One B x B block of a product of any size a program; one group each for the two loads and for tl.dot."""
    r = tl.arange(0, B)
    rows, columns = tl.program_id(0) * B + r, tl.program_id(1) * B + r
    acc = tl.zeros((B, B), tl.float32)
    a_at = a + rows[:, None] * k + r[None, :]
    for i in tle.range(0, k, B, pipe_stages=STAGES, pipe_orders=ORDERS):
        with tle.pipeline_group(0):
            x = tl.load(a_at, mask=(rows[:, None] < m) & (i + r[None, :] < k), other=0.0)
        with tle.pipeline_group(1):
            inside = (i + r[:, None] < k) & (columns[None, :] < n)
            y = tl.load(b + (i + r[:, None]) * n + columns[None, :], mask=inside, other=0.0)
        with tle.pipeline_group(2):
            acc = tl.dot(x, y, acc)
        a_at += B
    tl.store(o + rows[:, None] * n + columns[None, :], acc, mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def gathered(x, index, o, n, width, B: tl.constexpr, STAGES: tl.constexpr, ASYNC: tl.constexpr):
    """Running sums of x[index[i]], row by row: a load, a load that needs it, a use."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for row in tle.range(n, pipe_stages=STAGES):
        with tle.pipeline_group(0):
            at = tle.load(index + row * width + i, mask=i < width, other=0, is_async=ASYNC)
        with tle.pipeline_group(1):
            value = tle.load(x + at, mask=i < width, other=0.0, is_async=ASYNC)
        with tle.pipeline_group(2):
            acc += value
            tl.store(o + row * width + i, acc, mask=i < width)


@triton.jit
def automatic(x, o, n, B: tl.constexpr, STAGES: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for row in tle.range(n, pipe_stages=STAGES):
        with tle.pipeline_group(0):
            value = tl.load(x + row * B + i)
        with tle.pipeline_group(1):
            acc += value
    tl.store(o + i, acc)


@triton.jit
def attention(q, kv, o, n, B: tl.constexpr, STAGES: tl.constexpr):
    """Softmax over n blocks of keys; their values follow them in `kv`. Products in two stages."""
    r = tl.arange(0, B)
    at = r[:, None] * B + r[None, :]
    queries = tl.load(q + at)
    acc = tl.zeros((B, B), tl.float32)
    largest = tl.full((B,), -1e30, tl.float32)
    total = tl.zeros((B,), tl.float32)
    for block in tle.range(n, pipe_stages=STAGES):
        with tle.pipeline_group(0):
            keys = tl.load(kv + block * B * B + at)
        with tle.pipeline_group(1):
            values = tl.load(kv + (block + n) * B * B + at)
        with tle.pipeline_group(2):
            scores = tl.dot(queries, tl.trans(keys))
            before, largest = largest, tl.maximum(largest, tl.max(scores, 1))
            weights = tl.exp(scores - largest[:, None])
            scale = tl.exp(before - largest)
            total = total * scale + tl.sum(weights, 1)
        with tle.pipeline_group(3):
            acc = tl.dot(weights.to(tl.float16), values, acc * scale[:, None])
    tl.store(o + at, acc / total[:, None])


@triton.jit
def sum_rows(x, n, i, acc, B: tl.constexpr, STAGES: tl.constexpr):
    for row in tle.range(n, pipe_stages=STAGES):
        with tle.pipeline_group(0):
            value = tl.load(x + row * B + i)
        with tle.pipeline_group(1):
            acc += value
    return acc


@triton.jit
def twice(x, o, n, B: tl.constexpr):
    """One loop of a function, in two schedules."""
    i = tl.arange(0, B)
    acc = sum_rows(x, n, i, tl.zeros((B,), tl.float32), B, (0, 1))
    tl.store(o + i, sum_rows(x, n, i, acc, B, (0, 3)))


@triton.jit
def unrolled(x, o, n, B: tl.constexpr, STAGES: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for row in tle.range(n, pipe_stages=STAGES, loop_unroll_factor=2):
        with tle.pipeline_group(0):
            value = tl.load(x + row * B + i)
        with tle.pipeline_group(1):
            acc += value * row
    tl.store(o + i, acc)


@triton.jit
def inner(x, o, n, B: tl.constexpr, STAGES: tl.constexpr):
    """A loop within another, with a branch ahead and one in the last stage, and stores in both stages."""
    i = tl.arange(0, B)
    for turn in range(3):
        acc = tl.zeros((B,), tl.float32)
        for row in tle.range(turn, n, pipe_stages=STAGES):
            with tle.pipeline_group(0):
                value = tl.full((B,), 1.0, tl.float32)
                if row % 2 == 0:
                    value = tl.load(x + row * B + i)
                tl.store(o + (3 + row) * B + i, value)
            with tle.pipeline_group(1):
                if row > 3:
                    acc += value
                else:
                    acc -= tl.load(x + row * B + i)
        tl.store(o + turn * B + i, acc)


@triton.jit
def outer(x, o, n, B: tl.constexpr, STAGES: tl.constexpr):
    """A loop in the last stage of another."""
    i = tl.arange(0, B)
    for row in tle.range(n, pipe_stages=STAGES):
        with tle.pipeline_group(0):
            value = tl.load(x + row * B + i)
        with tle.pipeline_group(1):
            for k in range(row):
                value += tl.load(x + k * B + i)
            tl.store(o + row * B + i, value)


@triton.jit
def reordered(x, o, n, B: tl.constexpr, REORDER: tl.constexpr):
    i = tl.arange(0, B)
    for row in tle.range(n, loop_unroll_factor=4, num_stages=1, reorder=REORDER):
        at = tl.load(x + row * B + i)
        tl.store(o + row * B + i, at * 2)


@triton.jit
def by_descriptor(x, o, n, B: tl.constexpr, STAGES: tl.constexpr):
    rows = tl.make_tensor_descriptor(x, [n * B, B], [B, 1], [B, B])
    r = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for i in tle.range(n, pipe_stages=STAGES):
        with tle.pipeline_group(0):
            block = rows.load([i * B, 0])
        with tle.pipeline_group(1):
            acc = tl.dot(block, tl.trans(block), acc)
    tl.store(o + r[:, None] * B + r[None, :], acc)


@triton.jit
def known_count(x, o, n, B: tl.constexpr, COUNT: tl.constexpr, STAGES: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for row in tle.range(COUNT, pipe_stages=STAGES):
        with tle.pipeline_group(0):
            value = tl.load(x + row * B + i)
        with tle.pipeline_group(1):
            acc += value
    tl.store(o + i, acc)


@triton.jit
def downwards(x, o, n, B: tl.constexpr, STAGES: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for row in tle.range(n - 1, -1, -2, pipe_stages=STAGES):
        with tle.pipeline_group(0):
            value = tl.load(x + row * B + i)
        with tle.pipeline_group(1):
            acc += value * row
    tl.store(o + i, acc)


@triton.jit
def unrolled_around(x, o, n, B: tl.constexpr):
    """A loop of 64-bit numbers in an unrolled one, with other stages in each copy, in a branch of a constant."""
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for copy in tl.static_range(2):
        for row in tle.range(0, n.to(tl.int64), pipe_stages=[0, 1 + 2 * copy]):
            with tle.pipeline_group(0):
                value = tl.load(x + row * B + i)
            if copy == 0:
                with tle.pipeline_group(1):
                    acc += value
            else:
                with tle.pipeline_group(1):
                    acc += value * 2
    tl.store(o + i, acc)


@triton.jit
def handed_on(x, o, n, B: tl.constexpr, STAGES: tl.constexpr):
    """What stands outside of groups: a load for the next iteration, a counter."""
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    following = tl.load(x + i)
    count = 0
    for row in tle.range(n - 1, pipe_stages=STAGES):
        with tle.pipeline_group(0):
            value = following + 1
        with tle.pipeline_group(1):
            acc += value
        following = tl.load(x + (row + 1) * B + i)
        count += 1
    tl.store(o + i, acc + count)
