"""Modules of every binding: read without importing it, and the same PTX whoever made them."""

import re
import subprocess
import sys

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.adapters.mlir import producers
from tests.adapters.mlir.conftest import MODULES, checked
from tests.support import compile_kernel
from tle_raw import InOut, Pointer, Scalar, Tile
from tle_raw.errors import CompilationFailed
from tle_raw.knobs import knobs

pytestmark = pytest.mark.every_triton(2)

LLVM = (MODULES / "rich_llvm.mlir").read_text()
UPSTREAM = (MODULES / "rich_upstream.mlir").read_text()


def rich_llvm(data: InOut[Pointer["f32"]], i: Scalar["i32"], x: Scalar["f32"]) -> Scalar["f32"]: ...


def rich_upstream(t: InOut[Tile["f32", 64]], n: Scalar["i32"], x: Scalar["f32"]): ...


@triton.jit
def pointer_kernel(p, i, x, fragment: tl.constexpr):
    tl.store(p + 100, fragment(p, i, x))


@triton.jit
def tile_kernel(p, i, x, fragment: tl.constexpr):
    offsets = tl.arange(0, 64)
    tl.store(p + offsets, fragment(tl.load(p + offsets), i, x))


def code(fragment, kernel) -> str:
    """The PTX without what tells where it came from."""
    made = compile_kernel(kernel, {"p": "*fp32", "i": "i32", "x": "fp32"}, {"fragment": fragment})
    lines = [line for line in checked(made).splitlines() if not line.lstrip().startswith((".loc", ".file", "//"))]
    text = "\n".join(lines)
    for number, name in enumerate(dict.fromkeys(re.findall(r"\w+\$tle_raw_\w+", text))):
        text = text.replace(name, f"variable_{number}")
    return text


@pytest.fixture(scope="module", autouse=True)
def without_lines():
    with knobs.scope():
        knobs.line_info = False
        yield


@pytest.fixture(scope="module")
def llvm_code():
    return code(tle_raw.fragment(LLVM, signature=rich_llvm, symbol="rich"), pointer_kernel)


@pytest.fixture(scope="module")
def upstream_code():
    return code(tle_raw.fragment(UPSTREAM, signature=rich_upstream, symbol="rich"), tile_kernel)


@pytest.mark.parametrize("make", ["torch_mlir", "jaxlib", "libtriton", "as_generic_text", "as_bytecode"])
def test_modules_of_the_llvm_dialect_give_the_same_ptx(make, llvm_code):
    module = getattr(producers, make)(LLVM)
    made = code(tle_raw.fragment(module, signature=rich_llvm, symbol="rich", dialect="mlir"), pointer_kernel)
    assert made == llvm_code
    assert "shfl.sync.bfly" in made and re.search(r"\batom\.[\w.]*global", made) and "%laneid" in made


def test_the_llvm_dialect_as_cutlass_prints_it(llvm_code):
    """Printed once and kept: nvidia-cutlass-dsl is no dependency."""
    path = MODULES / "rich_llvm_by_cutlass.mlir"
    assert code(tle_raw.fragment(path, signature=rich_llvm, symbol="rich"), pointer_kernel) == llvm_code


@pytest.mark.parametrize("make", ["torch_mlir", "jaxlib", "xdsl", "as_generic_text", "as_bytecode"])
def test_modules_of_upstream_dialects_give_the_same_ptx(make, upstream_code):
    module = getattr(producers, make)(UPSTREAM)
    made = code(tle_raw.fragment(module, signature=rich_upstream, symbol="rich", dialect="mlir"), tile_kernel)
    assert made == upstream_code and "ex2.approx" in made


COMMON = """
func.func @f(%p: !llvm.ptr<1>, %i: i32, %x: f32) -> f32 {
  %q = llvm.getelementptr %p[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %v = llvm.load %q : !llvm.ptr<1> -> f32
  %limit = arith.constant 3.0 : f32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %small = arith.cmpf olt, %v, %limit : f32
  %r = scf.if %small -> (f32) {
    %e = math.exp %v : f32
    %s = arith.mulf %e, %x : f32
    scf.yield %s : f32
  } else {
    %sum = scf.for %k = %zero to %i step %one iter_args(%a = %x) -> (f32) : i32 {
      %b = arith.addf %a, %v : f32
      scf.yield %b : f32
    }
    scf.yield %sum : f32
  }
  return %r : f32
}
"""


