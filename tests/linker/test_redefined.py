"""A symbol that one text has twice: the refusal tells both lines, in the linker, in fragments and in manifests."""

import pytest

import tle_raw
from tle_raw import Element
from tle_raw.errors import DuplicateSymbolError, SourceLocation, SymbolError, TLEError
from tle_raw.libraries.packing.check_abi import check_abi
from tle_raw.libraries.packing.read_manifest import manifest_of_text
from tle_raw.linker import link
from tle_raw.linker.llvm.redefined import refuse_redefinitions
from tle_raw.linker.llvm.text import read_module

pytestmark = pytest.mark.one_triton

ONCE = "define float @scale(float %x) {\n  ret float %x\n}\n"
OTHER = "define float @other(float %x) {\n  ret float %x\n}\n"
TWICE = ONCE + OTHER + ONCE


@pytest.mark.parametrize(
    ("text", "told", "to_do"),
    [
        (TWICE, "`scale` is defined twice, in lines 1 and 7", "rename one of the two"),
        (ONCE + "declare float @scale(float)\n", "defined in line 1, and declared again in line 4", "the declaration"),
        ("declare void @g()\ndeclare void @g()\n", "`g` is declared twice, in lines 1 and 2", "rename one"),
        ("@v = global i32 0\n\n@v = global i32 1\n", "a variable in line 1, and a variable again in line 3", "rename"),
        ("@v = global i32 0\n" + ONCE.replace("scale", "v"), "a variable in line 1, and defined again in line 2", ""),
    ],
)
def test_both_lines_are_told_and_what_to_do(text, told, to_do):
    with pytest.raises(DuplicateSymbolError) as raised:
        refuse_redefinitions(read_module(text), SourceLocation("f.ll", 1))
    assert told in raised.value.message and to_do in raised.value.hint


def test_names_that_stand_once_are_left_alone():
    refuse_redefinitions(read_module(ONCE + OTHER + "%scale = type { i32 }\n"), SourceLocation("f.ll", 1))


@pytest.mark.parametrize("entry", ["scale", "other"])
def test_the_linker_names_the_module(entry):
    with pytest.raises(DuplicateSymbolError, match=r"acme\.ll: `scale` is defined twice, in lines 1 and 7"):
        link([("acme.ll", TWICE)], entry=entry)


def test_a_fragment_tells_lines_of_its_file(tmp_path):
    (tmp_path / "acme.ll").write_text("; by hand\n" + TWICE)

    @tle_raw.dialect("llvm", file=tmp_path / "acme.ll", symbol="scale")
    def scale(x: Element["f32"]) -> Element["f32"]: ...

    with pytest.raises(DuplicateSymbolError, match="`scale` is defined twice, in lines 2 and 8") as raised:
        scale.compile("cuda:90")
    assert f"{tmp_path}/acme.ll:8:1" in str(raised.value) and "rename one of the two" in str(raised.value)


def test_a_manifest_is_refused_before_a_compiler_runs(tmp_path):
    (tmp_path / "acme.ll").write_text(TWICE)
    manifest = (
        'format = 1\n[library]\nname = "acme"\nversion = "1.0"\nsource = "acme.ll"\narchitectures = ["cuda:80"]\n'
        '[[function]]\nname = "scale"\nsignature = "(x: Element[f32]) -> Element[f32]"\n'
    )
    with pytest.raises(DuplicateSymbolError, match=r"acme\.ll: `scale` is defined twice, in lines 1 and 7") as raised:
        check_abi(manifest_of_text(manifest, tmp_path / "acme.toml"))
    assert f"{tmp_path}/acme.toml:9" in str(raised.value)


MLIR = "func.func @f(%x: f32) -> f32 {\n  return %x : f32\n}\n"
PTX = """.version 7.8
.target sm_80
.address_size 64
"""
PTX_FUNCTION = """.visible .func (.param .b32 r) f(.param .b32 x) {
  .reg .f32 %f<2>;
  ld.param.f32 %f1, [x];
  st.param.f32 [r], %f1;
  ret;
}
"""


@pytest.mark.parametrize(
    ("dialect", "source", "told"),
    [
        ("mlir", MLIR * 2, "remove or rename all but one of them"),
        ("ptx", PTX + PTX_FUNCTION * 2, "line 10: `f` is defined in line 4 already"),
    ],
)
def test_other_languages_tell_it_too(dialect, source, told):
    @tle_raw.dialect(dialect, source=source)
    def f(x: Element["f32"]) -> Element["f32"]: ...

    with pytest.raises(TLEError) as raised:
        f.compile("cuda:90")
    assert told in str(raised.value)


def test_namesakes_in_two_modules_of_mlir_are_chosen_between():
    @tle_raw.dialect("mlir", source="".join(f"module @{m} {{\n{MLIR}}}\n" for m in ("a", "b")), symbol="f")
    def f(x: Element["f32"]) -> Element["f32"]: ...

    with pytest.raises(SymbolError, match="name the module that it stands in"):
        f.compile("cuda:90")
