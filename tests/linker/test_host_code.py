"""LLVM IR of a kernel and of fragments becomes code for this machine, or an error: never an abort."""

import ctypes
import struct
import subprocess
import sys

import pytest

pytest.importorskip("llvmlite")

from tle_raw.errors import LinkError, UnresolvedSymbolError
from tle_raw.host.code import Library, assemble, contracted, link_host_code
from tle_raw.host.cpu import host_cpu, vector_bytes
from tle_raw.host.loader import load_object
from tle_raw.linker.machine_code.elf import symbols, undefined_symbols

pytestmark = pytest.mark.one_triton

# y[i] = f(x[i]) for first <= i < last, where the arguments are x and y.
KERNEL = """
declare float @f(float)
define void @tle_launch(ptr %arguments, ptr %grid, i64 %first, i64 %last, ptr %context) {
entry:
  %x = load ptr, ptr %arguments
  %at = getelementptr i64, ptr %arguments, i64 1
  %y = load ptr, ptr %at
  br label %loop
loop:
  %i = phi i64 [ %first, %entry ], [ %next, %loop ]
  %p = getelementptr float, ptr %x, i64 %i
  %q = getelementptr float, ptr %y, i64 %i
  %v = load float, ptr %p
  %r = call float @f(float %v)
  store float %r, ptr %q
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %last
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""
TWICE = Library("twice", "define float @f(float %x) { %y = fadd float %x, %x ret float %y }")


def run(loaded, values):
    x, y = (ctypes.c_float * len(values))(*values), (ctypes.c_float * len(values))()
    arguments = (ctypes.c_void_p * 2)(ctypes.addressof(x), ctypes.addressof(y))
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
    entry(loaded.address)(arguments, None, 0, len(values), None)
    return list(y)


def test_a_fragment_is_linked_inlined_and_runs():
    assembly = link_host_code(KERNEL, [TWICE])
    assert "call" not in assembly
    assert run(load_object(assemble(assembly)), [1.0, 2.5]) == [2.0, 5.0]


def test_fragments_may_have_functions_of_one_name_for_themselves():
    first = "define internal float @own(float %x) noinline { ret float %x }"
    second = "define internal i32 @own(i32 %x) noinline { ret i32 2 }"
    f = "define float @f(float %x) { %y = call float @g(float %x) %z = call float @own(float %y) ret float %z }"
    g = "define float @g(float %x) { %a = call i32 @own(i32 1) %b = sitofp i32 %a to float ret float %b }"
    parts = [Library("f", f"declare float @g(float)\n{first}\n{f}"), Library("g", f"{second}\n{g}")]
    assert run(load_object(assemble(link_host_code(KERNEL, parts))), [1.0]) == [2.0]


def test_only_the_entry_stays_visible():
    image = assemble(link_host_code(KERNEL, [TWICE]))
    assert [s.name for s in symbols(image) if s.section and not s.name.startswith(".")][-1] == "tle_launch"
    assert undefined_symbols(image) == []


def test_functions_of_the_c_library_resolve():
    loaded = load_object(assemble(link_host_code(KERNEL.replace("@f", "@sinf"))))
    assert run(loaded, [0.5])[0] == pytest.approx(0.479425538)


def test_code_stays_as_long_as_it_is_held():
    held = [load_object(assemble(link_host_code(KERNEL, [TWICE]))) for _ in range(3)]
    del held[1]
    assert [run(loaded, [3.0]) for loaded in held] == [[6.0], [6.0]]


def test_what_clang_says_of_its_own_cpu_does_not_keep_a_fragment_from_being_inlined():
    marked = """
