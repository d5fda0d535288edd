"""The eDSL of the mlir dialect in kernels: every dtype, tiles, control flow, threads, atomics, mathematics."""

import importlib.util
import math
import os
from pathlib import Path
from typing import Literal as L

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import tle_raw
from tests.gpu.device import (
    COMPILE_ONLY,
    DEVICE,
    DTYPES,
    FLOATS,
    INTEGERS,
    ON_CPU,
    ROUNDING,
    bits,
    check_bits,
    check_close,
    check_integers,
    integers,
    numbers,
    poisoned,
    random,
)
from tle_raw import Const, Element, InOut, Input, Out, Pointer, Scalar, Tile, mlir
from tle_raw.mlir import barrier, block_dim, f32, f64, lane_id, static_range, thread_id, u32, warp_id, where

pytestmark = pytest.mark.gpu

BINDINGS = importlib.util.find_spec("torch_mlir") is not None
FILLED = Path(os.environ.get("GPU_TESTS_CACHE") or ".", "complete").exists()
needs_bindings = pytest.mark.skipif(not BINDINGS and not FILLED, reason="needs torch-mlir, or a filled cache")
needs_objects = pytest.mark.skipif(not BINDINGS, reason="needs torch-mlir")
WARPS = [1, 2, 4, 8]
PLAIN = ("f16", "bf16", "f32", "f64")


