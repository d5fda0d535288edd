"""Loops, branches and calls: scalars, tiles and pointers that they carry, in every order of use."""

import gc

import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("torch")

import torch
import triton
import triton.language as tl

from tests.flir.cpu.convert.support import assert_close, assert_same, random_tensor
from tests.support import cause_of
from tle_raw.errors import LoweringError

pytestmark = pytest.mark.every_triton(4)

N = 16


def tiles(count, dtype=torch.float32, shape=(N, N)):
    return [random_tensor(dtype, *shape, seed=seed) for seed in range(count)]


@triton.jit
def square(N: tl.constexpr):
    return tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]


@triton.jit
def swapping(a, b, c, out, rounds, N: tl.constexpr):
    at = square(N)
    x, y, z = tl.load(a + at), tl.load(b + at), tl.load(c + at)
    for _i in range(rounds):
        x, y, z = y, z, x + 1
    tl.store(out + at, x)
    tl.store(out + N * N + at, y)
    tl.store(out + 2 * N * N + at, z)


@pytest.mark.parametrize("rounds", [0, 1, 2, 7])
def test_carried_tiles_change_places_at_once(rounds):
    x, y, z = start = tiles(3)
    out = torch.empty(3, N, N)
    swapping[(1,)](*start, out, rounds, N=N)
    for _ in range(rounds):
        x, y, z = y, z, x + 1
    assert_same(out, torch.stack([x, y, z]))


@triton.jit
def swapping_with_reads(a, b, out, rounds, N: tl.constexpr):
    at = square(N)
    x, y = tl.load(a + at), tl.load(b + at)
    for _i in range(rounds):
        x, y = tl.trans(y) + x, tl.trans(x) - y
    tl.store(out + at, x)
    tl.store(out + N * N + at, y)


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_updates_may_read_each_other_transposed(rounds):
    x, y = start = tiles(2)
    out = torch.empty(2, N, N)
    swapping_with_reads[(1,)](*start, out, rounds, N=N)
    for _ in range(rounds):
        x, y = y.T + x, x.T - y
    assert_same(out, torch.stack([x, y]))


@triton.jit
def transposing(a, out, rounds, N: tl.constexpr):
    at = square(N)
    x = tl.load(a + at)
    for _i in range(rounds):
        x = tl.trans(x) * 2 + x
    tl.store(out + at, x)
    tl.store(out + N * N + at, tl.trans(x) + tl.sum(x, axis=0)[None, :])


@pytest.mark.parametrize("rounds", [0, 1, 4])
def test_a_carried_tile_is_read_transposed_by_its_own_update(rounds):
    (x,) = tiles(1, torch.float64)
    out = torch.empty(2, N, N, dtype=torch.float64)
    transposing[(1,)](x, out, rounds, N=N)
    for _ in range(rounds):
        x = x.T * 2 + x
    assert_close(out, torch.stack([x, x.T + x.sum(0)]), 1e-14)


@triton.jit
def walking(x, out, rounds, step, N: tl.constexpr):
    at = tl.arange(0, N)
    here, there = x + at, out + at
    first = here
    total = tl.zeros((N,), tl.float32)
    for _i in range(rounds):
        total += tl.load(here)
        here += N
        tl.store(there, total)
        there += step
        here = here + step - N
    tl.store(there, tl.load(here) + tl.load(first))


def test_carried_pointers_walk_and_are_used_afterwards():
    rounds, step = 5, 24
    x = random_tensor(torch.float32, 8 * step)
    out, expected = torch.zeros(8 * step), torch.zeros(8 * step)
    walking[(1,)](x, out, rounds, step, N=N)
    total = torch.zeros(N)
    for i in range(rounds):
        total = total + x[i * step : i * step + N]
        expected[i * step : i * step + N] = total
    expected[rounds * step : rounds * step + N] = x[rounds * step : rounds * step + N] + x[:N]
    assert_same(out, expected)


@triton.jit
def nested(x, out, outer, inner, N: tl.constexpr):
    at = tl.arange(0, N)
    total = tl.load(x + at)
    kept = total
    pointer = x + at
    for i in range(outer):
        row = total * 0
        for j in range(i, i + inner):
            row += tl.load(pointer) * (j + 1)
            if j % 2 == 0:
                kept = row - kept
            pointer += 1
        total = total - row
        pointer -= inner - 1
    tl.store(out + at, total)
    tl.store(out + N + at, kept)