define float @f(float %x) #0 { %y = fadd float %x, %x ret float %y }
attributes #0 = { nounwind "target-cpu"="x86-64" "target-features"="+sse2" "tune-cpu"="generic" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"wchar_size", i32 4}
"""
    assert "call" not in link_host_code(KERNEL, [Library("marked", marked)])


def test_an_unresolved_function_is_named_before_anything_is_loaded():
    with pytest.raises(UnresolvedSymbolError, match="defined nowhere: nowhere_at_all"):
        assemble(link_host_code(KERNEL.replace("@f", "@nowhere_at_all")))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("garbage", "LLVM cannot read the kernel: expected top-level entity"),
        (KERNEL.replace("ret void", "ret i32 0"), "LLVM cannot read the kernel"),
        (KERNEL.replace("%first, %entry", "%nobody, %entry"), "undefined value '%nobody'"),
        (KERNEL.replace("[ %first, %entry ], ", ""), "is no valid LLVM module"),
        (KERNEL.replace("tle_launch", "other"), "defines no tle_launch"),
        ("", "defines no tle_launch"),
    ],
)
def test_a_kernel_that_llvm_refuses_is_an_error(text, says):
    with pytest.raises(LinkError, match=says):
        link_host_code(text)


@pytest.mark.parametrize(
    ("fragment", "says"),
    [
        ("not IR", "frag"),
        ("define float @f(float %x) { ret i32 1 }", "LLVM cannot read frag"),
        (
            "define void @tle_launch(ptr %a, ptr %b, i64 %c, i64 %d, ptr %e) { ret void }",
            "frag does not fit the kernel",
        ),
        ("define float @f(double %x) { ret float 0.0 }", "frag defines f with another type"),
    ],
)
def test_a_fragment_that_does_not_fit_is_named(fragment, says):
    with pytest.raises(LinkError, match=says):
        link_host_code(KERNEL, [Library("frag", fragment)])


@pytest.mark.parametrize("image", [b"", b"no object", b"\x7fELF\x02\x01" + bytes(10)])
def test_a_broken_object_is_an_error(image):
    with pytest.raises(LinkError):
        load_object(image)


def test_contraction_is_the_kernels_choice():
    fused = """
define void @tle_launch(ptr %p, ptr %g, i64 %a, i64 %b, ptr %c) {
  %x = load float, ptr %p
  %y = fmul float %x, %x
  %z = fadd float %y, 1.0
  store float %z, ptr %p
  ret void
}
"""
    assert contracted(fused).count(" contract ") == 2
    assert "mul" in link_host_code(fused) and "vfmadd" not in link_host_code(fused)
    if host_cpu().fma and "avx" in host_cpu().features:
        assert "vfmadd" in link_host_code(fused, fp_contract=True)


def test_the_host_is_known():
    cpu = host_cpu()
    assert cpu.name and cpu.vector_bytes in (16, 32, 64)


@pytest.mark.parametrize(
    ("features", "width"),
    [
        ({}, 16),
        ({"neon": True}, 16),
        ({"avx": True}, 16),
        ({"avx2": True}, 32),
        ({"avx2": True, "avx512f": True}, 32),
        ({"avx2": True, "avx512f": True, "avx512vl": True, "avx512bw": True}, 64),
        ({"avx2": True, "avx512f": True, "avx512vl": True, "avx512bw": False}, 32),
    ],
)
def test_a_vector_is_as_wide_as_every_element_type_allows(features, width):
    assert vector_bytes(features) == width


def test_an_object_must_be_elf_for_64_bits():
    with pytest.raises(LinkError, match="64-bit little-endian ELF"):
        list(symbols(struct.pack("<I", 0)))


def test_conversions_without_an_instruction_resolve_where_nothing_else_is_loaded():
    """Other packages load the compiler's library too: seen from a process of its own."""
    half = "define void @tle_launch(ptr %p) {\n  %d = load double, ptr %p\n  %h = fptrunc double %d to half\n"
    half += "  store half %h, ptr %p\n  ret void\n}\n"
    program = f"from tle_raw.host.code import assemble, link_host_code\nassemble(link_host_code({half!r}))\n"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
