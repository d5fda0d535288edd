"""LLVM IR on the CPU: every dtype and every form of a parameter, against NumPy in float64."""

import math

import numpy as np
import pytest

from tle_raw import Const, Element, InOut, Out, Pointer, Scalar, Tile
from tle_raw.flir.cpu.run_fragment import storage
from tle_raw.fragments.dtypes import DTYPES

pytestmark = pytest.mark.every_triton(1)

RANDOM = np.random.default_rng(7)
THREAD = "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\ndeclare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()\n"
FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = tuple(n for n, d in DTYPES.items() if d.is_integer and n != "i1")


def widened(bits: np.ndarray, dtype: str) -> np.ndarray:
    """The values in float64, or as they are."""
    if dtype == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return bits.astype(np.float64) if dtype.startswith("f") else bits


def random_bits(dtype: str, shape) -> np.ndarray:
    if dtype == "bf16":
        return (RANDOM.standard_normal(shape).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if dtype.startswith("f") and dtype[1] != "8":
        return RANDOM.standard_normal(shape).astype(storage(DTYPES[dtype]))
    limits = np.iinfo(storage(DTYPES[dtype]))
    if dtype == "i1":
        return RANDOM.integers(0, 2, shape, dtype=np.uint8)
    return RANDOM.integers(limits.min, limits.max, shape, dtype=limits.dtype, endpoint=True)


def each(body: str, pointer: str, kind: str, count: int, extra: str = "", result: str = "void") -> str:
    """A function in which each thread works on its share: ``body`` turns %v into %w."""
    return f"""{THREAD}
define {result} @f({pointer} %t{extra}) {{
entry:
  %first = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %step = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  br label %check
check:
  %i = phi i32 [ %first, %entry ], [ %next, %work ]
  %more = icmp slt i32 %i, {count}
  br i1 %more, label %work, label %end
work:
  %a = getelementptr {kind}, {pointer} %t, i32 %i
  %v = load {kind}, {pointer} %a
{body}
  store {kind} %w, {pointer} %a
  %next = add i32 %i, %step
  br label %check
end:
  ret void
}}
"""


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("pointer", ["ptr addrspace(3)", "ptr"])
def test_a_tile_of_floats_times_a_scalar(run, dtype, pointer):
    def f(t: InOut[Tile[dtype, "M", "N"]], s: Scalar[dtype]): ...

    kind = DTYPES[dtype].llvm
    text = each(f"  %w = fmul {kind} %v, %s", pointer, kind, 8 * 64, f", {kind} %s")
    t, s = random_bits(dtype, (8, 64)), random_bits(dtype, ())
    got = run(text, f, {"M": 8, "N": 64}, t=t, s=s)
    wanted = widened(t, dtype) * widened(s, dtype)
    tolerance = {"f16": 1e-3, "bf16": 8e-3, "f32": 1e-6, "f64": 1e-15}[dtype]
    np.testing.assert_allclose(widened(got, dtype), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_a_tile_of_integers_plus_a_scalar_wraps(run, dtype):
    def f(t: InOut[Tile[dtype, "N"]], s: Scalar[dtype]): ...

    kind = DTYPES[dtype].llvm
    t, s = random_bits(dtype, 256), random_bits(dtype, ())
    got = run(each(f"  %w = add {kind} %v, %s", "ptr addrspace(3)", kind, 256, f", {kind} %s"), f, {"N": 256}, t=t, s=s)
    np.testing.assert_array_equal(got, t + s)


@pytest.mark.parametrize("dtype", ["f8e4m3", "f8e5m2"])
def test_small_floats_are_bytes(run, dtype):
    def f(t: InOut[Tile[dtype, 128]], s: Scalar[dtype]): ...

    t, s = random_bits("u8", 128), random_bits("u8", ())
    got = run(each("  %w = xor i8 %v, %s", "ptr", "i8", 128, ", i8 %s"), f, t=t, s=s)
    np.testing.assert_array_equal(got, t ^ s)


@pytest.mark.parametrize("kind", ["i1", "i8"])
@pytest.mark.parametrize("attribute", ["", " zeroext"])
def test_bools_cross_as_bits_or_bytes(run, kind, attribute):
    def f(t: InOut[Tile["i1", 128]], s: Scalar["i1"]) -> Scalar["i1"]: ...

    text = each("  %w = xor i8 %v, %c", "ptr addrspace(3)", "i8", 128, f", {kind}{attribute} %s", f"{kind}")
    widen = "  %c = zext i1 %s to i8\n" if kind == "i1" else "  %c = or i8 %s, 0\n"
    text = text.replace("entry:\n", f"entry:\n{widen}").replace("ret void", f"ret {kind} %s")
    t = random_bits("i1", 128)
    for s in (False, True):
        got, back = run(text, f, t=t, s=s)
        np.testing.assert_array_equal(got, t ^ s)
        assert back == s


def test_a_shared_address_as_an_integer(run):
    def f(t: InOut[Tile["i32", "N"]], u: Tile["i32", "N"]): ...

    text = f"""{THREAD}
define void @f(i32 %t, i32 %u) noinline {{
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %bytes = mul i32 %i, 4
  %at = add i32 %t, %bytes
  %au = add i32 %u, %bytes
  %pt = inttoptr i32 %at to ptr addrspace(3)
  %pu = inttoptr i32 %au to ptr addrspace(3)
  %v = load i32, ptr addrspace(3) %pu
  %w = mul i32 %v, %v
  store i32 %w, ptr addrspace(3) %pt
  ret void
}}"""
    u = RANDOM.integers(-1000, 1000, 128, dtype="i4")
    np.testing.assert_array_equal(run(text, f, {"N": 128}, t=np.zeros(128, "i4"), u=u), u * u)


DESCRIPTOR = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define void @f(ptr {space} %base, ptr {space} %t, i64 %offset, i64 %m, i64 %n, i64 %sm, i64 %sn,
               ptr {space} %obase, ptr {space} %o, i64 %ooffset, i64 %om, i64 %on, i64 %osm, i64 %osn) {{
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i64 = zext i32 %i to i64
  %row = udiv i64 %i64, %n
  %column = urem i64 %i64, %n
  %a = mul i64 %row, %sm
  %b = mul i64 %column, %sn
  %ab = add i64 %a, %b
  %from = add i64 %ab, %offset
  %c = mul i64 %column, %osm
  %d = mul i64 %row, %osn
  %cd = add i64 %c, %d
  %to = add i64 %cd, %ooffset
  %p = getelementptr float, ptr {space} %t, i64 %from
  %v = load float, ptr {space} %p
  %q = getelementptr float, ptr {space} %o, i64 %to
  store float %v, ptr {space} %q
  %size = mul i64 %m, %n
  %same = icmp eq i64 %size, 128
  br i1 %same, label %good, label %bad
good:
  ret void
bad:
  store float -1.0, ptr {space} %obase
  ret void
}}
"""


@pytest.mark.parametrize("space", ["addrspace(3)", ""])
def test_expanded_memref_descriptors(run, space):
    def f(t: Tile["f32", "M", "N"], o: Out[Tile["f32", "N", "M"]]): ...

    t = RANDOM.standard_normal((8, 16)).astype("f4")
    np.testing.assert_array_equal(run(DESCRIPTOR.format(space=space), f, {"M": 8, "N": 16}, t=t), t.T)


def test_one_tile_as_a_descriptor_beside_one_pointer_and_a_constant(run):
    def f(t: Tile["f32", "M"], k: Const["K"], o: Out[Tile["f32", "M"]]): ...

    text = f"""{THREAD}
define void @f(ptr %b, ptr %t, i64 %off, i64 %m, i64 %s, i16 %k, ptr addrspace(3) %o) {{
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr %t, i32 %i
  %v = load float, ptr %p
  %f = sitofp i16 %k to float
  %w = fadd float %v, %f
  %q = getelementptr float, ptr addrspace(3) %o, i32 %i
  store float %w, ptr addrspace(3) %q
  ret void
}}"""
    t = RANDOM.standard_normal(128).astype("f4")
    np.testing.assert_array_equal(run(text, f, {"M": 128, "K": -300}, t=t), t - np.float32(300))


@pytest.mark.parametrize("pointer", ["ptr addrspace(1)", "ptr"])
@pytest.mark.parametrize("dtype", ["f32", "i64", "u16"])
def test_pointers_to_global_memory_and_a_result(run, dtype, pointer):
    def f(p: InOut[Pointer[dtype]], n: Scalar["i64"]) -> Scalar[dtype]: ...

    kind = DTYPES[dtype].llvm
    operation = "fadd" if kind == "float" else "add"
    text = f"""{THREAD}
define {kind} @f({pointer} %p, i64 %n) {{
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %wide = zext i32 %i to i64
  %in = icmp slt i64 %wide, %n
  br i1 %in, label %work, label %end
work:
  %a = getelementptr {kind}, {pointer} %p, i64 %wide
  %v = load {kind}, {pointer} %a
  %w = {operation} {kind} %v, %v
  store {kind} %w, {pointer} %a
  br label %end
end:
  %last = load {kind}, {pointer} %p
  ret {kind} %last
}}"""
    p = random_bits(dtype, 77)
    before = p.copy()
    got = run(text, f, p=p, n=77)
    np.testing.assert_array_equal(p, before + before)
    assert got == p[0]


def test_nothing_crosses(run):
    def f() -> Scalar["u32"]: ...

    assert run(f"{THREAD}\ndefine i32 @f() {{ %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x() ret i32 %n }}", f) == 128


@pytest.mark.parametrize("dtype", [*FLOATS, "i32", "u8"])
def test_elements(run, dtype):
    def f(x: Element[dtype], y: Element[dtype], s: Scalar[dtype]) -> Element[dtype]: ...

    kind = DTYPES[dtype].llvm
    o = "f" if dtype[0] == "f" or dtype[0] == "b" else ""
    body = f" %a = {o}mul {kind} %x, %s\n %b = {o}add {kind} %a, %y\n ret {kind} %b\n"
    text = f"define {kind} @f({kind} %x, {kind} %y, {kind} %s) {{\n{body}}}"
    x, y, s = random_bits(dtype, (5, 7)), random_bits(dtype, (5, 7)), random_bits(dtype, ())
    got = run(text, f, x=x, y=y, s=s)
    if o:
        tolerance = {"f16": 4e-3, "bf16": 3e-2, "f32": 1e-6, "f64": 1e-15}[dtype]
        wanted = widened(x, dtype) * widened(s, dtype) + widened(y, dtype)
        np.testing.assert_allclose(widened(got, dtype), wanted, rtol=tolerance, atol=4 * tolerance)
    else:
        np.testing.assert_array_equal(got, x * s + y)


@pytest.mark.parametrize("text", [
    "define void @f(ptr %x, float %y) {\n"
    " %v = load float, ptr %x\n %w = fmul float %v, %y\n store float %w, ptr %x\n ret void\n}",
    "define float @f(float %x, float %y) {\n %w = fmul float %x, %y\n ret float %w\n}",
], ids=["through a pointer", "as the result"])  # fmt: skip
def test_an_element_is_updated(run, text):
    def f(x: InOut[Element["f32"]], y: Element["f32"]): ...

    x, y = RANDOM.standard_normal((2, 33)).astype("f4")
    np.testing.assert_array_equal(run(text, f, x=x, y=y), x * y)


@pytest.mark.parametrize("text", [
    "define void @f(ptr %x, i1 %y) {\n %v = zext i1 %y to i8\n store i8 %v, ptr %x\n ret void\n}",
    "define i8 @f(i1 %y) {\n %v = zext i1 %y to i8\n ret i8 %v\n}",
    "define i1 @f(i8 %x, i1 %y) {\n ret i1 %y\n}",
], ids=["through a pointer", "as the result", "as the result beside its old value"])  # fmt: skip
def test_a_bool_element_is_made(run, text):
    def f(x: Out[Element["i1"]], y: Element["i1"]): ...

    y = RANDOM.integers(0, 2, 50, dtype="u1")
    np.testing.assert_array_equal(np.asarray(run(text, f, y=y)).view("u1"), y)  # bytes of 0 and 1, no others


LIBDEVICE = {
    "__nv_expf": (np.exp, "f32"), "__nv_sinf": (np.sin, "f32"), "__nv_cos": (np.cos, "f64"),
    "__nv_tanh": (np.tanh, "f64"), "__nv_rsqrtf": (lambda x: 1 / np.sqrt(x), "f32"), "__nv_log2f": (np.log2, "f32"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIBDEVICE)
def test_libdevice(run, name):
    wanted, dtype = LIBDEVICE[name]
    kind = DTYPES[dtype].llvm

    def f(x: Element[dtype]) -> Element[dtype]: ...

    body = f" %r = call {kind} @{name}({kind} %x)\n ret {kind} %r\n"
    text = f"declare {kind} @{name}({kind})\ndefine {kind} @f({kind} %x) {{\n{body}}}"
    x = RANDOM.uniform(0.1, 100 if "exp" not in name else 10, 257).astype(storage(DTYPES[dtype]))
    tolerance = 1e-6 if dtype == "f32" else 1e-14
    np.testing.assert_allclose(run(text, f, x=x), wanted(x.astype("f8")), rtol=tolerance, atol=tolerance)


def test_libdevice_in_a_region(run):
    def f(t: InOut[Tile["f64", "N"]]): ...

    text = "declare double @__nv_erf(double)\n" + each(
        "  %w = call double @__nv_erf(double %v)", "ptr addrspace(3)", "double", 512
    )
    t = RANDOM.standard_normal(512)
    wanted = [math.erf(x) for x in t]
    np.testing.assert_allclose(run(text, f, {"N": 512}, t=t), wanted, rtol=1e-14, atol=1e-15)
