"""cuda_fp16.h, cuda_bf16.h and cuda_fp8.h on the CPU: every result is rounded once, to nearest."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulation.tables import evaluate

pytestmark = pytest.mark.one_triton

RNG = np.random.default_rng(3)
N = 500
SPECIAL = np.array([0, -0.0, 1, -1, 65504, -65504, 6e-8, 1e-5, np.inf, -np.inf, np.nan, 1e4, 300, 2049])


def values(count: int = N) -> np.ndarray:
    found = RNG.standard_normal(count) * 10.0 ** RNG.integers(-4, 4, count)
    found[: len(SPECIAL)] = SPECIAL
    return found


def halves() -> np.ndarray:
    with np.errstate(over="ignore"):
        return values().astype("f2")


def to_bfloat(x: np.ndarray) -> np.ndarray:
    """Bits of doubles as bfloat16, rounded once."""
    x = np.asarray(x, np.float64)
    exponent = np.frexp(x)[1]
    shift = np.maximum(exponent - 8, -133)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.ldexp(np.rint(np.ldexp(x, -shift)), shift)
        bits = np.where(np.isfinite(x), near, x).astype("f4").view("u4") >> 16
    return np.where(np.isnan(x), 0x7FFF, bits).astype("u2")


def from_bfloat(bits: np.ndarray) -> np.ndarray:
    return (bits.astype("u4") << 16).view("f4").astype("f8")


def same(got: np.ndarray, expected: np.ndarray, text: str) -> None:
    """Equal bits; any NaN is any other."""
    got_nan, expected_nan = np.isnan(got), np.isnan(expected)
    np.testing.assert_array_equal(got_nan, expected_nan, err_msg=text)
    kind = f"u{got.dtype.itemsize}"
    np.testing.assert_array_equal(got.view(kind)[~got_nan], expected.view(kind)[~got_nan], err_msg=text)


HALF = {
    "__hadd(a, b)": lambda a, b, c: a + b,
    "__hsub(a, b)": lambda a, b, c: a - b,
    "__hmul(a, b)": lambda a, b, c: a * b,
    "a + b * b": lambda a, b, c: a + (b * b),
    "__hfma(a, b, c)": lambda a, b, c: a * b + c,
    "__hneg(a)": lambda a, b, c: -a,
    "__habs(a)": lambda a, b, c: np.abs(a),
    "a / b": lambda a, b, c: a / b,
    "__hmin(a, b)": lambda a, b, c: np.fmin(a, b),
    "__hmax(a, b)": lambda a, b, c: np.fmax(a, b),
    "__hmax_nan(a, b)": lambda a, b, c: np.maximum(a, b),
    "hfloor(a)": lambda a, b, c: np.floor(a),
    "hceil(a)": lambda a, b, c: np.ceil(a),
    "htrunc(a)": lambda a, b, c: np.trunc(a),
    "hrint(a)": lambda a, b, c: np.rint(a),
    "__hadd_sat(a, b)": lambda a, b, c: np.clip(np.nan_to_num(a + b, nan=0, posinf=1, neginf=0), 0, 1),
    "__float2half(__half2float(a) * 3)": lambda a, b, c: a * 3,
    "__double2half((double)a * 1.7)": lambda a, b, c: a * 1.7,
    "__high2half(__halves2half2(a, b))": lambda a, b, c: b,
    "__low2half(__hfma2(__halves2half2(a, b), __halves2half2(b, c), __halves2half2(c, a)))": lambda a, b, c: a * b + c,
    "__hlt(a, b) ? a : b": lambda a, b, c: np.where(a < b, a, b),
    "__hisnan(a) ? c : a": lambda a, b, c: np.where(np.isnan(a), c, a),
}


@np.errstate(all="ignore")
def test_half():
    inputs = {name: halves() for name in "abc"}
    for array in list(inputs.values())[1:]:
        RNG.shuffle(array)
    got = evaluate(list(HALF), {n: ("__half", v) for n, v in inputs.items()}, "__half", headers=["cuda_fp16.h"])
    wide = [v.astype("f8") for v in inputs.values()]
    for (text, reference), row in zip(HALF.items(), got):
        if text.startswith("a + b * b"):  # contracted, or not: both are right
            expected = [reference(*wide).astype("f2"), (wide[0] + (wide[1] * wide[1]).astype("f2")).astype("f2")]
            assert all(any(np.array_equal(r, e[i], equal_nan=True) for e in expected) for i, r in enumerate(row))
            continue
        expected = np.asarray(reference(*wide)).astype("f2")
        if "max" in text or "min" in text:  # of two zeros either
            expected, row = np.where(expected == 0, 0, expected), np.where(row == 0, np.float16(0), row)
            expected = expected.astype("f2")
        same(row, expected, text)


@np.errstate(all="ignore")
def test_functions_of_half():
    a = np.abs(RNG.standard_normal(N)).astype("f2") + np.float16(0.1)
    table = {
        "hexp(a)": np.exp, "hlog(a)": np.log, "hsqrt(a)": np.sqrt, "hrsqrt(a)": lambda x: 1 / np.sqrt(x),
        "hrcp(a)": lambda x: 1 / x, "hsin(a)": np.sin, "hcos(a)": np.cos, "hexp2(a)": np.exp2, "hlog2(a)": np.log2,
    }  # fmt: skip
    got = evaluate(list(table), {"a": ("__half", a)}, "__half", headers=["cuda_fp16.h"])
    for (text, reference), row in zip(table.items(), got):
        np.testing.assert_allclose(row.astype("f8"), reference(a.astype("f8")), rtol=2e-3, atol=1e-3, err_msg=text)


@np.errstate(all="ignore")
def test_pairs_of_halves():
    a, b = (halves().view("u4") for _ in range(2))
    table = {
        "__hadd2(a, b)": np.add, "__hmul2(a, b)": np.multiply, "__hsub2(a, b)": np.subtract,
        "__hneg2(a)": lambda x, y: -x, "__habs2(a)": lambda x, y: np.abs(x),
        "__floats2half2_rn(__low2float(a), __high2float(b))": lambda x, y: np.where(np.arange(N) % 2, y, x),
        "__lowhigh2highlow(a)": lambda x, y: x.reshape(-1, 2)[:, ::-1].reshape(-1),
        "__heq2(a, b)": lambda x, y: (x == y).astype("f8"),
        "__hgt2(a, b)": lambda x, y: (x > y).astype("f8"),
    }  # fmt: skip
    inputs = {"a": ("__half2", a), "b": ("__half2", b)}
    got = evaluate(list(table), inputs, "__half2", headers=["cuda_fp16.h"])
    x, y = (v.view("f2").astype("f8") for v in (a, b))
    for (text, reference), row in zip(table.items(), got):
        same(np.ascontiguousarray(row).view("f2"), reference(x, y).astype("f2"), text)


@np.errstate(all="ignore")
def test_half_and_integers():
    a = values()[14:].astype("f2")
    texts = ["__half2int_rn(a)", "__half2int_rz(a)", "__half2int_rd(a)", "__half2int_ru(a)", "__half2short_rz(a)"]
    got = evaluate([*texts, "__half_as_ushort(a)"], {"a": ("__half", a)}, "int", headers=["cuda_fp16.h"])
    wide = a.astype("f8")
    for row, function in zip(got, (np.rint, np.trunc, np.floor, np.ceil)):
        np.testing.assert_array_equal(row, function(wide))
    np.testing.assert_array_equal(got[4], np.clip(np.trunc(wide), -32768, 32767))
    np.testing.assert_array_equal(got[5], a.view("u2"))
    x = RNG.integers(-(2**62), 2**62, N) >> RNG.integers(0, 60, N)
    texts = ["__ll2half_rn(x)", "__int2half_rn((int)x)", "__ll2half_rz(x)"]
    got = evaluate(texts, {"x": ("long long", x)}, "__half", headers=["cuda_fp16.h"])
    same(got[0], x.astype(np.longdouble).astype("f2"), texts[0])
    same(got[1], x.astype("i4").astype("f8").astype("f2"), texts[1])
    near = x.astype(np.longdouble).astype("f2")
    zero = np.where(
        np.abs(near.astype(np.longdouble)) > np.abs(x.astype(np.longdouble)), np.nextafter(near, np.float16(0)), near
    )
    same(got[2], zero, texts[2])


BFLOAT = {
    "__hadd(a, b)": lambda a, b, c: a + b,
    "__hsub(a, b)": lambda a, b, c: a - b,
    "__hmul(a, b)": lambda a, b, c: a * b,
    "__hfma(a, b, c)": lambda a, b, c: a.astype(np.longdouble) * b + c,
    "__hneg(a)": lambda a, b, c: -a,
    "__habs(a)": lambda a, b, c: np.abs(a),
    "__float2bfloat16(__bfloat162float(a) * 3.3f)": lambda a, b, c: (a * np.float32(3.3)).astype("f4"),
    "__double2bfloat16((double)a * 1.7)": lambda a, b, c: a * 1.7,
    "__hlt(a, b) ? a : b": lambda a, b, c: np.where(a < b, a, b),
    "__high2bfloat16(__hadd2(__halves2bfloat162(c, a), __halves2bfloat162(c, b)))": lambda a, b, c: a + b,
}


@np.errstate(all="ignore")
def test_bfloat16():
    inputs = {name: to_bfloat(values()) for name in "abc"}
    for array in list(inputs.values())[1:]:
        RNG.shuffle(array)
    got = evaluate(
        list(BFLOAT), {n: ("__nv_bfloat16", v) for n, v in inputs.items()}, "__nv_bfloat16", headers=["cuda_bf16.h"]
    )
    wide = [from_bfloat(v) for v in inputs.values()]
    for (text, reference), row in zip(BFLOAT.items(), got):
        expected = to_bfloat(np.asarray(reference(*wide)).astype("f8"))
        nan = np.isnan(from_bfloat(expected))
        np.testing.assert_array_equal(np.isnan(from_bfloat(row)), nan, err_msg=text)
        np.testing.assert_array_equal(row[~nan], expected[~nan], err_msg=text)


@np.errstate(all="ignore")
@pytest.mark.parametrize(("kind", "name"), [("__nv_fp8_e4m3", "float8_e4m3fn"), ("__nv_fp8_e5m2", "float8_e5m2")])
def test_fp8(kind, name):
    torch = pytest.importorskip("torch")
    a = np.concatenate([np.arange(0, 449, 0.5), -np.arange(0, 30, 0.01), RNG.standard_normal(300) / 50]).astype("f4")
    texts = [f"{kind}(a).__x", f"{kind}((double)a).__x", f"{kind}(__float2half(a)).__x"]
    headers = ["cuda_fp16.h", "cuda_fp8.h"]
    got = evaluate(texts, {"a": ("float", a)}, "unsigned", headers=headers)
    expected = torch.from_numpy(a).to(getattr(torch, name)).view(torch.uint8).numpy()
    np.testing.assert_array_equal(got[0], expected)
    np.testing.assert_array_equal(got[1], expected)
    exact = a.astype("f2").astype("f4") == a
    np.testing.assert_array_equal(got[2][exact], expected[exact])
    every = np.arange(256, dtype="u4")
    code = f"__device__ float wide(unsigned x) {{ {kind} v; v.__x = x; return (float)v; }}"
    back = evaluate(["wide(x)"], {"x": ("unsigned", every)}, "float", headers=headers, code=code)
    reference = torch.arange(256, dtype=torch.uint8).view(getattr(torch, name)).float().numpy()
    np.testing.assert_array_equal(back[0], reference)


@np.errstate(all="ignore")
def test_conversions_written_in_ptx():
    """The instructions of newer GPUs, which the headers leave out for the GPU that the team compiles for."""
    torch = pytest.importorskip("torch")
    code = """
