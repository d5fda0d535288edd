"""What is wrong with LLVM IR is told with its line before anything is linked; bad text never ends the process."""

import pytest

import tle_raw
from tle_raw import Const, Element, InOut, Pointer, Scalar, Tile
from tle_raw.errors import (
    CompilationFailed,
    DialectError,
    FragmentSourceError,
    LinkError,
    SharedMemoryError,
    SignatureMismatchError,
    SymbolError,
    UnresolvedSymbolError,
    UnsupportedFeatureError,
)

pytestmark = pytest.mark.every_triton(2)

BOTH = pytest.mark.parametrize("target", ["cuda:80", "cpu"])


def f(t: InOut[Tile["f32", "N"]], p: Pointer["f32"], s: Scalar["f32"]): ...
def g(x: Element["f32"]) -> Element["f32"]: ...
def f_of_nothing(): ...


f_of_nothing.__name__ = "f"
GOOD = "define float @g(float %x) {\n  ret float %x\n}\n"


def rows(error) -> dict[str, tuple[str, str]]:
    return {row.what: (row.expected, row.got) for row in error.table if row.differs}


@BOTH
def test_a_parameter_of_another_type(refusal, target):
    text = "\n\ndefine void @f(ptr addrspace(3) %t, ptr addrspace(3) %p, double %s) { ret void }"
    error = refusal(text, f, {"N": 64}, target)
    assert isinstance(error, SignatureMismatchError)
    assert rows(error) == {"p": ("ptr addrspace(1) or ptr", "ptr addrspace(3)"), "s": ("float", "double")}
    assert "`p` has another type" in str(error)
    assert (
        error.context.source.text == "define void @f(ptr addrspace(3) %t, ptr addrspace(3) %p, double %s) { ret void }"
    )


def test_too_few_and_too_many_parameters(refusal):
    error = refusal("define void @f(ptr %t, ptr %p) { ret void }", f, {"N": 64})
    assert isinstance(error, SignatureMismatchError) and "it takes 2 parameters, and 3 are passed" in str(error)
    assert rows(error) == {"s": ("float", "(nothing)")}
    error = refusal("define void @f(ptr %t, ptr %p, float %s, i32 %n) { ret void }", f, {"N": 64})
    assert rows(error) == {"#4": ("(nothing)", "i32")}
    assert "3 + 2 * rank" in error.hint


def test_a_descriptor_of_another_rank(refusal):
    text = "define void @f(ptr %b, ptr %t, i64 %o, i64 %m, i64 %n, i64 %x, i64 %y, ptr %p, float %s) { ret void }"
    error = refusal(text, f, {"N": 64})
    assert isinstance(error, SignatureMismatchError) and "it takes 9 parameters" in str(error)


def test_a_result_of_another_type_or_none(refusal):
    assert rows(refusal("define double @g(float %x) { ret double 0.0 }", g)) == {"result": ("float", "double")}
    assert rows(refusal("define void @g(float %x) { ret void }", g)) == {"result": ("float", "void")}
    error = refusal("define float @f() { ret float 0.0 }", f_of_nothing)
    assert rows(error) == {"result": ("void", "float")} and "the result has another type" in str(error)


def test_an_element_that_nothing_updates(refusal):
    def h(x: InOut[Element["f32"]]): ...

    error = refusal("define void @h(float %x) { ret void }", h)
    assert isinstance(error, SignatureMismatchError) and len(rows(error)) == 1


def test_a_constant_that_its_integer_cannot_hold(refusal):
    def h(k: Const["K"]): ...

    error = refusal("define void @h(i8 %k) { ret void }", h, {"K": 300})
    assert rows(error) == {"k": ("i32 or i64 or i16", "i8")}
    refused = refusal("define void @h(float %k) { ret void }", h, {"K": 300})
    assert "k" in rows(refused)


def test_aggregates_through_memory_and_variable_arguments(refusal):
    error = refusal("define void @f(ptr byval({i32, i32}) %x) { ret void }", f_of_nothing)
    assert isinstance(error, SignatureMismatchError) and "`byval`" in str(error)
    error = refusal("define void @f(...) { ret void }\n", f_of_nothing)
    assert isinstance(error, UnsupportedFeatureError)


@BOTH
def test_a_missing_symbol_names_near_ones(refusal, target):
    error = refusal(GOOD.replace("@g", "@gelu"), g, target=target, symbol="gleu")
    assert isinstance(error, SymbolError) and "no function `gleu`" in str(error) and "symbol='gelu'" in error.hint
    error = refusal("@x = global i32 0", g, target=target)
    assert "it defines no function at all" in error.hint


def test_a_symbol_that_is_only_declared_or_no_function(refusal):
    error = refusal("declare float @g(float)\n" + GOOD.replace("@g", "@h"), g)
    assert isinstance(error, SymbolError) and "declared, but the module does not define it" in str(error)
    error = refusal("@g = addrspace(1) global float 0.0\n" + GOOD.replace("@g", "@h"), g)
    assert isinstance(error, SymbolError) and "a variable" in str(error)
    error = refusal("@g = alias float (float), ptr @h\n" + GOOD.replace("@g", "@h"), g)
    assert isinstance(error, SymbolError) and "an alias" in str(error)