@triton.jit
def line_kernel(x_ptr, FRAGMENT: tl.constexpr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(x_ptr + at, FRAGMENT(tl.load(x_ptr + at)))


@triton.jit
def pointer_kernel(x_ptr, y_ptr, n, FRAGMENT: tl.constexpr):
    FRAGMENT(x_ptr + tl.program_id(0) * n, y_ptr + tl.program_id(0) * n, n)


# --- tiles ------------------------------------------------------------------------------------------------------------


@tle_raw.dialect("mlir")
def mirror_1(x: Tile["T", "A"], y: Out[Tile["T", "A"]]):
    for i in range(thread_id(), A, block_dim()):
        y[i] = x[A - 1 - i]


@tle_raw.dialect("mlir")
def mirror_2(x: Tile["T", "A", "B"], y: Out[Tile["T", "A", "B"]]):
    for k in range(thread_id(), A * B, block_dim()):
        i, j = divmod(k, B)
        y[i, j] = x[A - 1 - i, (B - 1 - j + 3 * i) % B]


@tle_raw.dialect("mlir")
def mirror_3(x: Tile["T", "A", "B", "C"], y: Out[Tile["T", "A", "B", "C"]]):
    for i in range(A):
        for j in range(warp_id(), B, block_dim() // 32):
            for k in range(lane_id(), C, 32):
                y[i, j, k] = x[A - 1 - i, (B - 1 - j + 3 * i) % B, (C - 1 - k + 3 * j) % C]


@tle_raw.dialect("mlir")
def mirror_4(x: Tile["T", "A", "B", "C", "D"], y: Out[Tile["T", "A", "B", "C", "D"]]):
    for e in range(thread_id(), y.size, block_dim()):
        rest, m = e // D, e % D
        rest, k = rest // C, rest % C
        i, j = rest // B, rest % B
        y.flat[e] = x[A - 1 - i, (B - 1 - j + 3 * i) % B, (C - 1 - k + 3 * j) % C, (D - 1 - m + 3 * k) % D]


MIRRORS = {1: mirror_1, 2: mirror_2, 3: mirror_3, 4: mirror_4}
SHAPES = {1: (512,), 2: (16, 32), 3: (4, 16, 8), 4: (8, 2, 4, 16)}


@triton.jit
def mirror_kernel(x_ptr, y_ptr, FRAGMENT: tl.constexpr, SHAPE: tl.constexpr, SIZE: tl.constexpr):
    offsets = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    y = FRAGMENT(tl.reshape(tl.load(x_ptr + offsets), SHAPE))
    tl.store(y_ptr + offsets, tl.reshape(y, (SIZE,)))


def mirrored(x: np.ndarray) -> np.ndarray:
    """The reference, over the last dims; dim 0 counts programs."""
    at = np.indices(x.shape[1:])
    dims = x.shape[1:]
    source = [(dims[k] - 1 - at[k] + 3 * (at[k - 1] if k else 0)) % dims[k] for k in range(len(dims))]
    return x[(slice(None), *source)]


def check_mirrored(name: str, shape: tuple[int, ...], **options: int) -> None:
    x = random(name, (3, *shape), seed=len(shape))
    y = poisoned(x)
    mirror_kernel[(3,)](x, y, MIRRORS[len(shape)], shape, int(np.prod(shape)), **options)
    check_bits(y, mirrored(bits(x)))


# Every dtype in every rank: test_tiles.py, by the same ports.
@pytest.mark.parametrize("name, rank", [*((name, 2) for name in DTYPES), ("u16", 1), ("u16", 3), ("u16", 4)])
def test_every_dtype_and_rank_crosses_bit_by_bit(name, rank):
    check_mirrored(name, SHAPES[rank])


# --- scalars, pointers, elements, constants ---------------------------------------------------------------------------


@tle_raw.dialect("mlir")
def keep(out: InOut[Pointer["T"]], s: Scalar["T"], i: Scalar["i64"], table: Pointer["T"]) -> Scalar["T"]:
    if thread_id() == 0:
        out[i] = s
    return table[i]


@pytest.mark.parametrize("name", DTYPES)
def test_a_scalar_and_a_result_of_every_dtype(name):
    @triton.jit
    def kernel(x_ptr, y_ptr, z_ptr, table_ptr):
        pid = tl.program_id(0)
        tl.store(z_ptr + pid, keep(y_ptr, tl.load(x_ptr + pid), 2 * pid.to(tl.int64), table_ptr))

    x, table = random(name, (9,), seed=1), random(name, (18,), seed=2)
    y, z = poisoned(table), poisoned(x)
    expected = bits(y)  # what stands between stays
    expected[::2] = bits(x)
    kernel[(9,)](x, y, z, table)
    check_bits(y, expected)
    check_bits(z, bits(table)[::2])


@pytest.mark.parametrize("value", [7, -300, 70000])
def test_a_constant_and_a_dim_name_decide_at_compile_time(value):
    @tle_raw.dialect("mlir")
    def steps(x: InOut[Tile["f64", "N"]], k: Const["K"]) -> Scalar["i64"]:
        for i in range(thread_id(), N, block_dim()):
            if k > 0:
                x[i] = x[i] * k
            else:
                x[i] = x[i] + K
            for j in static_range(len(FACTORS)):
                x[i] = x[i] + FACTORS[j] * j
        return N * 100 + k

    @triton.jit
    def kernel(x_ptr, r_ptr, K: tl.constexpr, N: tl.constexpr):
        x, r = steps(tl.load(x_ptr + tl.arange(0, N)), K)
        tl.store(x_ptr + tl.arange(0, N), x)
        tl.store(r_ptr, r)

    x = random("f64", (256,))
    r = poisoned(random("i64", (1,)))
    values = numbers(x)
    kernel[(1,)](x, r, value, 256)
    expected = (values * value if value > 0 else values + value) + sum(f * j for j, f in enumerate(FACTORS))
    check_close(x, expected, 1e-14, 1e-14)
    check_integers(r, np.array([25600 + value]))


FACTORS = (0.5, 0.25, -3.0)


@triton.jit
def element_kernel(x_ptr, y_ptr, z_ptr, n, FRAGMENT: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x, y = tl.load(x_ptr + i, mask=i < n), tl.load(y_ptr + i, mask=i < n)
    tl.store(z_ptr + i, FRAGMENT(x, y), mask=i < n)


@tle_raw.dialect("mlir")
def operate(x: Element["T"], y: Element["T"]) -> Element["T"]:
    d = y if y != 0 else y + 1
    return (x + y) * 3 - (x // d) + x % d + ((x & y) | (x ^ 5)) - (x >> 2) + (y << 1) + min(x, y) - max(x, y)


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_operators_are_pythons(name):
    x, y = random(name, (1000,), seed=1), random(name, (1000,), seed=2)
    z = poisoned(x)
    element_kernel[(4,)](x, y, z, 1000, operate, 256)
    a, b = integers(x), integers(y)
    one = a.dtype.type(1)
    with np.errstate(all="ignore"):
        d = np.where(b != 0, b, b + one)
        e = (a + b) * (one + one + one) - a // d + a % d + ((a & b) | (a ^ a.dtype.type(5))) - (a >> 2 * one)
        check_integers(z, (e + (b << one) + np.minimum(a, b) - np.maximum(a, b)).astype(a.dtype))


@tle_raw.dialect("mlir")
def operate_float(x: Element["T"], y: Element["T"]) -> Element["T"]:
    if (x > 1.0 and not y < 0) or x < -2:
        return x * y + 1
    return -x / (abs(y) + 1) if x <= y else min(x, y) - max(x, 0.5) ** 2


@pytest.mark.parametrize("name", PLAIN)
def test_float_operators_are_pythons(name):
    x, y = random(name, (1000,), seed=1), random(name, (1000,), seed=2)
    z = poisoned(x)
    element_kernel[(4,)](x, y, z, 1000, operate_float, 256)
    a, b = numbers(x), numbers(y)
    other = np.where(a <= b, -a / (abs(b) + 1), np.minimum(a, b) - np.maximum(a, 0.5) ** 2)
    expected = np.where(((a > 1) & ~(b < 0)) | (a < -2), a * b + 1, other)
    check_close(z, expected, 4 * ROUNDING[name], 16 * ROUNDING[name])


CONVERSIONS = [
    ("f32", "i32"), ("f64", "i64"), ("i64", "f32"), ("u32", "f64"), ("i32", "f16"), ("i8", "bf16"), ("f32", "bf16"),
    ("f64", "f32"), ("f16", "f64"), ("bf16", "f32"), ("i64", "i16"), ("u8", "i64"), ("i8", "u32"), ("f32", "f8e4m3"),
    ("f32", "f8e5m2"), ("f8e4m3", "f32"), ("f8e5m2", "f16"), ("i1", "f32"), ("f32", "u16"),
]  # fmt: skip


@pytest.mark.parametrize("source, target", CONVERSIONS)
def test_conversions(source, target):
    @tle_raw.dialect("mlir")
    def convert(x: Element[source], y: Element[target]) -> Element[target]:
        return x.to(y.dtype)

    x = random(source, (1000,), seed=1)
    if source in FLOATS and target in INTEGERS:
        x = (x * 1000).abs() if target[0] == "u" else x * 1000
    y = random(target, (1000,), seed=2)
    z = poisoned(y)
    element_kernel[(4,)](x, y, z, 1000, convert, 256)
    if target in FLOATS:
        smallest = {"f8e4m3": 2.0**-10, "f8e5m2": 2.0**-17}.get(target, 0.0)
        expected = numbers(x)
        if target == "f16":
            keep = np.abs(expected) < 60000
            z, expected = torch.where(torch.tensor(keep).to(z.device), z, 0), np.where(keep, expected, 0)
        check_close(z, expected, ROUNDING[target] / 2, smallest)
    else:
        values = np.trunc(numbers(x)) if source in FLOATS else integers(x)
        check_integers(z, values.astype(integers(y).dtype))


# --- control flow -----------------------------------------------------------------------------------------------------


@mlir.function
def collatz(x, most):
    n = 0
    while x > 1:
        if n >= most:
            return -1
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        n += 1
    return n


@mlir.function
def first_divisor(x):
    for d in range(2, 50):
        if d * d > x:
            break
        if x % d == 0:
            return d
    return x


@mlir.function
def pairs(a, b):
    return (b, a + b) if a > b else (a - b, b)


@tle_raw.dialect("mlir")
def control(x: Pointer["i32"], y: InOut[Pointer["i32"]], n: Scalar["i32"]):
    for i in range(thread_id(), n, block_dim()):
        v = abs(x[i]) % 1000
        s = collatz(v, 100) * 7 + first_divisor(v)
        for j in range(v % 17, 0, -3):
            if j % 5 == 2:
                continue
            s += j
        p, q = pairs(v, s)
        for _ in range(v % 4):
            p, q = q, (p + 3) % 1001
        if p > 500:
            s += p
        elif q < 100 or p % 2:
            s -= q
        else:
            s = p * q % 77
        y[i] = s


def controlled(x: int) -> int:
    v = abs(x) % 1000
    s = collatz.function(v, 100) * 7 + first_divisor.function(v)
    s += sum(j for j in range(v % 17, 0, -3) if j % 5 != 2)
    p, q = pairs.function(v, s)
    for _ in range(v % 4):
        p, q = q, (p + 3) % 1001
    if p > 500:
        return s + p
    return s - q if q < 100 or p % 2 else p * q % 77


@pytest.mark.parametrize("num_warps", [1, 4])
def test_control_flow_and_calls_are_pythons(num_warps):
    x = random("i32", (5, 333)).remainder(1000)
    y = poisoned(x)
    pointer_kernel[(5,)](x, y, 333, control, num_warps=num_warps)
    expected = [[controlled(int(v)) for v in row] for row in integers(x)]
    check_integers(y, np.array(expected, np.int32))


# --- what threads do together -----------------------------------------------------------------------------------------


@mlir.function
def warp_sum(x):
    for step in static_range(5):
        x += mlir.shuffle_xor(x, 1 << step)
    return x


@tle_raw.dialect("mlir")
def block_sums(x: Pointer["T"], y: InOut[Pointer["T"]], n: Scalar["i32"]):
    partial = mlir.shared(T, 32)
    first = x[0]
    total = first - first
    for i in range(thread_id(), n, block_dim()):
        total += x[i]
    total = warp_sum(total)
    if lane_id() == 0:
        partial[warp_id()] = total
    barrier()
    whole = first - first
    for w in range(block_dim() // 32):
        whole += partial[w]
    for i in range(thread_id(), n, block_dim()):
        y[i] = x[i] - whole


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("name", ["f32", "f64", "i32", "u64", "i64"])
def test_shuffles_shared_memory_and_barriers(name, num_warps):
    x = random(name, (7, 1001))
    y = poisoned(x)
    pointer_kernel[(7,)](x, y, 1001, block_sums, num_warps=num_warps)
    if name in FLOATS:
        v = numbers(x)
        check_close(y, v - v.sum(axis=1, keepdims=True), 512 * ROUNDING[name], 512 * ROUNDING[name])
    else:
        v = integers(x)
        with np.errstate(over="ignore"):
            check_integers(y, v - v.sum(axis=1, keepdims=True, dtype=v.dtype))


@tle_raw.dialect("mlir")
def sort_rows(t: InOut[Tile["T", "N"]]):
    """Odd-even transposition in shared memory, with a barrier between rounds."""
    s = mlir.shared(T, N)
    for i in range(thread_id(), N, block_dim()):
        s[i] = t[i]
    for turn in range(N):
        barrier()
        for i in range(2 * thread_id() + turn % 2, N - 1, 2 * block_dim()):
            a, b = s[i], s[i + 1]
            if a > b:
                s[i], s[i + 1] = b, a
    barrier()
    for i in range(thread_id(), N, block_dim()):
        t[i] = s[i]


@pytest.mark.parametrize("num_warps", [1, 4])
@pytest.mark.parametrize("name", ["f32", "i16", "u32", "f64", "f16"])
def test_a_sort_in_shared_memory(name, num_warps):
    x = random(name, (3, 128))
    values = numbers(x) if name in FLOATS else integers(x)
    line_kernel[(3,)](x, sort_rows, 128, num_warps=num_warps)
    expected = np.sort(values, axis=1)
    check_close(x, expected, 0) if name in FLOATS else check_integers(x, expected)


@tle_raw.dialect("mlir")
def lanes(x: Pointer["T"], y: InOut[Pointer["T"]], n: Scalar["i32"]):
    i = thread_id()
    v = x[i]
    y[i] = mlir.shuffle_up(v, 3)
    y[n + i] = mlir.shuffle_down(v, 5)
    y[2 * n + i] = mlir.shuffle(v, 17)
    y[3 * n + i] = mlir.shuffle(v, 2, width=8)
    y[4 * n + i] = mlir.shuffle_xor(v, lane_id() % 4 // 4 + 9)


@pytest.mark.parametrize("name", DTYPES)
def test_shuffles_of_every_dtype(name):
    @triton.jit
    def kernel(x_ptr, y_ptr, n):
        lanes(x_ptr + tl.program_id(0) * n, y_ptr + tl.program_id(0) * 5 * n, n)

    x = random(name, (3, 128))
    y = poisoned(x, (3, 5, 128))
    kernel[(3,)](x, y, 128)
    v = bits(x).reshape(3, 4, 32)
    lane = np.arange(32)
    sources = [
        np.where(lane >= 3, lane - 3, lane),
        np.where(lane < 27, lane + 5, lane),
        np.full(32, 17),
        lane // 8 * 8 + 2,
        lane ^ 9,
    ]
    check_bits(y, np.stack([v[..., s].reshape(3, 128) for s in sources], axis=1))


@tle_raw.dialect("mlir")
def votes(x: Pointer["i32"], y: InOut[Pointer["u32"]], n: Scalar["i32"]):
    i = thread_id()
    v = x[i]
    y[i] = mlir.ballot(v % 2 == 0)
    y[n + i] = mlir.any_sync(v > LARGE).to(u32) + 2 * mlir.all_sync(v <= LARGE)
    y[2 * n + i] = mlir.popcount(v) * 100 + mlir.count_leading_zeros(v)
    y[3 * n + i] = (mlir.bitcast(f32(i) + 0.5, u32) >> 8) ^ mlir.ballot(lane_id() < i // 4)


LARGE = 2_080_374_784


def test_votes_and_bits():
    @triton.jit
    def kernel(x_ptr, y_ptr, n):
        votes(x_ptr + tl.program_id(0) * n, y_ptr + tl.program_id(0) * 4 * n, n)

    x = random("i32", (5, 128))
    y = poisoned(random("u32", (5, 4, 128)))
    kernel[(5,)](x, y, 128)
    v = integers(x).reshape(5, 4, 32)
    lane, i = np.arange(32, dtype=np.uint64), np.arange(128)

    def everywhere(each_warp: np.ndarray) -> np.ndarray:
        return np.repeat(each_warp[..., None], 32, -1).reshape(5, 128)

    ballot = ((v % 2 == 0).astype(np.uint64) << lane).sum(axis=2)
    large = (v > LARGE).any(axis=2).astype(int) + 2 * (v <= LARGE).all(axis=2)
    words = v.reshape(5, 128).view(np.uint32)
    counted = np.array([[bin(w).count("1") * 100 + 32 - int(w).bit_length() for w in row] for row in words])
    floats = (i + 0.5).astype(np.float32).view(np.uint32) >> 8
    below = np.array([[sum(1 << k for k in range(32) if k < (w * 32 + k) // 4) for w in range(4)]] * 5)
    rows = [everywhere(ballot), everywhere(large), counted, floats ^ everywhere(below)]
    check_integers(y, np.stack([np.asarray(row, np.uint64).astype(np.uint32) for row in rows], axis=1))


@tle_raw.dialect("mlir")
def gather(x: Tile["T", "N"], bins: InOut[Pointer["i32"]], words: InOut[Pointer["T"]]):
    counts = mlir.shared("i32", 32)
    for i in range(thread_id(), 32, block_dim()):
        counts[i] = 0
    barrier()
    for i in range(thread_id(), N, block_dim()):
        v = x[i]
        mlir.atomic_add(counts, mlir.i32(v) & 31, 1)
        mlir.atomic_add(words, 0, v)
        mlir.atomic_max(words, 1, v)
        mlir.atomic_min(words, 2, v)
        seen = words[3]
        while True:
            old = mlir.atomic_cas(words, 3, seen, seen + 1)
            if old == seen:
                break
            seen = old
    barrier()
    for i in range(thread_id(), 32, block_dim()):
        mlir.atomic_add(bins, i, counts[i])


@pytest.mark.parametrize("num_warps", [1, 8])
@pytest.mark.parametrize("name", ["i32", "u32", "i64", "u64", "f32", "f64"])
def test_atomics_in_shared_and_global_memory(name, num_warps):
    @triton.jit
    def kernel(x_ptr, bins_ptr, words_ptr, N: tl.constexpr):
        gather(tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N)), bins_ptr, words_ptr)

    x = random("i32", (6, 512)).cpu().remainder(1000).to(DTYPES[name]).to(DEVICE)
    bins = torch.zeros(32, dtype=torch.int32, device=x.device)
    words = torch.tensor([0, 0, 10000, 0]).to(DTYPES[name]).to(DEVICE)
    kernel[(6,)](x, bins, words, 512, num_warps=num_warps)
    v = numbers(x).astype(np.int64)
    check_integers(bins, np.bincount(v.reshape(-1) & 31, minlength=32).astype(np.int32))
    check_close(words, np.array([v.sum(), v.max(), v.min(), v.size], np.float64), 0)


@tle_raw.dialect("mlir")
def flags(x: Pointer["u32"], y: InOut[Pointer["u32"]], n: Scalar["i32"]):
    for i in range(thread_id(), n, block_dim()):
        mlir.atomic_and(y, 0, x[i] | 0xFF)
        mlir.atomic_or(y, 1, x[i] & 0xFF)
        mlir.atomic_xor(y, 2, x[i])
        if i == n - 1:
            y[3] = mlir.atomic_exchange(y, 4, x[i])


def test_atomics_of_bits():
    x = random("u32", (1, 777))
    y = torch.tensor([[-1, 0, 5, 0, 9] + [0] * 772], dtype=torch.int32).to(x.device).view(torch.uint32)
    pointer_kernel[(1,)](x, y, 777, flags)
    v = integers(x)[0]
    first = np.bitwise_and.reduce(v | np.uint32(255))
    last = np.bitwise_or.reduce(v & np.uint32(255)), np.bitwise_xor.reduce(v) ^ np.uint32(5), 9, v[-1]
    expected = np.array([[first, *last, *[0] * 772]], np.uint32)
    check_integers(y, expected)


# --- mathematics ------------------------------------------------------------------------------------------------------

FUNCTIONS = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "erf": np.vectorize(math.erf),
    "erfc": np.vectorize(math.erfc), "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt, "sqrt": np.sqrt,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "lgamma": np.vectorize(math.lgamma),
    "tgamma": np.vectorize(math.gamma),
}  # fmt: skip


@tle_raw.dialect("mlir")
def functions(x: Pointer["T"], y: InOut[Pointer["T"]], n: Scalar["i32"]):
    for i in range(thread_id(), n, block_dim()):
        v = x[i]
        results = (
            *(mlir.exp(v), mlir.exp2(v), mlir.expm1(v), mlir.log(v), mlir.log2(v), mlir.log10(v), mlir.log1p(v)),
            *(mlir.sin(v), mlir.cos(v), mlir.tan(v), mlir.atan(v), mlir.sinh(v), mlir.cosh(v), mlir.tanh(v)),
            *(mlir.asinh(v), mlir.erf(v), mlir.erfc(v), mlir.rsqrt(v), mlir.cbrt(v), math.sqrt(v), math.floor(v)),
            *(mlir.ceil(v), mlir.trunc(v), mlir.lgamma(v), mlir.tgamma(v)),
        )
        for j in static_range(25):
            y[j * n + i] = results[j]


@tle_raw.dialect("mlir")
def functions_of_two(x: Pointer["T"], y: InOut[Pointer["T"]], n: Scalar["i32"]):
    for i in range(thread_id(), n, block_dim()):
        a, b = x[i], x[n - 1 - i]
        results = (mlir.atan2(a, b), mlir.hypot(a, b), a**b, mlir.fmod(a, b), mlir.fma(a, b, a), mlir.copysign(a, -b))
        for j in static_range(6):
            y[j * n + i] = results[j]
        y[6 * n + i] = where(mlir.isnan(mlir.log(a - 1)), 1, where(mlir.isinf(a / (b - b)), 2, 3))


@pytest.mark.parametrize("name", PLAIN)
def test_mathematics_against_float64(name):
    x = (random("f64", (1, 509)).abs() + 0.03).to(DTYPES[name])
    y = poisoned(x, (len(FUNCTIONS), 509))
    pointer_kernel[(1,)](x, y, 509, functions)
    with np.errstate(all="ignore"):
        expected = np.stack([function(numbers(x)[0]) for function in FUNCTIONS.values()])
    check_close(y, expected, 12 * ROUNDING[name], 12 * ROUNDING[name])


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_functions_of_two_numbers_against_float64(name):
    x = (random("f64", (1, 509)).abs() + 0.03).to(DTYPES[name])
    y = poisoned(x, (7, 509))
    pointer_kernel[(1,)](x, y, 509, functions_of_two)
    a = numbers(x)[0]
    b = a[::-1]
    test = np.where(a < 1, 1, 2)
    expected = [np.arctan2(a, b), np.hypot(a, b), a**b, np.fmod(a, b), a * b + a, -a, test]
    check_close(y, np.stack(expected), 16 * ROUNDING[name], 16 * ROUNDING[name])


# --- vectors, memrefs, FlagTree's calls, routes -----------------------------------------------------------------------


@tle_raw.dialect("mlir")
def by_vectors(x: Tile["T", "N"], y: Out[Tile["T", "N"]]):
    length = 16 // x.dtype.itemsize
    for i in range(thread_id() * length, N, block_dim() * length):
        v = mlir.load_vector(x, i, length)
        mlir.store_vector(y, N - length - i, v + v)


@pytest.mark.parametrize("name", ["f16", "f32", "f64", "i32", "u8"])
def test_vectors(name):
    @triton.jit
    def kernel(x_ptr, y_ptr, N: tl.constexpr):
        at = tl.program_id(0) * N + tl.arange(0, N)
        tl.store(y_ptr + at, by_vectors(tl.load(x_ptr + at)))

    x = random(name, (3, 512))
    y = poisoned(x)
    kernel[(3,)](x, y, 512)
    length = 16 // x.element_size()
    if name in FLOATS:
        check_close(y, 2 * numbers(x).reshape(3, -1, length)[:, ::-1].reshape(3, 512), 0)
    else:
        v = integers(x)
        check_integers(y, (v + v).reshape(3, -1, length)[:, ::-1].reshape(3, 512))


@tle_raw.dialect("mlir")
def memrefs(t: InOut["memref<?x?xf32, 3>"], s: Input["!llvm.ptr<1>"], n: Input["i32"]):
    rows, columns = t.shape
    for k in range(thread_id(), rows * columns, block_dim()):
        i, j = k // columns, k % columns
        t[i, j] = t[i, j] * mlir.pointer_to(s, f32)[j] + n


@tle_raw.dialect(name="mlir")
def sized_memrefs(t: InOut[L["memref<8x32xf32, 3>"]], s: Input[L["!llvm.ptr<1>"]], n: Input[L["i32"]]):
    for k in range(thread_id(), 256, block_dim()):
        t.flat[k] = t.flat[k] * mlir.pointer_to(s, f32)[k % 32] + n


@triton.jit
def block(x):
    return x + tl.program_id(0) * 256 + tl.arange(0, 8)[:, None] * 32 + tl.arange(0, 32)[None, :]


@triton.jit
def called_directly(x, s, n):
    tl.store(block(x), memrefs(tl.load(block(x)), s, n))


@triton.jit
def called_with_indices(x, s, n):
    tl.store(block(x), tle_raw.call(sized_memrefs, [tl.load(block(x)), s, n], output_indices=[0]))


@triton.jit
def called_outputs_first(x, s, n):
    tl.store(block(x), tle_raw.call(memrefs, [tl.load(block(x))], [s, n]))


@triton.jit
def called_in_shared_memory(x, s, n):
    tl.store(block(x), tle_raw.call_smem(sized_memrefs, [tl.load(block(x)), s, n], output_indices=[0]))


CALLS = [called_directly, called_with_indices, called_outputs_first, called_in_shared_memory]


@pytest.mark.parametrize("kernel", CALLS, ids=lambda kernel: kernel.fn.__name__)
def test_memrefs_in_both_of_flagtrees_calls(kernel):
    x, s = random("f32", (3, 8, 32)), random("f32", (32,), seed=9)
    values = numbers(x)
    compiled = kernel[(3,)](x, s, 41)
    check_close(x, values * numbers(s) + 41, 2 * ROUNDING["f32"], 64 * ROUNDING["f32"])
    assert "tle.dsl_region" in compiled.asm["tle"] and "memrefs" in compiled.asm["tle"]
    if not ON_CPU and not COMPILE_ONLY:
        assert ".target sm_90" in compiled.asm["ptx"]


def softmax(t: InOut[Tile["f32", "M", "N"]]):
    for row in range(warp_id(), M, block_dim() // 32):
        highest = t[row, lane_id()]
        for j in range(lane_id() + 32, N, 32):
            highest = max(highest, t[row, j])
        for step in static_range(5):
            highest = max(highest, mlir.shuffle_xor(highest, 16 >> step))
        total = 0.0
        for j in range(lane_id(), N, 32):
            e = mlir.exp(t[row, j] - highest)
            total += e
            t[row, j] = e
        for step in static_range(5):
            total += mlir.shuffle_xor(total, 16 >> step)
        for j in range(lane_id(), N, 32):
            t[row, j] = t[row, j] / total


SOFTMAX = tle_raw.dialect("mlir", route="libtriton")(softmax)
SOFTMAX_UPSTREAM = tle_raw.dialect("mlir", route="torch_mlir")(softmax)


@triton.jit
def softmax_kernel(x_ptr, FRAGMENT: tl.constexpr):
    at = tl.program_id(0) * 16 * 64 + tl.arange(0, 16)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tl.store(x_ptr + at, FRAGMENT(tl.load(x_ptr + at)))


@pytest.mark.parametrize("num_warps", WARPS)
@needs_bindings
def test_two_routes_give_the_same_numbers(num_warps):
    target = "cpu" if ON_CPU else "cuda:90"
    routes = [fragment.compile(target=target, M=16, N=64).route for fragment in (SOFTMAX, SOFTMAX_UPSTREAM)]
    assert routes == ["libtriton", "torch_mlir"]
    x, y = (random("f32", (3, 16, 64)) for _ in range(2))
    e = np.exp(numbers(x))
    softmax_kernel[(3,)](x, SOFTMAX, num_warps=num_warps)
    softmax_kernel[(3,)](y, SOFTMAX_UPSTREAM, num_warps=num_warps)
    check_close(x, e / e.sum(axis=-1, keepdims=True), 8 * ROUNDING["f32"])
    check_bits(y, bits(x))


@needs_objects
@pytest.mark.parametrize("num_warps", WARPS)
def test_builders_of_the_binding_between_pythons_operators(num_warps):
    from torch_mlir.dialects import arith, linalg, nvvm

    @tle_raw.dialect("mlir")
    def product(a: Tile["f32", "M", "K"], b: Tile["f32", "K", "N"], c: InOut[Tile["f32", "M", "N"]]):
        linalg.matmul(a, b, outs=[c])
        barrier()
        for k in range(nvvm.read_ptx_sreg_tid_x(mlir.i32), M * N, block_dim()):
            c[k // N, k % N] = arith.addf(c[k // N, k % N] * 2, f32(k % N))

    @triton.jit
    def kernel(a_ptr, b_ptr, c_ptr):
        i, j, k = tl.arange(0, 16), tl.arange(0, 32), tl.arange(0, 8)
        a, b = tl.load(a_ptr + i[:, None] * 8 + k[None, :]), tl.load(b_ptr + k[:, None] * 32 + j[None, :])
        at = i[:, None] * 32 + j[None, :]
        tl.store(c_ptr + at, product(a, b, tl.load(c_ptr + at)))

    a, b, c = (random("f32", shape, seed) for seed, shape in enumerate(((16, 8), (8, 32), (16, 32))))
    expected = 2 * (numbers(c) + numbers(a) @ numbers(b)) + np.arange(32)
    kernel[(1,)](a, b, c, num_warps=num_warps)
    check_close(c, expected, 1e-5, 1e-5)
