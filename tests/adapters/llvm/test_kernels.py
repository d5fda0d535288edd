"""LLVM IR fragments inside kernels, for GPUs: inlined in the PTX and the SASS, linked with what else they call."""

import re

import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import compile_kernel, ptx_calls
from tle_raw import Const, Element, InOut, Out, Pointer, Scalar, Tile
from tle_raw.linker.machine_code.sass import read_cubin

pytestmark = pytest.mark.every_triton(2)

SCALE = """
; scales a tile by a vector in global memory; __nv_expf is only declared
define float @scale(ptr addrspace(3) %t, ptr addrspace(1) %v, i64 %n, i32 %k, i1 %negate) {
entry:
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(3) %t, i32 %i
  %x = load float, ptr addrspace(3) %p
  %q = getelementptr float, ptr addrspace(1) %v, i32 %i
  %y = load float, ptr addrspace(1) %q
  %e = call float @__nv_expf(float %y)
  %c = call float @helper(float %x, float %e)
  store float %c, ptr addrspace(3) %p
  %f = sitofp i32 %k to float
  %g = fneg float %f
  %r = select i1 %negate, float %g, float %f
  ret float %r
}
define linkonce_odr fastcc float @helper(float %x, float %y) {
  %z = fmul float %x, %y
  ret float %z
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare float @__nv_expf(float)
""".replace("call float @helper", "call fastcc float @helper")


@tle_raw.dialect("llvm", source=SCALE)
def scale(
    t: InOut[Tile["f32", "N"]], v: Pointer["f32"], n: Scalar["i64"], k: Const["N"], negate: Scalar["i1"]
) -> Scalar["f32"]: ...