__device__ unsigned e4m3x2(float a, float b) {
  unsigned short d; asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(d) : "f"(a), "f"(b)); return d;
}
__device__ unsigned f16x2(float a, float b) {
  unsigned d; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(a), "f"(b)); return d;
}
__device__ unsigned bf16x2(float a, float b) {
  unsigned d; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(a), "f"(b)); return d;
}
__device__ unsigned back(float a, float b) {
  unsigned d; unsigned short s = e4m3x2(a, b); asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(d) : "h"(s)); return d;
}
__device__ unsigned relu(float a) {
  unsigned short d; asm("cvt.rn.relu.f16.f32 %0, %1;" : "=h"(d) : "f"(a)); return d;
}"""
    a, b = (RNG.standard_normal(N).astype("f4") * 100 for _ in range(2))
    texts = ["e4m3x2(a, b)", "f16x2(a, b)", "bf16x2(a, b)", "back(a, b)", "relu(a)"]
    got = evaluate(texts, {"a": ("float", a), "b": ("float", b)}, "unsigned", code=code)
    e4m3 = [torch.from_numpy(x).clamp(-448, 448).to(torch.float8_e4m3fn) for x in (a, b)]
    bits = [x.view(torch.uint8).numpy().astype("u4") for x in e4m3]
    np.testing.assert_array_equal(got[0], bits[0] << 8 | bits[1])
    half = [x.astype("f2").view("u2").astype("u4") for x in (a, b)]
    np.testing.assert_array_equal(got[1], half[0] << 16 | half[1])
    bfloat = [to_bfloat(x).astype("u4") for x in (a, b)]
    np.testing.assert_array_equal(got[2], bfloat[0] << 16 | bfloat[1])
    wide = [x.half().view(torch.int16).numpy().view("u2").astype("u4") for x in e4m3]
    np.testing.assert_array_equal(got[3], wide[0] << 16 | wide[1])
    np.testing.assert_array_equal(got[4], np.maximum(a, 0).astype("f2").view("u2"))


def table(exponent_bits: int, mantissa_bits: int) -> np.ndarray:
    """The numbers of a format without infinities and NaNs, by their bits: those without a sign."""
    codes = np.arange(1 << (exponent_bits + mantissa_bits))
    fields, rest = codes >> mantissa_bits, codes % (1 << mantissa_bits)
    bias = (1 << (exponent_bits - 1)) - 1
    significands = rest / 2.0**mantissa_bits + (fields > 0)
    return significands * 2.0 ** (np.maximum(fields, 1) - bias)


def nearest(x: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Bits of the nearest number, of two the even one; of NaN the largest, without a sign."""
    x = x.astype("f8")
    size = np.minimum(np.nan_to_num(np.abs(x), nan=np.inf), numbers[-1])
    distance = np.abs(size[:, None] - numbers)
    ties = distance == distance.min(1, keepdims=True)
    codes = np.arange(len(numbers))
    found = np.where(ties, codes + len(numbers) * (codes % 2), 3 * len(numbers)).min(1) % len(numbers)
    return (found + len(numbers) * (np.signbit(x) & ~np.isnan(x))).astype("u4")


