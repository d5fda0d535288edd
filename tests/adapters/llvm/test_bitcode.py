"""Bitcode, what clang writes, and the forms in which functions stand in modules."""

import subprocess

import numpy as np
import pytest

import tle_raw
from tle_raw import Element, InOut, Pointer, Scalar, Tile
from tle_raw.adapters.common.device_llvm import check
from tle_raw.errors import CompilationFailed, FragmentSourceError, SymbolError, ToolchainError
from tle_raw.flir.cpu.run_fragment import run_fragment
from tle_raw.linker.inputs import bitcode
from tle_raw.linker.tools.clang import find_clang
from tle_raw.linker.tools.llvmlite_binding import load_llvmlite

pytestmark = pytest.mark.every_triton(2)

TEXT = "define float @half_of(float %x) {\n  %y = fmul float %x, 5.000000e-01\n  ret float %y\n}\n"


def half_of(x: Element["f32"]) -> Element["f32"]: ...


def check_halves(fragment) -> None:
    assert fragment.compile(target="cuda:90").entry
    x = np.random.default_rng(3).standard_normal(77).astype("f4")
    np.testing.assert_array_equal(run_fragment(fragment.compile(target="cpu"), {"x": x})[0], x / 2)


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "half.bc"
    path.write_bytes(load_llvmlite().parse_assembly(TEXT).as_bitcode())
    return path


def test_bitcode(module):
    fragment = tle_raw.fragment(str(module), signature=half_of)
    check_halves(fragment)
    assert fragment.files == (module,) and fragment.dialect == "llvm"
    with pytest.raises(SymbolError) as caught:
        tle_raw.fragment(module, signature=half_of, symbol="halv_of").compile()
    assert caught.value.context.source.file == str(module)


def test_bitcode_by_clang_where_llvmlite_is_not(module, monkeypatch):
    monkeypatch.setattr(bitcode, "find_spec", lambda name: None)
    bitcode.disassemble.cache_clear()
    check_halves(tle_raw.fragment(str(module), signature=half_of))
    bitcode.disassemble.cache_clear()
    broken = module.with_name("broken.bc")
    broken.write_bytes(module.read_bytes()[:200])
    with pytest.raises(FragmentSourceError, match="cannot be read"):
        tle_raw.fragment(str(broken), signature=half_of)


@pytest.mark.one_triton
def test_without_any_tool(module, monkeypatch):
    def nothing(*_):
        raise ToolchainError("nothing")

    monkeypatch.setattr(bitcode, "find_spec", lambda name: None)
    monkeypatch.setattr(bitcode, "find_clang", nothing)
    bitcode.disassemble.cache_clear()
    with pytest.raises(ToolchainError, match="llvmlite or by clang"):
        tle_raw.fragment(str(module), signature=half_of)
    monkeypatch.setattr(check, "find_spec", lambda name: None)
    monkeypatch.setattr(check, "find_clang", nothing)
    with pytest.raises(ToolchainError, match="llvmlite or by clang"):
        tle_raw.fragment(f"; 1\n{TEXT}", signature=half_of, dialect="llvm").compile(target="cuda:90")


@pytest.mark.one_triton
def test_clang_verifies_where_llvmlite_is_not(monkeypatch):
    monkeypatch.setattr(check, "find_spec", lambda name: None)
    fragment = tle_raw.fragment(f"; 2\n{TEXT}", signature=half_of, dialect="llvm")
    assert fragment.compile(target="cuda:90").entry
    wrong = tle_raw.fragment(TEXT.replace("fmul float %x", "fmul float %z"), signature=half_of, dialect="llvm")
    with pytest.raises(CompilationFailed, match="undefined value '%z'") as caught:
        wrong.compile(target="cuda:90")
    assert "%y = fmul float %z" in caught.value.context.source.text
    undominated = TEXT.replace("%x, 5", "%w, 5").replace("  ret", "  %w = fadd float %x, %x\n  ret")
    with pytest.raises(CompilationFailed, match="LLVM refused the code") as caught:
        tle_raw.fragment(undominated, signature=half_of, dialect="llvm").compile(target="cuda:90")
    assert "does not dominate" in caught.value.log


CXX = """
typedef __attribute__((address_space(3))) float* tile;
__attribute__((noinline)) static float twice(float x) { return x + x; }
struct pair { float a, b; };
template <class T> __attribute__((used)) T apply(tile t, const T* x, T s, int n, bool flag) {
  pair p = {s, flag ? 1.f : 2.f};
  for (int i = __nvvm_read_ptx_sreg_tid_x(); i < n; i += __nvvm_read_ptx_sreg_ntid_x())
    t[i] = twice(t[i]) * x[i] + p.a * p.b;
  return p.b;
}
template float apply<float>(tile, const float*, float, int, bool);
"""


@pytest.mark.parametrize("flags", [("-O0",), ("-O0", "-g"), ("-O3", "-gline-tables-only"), ("-O2", "-emit-llvm", "-c")])
def test_what_clang_writes(tmp_path, flags):
    def apply(
        t: InOut[Tile["f32", "N"]], x: Pointer["f32"], s: Scalar["f32"], n: Scalar["i32"], flag: Scalar["i1"]
    ) -> Scalar["f32"]: ...

    source, out = tmp_path / "apply.cpp", tmp_path / ("apply.bc" if "-c" in flags else "apply.ll")
    source.write_text(CXX)
    command = [*find_clang().command, "--target=nvptx64-nvidia-cuda", "-nostdinc", "-S", "-emit-llvm", *flags]
    subprocess.run([*command, "-o", str(out), str(source)], check=True)
    fragment = tle_raw.fragment(out, signature=apply)
    assert fragment.compile(target="cuda:80", N=256).kept_calls
    rng = np.random.default_rng(5)
    t, x = rng.standard_normal((2, 256)).astype("f4")
    compiled = fragment.compile(target="cpu", N=256)
    for flag in (False, True):
        got, result = run_fragment(compiled, {"t": t, "x": x, "s": 3.0, "n": 200, "flag": flag})
        wanted = t.astype("f8") * 2 * x + (3 if flag else 6)
        np.testing.assert_allclose(got[:200], wanted[:200], rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(got[200:], t[200:])
        assert result == (1 if flag else 2)


@pytest.mark.one_triton
@pytest.mark.parametrize("head", [
    "define internal float @half_of(float %x)", "define private fastcc float @half_of(float %x)",
    "$half_of = comdat any\ndefine linkonce_odr float @half_of(float %x) comdat",
    "define available_externally float @half_of(float %x)", "define weak_odr hidden float @half_of(float noundef %x)",
    "define coldcc float @half_of(float %x) noinline", "define float @half_of(float %x) noinline optnone",
])  # fmt: skip
def test_every_linkage_and_convention(head):
    text = TEXT.replace("define float @half_of(float %x)", head)
    check_halves(tle_raw.fragment(text, signature=half_of, dialect="llvm"))


@pytest.mark.one_triton
def test_the_only_function_needs_no_name():
    text = TEXT.replace("@half_of", '@"odd name"')
    check_halves(tle_raw.fragment(text, signature=half_of, dialect="llvm"))


@pytest.mark.one_triton
def test_the_prototype_compiles(declare):
    def f(t: InOut[Tile["f32", "N"]], p: Pointer["f16"], b: Scalar["i1"]) -> Scalar["bf16"]: ...

    text = declare(TEXT, f).prototype()
    assert "define bfloat @half_of(ptr addrspace(3) %t, ptr addrspace(1) %p, i1 %b)" in text
    assert declare(text, f).compile(target="cuda:90", N=64).entry
