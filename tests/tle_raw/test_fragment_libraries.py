"""``libraries=``: fragments of every dialect call functions of bitcode, LLVM IR and PTX; and what is refused."""

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import compile_kernel, ptx_calls
from tle_raw import Element
from tle_raw.errors import (
    AbiError,
    DialectError,
    DuplicateSymbolError,
    FragmentSourceError,
    LinkError,
    UnresolvedSymbolError,
    UnsupportedFeatureError,
)
from tle_raw.flir.cpu.run_fragment import run_fragment
from tle_raw.linker.machine_code.sass import read_cubin
from tle_raw.linker.tools.llvmlite_binding import load_llvmlite

pytestmark = pytest.mark.every_triton(2)

TWICE = """
%struct.pair = type { float, float }
@seen = internal addrspace(1) global i32 3
define float @twice(float %x) #0 {
  %y = call float @helper(float %x) #1
  ret float %y
}
define internal float @helper(float %x) #0 {
  %p = alloca %struct.pair
  store float %x, ptr %p
  %y = load float, ptr %p
  %z = fadd float %x, %y
  ret float %z
}
define float @thrice(float %x) {
  %y = call float @twice(float %x)
  %z = call float @plus_one(float %x)
  %w = fadd float %y, %z
  %v = fsub float %w, 1.0
  ret float %v
}
declare float @plus_one(float)
define float @unused(float %x) {
  %y = call float @defined_nowhere(float %x)
  ret float %y
}
declare float @defined_nowhere(float)
attributes #0 = { nounwind "target-cpu"="sm_80" }
attributes #1 = { nounwind }
"""
PLUS_ONE = """
.version 7.8
.target sm_80
.address_size 64
.visible .func (.param .b32 result) plus_one(.param .b32 x) {
  .reg .f32 %f<3>;
  ld.param.f32 %f1, [x];
  add.f32 %f2, %f1, 0f3F800000;
  st.param.f32 [result], %f2;
  ret;
}
"""
CUDA = 'extern "C" __device__ float thrice(float);\n__device__ float f(float x) { return thrice(x) * 2 + helper(x); }'
CUDA = CUDA.replace(
    "__device__ float f", "static __device__ __noinline__ float helper(float x) { return x; }\n__device__ float f"
)
LLVM = """
define float @f(float %x) {
  %y = call float @thrice(float %x)
  %z = fmul float %y, 2.0
  %w = fadd float %z, %x
  ret float %w
}
declare float @thrice(float)
"""
MLIR = """
func.func private @thrice(f32) -> f32
func.func @f(%x: f32) -> f32 {
  %two = arith.constant 2.0 : f32
  %y = func.call @thrice(%x) : (f32) -> f32
  %z = arith.mulf %y, %two : f32
  %w = arith.addf %z, %x : f32
  return %w : f32
}
"""
PTX = (
    PLUS_ONE.split(".visible")[0]
    + """
.extern .func (.param .b32 result) thrice(.param .b32 x);
.visible .func (.param .b32 result) f(.param .b32 x) {
  .reg .f32 %f<4>;
  ld.param.f32 %f1, [x];
  { .param .b32 p0; .param .b32 r0;
    st.param.f32 [p0], %f1;
    call.uni (r0), thrice, (p0);
    ld.param.f32 %f2, [r0]; }
  fma.rn.f32 %f3, %f2, 0f40000000, %f1;
  st.param.f32 [result], %f3;
  ret;
}
"""
)
SOURCES = {"cuda": CUDA, "llvm": LLVM, "mlir": MLIR, "ptx": PTX}


def f(x: Element["f32"]) -> Element["f32"]: ...


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("libraries")
    bitcode, ptx = folder / "twice.bc", folder / "one.ptx"
    bitcode.write_bytes(load_llvmlite().parse_assembly(TWICE).as_bitcode())
    ptx.write_text(PLUS_ONE)
    return [bitcode, ptx]


@pytest.mark.parametrize("dialect", SOURCES)
def test_a_fragment_calls_bitcode_that_calls_ptx(libraries, dialect):
    fragment = tle_raw.fragment(SOURCES[dialect], dialect=dialect, signature=f, libraries=libraries)
    x = np.random.default_rng(1).standard_normal(99).astype("f4")
    got = run_fragment(fragment.compile("cpu"), {"x": x})[0]
    np.testing.assert_allclose(got, 7 * x.astype("f8"), rtol=1e-5, atol=1e-5)
    taken = {"thrice": "twice.bc", "plus_one": "one.ptx"}
    assert dict(fragment.compile("cuda:90").linked) == taken

    @triton.jit
    def kernel(x, N: tl.constexpr):
        offsets = tl.arange(0, N)
        tl.store(x + offsets, fragment(tl.load(x + offsets)))

    compiled = compile_kernel(kernel, {"x": "*fp32"}, {"N": 128})
    kept = [call for call in ptx_calls(compiled) if "helper" not in call]  # which CUDA's author wants kept
    assert compiled.asm["ptx"].count(".entry") == 1 and not kept
    assert len(read_cubin(compiled.asm["cubin"]).entries) == 1