def around(numbers: np.ndarray) -> np.ndarray:
    """The numbers, what lies between two of them, what is next to those, and others, in an order of chance."""
    exact = np.concatenate([numbers, (numbers[1:] + numbers[:-1]) / 2, numbers[-1:] * 1.1]).astype("f4")
    found = np.concatenate([exact, np.nextafter(exact, np.float32(np.inf)), np.nextafter(exact, np.float32(-np.inf))])
    found = np.concatenate([found, -found, [np.inf, -np.inf, np.nan, 1e-40, -1e-40], RNG.standard_normal(400) * 3])
    return RNG.permutation(found.astype("f4"))


@pytest.mark.parametrize("name, exponent, mantissa", [("e2m1", 2, 1), ("e2m3", 2, 3), ("e3m2", 3, 2)])
def test_floats_of_four_and_six_bits(name, exponent, mantissa):
    size = 4 if name == "e2m1" else 8
    kind, narrow, wide = ("b8", "cvt.u8.u32", "cvt.u32.u8") if size == 4 else ("b16", "cvt.u16.u32", "cvt.u32.u16")
    code = "".join(
        f"""
__device__ unsigned {function}({parameters}) {{
  unsigned d;
  asm("{{ .reg .{kind} t; cvt.rn.satfinite.{modifiers}{name}x2.{source} t, {operands}; {wide} %0, t; }}"
      : "=r"(d) : {inputs}); return d;
}}"""
        for function, parameters, modifiers, source, operands, inputs in (
            ("floats", "float a, float b", "", "f32", "%1, %2", '"f"(a), "f"(b)'),
            ("relu", "float a, float b", "relu.", "f32", "%1, %2", '"f"(a), "f"(b)'),
            ("halves", "unsigned a", "", "f16x2", "%1", '"r"(a)'),
            ("bfloats", "unsigned a", "", "bf16x2", "%1", '"r"(a)'),
        )
    )
    code += f"""
__device__ unsigned back(unsigned a) {{
  unsigned d; asm("{{ .reg .{kind} t; {narrow} t, %1; cvt.rn.f16x2.{name}x2 %0, t; }}" : "=r"(d) : "r"(a)); return d;
}}"""
    numbers = table(exponent, mantissa)
    a = around(numbers)
    b = RNG.permutation(a)
    halves = a.astype("f2").view("u2").astype("u4") << 16 | b.astype("f2").view("u2")
    bfloats = to_bfloat(a).astype("u4") << 16 | to_bfloat(b)
    codes = RNG.integers(0, 1 << (exponent + mantissa + 1), (2, len(a)), dtype="u4")
    packed = codes[0] << size | codes[1]
    texts = ["floats(a, b)", "relu(a, b)", "halves(h)", "bfloats(w)", "back(c)"]
    inputs = {"a": ("float", a), "b": ("float", b)}
    inputs |= {key: ("unsigned", value) for key, value in (("h", halves), ("w", bfloats), ("c", packed))}
    got = evaluate(texts, inputs, "unsigned", code=code)

    def both(x, y):
        return nearest(x, numbers) << size | nearest(y, numbers)

    np.testing.assert_array_equal(got[0], both(a, b))
    np.testing.assert_array_equal(got[1], both(*(np.where(x < 0, np.float32(0), x) for x in (a, b))))
    np.testing.assert_array_equal(got[2], both(a.astype("f2"), b.astype("f2")))
    np.testing.assert_array_equal(got[3], both(*(from_bfloat(to_bfloat(x)) for x in (a, b))))
    signed = np.concatenate([numbers, -numbers]).astype("f2").view("u2").astype("u4")
    np.testing.assert_array_equal(got[4], signed[codes[0]] << 16 | signed[codes[1]])


