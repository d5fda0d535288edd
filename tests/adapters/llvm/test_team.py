"""What hand-written NVVM IR may use on the CPU: shared memory, barriers, warps, printf, assert, checks with lines."""

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tle_raw import Element, InOut, Out, Pointer, Scalar, Tile
from tle_raw.errors import KernelFailed, UnsupportedFeatureError
from tle_raw.flir.cpu.run_fragment import run_fragment
from tle_raw.knobs import knobs

RANDOM = np.random.default_rng(11)
THREAD = "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
REVERSE = """
@scratch = internal addrspace(3) global [128 x float] undef, align 16
@format = private constant [14 x i8] c"thread %d: %g\\00"
@what = private constant [10 x i8] c"x < limit\\00"
@file = private constant [8 x i8] c"here.cu\\00"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()
declare i32 @vprintf(ptr, ptr)
declare void @__assertfail(ptr, ptr, i32, ptr, i64)
define void @reverse(ptr addrspace(3) %t, float %limit) {
entry:
  %buffer = alloca { i32, double }
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(3) %t, i32 %i
  %x = load float, ptr addrspace(3) %p
  %s = getelementptr [128 x float], ptr addrspace(3) @scratch, i32 0, i32 %i
  store float %x, ptr addrspace(3) %s
  %large = fcmp ogt float %x, %limit
  br i1 %large, label %stop, label %go
stop:
  call void @__assertfail(ptr @what, ptr @file, i32 7, ptr @what, i64 1)
  unreachable
go:
  call void @llvm.nvvm.barrier0()
  %j = sub i32 127, %i
  %r = getelementptr float, ptr addrspacecast (ptr addrspace(3) @scratch to ptr), i32 %j
  %y = load float, ptr %r
  store float %y, ptr addrspace(3) %p
  %first = icmp eq i32 %i, 3
  br i1 %first, label %say, label %end
say:
  store i32 %i, ptr %buffer
  %wide = fpext float %y to double
  %field = getelementptr { i32, double }, ptr %buffer, i32 0, i32 1
  store double %wide, ptr %field
  %n = call i32 @vprintf(ptr @format, ptr %buffer)
  br label %end
end:
  ret void
}
"""


def reverse(t: InOut[Tile["f32", 128]], limit: Scalar["f32"]): ...


@pytest.mark.parametrize("space", [0, 4])
def test_shared_memory_a_barrier_and_printf(declare, capfd, space):
    text = REVERSE
    if space:  # as Numba writes it
        text = text.replace("@format = private constant", "@format = private addrspace(4) constant")
        text = text.replace("ptr @format", "ptr addrspacecast (ptr addrspace(4) @format to ptr)")
    compiled = declare(text, reverse).compile(target="cpu")
    assert compiled.static_shared[0][1:] == (512, 16) and compiled.uses_barrier
    t = RANDOM.standard_normal(128).astype("f4")
    np.testing.assert_array_equal(run_fragment(compiled, {"t": t, "limit": 100.0})[0], t[::-1])
    assert capfd.readouterr().out == f"thread 3: {t[124]:g}"


def test_assert(run):
    t = np.zeros(128, "f4")
    t[5] = 2
    with pytest.raises(KernelFailed, match="thread 5: the assertion `x < limit` failed") as caught:
        run(REVERSE, reverse, t=t, limit=1.0)
    assert (caught.value.context.source.file, caught.value.context.source.line) == ("here.cu", 7)


