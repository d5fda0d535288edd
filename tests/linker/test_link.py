"""``tle_raw.linker.link``: modules of several kinds become one, every symbol is told of, and what is wrong is named."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tle_raw.errors import (
    AbiError,
    DuplicateSymbolError,
    LinkError,
    SymbolError,
    TLEError,
    UnresolvedSymbolError,
    UnsupportedFeatureError,
)
from tle_raw.linker import link
from tle_raw.linker.inputs import library
from tle_raw.linker.tools.llvmlite_binding import load_llvmlite

pytestmark = pytest.mark.one_triton

PTX = """
.version 7.8
.target sm_80
.address_size 64
.visible .global .align 4 .u32 calls = 5;
.func (.param .b32 result) own(.param .b32 x) {
  .reg .f32 %f<3>;
  ld.param.f32 %f1, [x];
  ex2.approx.f32 %f2, %f1;
  st.param.f32 [result], %f2;
  ret;
}
.visible .func (.param .b32 result) power(.param .b32 x) {
  .reg .f32 %f<3>;
  .reg .u32 %r<2>;
  ld.param.f32 %f1, [x];
  { .param .b32 p0; .param .b32 r0;
    st.param.f32 [p0], %f1;
    call.uni (r0), own, (p0);
    ld.param.f32 %f2, [r0]; }
  ld.global.u32 %r1, [calls];
  cvt.rn.f32.u32 %f1, %r1;
  add.f32 %f2, %f2, %f1;
  st.param.f32 [result], %f2;
  ret;
}
"""
UNKNOWN = """.version 8.0
.target sm_80
.address_size 64
.visible .func top(.param .b32 a) { frobnicate.f32 %f1, %f0; ret; }
"""
TOP = """
%pair = type { i32, float }
@table = internal constant [2 x float] [float 1.0, float 2.0]
define float @top(float %x) !dbg !4 {
  %a = call float @power(float %x), !dbg !7
  %b = call float @helper(float %a)
  %c = call float @__nv_expf(float %b)
  %d = call float @kept(float %c)
  ret float %d
}
define internal float @helper(float %x) #0 {
  %p = alloca %pair
  %y = fadd float %x, 1.0
  ret float %y
}
define float @unused(float %x) {
  %y = call float @nowhere(float %x)
  ret float %y
}
declare float @nowhere(float)
declare float @power(float)
declare float @kept(float)
declare float @__nv_expf(float)
attributes #0 = { nounwind "target-features"="+ptx86" }
!llvm.module.flags = !{!0, !1}
!llvm.dbg.cu = !{!2}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
!2 = distinct !DICompileUnit(language: DW_LANG_C, file: !3, emissionKind: LineTablesOnly)
!3 = !DIFile(filename: "top.c", directory: ".")
!4 = distinct !DISubprogram(name: "top", file: !3, line: 1, type: !5, unit: !2, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 2, column: 3, scope: !4)
"""
OTHER = """
%pair = type { double, double }
define float @kept(float %x) #0 {
  %p = alloca %pair
  %v = getelementptr %pair, ptr %p, i32 0, i32 1
  store volatile double 2.0, ptr %v
  %y = call float @helper(float %x)
  ret float %y
}
define internal float @helper(float %x) {
  %y = fmul float %x, 3.0
  ret float %y
}
attributes #0 = { noinline }
"""
MODULES = [("top.ll", TOP), ("power.ptx", PTX), ("other.ll", OTHER)]


def test_modules_of_three_kinds_become_one():
    linked = link(MODULES, entry="top", target="cuda:90")
    fates = {symbol.name: (symbol.origin, symbol.fate) for symbol in linked.report.symbols}
    assert fates["top"] == ("top.ll", "entry") and fates["power"] == ("power.ptx", "inlined")
    assert fates["kept"] == ("other.ll", "kept") and fates["__nv_expf"] == ("", "outside")
    assert linked.report.kept_calls == ("kept",) and "noinline" in str(linked.report)
    assert "@unused" not in linked.text and "@__nv_expf" not in linked.text and "@own" not in linked.text
    assert '"target-features"' not in linked.text and "nvvm-reflect-ftz" not in linked.text
    assert "top.c" in linked.text and "externally_initialized global" in linked.text  # debug info; the host may set it
    assert "ex2.approx.f32" in linked.text
    llvm = load_llvmlite()
    llvm.parse_assembly(linked.text).verify()


def test_what_llvm_knows_of_itself_may_be_declared_in_each_module():
    """Newer LLVMs declare an intrinsic with more attributes than older ones; its type is the same."""
    top = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @inner()
define i32 @outer() {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @inner()
  %z = add i32 %x, %y
  ret i32 %z
}
"""
    inner = """
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #0
define i32 @inner() {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  ret i32 %x
}
attributes #0 = { nounwind }
"""
    linked = link([top, inner], entry="outer", target="cuda:90")
    assert linked.text.count("declare") == 1 and "inner" not in linked.text.partition("define")[2]


def test_without_an_optimiser_functions_are_marked():
    linked = link(MODULES, entry=["top", "power"], target="sm_80", optimise=False)
    fates = {symbol.name: symbol.fate for symbol in linked.report.symbols}
    assert fates["top"] == fates["power"] == "entry" and fates["own"] == "to be inlined"
    assert linked.text.count("define internal") == 4 and "alwaysinline" in linked.text
    load_llvmlite().parse_assembly(linked.text).verify()