def power_of_two(x: np.ndarray, up: bool, saturate: bool) -> np.ndarray:
    """Bits of ue8m0: 2 ** (bits - 127), of the size of a number."""
    size = np.abs(x.astype("f8"))
    fraction, exponent = np.frexp(size)
    exponent = exponent + 126 + (up & (fraction != 0.5))
    largest = 254 if saturate else 255
    found = np.where(size <= 2.0**-127, 0, np.clip(exponent, 0, largest))
    return np.where(np.isnan(x), 255, np.where(np.isinf(x), largest, found)).astype("u4")


def test_powers_of_two():
    code = "".join(
        f"""
__device__ unsigned {rounding}{saturate}_{source}({parameters}) {{
  unsigned short d;
  asm("cvt.{rounding}.{saturate and saturate + "."}ue8m0x2.{source} %0, {operands};" : "=h"(d) : {inputs}); return d;
}}"""
        for rounding in ("rz", "rp")
        for saturate in ("", "satfinite")
        for source, parameters, operands, inputs in (
            ("f32", "float a, float b", "%1, %2", '"f"(a), "f"(b)'),
            ("bf16x2", "unsigned a", "%1", '"r"(a)'),
        )
    )
    code += """
__device__ unsigned back(unsigned a) {
  unsigned d; asm("cvt.rn.bf16x2.ue8m0x2 %0, %1;" : "=r"(d) : "h"((unsigned short)a)); return d;
}"""
    a = (2.0 ** RNG.integers(-149, 128, 2 * N)).astype("f4")
    a[::2] *= RNG.uniform(0.5, 1, N).astype("f4")
    a *= RNG.choice([-1, 1], 2 * N).astype("f4")
    special = [0, -0.0, np.inf, -np.inf, np.nan, 2.0**-126, 2.0**-127, 1.5 * 2.0**-127, 2.0**-128, 3.4e38, 2.0**127]
    a[: len(special)] = special
    b, codes = RNG.permutation(a), np.arange(2 * N, dtype="u4") % 256
    bits = [to_bfloat(x).astype("u4") for x in (a, b)]
    forms = [(rounding, saturate) for rounding in ("rz", "rp") for saturate in ("", "satfinite")]
    texts = [f"{rounding}{saturate}_f32(a, b)" for rounding, saturate in forms]
    texts += [f"{rounding}{saturate}_bf16x2(w)" for rounding, saturate in forms]
    inputs = {"a": ("float", a), "b": ("float", b), "w": ("unsigned", bits[0] << 16 | bits[1])}
    inputs["c"] = ("unsigned", codes << 8 | codes[::-1])
    got = evaluate([*texts, "back(c)"], inputs, "unsigned", code=code)
    for row, (rounding, saturate) in enumerate(forms):
        for shift, pair in ((0, (a, b)), (4, [from_bfloat(x) for x in bits])):
            high, low = (power_of_two(x, rounding == "rp", bool(saturate)) for x in pair)
            np.testing.assert_array_equal(got[row + shift], high << 8 | low, err_msg=f"{rounding} {saturate} {shift}")
    wide = np.where(codes == 255, 0x7FFF, to_bfloat(2.0 ** (codes.astype("f8") - 127))).astype("u4")
    np.testing.assert_array_equal(got[-1], wide << 16 | wide[::-1])


