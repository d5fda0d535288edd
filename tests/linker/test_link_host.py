"""``link(target="cpu")``: modules of this machine's CPU become one that runs; what only GPUs run is refused by name."""

import ctypes
import platform

import numpy as np
import pytest

import tle_raw
from tests.linker.test_link import PTX
from tle_raw.errors import AbiError, LinkError, UnresolvedSymbolError, UnsupportedFeatureError
from tle_raw.linker import link
from tle_raw.linker.tools.llvmlite_binding import load_llvmlite

pytestmark = pytest.mark.one_triton

TRIPLE = f'target triple = "{platform.machine()}-unknown-linux-gnu"\n'
ROOT = f"""{TRIPLE}
define void @roots(ptr %to, ptr %from, i64 %n) {{
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %loop ]
  %p = getelementptr double, ptr %from, i64 %i
  %x = load double, ptr %p
  %y = call double @one(double %x)
  %q = getelementptr double, ptr %to, i64 %i
  store double %y, ptr %q
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}}
declare double @one(double)
"""
ONE = f"""{TRIPLE}
@bias = internal global double 0.5
define double @one(double %x) {{
  %a = call double @own(double %x)
  %b = call double @cbrt(double %a)
  ret double %b
}}
define internal double @own(double %x) noinline {{
  %b = load double, ptr @bias
  %y = fadd double %x, %b
  ret double %y
}}
define double @unused(double %x) {{
  %y = call double @nowhere(double %x)
  ret double %y
}}
declare double @nowhere(double)
declare double @cbrt(double)
"""


@pytest.mark.parametrize("optimise", [True, False])
def test_modules_of_this_machine_become_one_that_runs(optimise):
    llvm = load_llvmlite()
    bitcode = llvm.parse_assembly(ONE).as_bitcode()
    linked = link([("roots.ll", ROOT), ("one.bc", bitcode)], entry="roots", target="cpu", optimise=optimise)
    fates = {symbol.name: (symbol.origin, symbol.fate) for symbol in linked.report.symbols}
    assert fates["one"] == ("one.bc", "inlined" if optimise else "to be inlined") and fates["own"] == ("one.bc", "kept")
    assert fates["cbrt"] == ("", "outside") and "the C library" in str(linked.report) and "nowhere" not in linked.text
    module = llvm.parse_assembly(linked.text)
    module.triple = llvm.get_process_triple()
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    x = np.random.default_rng(0).standard_normal(999)
    y = np.empty_like(x)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(engine.get_function_address("roots"))
    run(y.ctypes.data, x.ctypes.data, x.size)
    np.testing.assert_allclose(y, np.cbrt(x + 0.5), rtol=1e-15)


@pytest.mark.parametrize(
    ("module", "error", "words"),
    [
        (PTX, UnsupportedFeatureError, "is ptx, code for NVIDIA GPUs alone"),
        (b"\xed\x43\x4e\x7f" + bytes(60), UnsupportedFeatureError, "is lto-ir"),
        (ROOT.replace(platform.machine(), "nvptx64"), UnsupportedFeatureError, "code for another processor"),
        (ROOT, UnresolvedSymbolError, "`one` is defined nowhere"),
        (
            f"{TRIPLE}@s = internal addrspace(3) global float 0.0\ndefine ptr addrspace(3) @roots() {{ ret ptr "
            "addrspace(3) @s }\n",
            UnsupportedFeatureError,
            "address space 3, which no CPU has",
        ),
        ("no module\nat all\n", LinkError, "no device code"),
    ],
)
def test_what_a_cpu_does_not_run_is_named(module, error, words):
    with pytest.raises(error) as caught:
        link([("given", module)], entry="roots", target="cpu")
    assert words in caught.value.message
    assert error is not UnsupportedFeatureError or "the CPU emulates" in caught.value.hint
    with pytest.raises(AbiError):
        link(
            [ROOT, ONE.replace("double @one(double %x)", "double @one(double %x, i32 %n)")], entry="roots", target="cpu"
        )


def test_code_of_gpus_goes_to_the_cpu_as_a_fragment():
    import triton
    import triton.language as tl

    top = "declare float @power(float)\ndefine float @top(float %x) { %y = call float @power(float %x) ret float %y }\n"
    linked = link([top, ("power.ptx", PTX)], entry="top", target="cuda:80")

    @tle_raw.dialect("llvm", source=linked.text, symbol="top")
    def top(x: tle_raw.Element["f32"]) -> tle_raw.Element["f32"]: ...

    @triton.jit
    def kernel(x, y, N: tl.constexpr):
        at = tl.arange(0, N)
        tl.store(y + at, top(tl.load(x + at)))

    x = np.random.default_rng(1).standard_normal(64).astype(np.float32)
    y = np.empty_like(x)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        kernel[(1,)](x, y, 64)
    np.testing.assert_allclose(y, np.exp2(x.astype(np.float64)) + 5, rtol=1e-6)
