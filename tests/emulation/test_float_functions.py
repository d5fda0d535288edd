"""CUDA's float functions and intrinsics on the CPU, against NumPy in double precision."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.emulation.tables import evaluate

pytestmark = pytest.mark.one_triton

RNG = np.random.default_rng(7)
N = 400
A = RNG.standard_normal(N) * 4
B = RNG.standard_normal(N) * 4
C = RNG.standard_normal(N)
POSITIVE = np.abs(RNG.standard_normal(N)) * 10 + 1e-3
erf = np.vectorize(math.erf)
lgamma = np.vectorize(math.lgamma)


def table(kind: str, functions: list[tuple[str, object]], inputs: dict[str, np.ndarray], rtol: float, atol: float = 0):
    dtype = "f4" if kind == "float" else "f8"
    arrays = {name: value.astype(dtype) for name, value in inputs.items()}
    got = evaluate([text for text, _ in functions], {n: (kind, v) for n, v in arrays.items()}, kind)
    wide = {name: value.astype("f8") for name, value in arrays.items()}
    for (text, reference), row in zip(functions, got):
        expected = reference(*wide.values())
        np.testing.assert_allclose(row, np.asarray(expected, dtype), rtol=rtol, atol=atol, err_msg=text)


UNARY = [
    ("sin{s}(a)", np.sin),
    ("cos{s}(a)", np.cos),
    ("tan{s}(a)", np.tan),
    ("atan{s}(a)", np.arctan),
    ("sinh{s}(a)", np.sinh),
    ("cosh{s}(a)", np.cosh),
    ("tanh{s}(a)", np.tanh),
    ("asinh{s}(a)", np.arcsinh),
    ("exp{s}(a)", np.exp),
    ("exp2{s}(a)", np.exp2),
    ("exp10{s}(a)", lambda a: 10.0**a),
    ("expm1{s}(a)", np.expm1),
    ("erf{s}(a)", erf),
    ("erfc{s}(a)", lambda a: np.vectorize(math.erfc)(a)),
    ("cbrt{s}(a)", np.cbrt),
    ("fabs{s}(a)", np.abs),
    ("floor{s}(a)", np.floor),
    ("ceil{s}(a)", np.ceil),
    ("trunc{s}(a)", np.trunc),
    ("rint{s}(a)", np.rint),
    ("nearbyint{s}(a)", np.rint),
    ("round{s}(a)", lambda a: np.sign(a) * np.floor(np.abs(a) + 0.5)),
    ("sinpi{s}(a)", lambda a: np.sin(np.pi * a)),
    ("cospi{s}(a)", lambda a: np.cos(np.pi * a)),
    ("normcdf{s}(a)", lambda a: 0.5 * (1 - erf(-a / math.sqrt(2)))),
]
POSITIVE_UNARY = [
    ("log{s}(p)", np.log),
    ("log2{s}(p)", np.log2),
    ("log10{s}(p)", np.log10),
    ("log1p{s}(p)", np.log1p),
    ("sqrt{s}(p)", np.sqrt),
    ("rsqrt{s}(p)", lambda p: 1 / np.sqrt(p)),
    ("rcbrt{s}(p)", lambda p: 1 / np.cbrt(p)),
    ("lgamma{s}(p)", lgamma),
    ("tgamma{s}(p)", lambda p: np.exp(lgamma(p))),
    ("acosh{s}(p + 1)", lambda p: np.arccosh(p + 1)),
]
BINARY = [
    ("atan2{s}(a, b)", np.arctan2),
    ("hypot{s}(a, b)", np.hypot),
    ("fmin{s}(a, b)", np.minimum),
    ("fmax{s}(a, b)", np.maximum),
    ("fdim{s}(a, b)", lambda a, b: np.maximum(a - b, 0)),
    ("copysign{s}(a, b)", np.copysign),
    ("fmod{s}(a, b)", np.fmod),
    ("a * b", np.multiply),
    ("a / b", np.divide),
    ("a - b", np.subtract),
    ("min(a, b)", np.minimum),
    ("max(a, b)", np.maximum),
    ("a < b ? a : b", np.minimum),
]


def named(functions, suffix):
    return [(text.replace("{s}", suffix), reference) for text, reference in functions]


@pytest.mark.parametrize(("kind", "suffix", "rtol"), [("float", "f", 3e-6), ("double", "", 1e-13)])
def test_functions_of_one_number(kind, suffix, rtol):
    table(kind, named(UNARY, suffix), {"a": A}, rtol, atol=rtol)


@pytest.mark.parametrize(("kind", "suffix", "rtol"), [("float", "f", 2e-5), ("double", "", 1e-12)])
def test_functions_of_positive_numbers(kind, suffix, rtol):
    table(kind, named(POSITIVE_UNARY, suffix), {"p": POSITIVE}, rtol, atol=rtol)


@pytest.mark.parametrize(("kind", "suffix", "rtol"), [("float", "f", 1e-6), ("double", "", 1e-14)])
def test_functions_of_two_numbers(kind, suffix, rtol):
    table(kind, named(BINARY, suffix), {"a": A, "b": B}, rtol, atol=rtol)


def test_power():
    functions = [("powf(p, a)", np.power), ("__powf(p, a)", np.power)]
    functions = [(text, lambda p, a: p**a) for text, _ in functions]
    table("float", functions, {"p": POSITIVE, "a": A}, 1e-4)


def test_fast_intrinsics():
    functions = [
        ("__expf(a)", lambda a, p: np.exp(a)),
        ("__exp10f(a)", lambda a, p: 10.0**a),
        ("__sinf(a)", lambda a, p: np.sin(a)),
        ("__cosf(a)", lambda a, p: np.cos(a)),
        ("__tanf(a)", lambda a, p: np.tan(a)),
        ("__logf(p)", lambda a, p: np.log(p)),
        ("__log2f(p)", lambda a, p: np.log2(p)),
        ("__log10f(p)", lambda a, p: np.log10(p)),
        ("__fdividef(a, p)", lambda a, p: a / p),
        ("__saturatef(a)", lambda a, p: np.clip(a, 0, 1)),
        ("__frsqrt_rn(p)", lambda a, p: 1 / np.sqrt(p)),
        ("rsqrtf(p)", lambda a, p: 1 / np.sqrt(p)),
    ]
    table("float", functions, {"a": A, "p": POSITIVE}, 2e-5, atol=1e-6)


def float_neighbours(exact: np.ndarray, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """The largest number not above, and the smallest not below."""
    near = exact.astype(dtype)
    wide = near.astype(exact.dtype)
    down = np.where(wide <= exact, near, np.nextafter(near, np.array(-np.inf, dtype)))
    up = np.where(wide >= exact, near, np.nextafter(near, np.array(np.inf, dtype)))
    return down, up


ROUNDED = {
    "__fadd_r{}(a, b)": lambda a, b, p, c: a + b,
    "__fsub_r{}(a, b)": lambda a, b, p, c: a - b,
    "__fmul_r{}(a, b)": lambda a, b, p, c: a * b,
    "__fdiv_r{}(a, b)": lambda a, b, p, c: a / b,
    "__frcp_r{}(a)": lambda a, b, p, c: 1 / a,
    "__fsqrt_r{}(p)": lambda a, b, p, c: np.sqrt(p),
    "__fmaf_r{}(a, b, c)": lambda a, b, p, c: a * b + c,
}


def test_directed_rounding_of_floats():
    texts = [(text.format(mode), mode, f) for text, f in ROUNDED.items() for mode in "nduz"]
    inputs = {n: v.astype("f4") for n, v in {"a": A, "b": B, "p": POSITIVE, "c": C}.items()}
    got = evaluate([t for t, _, _ in texts], {n: ("float", v) for n, v in inputs.items()}, "float")
    wide = {n: v.astype("f8").astype(np.longdouble) for n, v in inputs.items()}
    for (text, mode, function), row in zip(texts, got):
        exact = function(*wide.values())
        down, up = float_neighbours(exact, "f4")
        towards_zero = np.where(exact > 0, down, up)
        expected = {"n": exact.astype("f4"), "d": down, "u": up, "z": towards_zero}[mode]
        np.testing.assert_array_equal(row, expected, err_msg=text)


PAIRS = {
    "add.{}{}.f32x2 %0, %1, %3": lambda a, b, c: a + c,
    "sub.{}{}.f32x2 %0, %1, %3": lambda a, b, c: a - c,
    "mul.{}{}.f32x2 %0, %1, %2": lambda a, b, c: a * b,
    "fma.{}{}.f32x2 %0, %1, %2, %3": lambda a, b, c: a * b + c,
}


def test_two_floats_in_a_register():
    forms = [(text, mode, ftz) for text in PAIRS for mode in ("rn", "rm", "rp", "rz") for ftz in ("", ".ftz")]
    code = "".join(
        f"""