def test_tf32():
    forms = ("rn", "rz", "rna", "rn.satfinite", "rn.relu", "rna.satfinite")
    code = "".join(
        f"""
__device__ float {form.replace(".", "_")}(float a) {{
  unsigned d; asm("cvt.{form}.tf32.f32 %0, %1;" : "=r"(d) : "f"(a)); return __uint_as_float(d);
}}"""
        for form in forms
    )
    a = RNG.integers(0, 1 << 32, 4 * N, dtype="u4")
    a[: 2 * N] = a[: 2 * N] & ~np.uint32(0x1FFF) | RNG.choice([0, 0xFFF, 0x1000, 0x1001, 0x1FFF], 2 * N).astype("u4")
    a[:6] = np.array([0, -0.0, np.inf, -np.inf, np.nan, 3.4028235e38], "f4").view("u4")
    a = a.view("f4")
    got = evaluate([f"{form.replace('.', '_')}(a)" for form in forms], {"a": ("float", a)}, "float", code=code)
    with np.errstate(over="ignore", invalid="ignore"):
        x = a.astype("f8")
        unit = 2.0 ** (np.maximum(np.frexp(x)[1], -125) - 11)
        scaled = np.where(np.isfinite(x), x, 0) / unit
        away = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled)
        units = {"rn": np.rint(scaled), "rz": np.trunc(scaled), "rna": away}
        for form, found in zip(forms, got):
            expected = np.where(np.isfinite(x), units[form.split(".")[0]] * unit, x).astype("f4")
            if "satfinite" in form:
                expected = np.clip(expected, -np.float32(2.0**128 - 2.0**117), np.float32(2.0**128 - 2.0**117))
            if "relu" in form:
                expected = np.where(expected < 0, np.float32(0), expected)
            same(found, expected, form)