@pytest.mark.parametrize("make", ["torch_mlir", "jaxlib", "iree", "xdsl"])
def test_what_all_bindings_have_needs_libtriton_alone(make, monkeypatch):
    """func, arith, scf, math and llvm pointers, from every binding, and the same code by either way."""
    from tle_raw.adapters.mlir.lower import lower
    from tle_raw.adapters.mlir.read_module import read_module

    found = read_module(getattr(producers, make)(COMMON))
    lowered = lower(found.text, "f", arch="sm_90a")
    assert lowered.route == "libtriton" and "__nv_expf" in lowered.llvm_ir
    by_text = tle_raw.fragment(COMMON, signature=rich_llvm, symbol="f")
    by_binding = tle_raw.fragment(found.text, signature=rich_llvm, symbol="f")
    assert code(by_binding, pointer_kernel) == code(by_text, pointer_kernel)


def test_both_ways_give_the_same_ptx():
    made = {}
    for route in ("libtriton", "torch_mlir"):
        fragment = tle_raw.fragment(COMMON, signature=rich_llvm, symbol="f", route=route)
        assert fragment.compile("cuda:90").route == route
        made[route] = code(fragment, pointer_kernel)
    assert made["libtriton"] == made["torch_mlir"]


@pytest.mark.one_triton
def test_numbers_of_a_module(run):
    module = producers.torch_mlir(UPSTREAM)
    fragment = tle_raw.fragment(module, signature=rich_upstream, symbol="rich")
    t = np.random.default_rng(0).uniform(-1, 1, 64).astype(np.float32)
    wide = t.astype(np.float64)
    expected = np.where(np.arange(64) < 10, np.exp(wide) * 0.5, 10 * wide)
    np.testing.assert_allclose(run(fragment, t=t, n=10, x=0.5), expected, 1e-5)


def test_a_module_that_this_triton_cannot_read_says_who_printed_it(monkeypatch):
    """A newer spelling: what IREE's newest MLIR prints, no other reads."""
    module = producers.iree(COMMON)
    text = """
llvm.func @f(%p: !llvm.ptr<1>, %i: i32, %x: f32) -> f32 {
  nvvm.future %x : f32
  llvm.return %x : f32
}"""
    monkeypatch.setattr(type(module.operation), "get_asm", lambda *_, **__: text)
    fragment = tle_raw.fragment(module, signature=rich_llvm, symbol="f")
    with pytest.raises(CompilationFailed) as caught:
        fragment.compile("cuda:90")
    error = caught.value
    assert "custom op 'nvvm.future' is unknown" in error.message
    assert re.search(r"printed by iree-base-compiler 3\.13\.0 \(MLIR 24\.0\.0git\).*Triton 3\.", error.hint)
    assert error.context.source.file == "<module of iree-base-compiler 3.13.0 (MLIR 24.0.0git)>"
    assert "nvvm.future" in error.context.source.text


def test_reading_imports_no_binding():
    script = (
        "import sys, tle_raw\n"
        "from tle_raw.adapters.mlir.read_module import is_module, read_module\n"
        "class Op:\n"
        "    def get_asm(self, print_generic_op_form, enable_debug_info): return 'module {}'\n"
        "assert is_module(Op()) and read_module(Op()).text == 'module {}'\n"
        "assert not is_module(3) and not is_module('module {}') and not is_module(Op)\n"
        "print(*[m for m in ('torch_mlir', 'jaxlib', 'iree', 'cutlass', 'xdsl') if m in sys.modules])\n"
    )
    made = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert made.returncode == 0, made.stderr
    assert made.stdout.strip() == ""


@pytest.mark.one_triton
def test_an_operation_alone_is_a_module():
    module = producers.torch_mlir(COMMON)
    operation = module.body.operations[0]
    fragment = tle_raw.fragment(operation, signature=rich_llvm, symbol="f")
    assert fragment.compile("cuda:90").instructions > 5
