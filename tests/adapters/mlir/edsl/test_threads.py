"""Threads, shuffles, votes, shared memory, atomics, vectors and printing, on the CPU's team of threads."""

import math

import numpy as np
import pytest

import tle_raw
from tle_raw import Element, InOut, Out, Pointer, Scalar, Tile, mlir
from tle_raw.errors import KernelFailed
from tle_raw.flir.cpu.run_fragment import storage
from tle_raw.fragments.dtypes import DTYPES

pytestmark = pytest.mark.every_triton(1)

RANDOM = np.random.default_rng(23)
THREADS = 64


def test_threads_know_their_places(run):
    def f(o: Out[Tile["i32", 8, 64]]):
        i = mlir.thread_id()
        o[0, i] = i
        o[1, i] = mlir.lane_id()
        o[2, i] = mlir.warp_id()
        o[3, i] = mlir.block_dim("x")
        o[4, i] = mlir.thread_id("y") + mlir.thread_id(2)
        o[5, i] = mlir.block_id()
        o[6, i] = mlir.grid_dim(0)
        o[7, i] = mlir.block_dim(1)

    i = np.arange(THREADS)
    one = np.ones_like(i)
    wanted = np.stack([i, i % 32, i // 32, one * 64, one * 0, one * 0, one, one])
    np.testing.assert_array_equal(run(f), wanted)


@pytest.mark.parametrize("dtype", ["i1", "i8", "u16", "i32", "i64", "f16", "bf16", "f32", "f64"])
def test_shuffles_move_every_dtype(run, dtype):
    def f(p: Pointer[dtype], o: InOut[Pointer[dtype]]):
        i = mlir.thread_id()
        v = p[i]
        o[i] = mlir.shuffle_xor(v, 5)
        o[64 + i] = mlir.shuffle_up(v, 3)
        o[128 + i] = mlir.shuffle_down(v, 2, width=8)
        o[192 + i] = mlir.shuffle(v, 31 - mlir.lane_id())

    kind = np.dtype(np.bool_) if dtype == "i1" else storage(DTYPES[dtype])
    p = RANDOM.integers(0, 2 if dtype == "i1" else 120, THREADS).astype(kind)
    if dtype == "bf16":
        p = p + kind.type(0x3F00)
    o = np.zeros((4, THREADS), kind)
    run(f, p=p, o=o)
    i = np.arange(THREADS)
    lane, warp = i % 32, i // 32 * 32
    up = np.where(lane >= 3, i - 3, i)
    down = np.where(lane % 8 + 2 < 8, i + 2, i)
    np.testing.assert_array_equal(o, np.stack([p[i ^ 5], p[up], p[down], p[warp + 31 - lane]]))


def test_a_tuple_is_shuffled_item_by_item(run):
    def f(o: Out[Tile["f32", 64]]):
        i = mlir.thread_id()
        a, b = mlir.shuffle_xor((i, i * 0.5), 1)
        o[i] = a + b

    i = np.arange(THREADS) ^ 1
    np.testing.assert_array_equal(run(f), i * 1.5)


def test_votes_see_the_whole_warp(run):
    def f(o: Out[Tile["u32", 4, 64]]):
        i = mlir.thread_id()
        o[0, i] = mlir.ballot(i % 3 == 0)
        o[1, i] = mlir.any_sync(i == 40)
        o[2, i] = mlir.all_sync(i < 32)
        o[3, i] = mlir.popcount(mlir.ballot(i % 2 == 0)) + mlir.count_leading_zeros(i)

    i = np.arange(THREADS)
    bits = [sum(1 << lane for lane in range(32) if (32 * w + lane) % 3 == 0) for w in (0, 1)]
    leading = [32 - int(v).bit_length() for v in i]
    wanted = np.stack([np.take(bits, i // 32), i // 32, 1 - i // 32, 16 + np.array(leading)])
    np.testing.assert_array_equal(run(f), wanted)


def test_shared_memory_is_seen_after_a_barrier(run):
    @mlir.function
    def block_sum(value):
        partial = mlir.shared("f32", 32)
        for step in mlir.static_range(4, -1, -1):
            value += mlir.shuffle_xor(value, 1 << step)
        if mlir.lane_id() == 0:
            partial[mlir.warp_id()] = value
        mlir.barrier()
        total = 0.0
        for i in range(mlir.block_dim() // 32):
            total += partial[i]
        return total

    def f(t: Tile["f32", "N"]) -> Scalar["f32"]:
        mine = 0.0
        for i in range(mlir.thread_id(), N, mlir.block_dim()):
            mine += t[i]
        once = block_sum(mine)
        twice = block_sum(mine * 2.0)  # another call has memory of its own
        return once + twice

    t = RANDOM.standard_normal(512).astype("f4")
    np.testing.assert_allclose(run(f, {"N": 512}, t=t), t.astype("f8").sum() * 3, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["i32", "u32", "i64", "u64", "f32", "f64"])
def test_atomics_on_tiles_and_pointers(run, dtype):
    def f(t: InOut[Tile[dtype, 8]], p: InOut[Pointer[dtype]]):
        i = mlir.thread_id()
        mlir.atomic_add(t, 0, i)
        mlir.atomic_max(t, 1, i)
        mlir.atomic_min(t, 2, i)
        mlir.atomic_exchange(t, 3, 7)
        mlir.atomic_cas(t, 4, 5, 6)
        mlir.atomic_add(p, i % 4, 2)
        mlir.atomic_max(p, 4, i * i)

    kind = storage(DTYPES[dtype])
    t = np.array([1, 3, 50, 2, 5, 0, 0, 0], kind)
    p = np.zeros(5, kind)
    got = run(f, t=t, p=p)
    np.testing.assert_array_equal(got, [1 + 63 * 32, 63, 0, 7, 6, 0, 0, 0])
    np.testing.assert_array_equal(p, [32, 32, 32, 32, 63 * 63])


def test_bits_by_atomics(run):
    def f(t: InOut[Tile["u32", 4]]):
        i = mlir.thread_id()
        old = mlir.atomic_or(t, 0, 1 << (i % 32).to("u32") if i < 16 else 0)
        mlir.atomic_and(t, 1, 0xFFFF)
        mlir.atomic_xor(t, 2, 1)
        if i == 0:
            t[3] = old & 0xFFFF0000

    got = run(f, t=np.array([0x80000000, 0xABCD1234, 5, 0], np.uint32))
    np.testing.assert_array_equal(got, [0x8000FFFF, 0x1234, 5, 0x80000000])


def test_vectors_are_loaded_computed_and_stored(run):
    def f(p: Pointer["f32"], o: InOut[Pointer["f32"]], h: InOut[Tile["f16", 64]]):
        i = mlir.thread_id() * 4
        if i < 64:
            v = mlir.load_vector(p, i, 4)
            w = v * 2.0 + mlir.vector(1, 2, 3, 4)
            mlir.store_vector(o, i, mlir.exp(w * 0.1) - v)
            mlir.store_vector(h, i, w.to("f16"))
            o[i] += w[1]

    p = RANDOM.standard_normal(64).astype("f4")
    o = np.zeros(64, "f4")
    h = run(f, p=p, o=o, h=np.zeros(64, "f2"))
    w = p.astype("f8") * 2 + np.tile([1, 2, 3, 4], 16)
    want = np.exp(w * 0.1) - p
    want[::4] += w[1::4]
    np.testing.assert_allclose(o, want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(h, w, rtol=1e-3, atol=1e-3)


UNARY = {
    **{n: n for n in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh")},
    "tanh": "tanh",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "asinh": "arcsinh",
    "sqrt": "sqrt",
    "cbrt": "cbrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "fabs": "abs",
}


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_functions_of_mathematics(run, dtype):
    functions = tuple(getattr(mlir, name) for name in UNARY)

    def f(x: Pointer[dtype], y: Pointer[dtype], o: InOut[Pointer["f64"]]):
        for i in range(mlir.thread_id(), 40, mlir.block_dim()):
            k = 0
            for function in functions:
                o[k * 40 + i] = function(x[i])
                k = k + 1
            o[k * 40 + i] = mlir.rsqrt(x[i])
            o[(k + 1) * 40 + i] = math.erf(x[i])
            o[(k + 2) * 40 + i] = math.pow(x[i], y[i])
            o[(k + 3) * 40 + i] = math.atan2(y[i], x[i])
            o[(k + 4) * 40 + i] = mlir.fma(x[i], y[i], 1.0)
            o[(k + 5) * 40 + i] = math.copysign(x[i], y[i])
            o[(k + 6) * 40 + i] = x[i] ** y[i]
            o[(k + 7) * 40 + i] = round(y[i] * 4)

    def values(low, high):
        drawn = RANDOM.uniform(low, high, 40)
        if dtype == "bf16":
            return (drawn.astype("f4").view("u4") >> 16).astype("u2")
        return drawn.astype(storage(DTYPES[dtype]))

    def wide(bits):
        return (bits.astype("u4") << 16).view("f4").astype("f8") if dtype == "bf16" else bits.astype("f8")

    x, y = values(0.05, 0.95), values(-2, 2)
    o = np.zeros((len(UNARY) + 8, 40))
    run(f, x=x, y=y, o=o)
    x, y = wide(x), wide(y)
    erf = np.array([math.erf(v) for v in x])
    wanted = [getattr(np, name)(x) for name in UNARY.values()]
    wanted += [1 / np.sqrt(x), erf, x**y, np.arctan2(y, x), x * y + 1, np.copysign(x, y), x**y, np.rint(y * 4)]
    tolerance = {"f16": 2e-3, "bf16": 1.6e-2, "f32": 2e-6, "f64": 1e-13}[dtype]
    for row, (got, want) in enumerate(zip(o, wanted)):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=f"row {row}")


def test_tests_of_floats(run):
    def f(x: Pointer["f32"], o: InOut[Pointer["i32"]]):
        i = mlir.thread_id()
        if i < 5:
            o[i] = math.isnan(x[i]) + 2 * math.isinf(x[i]) + 4 * math.isfinite(x[i])
            o[5 + i] = mlir.where(x[i] > 1, 1, 0) + (mlir.bitcast(x[i], "u32") >> 31).to("i32") * 2

    o = np.zeros(10, np.int32)
    run(f, x=np.array([1.5, np.nan, np.inf, -np.inf, -0.0], "f4"), o=o)
    np.testing.assert_array_equal(o[:5], [4, 1, 2, 2, 4])
    np.testing.assert_array_equal(o[[5, 7, 8, 9]], [1, 1, 2, 2])


def test_elements_in_and_out(run):
    def square_plus(x: Element["f32"], n: Scalar["i32"]) -> Element["f32"]:
        if x < 0:
            return 0.0
        return x * x + n

    x = RANDOM.standard_normal(100).astype("f4")
    got = run(square_plus, x=x, n=np.int32(3))
    np.testing.assert_allclose(got, np.where(x < 0, 0, x.astype("f8") ** 2 + 3), rtol=1e-6)


def test_an_element_that_is_updated(run):
    def halve(x: InOut[Element["f32"]]):
        if x > 1:
            x /= 2
        else:
            x = 0.0

    x = RANDOM.uniform(-3, 3, 100).astype("f4")
    np.testing.assert_array_equal(run(halve, x=x), np.where(x > 1, x / 2, 0))


def test_printf_and_print_write_every_kind_of_number(run, capfd):
    def f(i: Scalar["i64"], u: Scalar["u8"], h: Scalar["f16"], d: Scalar["f64"], t: Tile["f32", 8]):
        if mlir.thread_id() == 0:
            mlir.printf("%d|%5u|%x|%.3f|%g|%s|%%|%c\n", i, u, u, h, d, "text", 65)
            mlir.vprintf("nothing\n")
            print("100%", i, h > 1, d, sep="; ")

    run(f, i=np.int64(-(1 << 40)), u=np.uint8(200), h=np.float16(1.5), d=np.float64(1e300), t=np.zeros(8, "f4"))
    lines = capfd.readouterr().out.splitlines()
    assert lines == ["-1099511627776|  200|c8|1.500|1e+300|text|%|A", "nothing", "100%; -1099511627776; 1; 1e+300"]


def test_an_assertion_that_fails_names_its_line(run):
    def f(n: Scalar["i32"]) -> Scalar["i32"]:
        assert n < 10, "n is too large"
        mlir.vassert(n > 0, "n is too small")
        return n

    assert run(f, n=np.int32(5)) == 5
    with pytest.raises(KernelFailed, match="n is too large") as caught:
        run(f, n=np.int32(12))
    assert f"{__file__}:{f.__code__.co_firstlineno + 1}" in str(caught.value)
    with pytest.raises(KernelFailed, match="n is too small"):
        run(f, n=np.int32(-1))


def test_an_assertion_prints_its_values_and_is_a_runtime_error(run, capfd):
    def f():
        mlir.vassert(mlir.thread_id() < 33, "thread %d of %d\n", mlir.thread_id(), mlir.block_dim())

    with pytest.raises(RuntimeError, match="assertion `thread %d of %d` failed") as caught:
        run(f)
    assert isinstance(caught.value, KernelFailed)
    assert "thread 33 of 64" in capfd.readouterr().out


def test_a_block_of_another_shape(run):
    def f(o: Out[Tile["i32", 4, 16]]):
        o[mlir.thread_id("y"), mlir.thread_id("x")] = mlir.block_dim(0) * 100 + mlir.block_dim(1)

    fragment = tle_raw.dialect("mlir", block=(16, 4))(f)
    np.testing.assert_array_equal(run(fragment), np.full((4, 16), 1604))
