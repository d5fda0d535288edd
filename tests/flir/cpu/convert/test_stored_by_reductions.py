"""A tile that is reduced first and used again is stored by the reduction's own pass."""

import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("torch")

import torch
import triton
import triton.language as tl

from tests.flir.cpu.convert.support import assert_close, assert_lines, assert_same, random_tensor

pytestmark = pytest.mark.every_triton(4)


@triton.jit
def softmax(x, out, n, N: tl.constexpr):
    at = tl.arange(0, N)
    a = tl.load(x + at, mask=at < n, other=-float("inf"))
    power = tl.exp(a - tl.max(a, axis=0))
    tl.store(out + at, power / tl.sum(power, axis=0), mask=at < n)


def test_each_row_of_a_softmax_is_walked_three_times(tmp_path):
    x = random_tensor(torch.float32, 1024)
    kernel = softmax[(1,)](x, torch.empty(1024), 1024, N=1024)
    checks = """
        // CHECK: linalg.generic {{.*}} outs(%{{.*}} : memref<64xf32>)
        // CHECK: scf.for
        // CHECK: linalg.generic {{.*}} outs(%{{.*}} : memref<64xf32>)
        // CHECK: llvm.load
        // CHECK: memref.store %{{.*}}, %[[X:.*]][%{{.*}}] : memref<1024xf32>
        // CHECK: arith.maxnumf
        // CHECK: linalg.generic {{.*}} outs(%{{.*}} : memref<64xf32>)
        // CHECK: scf.for
        // CHECK: memref.load %[[X]][
        // CHECK: math.exp
        // CHECK: memref.store %{{.*}} : memref<1024xf32>
        // CHECK: arith.addf
        // CHECK: linalg.generic {{.*}} ins(%{{.*}} : memref<1024xi1>)
        // CHECK: arith.divf
        // CHECK-NOT: linalg.generic
    """
    assert_lines(kernel.asm["linalg"], "\n".join(line.strip() for line in checks.strip().splitlines()), tmp_path)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 500, 511, 512])
@pytest.mark.parametrize("special", [0.0, -float("inf"), float("inf"), float("nan"), -1e30, 1e-42])
def test_softmax_of_odd_sizes_and_special_numbers(n, special):
    x = random_tensor(torch.float32, 512)
    x[::5] = special
    out = torch.full((600,), 7.0)
    softmax[(1,)](x, out, n, N=512)
    power = (x[:n].double() - _largest(x[:n].double())).exp()
    want = power / power.sum()
    assert bool((out[:n].isnan() == want.isnan()).all())
    assert_close(out[:n].nan_to_num(0), want.nan_to_num(0), 1e-6)
    assert_same(out[n:], torch.full((600 - n,), 7.0))


def _largest(x):
    """NaNs are left out, unless there is nothing else."""
    known = x[~x.isnan()]
    return known.max() if len(known) else x[0]


@triton.jit
def centred_rows(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    a = tl.load(x + at)
    tl.store(out + at, a - (tl.sum(a, axis=1) / COLUMNS)[:, None])


@pytest.mark.parametrize("shape", [(1, 128), (3, 64), (8, 256), (4, 16)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_rows_of_a_tile(shape, dtype):
    if shape[0] & (shape[0] - 1):
        shape = (shape[0] + 1, shape[1])
    x = random_tensor(dtype, *shape)
    out = torch.zeros_like(x)
    centred_rows[(1,)](x, out, *shape)
    tolerance = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 1e-6, torch.float64: 1e-14}[dtype]
    assert_close(out, x.double() - x.double().mean(1, keepdim=True), tolerance)


@triton.jit
def changed_in_between(x, out, total, N: tl.constexpr):
    at = tl.arange(0, N)
    a = tl.load(x + at)
    tl.store(x + at, a * 0)
    tl.store(total, tl.sum(a, axis=0))
    tl.store(out + at, a)


def test_a_store_between_a_load_and_its_reduction():
    x = random_tensor(torch.float32, 256)
    kept, out, total = x.clone(), torch.zeros(256), torch.zeros(1)
    changed_in_between[(1,)](x, out, total, N=256)
    assert_same(out, kept)
    assert_same(x, kept * 0)
    assert_close(total, kept.double().sum()[None], 1e-5)


@triton.jit
def in_a_loop(x, out, sums, rows, N: tl.constexpr):
    at = tl.arange(0, N)
    for row in range(rows):
        a = tl.exp(tl.load(x + row * N + at))
        total = tl.sum(a, axis=0)
        tl.store(sums + row, total)
        tl.store(out + row * N + at, a * total)


def test_in_a_loop():
    x = random_tensor(torch.float32, 5, 128)
    out, sums = torch.zeros(5, 128), torch.zeros(5)
    in_a_loop[(1,)](x, out, sums, 5, N=128)
    power = x.double().exp()
    assert_close(sums, power.sum(1), 1e-6)
    assert_close(out, power * power.sum(1, keepdim=True), 1e-6)


@triton.jit
def two_reductions(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(out + at, a / tl.sum(a, axis=0) + b / tl.max(b, axis=0))


def test_two_tiles_that_wait_for_two_reductions():
    x, y = random_tensor(torch.float32, 256).abs(), random_tensor(torch.float32, 256, seed=1).abs()
    out = torch.zeros(256)
    two_reductions[(1,)](x, y, out, N=256)
    assert_close(out, x.double() / x.double().sum() + y.double() / y.double().max(), 1e-6)


@triton.jit
def wrapped_indices(x, out, n, N: tl.constexpr):
    at = tl.arange(0, N)
    a = tl.load(x + at % n)
    tl.store(out + at, a - tl.max(a, axis=0))


@pytest.mark.parametrize("n", [1, 7, 64, 200, 1000])
def test_indices_that_are_divided(n):
    x = random_tensor(torch.float32, 1000)
    out = torch.zeros(256)
    wrapped_indices[(1,)](x, out, n, N=256)
    a = x[torch.arange(256) % n]
    assert_same(out, a - a.max())