__device__ unsigned long long pair{number}(unsigned long long a, unsigned long long b, unsigned long long c) {{
  unsigned long long d; asm("{text.format(mode, ftz)};" : "=l"(d) : "l"(a), "l"(b), "l"(c)); return d;
}}"""
        for number, (text, mode, ftz) in enumerate(forms)
    )
    values = [v.astype("f4") for v in (A, B, C)]
    for value in (values[0], values[2]):  # so that a long double holds every sum
        value[::4] *= np.float32(1e-38)
    inputs = {n: ("unsigned long long", v.view("u8")) for n, v in zip("abc", values)}
    texts = [f"pair{number}(a, b, c)" for number in range(len(forms))]
    got = evaluate(texts, inputs, "unsigned long long", code=code)
    for (text, mode, ftz), row in zip(forms, got):
        given = [flushed(v) if ftz else v for v in values]
        exact = PAIRS[text](*(v.astype("f8").astype(np.longdouble) for v in given))
        down, up = float_neighbours(exact, "f4")
        zero = np.where(exact > 0, down, up)
        expected = {"rn": exact.astype("f4"), "rm": down, "rp": up, "rz": zero}[mode]
        np.testing.assert_array_equal(row.view("f4"), flushed(expected) if ftz else expected, err_msg=text + mode + ftz)


def flushed(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < np.float32(2.0**-126), np.float32(0), x)


def test_decimal_constants_of_inline_ptx():
    """A float holds the nearest number, whatever was written."""
    texts = ("1.4426950408889634", "20.", "-0.1", "1e-3", "1e39", "0f3FB8AA3B", "3")
    code = "".join(
        f"""