def test_min_and_max_of_sizes():
    """``xorsign.abs``: negative where one of two numbers is. Of three it is ``abs`` alone."""
    names = [f"{root}{nan}" for root in ("min", "max") for nan in ("", ".NaN")]
    code = "".join(
        f"""
__device__ float size_{name.replace(".", "_")}(float a, float b) {{
  float d; asm("{name}.xorsign.abs.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b)); return d;
}}
__device__ unsigned sizes_{name.replace(".", "_")}(unsigned a, unsigned b) {{
  unsigned d; asm("{name}.xorsign.abs.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); return d;
}}
__device__ float three_{name.replace(".", "_")}(float a, float b, float c) {{
  float d; asm("{name}.abs.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "f"(c)); return d;
}}"""
        for name in names
    )
    a, b, c = halves(), RNG.permutation(halves()), RNG.permutation(halves())
    pairs = [x.view("u2").astype("u4") << 16 | x[::-1].view("u2") for x in (a, b)]
    inputs = {key: ("float", x.astype("f4")) for key, x in (("a", a), ("b", b), ("c", c))}
    inputs |= {"h": ("unsigned", pairs[0]), "k": ("unsigned", pairs[1])}
    got = evaluate([f"size_{name.replace('.', '_')}(a, b)" for name in names], inputs, "float", code=code)
    three = evaluate([f"three_{name.replace('.', '_')}(a, b, c)" for name in names], inputs, "float", code=code)
    packed = evaluate([f"sizes_{name.replace('.', '_')}(h, k)" for name in names], inputs, "unsigned", code=code)
    functions = {"min": np.fmin, "min.NaN": np.minimum, "max": np.fmax, "max.NaN": np.maximum}
    for name, single, pair, of_three in zip(names, got, packed, three):
        size = functions[name](np.abs(a), np.abs(b))
        expected = np.where(np.isnan(size), size, np.where(np.signbit(a) ^ np.signbit(b), -size, size))
        same(single, expected.astype("f4"), name)
        same((pair >> 16).astype("u2").view("f2"), expected, name)
        same((pair & 0xFFFF).astype("u2").view("f2")[::-1], expected, name)
        same(of_three, functions[name](size, np.abs(c)).astype("f4"), name)


