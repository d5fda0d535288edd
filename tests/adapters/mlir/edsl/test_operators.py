"""Operators, promotion and conversions, against NumPy in float64."""

import numpy as np
import pytest

from tle_raw import InOut, Out, Pointer, Scalar, Tile, mlir
from tle_raw.flir.cpu.run_fragment import storage
from tle_raw.fragments.dtypes import DTYPES
from tle_raw.mlir import f32, thread_id

pytestmark = pytest.mark.every_triton(1)

RANDOM = np.random.default_rng(11)
COUNT = 129
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("f16", "bf16", "f32", "f64")
TOLERANCE = {"f16": 2e-3, "bf16": 1.6e-2, "f32": 1e-6, "f64": 1e-14}


def numbers(dtype: str, low: float = -100, high: float = 100) -> np.ndarray:
    """Random numbers of a dtype, as they lie in memory."""
    if dtype == "bf16":
        return (RANDOM.uniform(low, high, COUNT).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if dtype in FLOATS:
        return RANDOM.uniform(low, high, COUNT).astype(storage(DTYPES[dtype]))
    kind = storage(DTYPES[dtype])
    limits = np.iinfo(kind)
    return RANDOM.integers(max(low, limits.min), min(high, limits.max), COUNT).astype(kind)


def exact(bits: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return bits.astype(np.float64) if dtype in FLOATS else bits


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_operators_are_pythons(run, dtype):
    def f(a: Pointer[dtype], b: Pointer[dtype], o: InOut[Pointer[dtype]]):
        for i in range(thread_id(), COUNT, mlir.block_dim()):
            x, y = a[i], b[i]
            o[i] = x + y
            o[COUNT + i] = x - y
            o[2 * COUNT + i] = x * y
            o[3 * COUNT + i] = x // y
            o[4 * COUNT + i] = x % y
            o[5 * COUNT + i] = (x & y) | (x ^ 3)
            o[6 * COUNT + i] = ~x
            o[7 * COUNT + i] = -x
            o[8 * COUNT + i] = (x << 2) + (x >> 3)
            o[9 * COUNT + i] = min(x, y) + max(x, 5)
            o[10 * COUNT + i] = x // 8
            o[11 * COUNT + i] = x % 8
            o[12 * COUNT + i] = x // 7 + x % 7
            o[13 * COUNT + i] = abs(x)
            o[14 * COUNT + i] = x**3
            o[15 * COUNT + i] = 100 // y

    a, b = numbers(dtype), numbers(dtype)
    b[b == 0] = 3
    out = np.zeros((16, COUNT), a.dtype)
    run(f, a=a, b=b, o=out)
    with np.errstate(all="ignore"):
        wanted = [
            *(a + b, a - b, a * b, a // b, a % b, (a & b) | (a ^ a.dtype.type(3)), ~a, -a, (a << 2) + (a >> 3)),
            *(np.minimum(a, b) + np.maximum(a, a.dtype.type(5)), a // 8, a % 8, a // 7 + a % 7, np.abs(a), a * a * a),
            *(a.dtype.type(100) // b,),
        ]
    for row, (got, want) in enumerate(zip(out, wanted)):
        np.testing.assert_array_equal(got, want.astype(a.dtype), err_msg=f"row {row}")


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_operators_are_pythons(run, dtype):
    def f(a: Pointer[dtype], b: Pointer[dtype], o: InOut[Pointer[dtype]]):
        for i in range(thread_id(), COUNT, mlir.block_dim()):
            x, y = a[i], b[i]
            o[i] = x + y
            o[COUNT + i] = x - y
            o[2 * COUNT + i] = x * y
            o[3 * COUNT + i] = x / y
            o[4 * COUNT + i] = -x
            o[5 * COUNT + i] = min(x, y)
            o[6 * COUNT + i] = max(x, 1.5)
            o[7 * COUNT + i] = abs(x)
            o[8 * COUNT + i] = x**2
            o[9 * COUNT + i] = 2 * x + 1

    a, b = numbers(dtype, -8, 8), numbers(dtype, 0.5, 8)
    out = np.zeros((10, COUNT), a.dtype)
    run(f, a=a, b=b, o=out)
    x, y = exact(a, dtype), exact(b, dtype)
    wanted = [x + y, x - y, x * y, x / y, -x, np.minimum(x, y), np.maximum(x, 1.5), abs(x), x * x, 2 * x + 1]
    for row, (got, want) in enumerate(zip(out, wanted)):
        got = exact(got, dtype)
        np.testing.assert_allclose(got, want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * 8, err_msg=f"row {row}")


@pytest.mark.one_triton
@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
def test_float_division_and_remainder_round_down_as_in_python(run, dtype):
    def f(a: Pointer[dtype], b: Pointer[dtype], o: InOut[Pointer[dtype]]):
        for i in range(thread_id(), COUNT, mlir.block_dim()):
            o[i] = a[i] // b[i]
            o[COUNT + i] = a[i] % b[i]

    a = (RANDOM.integers(-64, 64, COUNT) / 4).astype(storage(DTYPES[dtype]))
    b = RANDOM.choice([-2.5, -1, -0.75, 0.5, 1.25, 3], COUNT).astype(a.dtype)
    out = np.zeros((2, COUNT), a.dtype)
    run(f, a=a, b=b, o=out)
    np.testing.assert_array_equal(out, np.stack([a.astype("f8") // b, a.astype("f8") % b]).astype(a.dtype))


def test_comparisons_of_signed_unsigned_and_floats(run):
    def f(a: Pointer["i32"], b: Pointer["u32"], c: Pointer["f32"], o: InOut[Pointer["i1"]]):
        for i in range(thread_id(), COUNT, mlir.block_dim()):
            x, y, z = a[i], b[i], c[i]
            o[i] = x < 0
            o[COUNT + i] = y > 5
            o[2 * COUNT + i] = z == z
            o[3 * COUNT + i] = z != z
            o[4 * COUNT + i] = 0 <= x < 50
            o[5 * COUNT + i] = not (z > 0)
            o[6 * COUNT + i] = x in (1, 2, 3)
            o[7 * COUNT + i] = (x >= 0 and y <= 40) or z < -50

    a, b, c = numbers("i32"), numbers("u32"), numbers("f32")
    b[::7] += 0x80000000
    c[::5] = np.nan
    out = np.zeros((8, COUNT), np.bool_)
    run(f, a=a, b=b, c=c, o=out)
    wanted = [a < 0, b > 5, c == c, c != c, (a >= 0) & (a < 50), ~(c > 0), np.isin(a, (1, 2, 3))]
    wanted.append(((a >= 0) & (b <= 40)) | (c < -50))
    np.testing.assert_array_equal(out, np.stack(wanted))


PROMOTIONS = [
    ("i32", "i64", "i64"),
    ("i8", "i32", "i32"),
    ("i8", "i8", "i8"),
    ("u8", "i8", "u8"),
    ("i32", "u32", "u32"),
    ("i64", "u32", "i64"),
    ("u16", "i32", "i32"),
    ("i32", "f16", "f16"),
    ("i64", "f32", "f32"),
    ("f16", "bf16", "f32"),
    ("f16", "f32", "f32"),
    ("bf16", "f64", "f64"),
    ("i1", "i16", "i16"),
    ("i1", "i1", "i32"),
    ("i1", "f16", "f16"),
]


@pytest.mark.parametrize(("one", "other", "result"), PROMOTIONS)
def test_two_types_meet_in_one(module, one, other, result):
    def f(a: Scalar[one], b: Scalar[other]) -> Scalar[result]:
        return a + b

    assert module(f).symbol == "f"

    def g(a: Scalar[one], b: Scalar[other]) -> Scalar[result]:
        return b + a

    assert module(g).symbol == "g"


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_a_literal_takes_the_type_of_the_value(module, dtype):
    def f(a: Scalar[dtype]) -> Scalar[dtype]:
        return 1 + a * 2 - True

    assert module(f).symbol == "f"


@pytest.mark.parametrize("dtype", ["i8", "u16", "i32", "i64"])
def test_a_float_literal_and_an_integer_meet_in_f32(module, dtype):
    def f(a: Scalar[dtype]) -> Scalar["f32"]:
        return a * 0.5

    def g(a: Scalar[dtype]) -> Scalar["f32"]:
        return a / 3

    assert module(f).symbol == "f" and module(g).symbol == "g"


@pytest.mark.parametrize("source", ["i1", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", *FLOATS])
def test_conversions_between_all_dtypes(run, source):
    targets = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "i1")

    def f(
        a: Pointer[source],
        o0: InOut[Pointer["i8"]],
        o1: InOut[Pointer["u8"]],
        o2: InOut[Pointer["i16"]],
        o3: InOut[Pointer["u16"]],
        o4: InOut[Pointer["i32"]],
        o5: InOut[Pointer["u32"]],
        o6: InOut[Pointer["i64"]],
        o7: InOut[Pointer["u64"]],
        o8: InOut[Pointer["f16"]],
        o9: InOut[Pointer["bf16"]],
        o10: InOut[Pointer["f32"]],
        o11: InOut[Pointer["f64"]],
        o12: InOut[Pointer["i1"]],
    ):
        for i in range(thread_id(), COUNT, mlir.block_dim()):
            x = a[i]
            for o in (o0, o1, o2, o3, o4, o5, o6, o7, o8, o9, o10, o11, o12):
                o[i] = x.to(o.dtype)

    a = RANDOM.integers(0, 2, COUNT).astype(np.bool_) if source == "i1" else numbers(source, 0, 100)
    outs = [np.zeros(COUNT, np.bool_ if t == "i1" else storage(DTYPES[t])) for t in targets]
    run(f, a=a, **{f"o{i}": out for i, out in enumerate(outs)})
    value = exact(a, source)
    for target, out in zip(targets, outs):
        if target == "bf16":
            np.testing.assert_allclose(exact(out, target), value, rtol=4e-3)
        elif target in FLOATS:
            np.testing.assert_array_equal(out, value.astype(out.dtype))
        else:
            want = value != 0 if target == "i1" else np.trunc(value.astype("f8")).astype(np.int64)
            np.testing.assert_array_equal(out, want.astype(out.dtype))


@pytest.mark.one_triton
@pytest.mark.parametrize("source", ["i8", "i16", "i32", "i64"])
def test_negative_integers_keep_their_value_when_widened(run, source):
    def f(a: Pointer[source], o: InOut[Pointer["i64"]], p: InOut[Pointer["f64"]]):
        for i in range(thread_id(), COUNT, mlir.block_dim()):
            o[i] = a[i]
            p[i] = a[i]

    a = numbers(source)
    o, p = np.zeros(COUNT, np.int64), np.zeros(COUNT)
    run(f, a=a, o=o, p=p)
    np.testing.assert_array_equal(o, a)
    np.testing.assert_array_equal(p, a)


@pytest.mark.parametrize("dtype", ["f8e4m3", "f8e5m2"])
def test_fp8_is_converted_exactly_and_rounded_to_nearest_even(run, dtype):
    torch = pytest.importorskip("torch")
    kind = torch.float8_e4m3fn if dtype == "f8e4m3" else torch.float8_e5m2

    def f(a: InOut[Pointer[dtype]], b: Pointer["f32"], o: InOut[Pointer["f32"]], n: Scalar["i32"]):
        for i in range(thread_id(), 256, mlir.block_dim()):
            o[i] = f32(a[i])
        mlir.barrier()
        for i in range(thread_id(), n, mlir.block_dim()):
            a[i] = b[i]

    codes = np.arange(256, dtype=np.uint8)
    largest = float(torch.finfo(kind).max)
    b = np.concatenate([RANDOM.uniform(-largest, largest, 3000), RANDOM.uniform(-0.1, 0.1, 3000)]).astype("f4")
    b = np.concatenate([b, b * 1e-3, np.array([0.0, -0.0, largest, -largest], "f4")])
    a = np.zeros(len(b), np.uint8)
    a[:256] = codes
    o = np.zeros(256, "f4")
    run(f, a=a, b=b, o=o, n=np.int32(len(b)))
    wanted = torch.from_numpy(codes).view(kind).float().numpy()
    np.testing.assert_array_equal(o, wanted)
    np.testing.assert_array_equal(a, torch.from_numpy(b).to(kind).view(torch.uint8).numpy())


def test_constants_of_python_are_computed_when_the_function_is_read(module):
    def f() -> Scalar["f32"]:
        x = 3 * 4 + 2**5 - 7 // 2
        y = (x, x + 1)
        return y[1] / 2 + len(y) + abs(-3) + min(4, 2) + max(1, 9) + int(2.7) + float(3)

    text = module(f).text
    assert "arith.add" not in text and f"{(3 * 4 + 32 - 3 + 1) / 2 + 2 + 3 + 2 + 9 + 2 + 3} : f32" in text


def test_tiles_are_indexed_by_rows_and_columns_and_flat(run):
    def f(a: Tile["f32", "M", "N"], o: Out[Tile["f32", "N", "M"]]):
        for i in range(thread_id(), a.size, mlir.block_dim()):
            r, c = divmod(i, N)
            o[c, r] = a[r, c] + a.flat[i]
        mlir.barrier()
        if thread_id() == 0:
            o[-1, -1] += a.shape[0] + len(a) + M
            o[0, 0] *= 2.0

    a = RANDOM.standard_normal((8, 16)).astype("f4")
    got = run(f, {"M": 8, "N": 16}, a=a)
    want = 2 * a.T.astype("f8")
    want[-1, -1] += 24
    want[0, 0] *= 2
    np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, "i1", "f8e4m3", "f8e5m2"])
def test_every_dtype_is_read_from_tiles_and_written_to_them(run, dtype):
    def f(a: Tile["T", "N"], p: Pointer["T"], o: Out[Tile["T", "N"]], s: Scalar["T"]):
        for i in range(thread_id(), N, mlir.block_dim()):
            o[i] = s if i == 3 else (p[i] if i % 2 == 0 else a[N - 1 - i])

    kind = np.dtype(np.bool_) if dtype == "i1" else storage(DTYPES[dtype])
    a = RANDOM.integers(0, 2 if dtype == "i1" else 127, 64).astype(kind)
    p = RANDOM.integers(0, 2 if dtype == "i1" else 127, 64).astype(kind)
    if dtype == "bf16":  # no subnormal numbers, which the CPU may take for zero
        a, p = a + kind.type(0x3F00), p + kind.type(0x3F00)
    s = a[:1].copy().reshape(())
    got = run(f, {"N": 64, "T": dtype}, a=a, p=p, s=s)
    want = np.where(np.arange(64) % 2 == 0, p, a[::-1])
    want[3] = s
    np.testing.assert_array_equal(got.astype(kind), want)