@pytest.mark.one_triton
def test_shuffles_votes_and_atomics(run):
    def total(p: InOut[Pointer["f32"]], out: InOut[Pointer["f32"]], votes: InOut[Pointer["i32"]]): ...

    steps = "".join(
        f"  %o{n} = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %s{n}, i32 {1 << n}, i32 31)\n"
        f"  %s{n + 1} = fadd float %s{n}, %o{n}\n"
        for n in range(5)
    )
    text = f"""{THREAD}declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
define void @total(ptr addrspace(1) %p, ptr addrspace(1) %out, ptr addrspace(1) %votes) {{
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = getelementptr float, ptr addrspace(1) %p, i32 %i
  %s0 = load float, ptr addrspace(1) %a
{steps}  %positive = fcmp ogt float %s0, 0.0
  %ballot = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %positive)
  %lane = and i32 %i, 31
  %leads = icmp eq i32 %lane, 0
  br i1 %leads, label %lead, label %end
lead:
  %warp = lshr i32 %i, 5
  %b = getelementptr i32, ptr addrspace(1) %votes, i32 %warp
  store i32 %ballot, ptr addrspace(1) %b
  %old = atomicrmw fadd ptr addrspace(1) %out, float %s5 syncscope("device") monotonic
  br label %end
end:
  ret void
}}"""
    p = RANDOM.integers(-50, 50, 256).astype("f4")
    out, votes = np.zeros(1, "f4"), np.zeros(8, "i4")
    run(text, total, num_warps=8, p=p, out=out, votes=votes)
    assert out[0] == p.sum(dtype="f8")
    bits = (p.reshape(8, 32) > 0) @ (1 << np.arange(32, dtype="u8"))
    np.testing.assert_array_equal(votes.view("u4"), bits)


def test_inline_ptx_and_reflection(run):
    def g(x: Element["u32"]) -> Element["u32"]: ...

    text = """@ftz = private constant [11 x i8] c"__CUDA_FTZ\\00"
@arch = private constant [12 x i8] c"__CUDA_ARCH\\00"
declare i32 @__nvvm_reflect(ptr)
define i32 @g(i32 %x) {
  %r = call i32 asm "lop3.b32 $0, $1, $2, 0, 0x3c;", "=r,r,r"(i32 %x, i32 255)
  %f = call i32 @__nvvm_reflect(ptr @ftz)
  %a = call i32 @__nvvm_reflect(ptr @arch)
  %s = add i32 %f, %a
  %t = add i32 %r, %s
  ret i32 %t
}"""
    x = RANDOM.integers(0, 1 << 32, 100, dtype="u4")
    np.testing.assert_array_equal(run(text, g, x=x), (x ^ 255) + 800)


def test_what_the_cpu_cannot_run(refusal):
    def f(p: InOut[Pointer["f32"]]): ...

    text = """declare i32 @llvm.nvvm.wmma.m8n8k32.load.a.row.s4.p1(ptr addrspace(1))
define void @f(ptr addrspace(1) %p) {
  %m = call i32 @llvm.nvvm.wmma.m8n8k32.load.a.row.s4.p1(ptr addrspace(1) %p)
  store i32 %m, ptr addrspace(1) %p
  ret void
}"""
    error = refusal(text, f, target="cpu")
    assert isinstance(error, UnsupportedFeatureError) and "wmma_m8n8k32" in str(error) and "tensor cores" in error.hint


LINES = """
@scratch = internal addrspace(3) global [128 x i32] undef, align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define void @f(i32 %n, ptr %out) !dbg !4 {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !5
  %s = getelementptr i32, ptr addrspace(3) @scratch, i32 %i, !dbg !5
  %some = icmp slt i32 %i, %n, !dbg !5
  br i1 %some, label %write, label %go, !dbg !5
write:
  store i32 %i, ptr addrspace(3) %s, !dbg !5
  br label %go, !dbg !5
go:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !6
  %j = xor i32 %i, 64, !dbg !7
  %r = getelementptr i32, ptr addrspace(3) @scratch, i32 %j, !dbg !7
  %v = load i32, ptr addrspace(3) %r, !dbg !7
  %o = getelementptr i32, ptr %out, i32 %i, !dbg !7
  store i32 %v, ptr %o, !dbg !7
  ret void, !dbg !7
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "made.f90", directory: ".")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !{null})
!4 = distinct !DISubprogram(name: "f", file: !1, line: 1, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DILocation(line: 11, column: 3, scope: !4)
!6 = !DILocation(line: 12, column: 3, scope: !4)
!7 = !DILocation(line: 13, column: 3, scope: !4)
"""


def checked(n: Scalar["i32"], out: InOut[Pointer["i32"]]): ...


checked.__name__ = "f"