def refused(modules, entry="top", **options):
    with pytest.raises(TLEError) as caught:
        link(modules, entry=entry, **options)
    return caught.value


def test_what_is_wrong_is_named():
    assert isinstance(refused(MODULES, "topp"), SymbolError) and "top" in refused(MODULES, "topp").hint
    assert isinstance(refused(MODULES[:2]), UnresolvedSymbolError)
    assert link(MODULES[:2], entry="top", unresolved=["kept"], optimise=False).report.symbols[-1].fate == "outside"
    assert isinstance(refused(MODULES, target="gfx942"), LinkError)
    assert isinstance(refused([*MODULES[:2], ("bad.ll", OTHER.replace("@kept(float", "@kept(double"))]), AbiError)
    assert isinstance(
        refused([*MODULES[:2], ("fast.ll", OTHER.replace("float @kept", "fastcc float @kept"))]), AbiError
    )
    main = TOP.replace(
        "define float @unused", "define float @kept(float %x) {\n  ret float %x\n}\ndefine float @unused"
    )
    assert link([("top.ll", main.replace("declare float @kept(float)", "")), *MODULES[1:]], entry="top").text
    variable = "@calls = addrspace(1) externally_initialized global i32 1\n"
    reads = OTHER.replace("store volatile double 2.0, ptr %v", "%w = load i32, ptr addrspace(1) @calls")
    assert isinstance(refused([*MODULES[:2], ("v.ll", variable + reads)]), DuplicateSymbolError)
    constructor = reads.replace(
        "define float @kept",
        "define void @make() {\n  store i32 1, ptr addrspace(1) @calls\n  ret void\n}\ndefine float @kept",
    )
    constructor += variable + "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] "
    constructor += "[{ i32, ptr, ptr } { i32 1, ptr @make, ptr null }]\n"
    assert "constructor" in str(refused([("c.ll", constructor)], "kept"))
    space = OTHER.replace("ptr %v\n", "ptr addrspace(9) null\n")
    assert isinstance(refused([("space.ll", space)], "kept"), UnsupportedFeatureError)
    host = (
        OTHER.replace("@helper(float %x)\n  ret", "@cudaMalloc(float %x)\n  ret") + "declare float @cudaMalloc(float)\n"
    )
    assert "host functions" in refused([("host.ll", host)], "kept").hint
    assert isinstance(refused([7]), LinkError) and isinstance(refused(["missing.bc"]), LinkError)


@pytest.mark.parametrize(
    ("modules", "entry", "words"),
    [
        ("top.ll", "top", "one or more in a list  str"),
        ([], "top", "one or more in a list  none"),
        ([TOP], 3, "a function's name"),
        ([TOP], [], "a function's name"),
        ([("old.a", b"!<thin>\n")], "top", "old.a is a thin archive"),
        ([("host.o", b"\x7fELF" + bytes(range(200)))], "top", "host.o is an object of a host without device code"),
        ([("own.ptx", UNKNOWN)], "top", "own.ptx:4"),
    ],
)
def test_what_is_no_list_of_modules_or_no_entry_is_named(modules, entry, words):
    with pytest.raises(LinkError) as caught:
        link(modules, entry=entry)
    assert words in str(caught.value)


def test_damaged_files_end_in_errors_of_ours(tmp_path):
    random = np.random.default_rng(8)
    bitcode = load_llvmlite().parse_assembly(OTHER).as_bitcode()
    for data, first in ((bitcode, 8), (PTX.encode(), 60), (OTHER.encode(), 60)):
        for _ in range(8):
            cut = data[: int(random.integers(first, len(data) - 8))]
            damaged = bytearray(data)
            for place in random.integers(0, len(data), 6):
                damaged[place] = int(random.integers(0, 256))
            for content in (cut, bytes(damaged)):
                try:
                    link([("damaged", content)], entry="kept" if data is not PTX.encode() else "power", optimise=False)
                except TLEError:
                    continue


def test_a_large_library_costs_its_cut_once(tmp_path, monkeypatch):
    functions = [f"define float @f{i}(float %x) {{\n  %y = fadd float %x, {i}.0\n  ret float %y\n}}" for i in range(40)]
    data = load_llvmlite().parse_assembly("\n".join(functions)).as_bitcode()
    monkeypatch.setattr(library, "LARGE", 1000)
    asked = []
    read = library.disassemble
    monkeypatch.setattr(library, "disassemble", lambda *given: asked.append(given) or read(*given))

    def linked(_=0):
        library._functions.cache_clear()
        return link([("large.bc", data)], entry="f7", cache=tmp_path / "cuts", optimise=False).text

    first = linked()
    assert "7.0" in first and "@f8" not in first and len(asked) == 1
    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(linked, range(16))) == {first}
    assert len(asked) == 1 and not list((tmp_path / "cuts").glob(".writing-*"))


def test_the_pages_example(capsys):
    page = Path(__file__).parents[2] / "docs" / "linker.md"
    exec(page.read_text().split("```python")[1].split("```")[0], {})
    shown = capsys.readouterr().out
    assert "power_of_two" in shown and "inlined" in shown and "scaled_power" in shown
