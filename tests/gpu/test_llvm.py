"""LLVM IR written by hand: every form of a parameter, shared memory, warps, atomics, libdevice."""

import math

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import tle_raw
from tests.gpu.device import (
    DTYPES,
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
from tle_raw import Const, Element, InOut, Out, Pointer, Scalar, Tile
from tle_raw.fragments.dtypes import DTYPES as OURS

pytestmark = pytest.mark.gpu

THREADS = "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\ndeclare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()\n"
SHARED = "ptr addrspace(3)"


def memory_type(name: str) -> str:
    """A dtype's LLVM type in memory."""
    return "i8" if name == "i1" else OURS[name].llvm


def over(count: str | int, body: str, before: str = "", after: str = "  ret void\n") -> str:
    """A function's body in which each thread takes %k = thread, thread + threads, … below ``count``, an i64."""
    return f"""entry:
{before}  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %threads = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %start = zext i32 %thread to i64
  %step = zext i32 %threads to i64
  br label %check
check:
  %k = phi i64 [ %start, %entry ], [ %next, %step_end ]
  %more = icmp ult i64 %k, {count}
  br i1 %more, label %work, label %end
work:
{body}  br label %step_end
step_end:
  %next = add i64 %k, %step
  br label %check
end:
{after}"""


def declared(text: str, stub: object, **options: object) -> tle_raw.Fragment:
    return tle_raw.fragment(text + "\n", signature=stub, dialect="llvm", **options)


# --- tiles ------------------------------------------------------------------------------------------------------------


def turning(name: str, form: str) -> tle_raw.Fragment:
    """A tile transposed into another; its text takes both in one of the accepted forms."""
    kind = memory_type(name)
    descriptor = form.startswith("memref in ")
    pointer = {"address": "i32", "shared": SHARED, "generic": "ptr"}[form.removeprefix("memref in ")]

    def parameters(x: str, rows: str, columns: str) -> str:
        sizes = f", i64 %{x}.offset, i64 %{rows}, i64 %{columns}, i64 %{x}.s0, i64 %{x}.s1"
        return f"{pointer} %{x}.base, {pointer} %{x}{sizes}" if descriptor else f"{pointer} %{x}"

    def place(x: str, row: str, column: str, width: str) -> str:
        s0, s1 = (f"%{x}.s0", f"%{x}.s1") if descriptor else (f"%{width}", "1")
        offset = f"%{x}.offset" if descriptor else "0"
        found = f"""  %{x}.a = mul i64 {row}, {s0}
  %{x}.b = mul i64 {column}, {s1}
  %{x}.c = add i64 %{x}.a, %{x}.b
  %{x}.i = add i64 %{x}.c, {offset}
"""
        if form != "address":
            return f"{found}  %{x}.p = getelementptr {kind}, {pointer} %{x}, i64 %{x}.i\n"
        return f"""{found}  %{x}.n = trunc i64 %{x}.i to i32
  %{x}.bytes = mul i32 %{x}.n, {OURS[name].itemsize}
  %{x}.address = add i32 %{x}, %{x}.bytes
  %{x}.p = inttoptr i32 %{x}.address to {SHARED}
"""

    accessed = SHARED if form == "address" else pointer
    body = (
        "  %row = udiv i64 %k, %n\n  %column = urem i64 %k, %n\n"
        + place("x", "%row", "%column", "n")
        + place("y", "%column", "%row", "m")
        + f"  %v = load {kind}, {accessed} %x.p\n  store {kind} %v, {accessed} %y.p\n"
    )
    # A memref brings its sizes along, and the constants of the signature are left out.
    sizes = "" if descriptor else ", i64 %m, i64 %n"
    taken = f"{parameters('x', 'm', 'n')}{sizes}, {parameters('y', 'ym', 'yn')}"
    loop = over("%size", body, "  %size = mul i64 %m, %n\n")

    def turned(x: Tile[name, "M", "N"], m: Const["M"], n: Const["N"], y: Out[Tile[name, "N", "M"]]): ...

    return declared(f"{THREADS}define void @turned({taken}) {{\n{loop}}}", turned)


@triton.jit
def turn_kernel(x_ptr, y_ptr, FRAGMENT: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    first = tl.program_id(0) * M * N
    y = FRAGMENT(tl.load(x_ptr + first + m[:, None] * N + n[None, :]), M, N)
    tl.store(y_ptr + first + n[:, None] * M + m[None, :], y)


def check_turned(name: str, form: str, num_warps: int = 4, shape: tuple[int, int] = (16, 32)) -> None:
    x = random(name, (3, *shape), seed=7)
    y = poisoned(x)
    turn_kernel[(3,)](x, y, turning(name, form), *shape, num_warps=num_warps)
    check_bits(y.reshape(3, *shape[::-1]), bits(x).transpose(0, 2, 1))


@pytest.mark.parametrize("name", DTYPES)
def test_a_tile_of_every_dtype_crosses_as_a_shared_pointer(name):
    check_turned(name, "shared")


@pytest.mark.parametrize("form", ["generic", "address", "memref in shared", "memref in generic"])
@pytest.mark.parametrize("name", ["u8", "bf16", "f32", "f64"])
def test_a_tile_crosses_in_every_form(name, form):
    check_turned(name, form)


SHAPES = {1: (512,), 2: (16, 32), 3: (4, 16, 8), 4: (8, 2, 4, 8)}


def linear(rank: int) -> tle_raw.Fragment:
    """An int tile gets, at each place, the place's linear index by the memref's own sizes and strides."""
    axes = range(rank)
    names = "".join(f", i64 %{what}{axis}" for what in ("d", "s") for axis in axes)
    lines, rest, index = [], "%k", "%offset"
    for axis in reversed(axes):
        lines += [
            f"  %at{axis} = urem i64 {rest}, %d{axis}",
            f"  %rest{axis} = udiv i64 {rest}, %d{axis}",
            f"  %part{axis} = mul i64 %at{axis}, %s{axis}",
            f"  %index{axis} = add i64 {index}, %part{axis}",
        ]
        rest, index = f"%rest{axis}", f"%index{axis}"
    lines += [
        f"  %p = getelementptr i32, {SHARED} %t, i64 {index}",
        f"  %v = load i32, {SHARED} %p",
        f"  %n = trunc i64 {index} to i32",
        "  %scaled = mul i32 %n, %scale",
        "  %w = add i32 %v, %scaled",
        f"  store i32 %w, {SHARED} %p",
    ]
    body = "\n".join(lines) + "\n"
    text = f"define void @f({SHARED} %base, {SHARED} %t, i64 %offset{names}, i32 %scale) {{\n{over(512, body)}}}"

    def f(t: InOut[Tile["i32", *"ABCD"[:rank]]], scale: Scalar["i32"]): ...  # noqa: F821

    return declared(THREADS + text, f)


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_a_memref_of_every_rank(rank):
    @triton.jit
    def kernel(x_ptr, FRAGMENT: tl.constexpr, SHAPE: tl.constexpr, SIZE: tl.constexpr):
        offsets = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
        y = FRAGMENT(tl.reshape(tl.load(x_ptr + offsets), SHAPE), tl.program_id(0) - 1)
        tl.store(x_ptr + offsets, tl.reshape(y, (SIZE,)))

    x = random("i32", (3, 512), seed=rank)
    before = integers(x)
    kernel[(3,)](x, linear(rank), SHAPES[rank], 512)
    scale = np.arange(-1, 2, dtype=np.int32)[:, None]
    check_integers(x, before + scale * np.arange(512, dtype=np.int32))


# --- scalars, pointers, elements --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DTYPES)
def test_a_scalar_and_a_result_of_every_dtype(name):
    """Thread 0 writes the scalar behind a pointer, and gives back what stands elsewhere."""
    kind, stored = OURS[name].llvm, memory_type(name)
    widen = "  %w = zext i1 %s to i8\n" if kind != stored else f"  %w = select i1 true, {kind} %s, {kind} %s\n"
    narrow = "  %r = icmp ne i8 %b, 0\n" if kind != stored else f"  %r = select i1 true, {kind} %b, {kind} %b\n"
    text = f"""{THREADS}define {kind} @f(ptr addrspace(1) %out, {kind} %s, i64 %i, ptr %table) {{
{widen}  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %thread, 0
  br i1 %first, label %write, label %end
write:
  %p = getelementptr {stored}, ptr addrspace(1) %out, i64 %i
  store {stored} %w, ptr addrspace(1) %p
  br label %end
end:
  %q = getelementptr {stored}, ptr %table, i64 %i
  %b = load {stored}, ptr %q
{narrow}  ret {kind} %r
}}"""

    def f(out: InOut[Pointer[name]], s: Scalar[name], i: Scalar["i64"], table: Pointer[name]) -> Scalar[name]: ...

    fragment = declared(text, f)

    @triton.jit
    def kernel(x_ptr, y_ptr, z_ptr, table_ptr, FRAGMENT: tl.constexpr):
        pid = tl.program_id(0)
        got = FRAGMENT(y_ptr, tl.load(x_ptr + pid), 2 * pid.to(tl.int64), table_ptr)
        tl.store(z_ptr + pid, got)

    x, table = random(name, (9,), seed=1), random(name, (18,), seed=2)
    y, z = poisoned(table), poisoned(x)
    expected = bits(y)  # what stands between stays
    expected[::2] = bits(x)
    kernel[(9,)](x, y, z, table, fragment)
    check_bits(y, expected)
    check_bits(z, bits(table)[::2])


@pytest.mark.parametrize("pointer", ["ptr addrspace(1)", "ptr"])
def test_memory_behind_a_pointer_is_updated_in_an_odd_range(pointer):
    body = f"""  %p = getelementptr double, {pointer} %x, i64 %k
  %v = load double, {pointer} %p
  %w = call double @llvm.fma.f64(double %v, double %v, double %c)
  store double %w, {pointer} %p
"""
    text = f"""{THREADS}declare double @llvm.fma.f64(double, double, double)
define void @squares({pointer} %x, i64 %n, double %c) {{
{over("%n", body)}}}"""

    def squares(x: InOut[Pointer["f64"]], n: Scalar["i64"], c: Scalar["f64"]): ...

    fragment = declared(text, squares)

    @triton.jit
    def kernel(x_ptr, c_ptr, n, stride, FRAGMENT: tl.constexpr):
        FRAGMENT(x_ptr + tl.program_id(0) * stride, n.to(tl.int64), tl.load(c_ptr))

    x = random("f64", (3, 1013))
    c = random("f64", (1,), seed=5)
    before = numbers(x)
    expected = before.copy()
    expected[:, :997] = before[:, :997] ** 2 + numbers(c)
    kernel[(3,)](x, c, 997, 1013, fragment)
    check_close(x, expected, 1e-15, 1e-15)


@pytest.mark.parametrize("value", [7, -300, 70000])
@pytest.mark.parametrize("present", [True, False])
def test_a_constant_is_an_immediate_or_absent(value, present):
    kind = "i64" if value > 0 else "i16"
    taken = f", {kind} %c" if present else ""
    given = "%c" if present else str(value)
    text = f"define float @f(float %x{taken}) {{\n  %f = sitofp {kind} {given} to float\n  %r = fmul float %x, %f\n"

    def f(x: Element["f32"], c: Const["C"]) -> Element["f32"]: ...

    fragment = declared(f"{text}  ret float %r\n}}", f)

    @triton.jit
    def kernel(x_ptr, n, FRAGMENT: tl.constexpr, C: tl.constexpr):
        i = tl.program_id(0) * 128 + tl.arange(0, 128)
        tl.store(x_ptr + i, FRAGMENT(tl.load(x_ptr + i, mask=i < n), C), mask=i < n)

    x = random("f32", (333,))
    expected = numbers(x) * value
    kernel[(3,)](x, 333, fragment, value)
    check_close(x, expected, ROUNDING["f32"])


@triton.jit
def element_kernel(x_ptr, y_ptr, n, FRAGMENT: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x, y = tl.load(x_ptr + i, mask=i < n), tl.load(y_ptr + i, mask=i < n)
    tl.store(x_ptr + i, FRAGMENT(x, y), mask=i < n)


@pytest.mark.parametrize("name", DTYPES)
def test_elements_of_every_dtype(name):
    kind = OURS[name].llvm
    is_float = name in ("f16", "bf16", "f32", "f64")
    body = f"  %a = fmul {kind} %x, %y\n  %r = fadd {kind} %a, %y\n" if is_float else ""
    body = body or f"  %a = mul {kind} %x, %y\n  %r = xor {kind} %a, %x\n"

    def f(x: Element[name], y: Element[name]) -> Element[name]: ...

    fragment = declared(f"define {kind} @f({kind} %x, {kind} %y) {{\n{body}  ret {kind} %r\n}}", f)
    x, y = random(name, (1000,), seed=1), random(name, (1000,), seed=2)
    a, b = numbers(x), numbers(y)
    before, other = bits(x), bits(y)
    element_kernel[(4,)](x, y, 1000, fragment, 256)
    if is_float:
        # The product and the sum are rounded each; where they cancel, the first rounding is what is left.
        check_close(x, a * b + b, 2 * ROUNDING[name], 2 * ROUNDING[name] * np.abs(a * b).max())
    else:
        with np.errstate(over="ignore"):
            check_bits(x, (before * other) ^ before)


@pytest.mark.parametrize("way", ["through a pointer", "as the result"])
@pytest.mark.parametrize("name", ["f32", "i1", "u16"])
def test_an_element_is_updated(name, way):
    kind, stored = OURS[name].llvm, memory_type(name)
    if way == "as the result":
        text = f"define {kind} @f({kind} %x, {kind} %y) {{\n  ret {kind} %y\n}}"
    else:
        widen = "  %w = zext i1 %y to i8\n  store i8 %w, ptr %x\n" if name == "i1" else f"  store {kind} %y, ptr %x\n"
        text = f"define void @f(ptr %x, {kind} %y) {{\n  %v = load {stored}, ptr %x\n{widen}  ret void\n}}"

    def f(x: InOut[Element[name]], y: Element[name]): ...

    x, y = random(name, (300,), seed=1), random(name, (300,), seed=2)
    element_kernel[(2,)](x, y, 299, declared(text, f), 256)
    expected = bits(y)
    expected[299] = bits(random(name, (300,), seed=1))[299]
    check_bits(x, expected)


# --- what a block does together ---------------------------------------------------------------------------------------

REVERSED_FIRST = """  %p = getelementptr i16, ptr addrspace(1) %x, i64 %k
  %v = load i16, ptr addrspace(1) %p
  %s = getelementptr [777 x i16], ptr addrspace(3) @scratch, i64 0, i64 %k
  store i16 %v, ptr addrspace(3) %s
"""
REVERSED_SECOND = """  call void @llvm.nvvm.barrier0()
  br label %check2
check2:
  %j = phi i64 [ %start, %end ], [ %next2, %work2 ]
  %more2 = icmp ult i64 %j, %n
  br i1 %more2, label %work2, label %end2
work2:
  %last = sub i64 %n, 1
  %from = sub i64 %last, %j
  %t = getelementptr i16, ptr addrspacecast (ptr addrspace(3) @scratch to ptr), i64 %from
  %w = load i16, ptr %t
  %q = getelementptr i16, ptr addrspace(1) %x, i64 %j
  store i16 %w, ptr addrspace(1) %q
  %next2 = add i64 %j, %step
  br label %check2
end2:
  ret void
"""
REVERSED = f"""{THREADS}
@scratch = internal addrspace(3) global [777 x i16] undef, align 16
declare void @llvm.nvvm.barrier0()
define void @reversed(ptr addrspace(1) %x, i64 %n) {{
{over("%n", REVERSED_FIRST, after=REVERSED_SECOND)}}}
"""


@pytest.mark.parametrize("num_warps", [1, 2, 4, 8])
def test_static_shared_memory_and_a_barrier(num_warps):
    def reversed(x: InOut[Pointer["u16"]], n: Scalar["i64"]): ...

    fragment = declared(REVERSED, reversed)

    @triton.jit
    def kernel(x_ptr, n, FRAGMENT: tl.constexpr):
        FRAGMENT(x_ptr + tl.program_id(0) * n, n.to(tl.int64))
        FRAGMENT(x_ptr + tl.program_id(0) * n, n.to(tl.int64) // 2)  # the same memory again, on a part

    x = random("u16", (5, 777))
    expected = bits(x)[:, ::-1].copy()
    expected[:, :388] = expected[:, :388][:, ::-1]
    kernel[(5,)](x, 777, fragment, num_warps=num_warps)
    check_bits(x, expected)


def shuffle(kind: str, result: str, value: str, lane: int, clamp: int) -> str:
    return f"  {result} = call i32 @llvm.nvvm.shfl.sync.{kind}.i32(i32 -1, i32 {value}, i32 {lane}, i32 {clamp})\n"


def warps_text() -> str:
    kinds = ("bfly", "up", "down", "idx")
    declarations = [f"declare i32 @llvm.nvvm.shfl.sync.{kind}.i32(i32, i32, i32, i32)\n" for kind in kinds]
    sums = [shuffle("bfly", f"%o{n}", f"%v{n}", 1 << n, 31) + f"  %v{n + 1} = add i32 %v{n}, %o{n}\n" for n in range(5)]
    others = [
        shuffle("up", "%r1", "%v0", 3, 0),
        shuffle("down", "%r2", "%v0", 5, 31),
        shuffle("idx", "%r3", "%v0", 17, 31),
        shuffle("idx", "%r4", "%v0", 2, 24 << 8 | 31),  # in segments of eight lanes
    ]
    stores = [
        f"  %at{n} = add i32 %thread, {128 * n}\n  %q{n} = getelementptr i32, {SHARED} %y, i32 %at{n}\n"
        f"  store i32 {value}, {SHARED} %q{n}\n"
        for n, value in enumerate(("%v5", "%r1", "%r2", "%r3", "%r4", "%r5", "%r6"))
    ]
    return f"""{THREADS}{"".join(declarations)}
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare i1 @llvm.nvvm.vote.all.sync(i32, i1)
define void @warps({SHARED} %x, {SHARED} %y) {{
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i32, {SHARED} %x, i32 %thread
  %v0 = load i32, {SHARED} %p
{"".join((*sums, *others))}
  %odd = trunc i32 %v0 to i1
  %r5 = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %odd)
  %large = icmp ugt i32 %v0, {LARGE}
  %any = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %large)
  %small = xor i1 %large, true
  %all = call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 %small)
  %a = zext i1 %any to i32
  %b = select i1 %all, i32 2, i32 0
  %r6 = or i32 %a, %b
{"".join(stores)}  ret void
}}
"""


LARGE = 4_160_749_568  # few lanes of a warp have more, and often none


def test_shuffles_and_votes():
    def warps(x: Tile["u32", 128], y: Out[Tile["u32", 1024]]): ...

    fragment = declared(warps_text(), warps)

    @triton.jit
    def kernel(x_ptr, y_ptr, FRAGMENT: tl.constexpr):
        pid = tl.program_id(0)
        y = FRAGMENT(tl.load(x_ptr + pid * 128 + tl.arange(0, 128)))
        i = tl.arange(0, 1024)
        tl.store(y_ptr + pid * 1024 + i, y, mask=i < 7 * 128)

    x = random("u32", (7, 128))
    y = poisoned(x, (7, 1024))
    unwritten = integers(y)[:, 7 * 128 :]
    kernel[(7,)](x, y, fragment)
    v = integers(x).reshape(7, 4, 32)
    lane = np.arange(32)
    large = v > LARGE
    rows = [
        np.repeat(v.sum(axis=2, dtype=np.uint32)[..., None], 32, 2),
        v[..., np.where(lane >= 3, lane - 3, lane)],
        v[..., np.where(lane < 27, lane + 5, lane)],
        np.repeat(v[..., 17:18], 32, 2),
        v[..., lane // 8 * 8 + 2],
        np.repeat(((v % 2).astype(np.uint32) << lane.astype(np.uint32)).sum(axis=2, dtype=np.uint32)[..., None], 32, 2),
        np.repeat((large.any(axis=2) + 2 * (~large).all(axis=2)).astype(np.uint32)[..., None], 32, 2),
    ]
    check_integers(y, np.concatenate([*(row.reshape(7, 128) for row in rows), unwritten], axis=1))


ATOMIC_BODY = f"""  %p = getelementptr i32, {SHARED} %x, i64 %k
  %v = load i32, {SHARED} %p
  %bin = and i32 %v, 63
  %q = getelementptr i32, ptr addrspace(1) %bins, i32 %bin
  %b = atomicrmw add ptr addrspace(1) %q, i32 1 syncscope("device") monotonic
  %w1 = getelementptr i32, ptr %words, i32 1
  %w2 = getelementptr i32, ptr %words, i32 2
  %w3 = getelementptr i32, ptr %words, i32 3
  %w4 = getelementptr i32, ptr %words, i32 4
  %w5 = getelementptr i32, ptr %words, i32 5
  %m0 = atomicrmw max ptr %words, i32 %v monotonic
  %m1 = atomicrmw min ptr %w1, i32 %v monotonic
  %m2 = atomicrmw umax ptr %w2, i32 %v monotonic
  %m3 = atomicrmw or ptr %w3, i32 %bin monotonic
  %m4 = atomicrmw xor ptr %w4, i32 %v monotonic
  %wide = sext i32 %v to i64
  %t = atomicrmw add ptr addrspace(1) %total, i64 %wide monotonic
  %tenth = sitofp i32 %bin to float
  %s = atomicrmw fadd ptr addrspace(1) %sum, float %tenth monotonic
  br label %again
again:
  %seen = load atomic i32, ptr %w5 monotonic, align 4
  %one = add i32 %seen, 3
  %pair = cmpxchg ptr %w5, i32 %seen, i32 %one monotonic monotonic
  %done = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %done, label %took, label %again
took:
"""
GATHER = "ptr addrspace(3) %x, ptr addrspace(1) %bins, ptr %words, ptr addrspace(1) %total, ptr addrspace(1) %sum"
ATOMICS = f"{THREADS}define void @gather({GATHER}) {{\n{over(512, ATOMIC_BODY)}}}\n"


def test_atomics():
    def gather(
        x: Tile["i32", 512],
        bins: InOut[Pointer["i32"]],
        words: InOut[Pointer["i32"]],
        total: InOut[Pointer["i64"]],
        sum: InOut[Pointer["f32"]],
    ): ...

    fragment = declared(ATOMICS, gather)

    @triton.jit
    def kernel(x_ptr, bins_ptr, words_ptr, total_ptr, sum_ptr, FRAGMENT: tl.constexpr):
        x = tl.load(x_ptr + tl.program_id(0) * 512 + tl.arange(0, 512))
        FRAGMENT(x, bins_ptr, words_ptr, total_ptr, sum_ptr)

    x = random("i32", (6, 512))
    v = integers(x)
    bins, words = (torch.zeros(n, dtype=torch.int32, device=x.device) for n in (64, 6))
    total = torch.zeros(1, dtype=torch.int64, device=x.device)
    sum_ = torch.zeros(1, dtype=torch.float32, device=x.device)
    kernel[(6,)](x, bins, words, total, sum_, fragment)
    check_integers(bins, np.bincount(v.reshape(-1) & 63, minlength=64).astype(np.int32))
    highest = np.max(v.view(np.uint32)).astype(np.uint32).view(np.int32)
    parts = [max(v.max(), 0), min(v.min(), 0), highest, 63, np.bitwise_xor.reduce(v.reshape(-1)), 3 * v.size]
    check_integers(words, np.array(parts, np.int32))
    check_integers(total, np.array([v.sum(dtype=np.int64)]))
    check_close(sum_, np.array([(v & 63).sum()], np.float64), 0)  # integers that a float holds exactly


COUNT = f"""  %p = getelementptr i8, {SHARED} %x, i64 %k
  %v = load i8, {SHARED} %p
  %low = lshr i8 %v, 3
  %bin = zext i8 %low to i32
  %q = getelementptr [32 x i32], {SHARED} @bins, i32 0, i32 %bin
  %old = atomicrmw add {SHARED} %q, i32 1 monotonic
"""
WRITE = f"""  call void @llvm.nvvm.barrier0()
  br i1 %leads, label %write, label %gone
write:
  %n = load i32, {SHARED} %mine
  %o = getelementptr i32, {SHARED} %y, i32 %lane
  store i32 %n, {SHARED} %o
  br label %gone
gone:
  ret void
"""
SHARED_ATOMICS = f"""{THREADS}
@bins = internal addrspace(3) global [32 x i32] undef, align 4
declare void @llvm.nvvm.barrier0()
define void @histogram({SHARED} %x, {SHARED} %y) {{
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %mine = getelementptr [32 x i32], {SHARED} @bins, i32 0, i32 %lane
  %leads = icmp ult i32 %lane, 32
  br i1 %leads, label %clear, label %ready
clear:
  store i32 0, {SHARED} %mine
  br label %ready
ready:
  call void @llvm.nvvm.barrier0()
  br label %entry
{over(1024, COUNT, after=WRITE)}}}
"""


@pytest.mark.parametrize("num_warps", [1, 4, 8])
def test_atomics_in_shared_memory(num_warps):
    def histogram(x: Tile["u8", 1024], y: Out[Tile["i32", 32]]): ...

    fragment = declared(SHARED_ATOMICS, histogram)

    @triton.jit
    def kernel(x_ptr, y_ptr, FRAGMENT: tl.constexpr):
        y = FRAGMENT(tl.load(x_ptr + tl.program_id(0) * 1024 + tl.arange(0, 1024)))
        tl.store(y_ptr + tl.program_id(0) * 32 + tl.arange(0, 32), y)

    x = random("u8", (5, 1024))
    y = poisoned(random("i32", (5, 32)))
    kernel[(5,)](x, y, fragment, num_warps=num_warps)
    check_integers(y, np.stack([np.bincount(row >> 3, minlength=32) for row in bits(x)]).astype(np.int32))


# --- libdevice, assembly, modules -------------------------------------------------------------------------------------

FUNCTIONS = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "tanh": np.tanh, "atan": np.arctan, "sqrt": np.sqrt, "cbrt": np.cbrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "erf": np.vectorize(math.erf), "erfc": np.vectorize(math.erfc),
    "lgamma": np.vectorize(math.lgamma),
}  # fmt: skip


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_libdevice_against_float64(name):
    kind, suffix = OURS[name].llvm, "f" if name == "f32" else ""
    functions = [f"__nv_{function}{suffix}" for function in FUNCTIONS]
    body = f"  %p = getelementptr {kind}, {SHARED} %x, i64 %k\n  %v = load {kind}, {SHARED} %p\n"
    for index, function in enumerate(functions):
        body += f"""  %v{index} = call {kind} @{function}({kind} %v)
  %at{index} = add i64 %k, {512 * index}
  %q{index} = getelementptr {kind}, {SHARED} %y, i64 %at{index}
  store {kind} %v{index}, {SHARED} %q{index}
"""
    declarations = "".join(f"declare {kind} @{function}({kind})\n" for function in functions)
    text = f"{THREADS}{declarations}define void @f({SHARED} %x, {SHARED} %y) {{\n{over(512, body)}}}"

    def f(x: Tile[name, 512], y: Out[Tile[name, 8192]]): ...

    fragment = declared(text, f)

    @triton.jit
    def kernel(x_ptr, y_ptr, FRAGMENT: tl.constexpr):
        tl.store(y_ptr + tl.arange(0, 8192), FRAGMENT(tl.load(x_ptr + tl.arange(0, 512))))

    x = (random("f64", (512,)).abs() + 0.03).to(DTYPES[name])
    y = poisoned(x, (16, 512))
    kernel[(1,)](x, y, fragment)
    expected = np.stack([function(numbers(x)) for function in FUNCTIONS.values()])
    check_close(y, expected, 16 * ROUNDING[name], 16 * ROUNDING[name])


def test_assembly_a_constant_table_and_a_function_of_another_convention():
    text = """
@table = private unnamed_addr addrspace(4) constant [5 x i32] [i32 3, i32 -1, i32 4, i32 1, i32 -5], align 4
define i32 @f(i32 %x) {
  %r = call i32 asm "lop3.b32 $0, $1, $2, 0, 0x3c;", "=r,r,r"(i32 %x, i32 255)
  %i = urem i32 %x, 5
  %p = getelementptr [5 x i32], ptr addrspace(4) @table, i32 0, i32 %i
  %t = load i32, ptr addrspace(4) %p
  %h = call fastcc i32 @helper(i32 %t, i32 %r)
  ret i32 %h
}
define linkonce_odr fastcc i32 @helper(i32 %a, i32 %b) noinline {
  %m = mul i32 %a, %b
  %s = add i32 %m, %a
  ret i32 %s
}"""

    def f(x: Element["u32"], y: Element["u32"]) -> Element["u32"]: ...

    fragment = declared(text.replace("@f(i32 %x)", "@f(i32 %x, i32 %y)"), f)
    x = random("u32", (1000,))
    v = integers(x)
    element_kernel[(4,)](x, x, 1000, fragment, 256)
    t = np.array([3, -1, 4, 1, -5], np.int32).view(np.uint32)[v % 5]
    with np.errstate(over="ignore"):
        check_integers(x, t * (v ^ np.uint32(255)) + t)


def test_equal_names_in_two_fragments_stay_apart():
    def named(operation: str, number: float) -> tle_raw.Fragment:
        def f(x: Element["f32"]) -> Element["f32"]: ...

        return declared(
            f"""@k = internal addrspace(1) constant float {number:e}
define float @f(float %x) {{
  %r = call float @h(float %x)
  ret float %r
}}
define float @h(float %x) noinline {{
  %k = load float, ptr addrspace(1) @k
  %r = {operation} float %x, %k
  ret float %r
}}""",
            f,
        )

    plus, times = named("fadd", 2.0), named("fmul", -3.0)

    @triton.jit
    def kernel(x_ptr, ONE: tl.constexpr, OTHER: tl.constexpr):
        i = tl.arange(0, 256)
        tl.store(x_ptr + i, ONE(OTHER(ONE(tl.load(x_ptr + i)))))

    x = random("f32", (256,))
    expected = (numbers(x) + 2) * -3 + 2
    kernel[(1,)](x, plus, times)
    check_close(x, expected, 4 * ROUNDING["f32"], 8 * ROUNDING["f32"])