__device__ float by{number}(float a) {{
  float d; asm("mul.f32 %0, %1, {text};" : "=f"(d) : "f"(a)); return d;
}}"""
        for number, text in enumerate(texts)
    )
    a = A.astype("f4")
    got = evaluate([f"by{number}(a)" for number in range(len(texts))], {"a": ("float", a)}, "float", code=code)
    numbers = [1.4426950408889634, 20, -0.1, 1e-3, np.inf, np.array(0x3FB8AA3B, "u4").view("f4"), 3]
    for text, number, row in zip(texts, numbers, got):
        np.testing.assert_array_equal(row, a * np.float32(number), err_msg=text)


def test_directed_rounding_of_doubles():
    texts = ["__dadd_rd(a, b)", "__dadd_ru(a, b)", "__dmul_rz(a, b)", "__ddiv_rn(a, b)", "__fma_rn(a, b, a)"]
    got = evaluate(texts, {"a": ("double", A), "b": ("double", B)}, "double")
    down, up = float_neighbours(A.astype(np.longdouble) + B, "f8")
    np.testing.assert_array_equal(got[0], down)
    np.testing.assert_array_equal(got[1], up)
    product = A.astype(np.longdouble) * B
    down, up = float_neighbours(product, "f8")
    np.testing.assert_array_equal(got[2], np.where(product > 0, down, up))
    np.testing.assert_array_equal(got[3], A / B)


def test_conversions_between_floats_and_integers():
    a = np.concatenate([A * 1000, [0.5, 1.5, 2.5, -0.5, -1.5, 3e9, -3e9, 1e30, -1e30, np.nan]]).astype("f4")
    texts = ["__float2int_rn(a)", "__float2int_rz(a)", "__float2int_rd(a)", "__float2int_ru(a)", "(int)a"]
    got = evaluate(texts, {"a": ("float", a)}, "int")
    wide = np.nan_to_num(a.astype("f8"), nan=0)
    for row, function in zip(got, (np.rint, np.trunc, np.floor, np.ceil, np.trunc)):
        np.testing.assert_array_equal(row[:-1], np.clip(function(wide), -(2**31), 2**31 - 1).astype("i4")[:-1])
    unsigned = evaluate(["__float2uint_rn(a)"], {"a": ("float", a)}, "unsigned")
    np.testing.assert_array_equal(unsigned[0], np.clip(np.rint(wide), 0, 2**32 - 1).astype("u4"))
    long = evaluate(["__double2ll_rn(a)", "__float2ll_rd(a)"], {"a": ("float", a[:-4])}, "long long")
    np.testing.assert_array_equal(long[0], np.rint(wide[:-4]).astype("i8"))
    np.testing.assert_array_equal(long[1], np.floor(wide[:-4]).astype("i8"))


def test_integers_to_floats_with_every_rounding():
    x = RNG.integers(-(2**63), 2**63 - 1, 300)
    x[:4] = 0, 1, -1, 2**62 + 1
    texts = [f"__ll2float_r{mode}(x)" for mode in "nduz"]
    got = evaluate(texts, {"x": ("long long", x)}, "float")
    exact = x.astype(np.longdouble)
    down, up = float_neighbours(exact, "f4")
    for row, expected in zip(got, (exact.astype("f4"), down, up, np.where(exact > 0, down, up))):
        np.testing.assert_array_equal(row, expected)
    u = x.astype("u8")
    got = evaluate(["__ull2double_rd(u)", "__ull2double_ru(u)"], {"u": ("unsigned long long", u)}, "double")
    down, up = float_neighbours(u.astype(np.longdouble), "f8")
    np.testing.assert_array_equal(got[0], down)
    np.testing.assert_array_equal(got[1], up)


def test_bits_of_floats():
    a = A.astype("f4")
    got = evaluate(
        ["__float_as_int(a)", "__float_as_uint(-a)", "signbit(a) != 0", "isnan(a)", "ilogbf(a)"],
        {"a": ("float", a)},
        "int",
    )
    np.testing.assert_array_equal(got[0], a.view("i4"))
    np.testing.assert_array_equal(got[1], (-a).view("i4"))
    np.testing.assert_array_equal(got[2], a < 0)
    np.testing.assert_array_equal(got[4], np.floor(np.log2(np.abs(a.astype("f8")))))
    back = evaluate(["__int_as_float(i + 1000000)", "__hiloint2double(i, 7)"], {"a": ("float", a)}, "double")
    index = np.arange(N)
    np.testing.assert_array_equal(back[0], (index + 1000000).astype("i4").view("f4").astype("f8"))
    np.testing.assert_array_equal(back[1].view("i8"), (index.astype("i8") << 32) + 7)


def test_functions_with_two_results():
    code = """
__device__ float parts(float a, int which) {
  float s, c, i; int e;
  sincosf(a, &s, &c);
  const float f = modff(a, &i), m = frexpf(a, &e);
  const float all[] = {s, c, f, i, m, (float)e};
  return all[which];
}"""
    a = A.astype("f4")
    got = evaluate([f"parts(a, {k})" for k in range(6)], {"a": ("float", a)}, "float", code=code)
    f, i = np.modf(a)
    m, e = np.frexp(a)
    for row, expected in zip(got, (np.sin(a.astype("f8")), np.cos(a.astype("f8")), f, i, m, e)):
        np.testing.assert_allclose(row, expected, rtol=2e-6, atol=1e-6)