@pytest.mark.one_triton
def test_debug_checks_tell_the_line_of_the_irs_own_source(run):
    out = np.zeros(128, "i4")
    run(LINES, checked, n=128, out=out)
    np.testing.assert_array_equal(out, np.arange(128) ^ 64)
    with knobs.scope():
        knobs.debug = True
        run(LINES, checked, n=128, out=out)
        with pytest.raises(KernelFailed, match="thread 36 reads shared memory that nothing has been written") as caught:
            run(LINES, checked, n=100, out=out)
    assert (caught.value.context.source.file, caught.value.context.source.line) == ("made.f90", 13)


@pytest.mark.one_triton
def test_without_lines_a_failure_names_the_function(run):
    plain = "\n".join(line.partition(", !dbg")[0] for line in LINES.splitlines() if not line.startswith("!"))
    plain = plain.replace(" !dbg !4", "")
    with knobs.scope():
        knobs.debug = True
        with pytest.raises(KernelFailed, match="nothing has been written") as caught:
            run(plain, checked, n=100, out=np.zeros(128, "i4"))
    assert caught.value.context.source.file == __file__.replace("test_team", "conftest")


@tle_raw.dialect("llvm", source=REVERSE)
def reverse_in_kernel(t: InOut[Tile["f32", 128]], limit: Scalar["f32"]): ...


@tle_raw.dialect("llvm", source="""
declare double @__nv_sin(double)
define double @sine(double %x) {
  %y = call double @__nv_sin(double %x)
  ret double %y
}
""")  # fmt: skip
def sine(x: Element["f64"]) -> Element["f64"]: ...


@tle_raw.dialect("llvm", source=f"""{THREAD}
define i32 @turned(ptr %b, ptr %t, i64 %o, i64 %m, i64 %n, i64 %sm, i64 %sn, ptr addrspace(3) %out) {{
entry:
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %w = zext i32 %i to i64
  br label %check
check:
  %k = phi i64 [ %w, %entry ], [ %next, %work ]
  %size = mul i64 %m, %n
  %more = icmp ult i64 %k, %size
  br i1 %more, label %work, label %end
work:
  %row = udiv i64 %k, %n
  %column = urem i64 %k, %n
  %a = mul i64 %row, %sm
  %from = add i64 %a, %column
  %c = mul i64 %column, %m
  %to = add i64 %c, %row
  %p = getelementptr i16, ptr %t, i64 %from
  %v = load i16, ptr %p
  %q = getelementptr i16, ptr addrspace(3) %out, i64 %to
  store i16 %v, ptr addrspace(3) %q
  %next = add i64 %k, 128
  br label %check
end:
  %r = trunc i64 %m to i32
  ret i32 %r
}}
""")  # fmt: skip
def turned(t: Tile["u16", "M", "N"], out: Out[Tile["u16", "N", "M"]]) -> Scalar["i32"]: ...


@triton.jit
def whole_kernel(x, y, z, rows, M: tl.constexpr, N: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * 128 + tl.arange(0, 128)
    tl.store(x + offsets, reverse_in_kernel(tl.load(x + offsets), 1e6))
    tl.store(y + offsets, sine(tl.load(y + offsets)))
    i, j = tl.arange(0, M), tl.arange(0, N)
    t, m = turned(tl.load(z + pid * M * N + i[:, None] * N + j[None, :]))
    tl.store(z + pid * M * N + j[:, None] * M + i[None, :], t)
    tl.store(rows + pid, m)


@pytest.mark.one_triton
def test_a_kernel_on_the_cpu():
    x = RANDOM.standard_normal((3, 128)).astype("f4")
    y = RANDOM.standard_normal((3, 128)) * 1000
    z = RANDOM.integers(0, 1 << 16, (3, 16, 32), dtype="u2")
    rows = np.zeros(3, "i4")
    before, angles, tiles = x.copy(), y.copy(), z.copy()
    whole_kernel[(3,)](x, y, z, rows, M=16, N=32)
    np.testing.assert_array_equal(x, before[:, ::-1])
    np.testing.assert_allclose(y, np.sin(angles), rtol=1e-14, atol=1e-15)
    np.testing.assert_array_equal(z.reshape(3, 32, 16), tiles.transpose(0, 2, 1))
    np.testing.assert_array_equal(rows, [16] * 3)