def _refused(libraries, source=LLVM, target="cuda:90"):
    with pytest.raises(tle_raw.TLEError) as caught:
        tle_raw.fragment(source, dialect="llvm", signature=f, libraries=libraries).compile(target)
    return caught.value


@pytest.mark.one_triton
def test_what_is_no_library_is_named(libraries, tmp_path):
    assert isinstance(_refused([]), UnresolvedSymbolError) and "libraries=" in _refused([]).hint
    assert isinstance(_refused([7]), DialectError) and isinstance(_refused(7), DialectError)
    assert isinstance(_refused(["missing.bc"]), FragmentSourceError)
    cut = tmp_path / "cut.bc"
    cut.write_bytes(libraries[0].read_bytes()[:700])
    error = _refused([cut])
    assert isinstance(error, LinkError) and "cut.bc" in str(error)
    noise = tmp_path / "noise.bc"
    noise.write_bytes(np.random.default_rng(5).bytes(3000))
    assert "no device code" in str(_refused([noise]))
    foreign = tmp_path / "foreign.ll"
    foreign.write_text('target triple = "x86_64-unknown-linux-gnu"\n' + TWICE)
    assert isinstance(_refused([foreign]), UnsupportedFeatureError)


@pytest.mark.one_triton
def test_functions_of_another_type_and_two_of_one_name(libraries, tmp_path):
    other = tmp_path / "other.ll"
    other.write_text("define float @thrice(float %x, i32 %n) {\n  ret float %x\n}\n")
    error = _refused([other])
    assert isinstance(error, AbiError) and "float (float, i32)" in str(error)
    other.write_text(
        PLUS_ONE.replace("plus_one(.param .b32 x)", "thrice(.param .b64 x)").replace("ld.param.f32", "ld.param.f32")
    )
    error = _refused([other])
    assert isinstance(error, AbiError) and "8 bytes" in str(error)
    other.write_text(
        "define float @thrice(float %x) {\n  %y = call float @f(float %x)\n  ret float %y\n}\ndeclare float @f(float)\n"
    )
    assert not isinstance(
        _caught(lambda: tle_raw.fragment(LLVM, dialect="llvm", signature=f, libraries=other).compile()), AbiError
    )
    both = [libraries[0], tmp_path / "two.ll"]
    both[1].write_text(
        "define float @plus_one(float %x) {\n  ret float %x\n}\ndefine float @twice(float %x) {\n  ret float %x\n}\n"
    )
    fragment = tle_raw.fragment(LLVM, dialect="llvm", signature=f, libraries=both)
    assert dict(fragment.compile("cuda:90").linked) == {"thrice": "twice.bc", "plus_one": "two.ll"}
    main = LLVM.replace("@f(float %x) {", "@f(float %x) {\n  %u = call float @plus_one(float %x)").replace(
        "declare", "define float @twice(float %x) {\n  ret float %x\n}\ndeclare float @plus_one(float)\ndeclare"
    )
    assert isinstance(_refused(libraries, main), DuplicateSymbolError)


def _caught(run):
    try:
        run()
    except tle_raw.TLEError as error:
        return error
    return None


@pytest.mark.one_triton
def test_a_library_that_changes_or_vanishes(libraries, tmp_path):
    library = tmp_path / "lib.ll"
    library.write_text("define float @thrice(float %x) {\n  ret float %x\n}\n")
    fragment = tle_raw.fragment(LLVM, dialect="llvm", signature=f, libraries=[library])
    first, x = fragment.cache_key, np.ones(3, "f4")
    np.testing.assert_array_equal(run_fragment(fragment.compile("cpu"), {"x": x})[0], 3 * x)
    library.write_text("define float @thrice(float %x) {\n  %y = fadd float %x, %x\n  ret float %y\n}\n")
    assert fragment.cache_key != first
    np.testing.assert_array_equal(run_fragment(fragment.compile("cpu"), {"x": x})[0], 5 * x)
    library.unlink()
    with pytest.raises(FragmentSourceError, match=r"lib[.]ll"):
        fragment.compile("cuda:90")
    library.write_text("define float @thrice(float %x) {\n  ret float %x\n}\n")
    assert fragment.cache_key == first


class Package:
    name, digest = "package", "1"

    def library_for(self, arch):
        constant = "2.0" if arch == "sm_80" else "4.0"
        return f"define float @thrice(float %x) {{\n  ret float {constant}\n}}\n".encode()


@pytest.mark.one_triton
def test_an_object_gives_a_library_for_each_gpu():
    fragment = tle_raw.fragment(LLVM, dialect="llvm", signature=f, libraries=Package())
    assert "float 2." in fragment.compile("cuda:80").text and "float 4." in fragment.compile("cuda:90").text