def test_a_mangled_name_is_found_and_two_are_ambiguous(refusal, declare):
    one, two = GOOD.replace("@g", "@_Z1gf"), GOOD.replace("@g", "@_Z1gd")
    assert declare(one, g).compile(target="cuda:90").entry
    error = refusal(one + two, g)
    assert isinstance(error, SymbolError) and "ambiguous" in str(error)
    assert "@_Z1gd: g(double)" in error.log and "symbol='_Z1gf'" in error.hint


@pytest.mark.parametrize("text", [
    "define ptx_kernel void @f() { ret void }",
    'define void @f() { ret void }\n!nvvm.annotations = !{!0}\n!0 = !{ptr @f, !"kernel", i32 1}',
])  # fmt: skip
def test_a_kernel_is_no_device_function(refusal, text):
    error = refusal(text, f_of_nothing)
    assert isinstance(error, SymbolError) and "kernel" in str(error)


@BOTH
@pytest.mark.parametrize("triple", ["x86_64-unknown-linux-gnu", "amdgcn-amd-amdhsa", "nvptx-nvidia-cuda"])
def test_other_targets_are_refused(refusal, triple, target):
    error = refusal(f'; one\ntarget triple = "{triple}"\n{GOOD}', g, target=target)
    assert isinstance(error, LinkError) and f"made for {triple}" in str(error)
    assert error.context.source.text.startswith("target triple")


@pytest.mark.parametrize(("layout", "part"), [
    ("e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128", "m:e"),
    ("e-p:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64", "p:32:32"),
    ("E-i64:64-i128:128-v16:16-v32:32-n16:32:64", "E"),
    ("e-p:64:64-p3:32:32-p5:32:32-i64:64-v16:16-A5", "A5"),
    ("e-i64:32-v16:16-v32:32-n16:32:64", "i64:32"),
])  # fmt: skip
def test_other_data_layouts_are_refused(refusal, layout, part):
    error = refusal(f'target datalayout = "{layout}"\n{GOOD}', g)
    assert isinstance(error, LinkError) and part in str(error) and error.table[0].got == layout


@pytest.mark.parametrize("layout", [
    "e-i64:64-i128:128-v16:16-v32:32-n16:32:64",
    "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64",
    "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64",
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64"
    "-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64",
])  # fmt: skip
def test_this_targets_layouts_of_all_llvms_are_taken(declare, layout):
    text = f'target datalayout = "{layout}"\ntarget triple = "nvptx64-nvidia-cuda"\n{GOOD}'
    assert declare(text, g).compile(target="cuda:90").entry
    assert declare(text, g).compile(target="cpu").entry


BROKEN = {
    "syntax": ("define float @g(float %x) {\n  %y = fad float %x, %x\n  ret float %y\n}", "%y = fad float"),
    "type": ("define float @g(float %x) {\n  %y = fadd double %x, %x\n  ret float %y\n}", "%y = fadd double"),
    "undefined": ("define float @g(float %x) {\n  ret float %nothing\n}", "ret float %nothing"),
    "unclosed": ("define float @g(float %x) {\n  ret float %x\n", "define float @g"),
    "no LLVM IR": ("int main() { return 0; }", "int main"),
    "old pointers": ("define float @g(float* %x) {\n  ret float 0.0\n}", "define float @g"),
}


@pytest.mark.one_triton
@BOTH
@pytest.mark.parametrize("name", BROKEN)
def test_text_that_is_no_llvm_ir(refusal, tmp_path, name, target):
    text, line = BROKEN[name]
    file = tmp_path / "broken.ll"
    file.write_text(f"; a comment\n\n{text}")
    with pytest.raises(CompilationFailed) as caught:
        tle_raw.fragment(str(file), signature=g).compile(target=target)
    place = caught.value.context.source
    assert place.file == str(file) and line in place.text, str(caught.value)


@BOTH
def test_a_use_that_no_definition_dominates(refusal, target):
    text = """
define float @g(float %x) {
  %b = fcmp olt float %x, 0.0
  br i1 %b, label %one, label %two
one:
  %y = fadd float %x, 1.0
  br label %two
two:
  ret float %y
}"""
    error = refusal(text, g, target=target)
    assert isinstance(error, CompilationFailed) and "does not dominate all uses" in str(error)