def half_zeros(x: np.ndarray) -> np.ndarray:
    """Subnormal halves as zeros of their sign."""
    return np.where(np.abs(x) < np.float16(2.0**-14), np.copysign(np.float16(0), x), x)


def ordered(function, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """min or max, for which +0 is larger than -0."""
    zero = np.copysign(np.float16(0), function(np.copysign(1, a), np.copysign(1, b))).astype(a.dtype)
    return np.where((a == 0) & (b == 0), zero, function(a, b))


FLUSHED = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "min": lambda a, b: ordered(np.fmin, a, b),
    "max": lambda a, b: ordered(np.fmax, a, b),
    "neg": lambda a, b: -a,
    "abs": lambda a, b: np.abs(a),
}


@pytest.mark.parametrize("ftz", [False, True])
def test_two_halves_with_subnormal_numbers_and_zeros(ftz):
    suffix = ".ftz" if ftz else ""
    code = "".join(
        f"""
__device__ unsigned do_{name}(unsigned a, unsigned b) {{
  unsigned d; asm("{name}{suffix}.f16x2 %0, %1{"" if name in ("neg", "abs") else ", %2"};" : "=r"(d) : "r"(a), "r"(b));
  return d;
}}"""
        for name in FLUSHED
    )
    code += f"""
__device__ unsigned less(unsigned a, unsigned b) {{
  unsigned d;
  asm("{{ .reg .pred p, q; .reg .b32 l, h; setp.lt{suffix}.f16x2 p|q, %1, %2; selp.b32 l, 1, 0, p;"
      "selp.b32 h, 65536, 0, q; or.b32 %0, l, h; }}" : "=r"(d) : "r"(a), "r"(b)); return d;
}}"""
    a = (RNG.standard_normal(N) * 10.0 ** RNG.integers(-7, 1, N)).astype("f2")
    a[: N // 4] = RNG.choice(np.array([0, -0.0, 6e-8, -6e-8], "f2"), N // 4)
    b = np.concatenate([RNG.permutation(a[: N // 4]), RNG.permutation(a[N // 4 :])])
    pairs = [x.view("u2").astype("u4") << 16 | x[::-1].view("u2") for x in (a, b)]
    inputs = {"a": ("unsigned", pairs[0]), "b": ("unsigned", pairs[1])}
    got = evaluate([*(f"do_{name}(a, b)" for name in FLUSHED), "less(a, b)"], inputs, "unsigned", code=code)
    flush = half_zeros if ftz else np.asarray
    for (name, function), row in zip(FLUSHED.items(), got):
        expected = flush(function(flush(a), flush(b)))
        same((row >> 16).astype("u2").view("f2"), expected, name)
        same((row & 0xFFFF).astype("u2").view("f2")[::-1], expected, name)
    np.testing.assert_array_equal(got[-1] >> 16, flush(a) < flush(b))
    np.testing.assert_array_equal((got[-1] & 0xFFFF)[::-1], flush(a) < flush(b))


def test_floats_with_subnormal_numbers_and_zeros():
    code = "".join(
        f"""
__device__ float {name}_{"ftz" if ftz else "plain"}(float a, float b) {{
  float d; asm("{text.format(ftz)}" : "=f"(d) : "f"(a), "f"(b)); return d;
}}"""
        for ftz in ("", ".ftz")
        for name, text in (
            ("least", "min{}.f32 %0, %1, %2;"),
            ("most", "max{}.f32 %0, %1, %2;"),
            ("less", "{{ .reg .pred p; setp.lt{}.f32 p, %1, %2; selp.f32 %0, 0f3F800000, 0f00000000, p; }}"),
        )
    )
    a = (RNG.standard_normal(N) * 10.0 ** RNG.integers(-41, -36, N)).astype("f4")
    a[: N // 4] = RNG.choice(np.array([0, -0.0, 1e-40, -1e-40], "f4"), N // 4)
    b = np.concatenate([RNG.permutation(a[: N // 4]), RNG.permutation(a[N // 4 :])])
    forms = [(name, ftz) for ftz in ("plain", "ftz") for name in ("least", "most", "less")]
    inputs = {"a": ("float", a), "b": ("float", b)}
    got = evaluate([f"{name}_{ftz}(a, b)" for name, ftz in forms], inputs, "float", code=code)
    functions = {
        "least": lambda x, y: ordered(np.fmin, x, y),
        "most": lambda x, y: ordered(np.fmax, x, y),
        "less": lambda x, y: (x < y).astype("f4"),
    }
    for (name, ftz), row in zip(forms, got):
        given = [np.where(np.abs(x) < np.float32(2.0**-126), np.copysign(np.float32(0), x), x) for x in (a, b)]
        same(row, functions[name](*(given if ftz == "ftz" else (a, b))).astype("f4"), f"{name} {ftz}")


RANDOM_FORMATS = {"f16": (5, 10), "bf16": (8, 7), "e4m3": (4, 3), "e5m2": (5, 2), "e2m1": (2, 1), "e2m3": (2, 3)}
LARGEST = {"f16": 65504, "bf16": 2.0**128 - 2.0**120, "e4m3": 448, "e5m2": 57344, "e2m1": 6, "e2m3": 7.5}


@pytest.mark.parametrize("name", list(RANDOM_FORMATS))
def test_rounding_by_random_bits(name):
    """Up where the random bits and what is cut off are one or more, in units of the last place."""
    exponent_bits, mantissa_bits = RANDOM_FORMATS[name]
    several = 2 if name.endswith("f16") else 4
    size = {"f16": 16, "bf16": 16, "e2m1": 4}.get(name, 8)
    inputs = {letter: ("float", values().astype("f4")) for letter in "abcd"[:several]}
    for _, array in inputs.values():
        np.clip(array, -LARGEST[name], LARGEST[name], out=array)
        array[np.isnan(array)] = 0
    inputs["r"] = ("unsigned", RNG.integers(0, 1 << 32, N, dtype="u4"))
    letters = ", ".join(f"float {letter}" for letter in "abcd"[:several])
    operands = ", ".join(f"%{1 + place}" for place in range(several))
    operands = operands if several == 2 else f"{{{operands}}}"
    register = "h" if size * several == 16 else "r"
    given = ", ".join(f'"f"({letter})' for letter in "abcd"[:several])
    code = f"""
__device__ unsigned packed({letters}, unsigned r) {{
  {"unsigned short" if register == "h" else "unsigned"} out;
  asm("cvt.rs.satfinite.{name}x{several}.f32 %0, {operands}, %{several + 1};" : "={register}"(out) : {given}, "r"(r));
  return out;
}}"""
    call = f"packed({', '.join('abcd'[:several])}, r)"
    (got,) = evaluate([call], inputs, "unsigned", code=code)
    random = inputs["r"][1].astype("u8")
    high, low = random >> 16, random & 0xFFFF
    if name == "f16":
        high, low = (high & 0x1FFF) << 3, (low & 0x1FFF) << 3
    if name == "e2m1":
        high, low = (high & 0xFF00) | (low >> 8), (high & 0xFF) << 8 | (low & 0xFF)
    bias = (1 << (exponent_bits - 1)) - 1
    for place, letter in enumerate("abcd"[:several]):
        x = inputs[letter][1].astype("f8")
        exponent = np.maximum(np.frexp(np.abs(x))[1] - 1, 1 - bias)
        places = np.abs(x) / 2.0 ** (exponent - mantissa_bits)
        bits = high if place < several // 2 else low
        units = np.floor(places + bits.astype("f8") / 2**16)
        wanted = np.minimum(units * 2.0 ** (exponent - mantissa_bits), LARGEST[name])
        found = got >> np.uint32(size * (several - 1 - place)) & np.uint32((1 << size) - 1)
        sign = found >> np.uint32(exponent_bits + mantissa_bits)
        number = table(exponent_bits, mantissa_bits)[found & ((1 << exponent_bits + mantissa_bits) - 1)]
        np.testing.assert_array_equal(number, wanted, err_msg=f"{name} {letter}")
        np.testing.assert_array_equal(sign, np.signbit(x), err_msg=f"{name} {letter}")