@triton.jit
def scale_kernel(x, v, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    t, r = scale(tl.load(x + offsets), v, n, N, n > 5)
    tl.store(x + offsets, t + r)


POINTERS = {"x": "*fp32", "v": "*fp32", "n": "i64"}


def whole(kernel) -> None:
    """One entry and nothing called, in the PTX and in the SASS."""
    assert len(re.findall(r"\.entry\b", kernel.asm["ptx"])) == 1
    assert not ptx_calls(kernel) and ".func" not in kernel.asm["ptx"]
    facts = read_cubin(kernel.asm["cubin"])
    assert not facts.reason and len(facts.entries) == 1 and not facts.calls


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_tiles_pointers_scalars_constants_and_a_result(capability):
    kernel = compile_kernel(scale_kernel, POINTERS, {"N": 128}, capability)
    whole(kernel)
    assert "ex2.approx" in kernel.asm["ptx"]  # of libdevice
    assert "ld.shared" in kernel.asm["ptx"] or "ld.volatile.shared" in kernel.asm["ptx"]


MEMREF = """
define void @turn(ptr addrspace(3) %b, ptr addrspace(3) %t, i64 %o, i64 %m, i64 %n, i64 %sm, i64 %sn,
                  ptr %ob, ptr %ot, i64 %oo, i64 %om, i64 %on, i64 %osm, i64 %osn) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %w = zext i32 %i to i64
  %row = udiv i64 %w, %n
  %column = urem i64 %w, %n
  %a = mul i64 %row, %sm
  %from = add i64 %a, %column
  %c = mul i64 %column, %osm
  %to = add i64 %c, %row
  %p = getelementptr half, ptr addrspace(3) %t, i64 %from
  %v = load half, ptr addrspace(3) %p
  %q = getelementptr half, ptr %ot, i64 %to
  store half %v, ptr %q
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""


@tle_raw.dialect("llvm", source=MEMREF)
def turn(t: Tile["f16", "M", "N"], o: Out[Tile["f16", "N", "M"]]): ...


@triton.jit
def turn_kernel(x, y, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    t = turn(tl.load(x + i[:, None] * N + j[None, :]))
    tl.store(y + j[:, None] * M + i[None, :], t)


def test_memref_descriptors_and_generic_pointers_become_shared_accesses():
    kernel = compile_kernel(turn_kernel, {"x": "*fp16", "y": "*fp16"}, {"M": 8, "N": 16})
    whole(kernel)
    assert not re.search(r"\bld\.b16|\bst\.b16|cvta\.shared|div\.u64", kernel.asm["ptx"])  # spaces and sizes are known


@tle_raw.dialect("llvm", source="""
define half @each(half %x, ptr %old) {
  %v = load half, ptr %old
  %s = fadd half %x, %v
  store half %s, ptr %old
  ret half %s
}
define bfloat @plain(bfloat %x, i8 %flag) {
  %n = fneg bfloat %x
  %c = trunc i8 %flag to i1
  %r = select i1 %c, bfloat %n, bfloat %x
  ret bfloat %r
}
""")  # fmt: skip
def plain(x: Element["bf16"], flag: Element["i1"]) -> Element["bf16"]: ...


@triton.jit
def element_kernel(x, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    v = tl.load(x + offsets)
    tl.store(x + offsets, plain(v, offsets < n))


def test_elements():
    whole(compile_kernel(element_kernel, {"x": "*bf16", "n": "i32"}, {"N": 256}))


SHARED = """
@scratch = internal addrspace(3) global [128 x float] undef, align 16
@format = private constant [14 x i8] c"thread %d: %f\\00"
@what = private constant [2 x i8] c"x\\00"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
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
  call void @__assertfail(ptr @what, ptr @what, i32 7, ptr @what, i64 1)
  unreachable
go:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %j = sub i32 127, %i
  %r = getelementptr float, ptr addrspacecast (ptr addrspace(3) @scratch to ptr), i32 %j
  %y = load float, ptr %r
  store float %y, ptr addrspace(3) %p
  %first = icmp eq i32 %i, 0
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


@tle_raw.dialect("llvm", source=SHARED)
def reverse(t: InOut[Tile["f32", 128]], limit: Scalar["f32"]): ...


@triton.jit
def shared_kernel(x):
    offsets = tl.arange(0, 128)
    tl.store(x + offsets, reverse(tl.load(x + offsets), 100.0))


def test_static_shared_memory_a_barrier_printf_and_assert():
    kernel = compile_kernel(shared_kernel, {"x": "*fp32"})
    ptx = kernel.asm["ptx"]
    assert len(re.findall(r"\.entry\b", ptx)) == 1 and ".shared .align 16 .b8 scratch" in ptx
    called = set(re.findall(r"\b(vprintf|__assertfail|reverse\S*|tle_raw\S*),", "\n".join(ptx_calls(kernel))))
    assert called == {"vprintf", "__assertfail"}
    compiled = reverse.compile(target="cuda:90")
    assert compiled.static_shared[0][1:] == (512, 16) and compiled.uses_barrier
    assert compiled.kept_calls == ("__assertfail", "vprintf")


def test_two_fragments_of_equal_helper_names_in_one_kernel():
    texts = [f"define float @{name}(float %x) {{\n %r = call float @h(float %x)\n ret float %r\n}}\n"
             f"define float @h(float %x) {{\n %r = fadd float %x, {number}\n ret float %r\n}}\n"
             for name, number in (("one", "1.0"), ("two", "2.0"))]  # fmt: skip

    def one(x: Element["f32"]) -> Element["f32"]: ...
    def two(x: Element["f32"]) -> Element["f32"]: ...

    first = tle_raw.fragment(texts[0], signature=one, dialect="llvm")
    second = tle_raw.fragment(texts[1], signature=two, dialect="llvm")

    @triton.jit
    def kernel(x):
        offsets = tl.arange(0, 128)
        tl.store(x + offsets, first(second(tl.load(x + offsets))))

    compiled = compile_kernel(kernel, {"x": "*fp32"})
    whole(compiled)
    assert "0f3F800000" in compiled.asm["ptx"] and "0f40000000" in compiled.asm["ptx"]


def test_an_edited_file_gives_another_kernel(tmp_path):
    def g(x: Element["f32"]) -> Element["f32"]: ...

    file = tmp_path / "g.ll"
    file.write_text("define float @g(float %x) {\n ret float %x\n}\n")
    fragment = tle_raw.fragment(str(file), signature=g)
    before = fragment.compile(target="cuda:90")
    key = fragment.cache_key
    file.write_text("define float @g(float %x) {\n %y = fneg float %x\n ret float %y\n}\n")
    assert fragment.refresh() and fragment.cache_key != key
    after = fragment.compile(target="cuda:90")
    assert after.entry != before.entry and "fneg" in after.text and after.files == (file,)


def test_the_only_function_is_taken_when_the_name_is_nowhere():
    def edsl(x: Element["f32"]) -> Element["f32"]: ...

    text = "define float @only(float %x) {\n %r = fmul float %x, 7.0\n ret float %r\n}\n"
    assert "7.000000e+00" in tle_raw.fragment(text, signature=edsl, dialect="llvm").compile(target="cuda:90").text