@BOTH
@pytest.mark.parametrize(("declaration", "call"), [
    ("declare i32 @llvm.amdgcn.workitem.id.x()", "%i = call i32 @llvm.amdgcn.workitem.id.x()"),
    ("declare i32 @llvm.x86.sse2.pmovmskb.128(<16 x i8>)",
     "%i = call i32 @llvm.x86.sse2.pmovmskb.128(<16 x i8> zeroinitializer)"),
    ("declare i32 @llvm.nvvm.nonsense(i32)", "%i = call i32 @llvm.nvvm.nonsense(i32 1)"),
])  # fmt: skip
def test_intrinsics_that_the_target_does_not_have(refusal, declaration, call, target):
    text = f"{declaration}\ndefine float @g(float %x) {{\n {call}\n %r = sitofp i32 %i to float\n ret float %r\n}}"
    error = refusal(text, g, target=target)
    assert isinstance(error, (UnsupportedFeatureError, CompilationFailed)) and "llvm." in str(error)


def test_an_instruction_of_a_newer_gpu(refusal, declare):
    text = """declare float @llvm.nvvm.redux.sync.fmin(float, i32)
define float @g(float %x) {
  %r = call float @llvm.nvvm.redux.sync.fmin(float %x, i32 -1)
  ret float %r
}"""
    error = refusal(text, g, target="cuda:90")
    assert isinstance(error, UnsupportedFeatureError) and "sm_90a cannot run" in str(error)
    assert declare(text, g).compile(target="cuda:100").entry


@pytest.mark.one_triton
@BOTH
def test_an_undefined_function_is_named(refusal, target):
    text = "declare float @sinf(float)\n" + GOOD.replace(
        "ret float %x", "%y = call float @sinf(float %x)\n ret float %y"
    )
    error = refusal(text, g, target=target)
    assert isinstance(error, UnresolvedSymbolError) and "`sinf` is defined nowhere" in str(error)
    error = refusal(text.replace("sinf", "__nv_sinnf"), g, target=target)
    assert isinstance(error, UnresolvedSymbolError) and "libdevice has no such function" in error.hint


@BOTH
def test_what_cannot_be_linked(refusal, target):
    ctor = "@llvm.global_ctors = appending global [1 x {i32, ptr, ptr}] [{i32, ptr, ptr} {i32 1, ptr @c, ptr null}]\n"
    error = refusal(ctor + "define void @c() { ret void }\n" + GOOD, g, target=target)
    assert isinstance(error, UnsupportedFeatureError) and "constructor" in str(error)
    error = refusal('module asm ".global .u32 x;"\n' + GOOD, g, target=target)
    assert isinstance(error, UnsupportedFeatureError) and "file-scope asm" in str(error)


@BOTH
def test_dynamic_shared_memory(refusal, target):
    text = """@s = external addrspace(3) global [0 x float]
define void @f() {
  store float 0.0, ptr addrspace(3) @s
  ret void
}"""
    error = refusal(text, f_of_nothing, target=target)
    assert isinstance(error, UnsupportedFeatureError) and "would overlap" in str(error)


def test_too_much_shared_memory_on_the_cpu(refusal):
    text = """@s = internal addrspace(3) global [300000 x i8] undef
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define void @f() {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i8, ptr addrspace(3) @s, i32 %i
  store volatile i8 0, ptr addrspace(3) %p
  ret void
}"""
    assert isinstance(refusal(text, f_of_nothing, target="cpu"), SharedMemoryError)


def test_a_barrier_in_an_elementwise_function_on_the_cpu(refusal):
    text = "declare void @llvm.nvvm.barrier0()\n" + GOOD.replace("  ret", "  call void @llvm.nvvm.barrier0()\n  ret")
    error = refusal(text, g, target="cpu")
    assert isinstance(error, UnsupportedFeatureError) and "a barrier" in str(error)


def test_options(tmp_path):
    def declare(**options):
        return tle_raw.dialect("llvm", **options)(g)

    for options, said in (
        ({"source": GOOD, "simbol": "g"}, "did you mean symbol"),
        ({}, "got neither"),
        ({"source": GOOD, "file": "x.ll"}, "got both"),
        ({"source": 3}, "source= takes text"),
        ({"file": 3}, "file= takes a path"),
    ):
        with pytest.raises(DialectError, match=said):
            declare(**options)
    with pytest.raises(FragmentSourceError, match="is empty"):
        declare(source="  \n")
    (tmp_path / "scale.ll").write_text(GOOD)
    with pytest.raises(FragmentSourceError, match=r"there are scale\.ll"):
        declare(file=tmp_path / "sclae.ll")
    with pytest.raises(DialectError, match="unknown target 'hip'"):
        declare(source=GOOD).compile(target="hip")


def test_files_that_are_neither_text_nor_bitcode(tmp_path):
    file = tmp_path / "x.ll"
    file.write_bytes(b"\x7fELF\xff\xfe\x00")
    with pytest.raises(FragmentSourceError, match="neither text nor LLVM bitcode"):
        tle_raw.fragment(str(file), signature=g)
    file = tmp_path / "x.bc"
    file.write_bytes(b"BC\xc0\xde" + bytes(range(256)))
    with pytest.raises(FragmentSourceError, match="the bitcode cannot be read") as caught:
        tle_raw.fragment(str(file), signature=g)
    assert "llvmlite" in caught.value.log and "clang" in caught.value.log