@pytest.mark.parametrize("outer, inner", [(0, 3), (3, 0), (1, 1), (4, 3)])
def test_loops_in_loops_carry_tiles(outer, inner):
    x = random_tensor(torch.int32, 64) % 1000
    out = torch.empty(2, N, dtype=torch.int32)
    nested[(1,)](x, out, outer, inner, N=N)
    total = kept = x[:N]
    at = 0
    for i in range(outer):
        row = torch.zeros_like(total)
        for j in range(i, i + inner):
            row = row + x[at : at + N] * (j + 1)
            if j % 2 == 0:
                kept = row - kept
            at += 1
        total = total - row
        at -= inner - 1
    assert_same(out, torch.stack([total, kept]))


@triton.jit
def collatz(x, out, steps, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    count = tl.zeros((N,), tl.int32)
    total = 0
    while tl.max(value, axis=0) > 1:
        moving = value > 1
        value = tl.where(moving, tl.where(value % 2 == 0, value // 2, 3 * value + 1), value)
        count += moving.to(tl.int32)
        total += 1
    tl.store(out + at, count)
    tl.store(steps, total)


def test_while_loops_carry_tiles_that_the_condition_reads():
    x = torch.arange(1, N + 1, dtype=torch.int32)
    out, steps = torch.empty(N, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    collatz[(1,)](x, out, steps, N=N)
    expected = []
    for value in x.tolist():
        count = 0
        while value > 1:
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            count += 1
        expected.append(count)
    assert out.tolist() == expected
    assert steps.item() == max(expected)


@triton.jit
def branching(x, out, flag, N: tl.constexpr):
    at = square(N)
    a = tl.load(x + at)
    b = a * 2
    pointer = x + at
    if flag > 1:
        a, b = b, a
        pointer += N * N
        scale = 3.0
    elif flag == 1:
        a = tl.trans(b)
        scale = 5.0
    else:
        b = b + tl.sum(a)
        scale = 7.0
    tl.store(out + at, a * scale)
    tl.store(out + N * N + at, b + tl.load(pointer))


@pytest.mark.parametrize("flag", [0, 1, 2])
def test_branches_give_tiles_pointers_and_scalars(flag):
    x = torch.round(random_tensor(torch.float32, 2, N, N) * 8)
    out = torch.empty(2, N, N)
    branching[(1,)](x, out, flag, N=N)
    a, b, pointed, scale = x[0], x[0] * 2, x[0], 7.0
    if flag == 2:
        a, b, pointed, scale = b, a, x[1], 3.0
    elif flag == 1:
        a, scale = b.T, 5.0
    else:
        b = b + a.sum()
    assert_same(out, torch.stack([a * scale, b + pointed]))


@triton.jit
def returning_early(x, out, n, N: tl.constexpr):
    at = tl.arange(0, N)
    program = tl.program_id(0)
    if program >= n:
        return
    value = tl.load(x + program * N + at)
    if tl.sum(value) < 0:
        tl.store(out + program * N + at, -value)
        return
    if program == 2:
        return
    tl.store(out + program * N + at, value * 2)


def test_programs_return_early_in_several_places():
    x = torch.round(random_tensor(torch.float32, 8, N) * 8)
    out, expected = torch.zeros(8, N), torch.zeros(8, N)
    returning_early[(8,)](x, out, 6, N=N)
    for program in range(6):
        if x[program].sum() < 0:
            expected[program] = -x[program]
        elif program != 2:
            expected[program] = x[program] * 2
    assert_same(out, expected)


@triton.jit
def returns_one_of(x, flag):
    if flag == 0:
        return x
    if flag == 1:
        return x + 10
    return x * 3


@triton.jit
def returning_values(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    program = tl.program_id(0)
    tl.store(out + program * N + at, returns_one_of(tl.load(x + at), program))


def test_functions_return_tiles_early():
    x = random_tensor(torch.float32, N)
    out = torch.zeros(3, N)
    returning_values[(3,)](x, out, N=N)
    assert_same(out, torch.stack([x, x + 10, x * 3]))


@triton.jit
def break_like(x, out, limit, rounds, N: tl.constexpr):
    at = tl.arange(0, N)
    total = tl.zeros((N,), tl.float32)
    i = 0
    running = True
    while running:
        total += tl.load(x + i * N + at)
        i += 1
        running = (i < rounds) & (tl.max(total, axis=0) < limit)
    tl.store(out + at, total + i)


@pytest.mark.parametrize("limit, rounds", [(1e9, 4), (1.0, 4), (-1e9, 4), (1e9, 1)])
def test_loops_that_stop_when_a_sum_is_reached(limit, rounds):
    x = random_tensor(torch.float32, 4, N)
    out = torch.empty(N)
    break_like[(1,)](x, out, limit, rounds, N=N)
    total, i = torch.zeros(N), 0
    while True:
        total = total + x[i]
        i += 1
        if i >= rounds or total.max() >= limit:
            break
    assert_same(out, total + i)


@triton.jit
def unrolled(x, out, N: tl.constexpr, K: tl.constexpr):
    at = tl.arange(0, N)
    total = tl.zeros((N,), tl.float32)
    for k in tl.static_range(K):
        if k % 2 == 0:
            total += tl.load(x + k * N + at)
        else:
            total -= tl.load(x + k * N + at) * k
    for k in tl.range(K, loop_unroll_factor=2, num_stages=3):
        total = total * 0.5 + k
    for k in range(K, 0, -2):
        total += k
    tl.store(out + at, total)


@pytest.mark.parametrize("count", [1, 5])
def test_loops_known_at_compile_time(count):
    x = random_tensor(torch.float32, count, N)
    out = torch.empty(N)
    unrolled[(1,)](x, out, N=N, K=count)
    total = torch.zeros(N, dtype=torch.float64)
    for k in range(count):
        total = total + x[k].double() * (1 if k % 2 == 0 else -k)
    for k in range(count):
        total = total * 0.5 + k
    for k in range(count, 0, -2):
        total = total + k
    assert_close(out, total, 1e-6)


@triton.jit(noinline=True)
def distance(a, b):
    if a > b:
        return a - b
    return b - a


@triton.jit(noinline=True)
def scale_row(x, out, scale, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    if scale < 0:
        return 0.0, scale
    for _i in range(3):
        value = value * scale + tl.max(value, axis=0)
    tl.store(out + at, value)
    return tl.sum(value), scale + 1


@triton.jit
def calling(x, out, sums, N: tl.constexpr):
    scale = 2.0
    for i in range(3):
        total, scale = scale_row(x + i * N, out + distance(i, 2) * N, scale, N)
        tl.store(sums + i, total)
        if distance(i, 1) == 0:
            scale = -scale


def test_functions_that_stay_functions():
    x = torch.round(random_tensor(torch.float32, 3, N))
    out, sums = torch.zeros(3, N), torch.ones(3)
    calling[(1,)](x, out, sums, N=N)
    expected = torch.zeros_like(out)
    for i, scale in ((0, 2), (1, 3)):
        value = x[i]
        for _ in range(3):
            value = value * scale + value.max()
        expected[abs(i - 2)] = value
    assert_same(out, expected)
    assert_same(sums, torch.stack([out[2].sum(), out[1].sum(), torch.tensor(0.0)]))


@triton.jit
def starts_that_share(x, out, rounds, N: tl.constexpr):
    at = tl.arange(0, N)
    shared = tl.cumsum(tl.load(x + at))
    doubled = shared
    walking = shared + 5
    for i in range(rounds):
        doubled = doubled * 2
        tl.store(out + i * N + at, walking)
        walking += 1
    tl.store(out + rounds * N + at, walking + doubled)


def test_a_walk_may_start_from_a_tile_that_the_loop_changes():
    x = torch.arange(N, dtype=torch.int32)
    out = torch.empty(4, N, dtype=torch.int32)
    starts_that_share[(1,)](x, out, 3, N=N)
    c = x.cumsum(0)
    assert_same(out, torch.stack([c + 5, c + 6, c + 7, c + 8 + c * 8]))


@triton.constexpr_function
def next_power(n):
    return 1 << (n - 1).bit_length()


@triton.jit
def constexprs(x, out, n: tl.constexpr):
    size: tl.constexpr = next_power(n)
    at = tl.arange(0, size)
    tl.store(out + at, tl.load(x + at, at < n) + size, at < n)


def test_constexpr_functions():
    x = random_tensor(torch.float32, 13)
    out = torch.empty(13)
    constexprs[(1,)](x, out, n=13)
    assert_same(out, x + 16)


@triton.jit
def boundaries(out, start, stop, step, N: tl.constexpr):
    count = start * 0
    for i in range(start, stop, step):
        tl.store(out + count, i)
        count += 1
    tl.store(out + N, count.to(out.dtype.element_ty))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("bounds", [(0, 5, 1), (3, 3, 1), (5, 2, 1), (-4, 6, 3), (10, 90, 13)])
def test_bounds_of_loops_at_run_time(bounds, dtype):
    out = torch.full((N + 1,), -1, dtype=dtype)
    large = 0 if dtype == torch.int32 else 2**40
    start, stop, step = bounds
    boundaries[(1,)](out, start + large, stop + large, step, N=N)
    expected = list(range(start + large, stop + large, step))
    assert out[N] == len(expected)
    assert out[: len(expected)].tolist() == expected


@triton.jit
def booleans(x, out, n, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    seen = value > 100
    any_seen = False
    for i in range(n):
        seen = seen | (value == i)
        any_seen = any_seen or (tl.max(value, axis=0) == i)
    tl.store(out + at, tl.where(seen, 1, 0) + tl.where(any_seen, 10, 0))


def test_loops_carry_tiles_and_scalars_of_bools():
    x = torch.arange(N, dtype=torch.int32) % 7
    out = torch.empty(N, dtype=torch.int32)
    booleans[(1,)](x, out, 4, N=N)
    assert_same(out, (x < 4).int())
    booleans[(1,)](x, out, 7, N=N)
    assert_same(out, torch.full((N,), 11))


@triton.jit
def stored_in_loops(x, out, rounds, N: tl.constexpr):
    at = tl.arange(0, N)
    before = tl.load(x + at)
    for i in range(rounds):
        tl.store(x + at, before + 1)
        now = tl.load(x + at)
        tl.store(out + i * N + at, now * 10 + before)
        before = now
    tl.store(x + at, before * 2)


def test_loads_in_loops_see_the_stores_before_them():
    x = torch.round(random_tensor(torch.float32, N))
    out = torch.empty(3, N)
    y = x.clone()
    stored_in_loops[(1,)](y, out, 3, N=N)
    assert_same(out, torch.stack([(x + i + 1) * 10 + x + i for i in range(3)]))
    assert_same(y, (x + 3) * 2)


@triton.jit
def returning_in_loops(x, out, rounds, N: tl.constexpr):
    at = tl.arange(0, N)
    for i in tl.static_range(3):
        value = tl.load(x + i * N + at)
        if tl.max(value, axis=0) > 9 + tl.program_id(0):
            tl.store(out + tl.program_id(0) * N + at, value + i)
            return
    for i in range(rounds):
        if i == tl.program_id(0):
            tl.store(out + tl.program_id(0) * N + at, x.to(tl.int64, bitcast=True).to(tl.float32) * 0 - i)


def test_programs_return_from_the_middle_of_unrolled_loops():
    x = torch.zeros(3, N)
    x[1, 3], x[2, 5] = 10, 11
    out, expected = torch.zeros(4, N), torch.zeros(4, N)
    returning_in_loops[(4,)](x, out, 4, N=N)
    expected[0], expected[1], expected[2], expected[3] = x[1] + 1, x[2] + 2, -2, -3
    assert_same(out.abs(), expected.abs())


@triton.jit
def calls_in_loops(x, out, rounds, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    other = value * 2
    for i in range(rounds):
        first = returns_one_of(value, i % 3)
        value, other = returns_one_of(other, (i + 1) % 3), first
    tl.store(out + at, value)
    tl.store(out + N + at, other)


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_functions_with_early_returns_are_called_in_loops(rounds):
    x = torch.round(random_tensor(torch.float32, N))
    out = torch.zeros(2, N)
    calls_in_loops[(1,)](x, out, rounds, N=N)
    choices = (lambda v: v, lambda v: v + 10, lambda v: v * 3)
    value, other = x, x * 2
    for i in range(rounds):
        value, other = choices[(i + 1) % 3](other), choices[i % 3](value)
    assert_same(out, torch.stack([value, other]))


@triton.jit
def assembly_deep_inside(x, out, n, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    for i in range(n):
        if i > 2:
            value += tl.inline_asm_elementwise("bar.sync 0;", "=r,r", [value], tl.float32, True, 1)  # here
    tl.store(out + at, value)


def test_an_error_in_the_middle_of_a_kernel_leaves_nothing_behind():
    x, out = torch.zeros(N), torch.zeros(2, N)
    for _ in range(3):
        with pytest.raises(Exception) as caught:
            assembly_deep_inside[(1,)](x, out, 3, N=N)
        assert "# here" in str(cause_of(caught.value))
        del caught
        gc.collect()
    calls_in_loops[(1,)](x, out, 2, N=N)


@triton.jit
def combines_in_a_loop(a, b):
    total = a
    for i in range(a.to(tl.int32)):
        total += b * i
    return total


@triton.jit
def loops_in_a_reduction(x, out, N: tl.constexpr):
    tl.store(out, tl.reduce(tl.load(x + tl.arange(0, N)), 0, combines_in_a_loop))  # here


def test_a_loop_in_a_combination_is_a_named_error():
    with pytest.raises(Exception) as caught:
        loops_in_a_reduction[(1,)](torch.zeros(N), torch.zeros(1), N=N)
    error = cause_of(caught.value)
    assert isinstance(error, LoweringError)
    assert "scf.for" in str(error)
    assert "test_control.py" in str(error)
