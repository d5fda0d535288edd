"""From the Linalg form to LLVM IR and machine code."""

import builtins
import re
import sys

import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("llvmlite")

import numpy

from tests.flir.cpu.linalg_kernels import Kernel, kernel_text, load, random_array, store, store_tile
from tests.flir.cpu.test_vectorised_numbers import masked_tile
from tle_raw.errors import CompilationFailed, ToolchainError
from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.lower_to_llvm import lower_to_llvm
from tle_raw.host.cpu import host_cpu

pytestmark = pytest.mark.one_triton

needs_avx512 = pytest.mark.skipif("+avx512bw" not in host_cpu().features, reason="reads AVX-512 code")


def code_of(kernel):
    """The instructions of the kernel, without data and directives."""
    body = kernel.assembly.split("\nkernel:\n")[1].split(".Lfunc_end")[0]
    return [line.strip() for line in body.splitlines() if line.startswith("\t") and not line.startswith("\t.")]


def test_the_text_names_no_machine():
    text = lower_to_llvm(masked_tile("f32", "%s = arith.addf %a, %b : f32"), vector_bytes=64)
    assert "target triple" not in text
    assert "target datalayout" not in text


def test_text_that_is_no_module_is_an_error_with_mlirs_own_words():
    with pytest.raises(CompilationFailed, match="cannot read the kernel") as caught:
        lower_to_llvm("func.func @kernel() { %x = no.such_op : i32 }", vector_bytes=64)
    assert "no.such_op" in str(caught.value)


def test_without_the_bindings_the_error_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def no_mlir(name, *arguments, **keywords):
        if name.startswith("torch_mlir"):
            raise ImportError("no module named torch_mlir")
        return real(name, *arguments, **keywords)

    mlir.cache_clear()
    for name in [n for n in sys.modules if n.startswith("torch_mlir")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", no_mlir)
    try:
        with pytest.raises(ToolchainError, match=r"tle_raw\[cpu\]"):
            lower_to_llvm("", vector_bytes=64)
    finally:
        mlir.cache_clear()


@needs_avx512
def test_a_masked_vector_add_is_contiguous_masked_moves_of_whole_registers():
    code = code_of(Kernel(masked_tile("f32", "%s = arith.addf %a, %b : f32")))
    moves = [line for line in code if re.match(r"vmovup[sd]\s", line)]
    assert moves
    assert all("%zmm" in line and "%k" in line for line in moves)
    assert any(re.match(r"vaddps\s.*%zmm", line) for line in code)
    assert not [line for line in code if "gather" in line or re.match(r"v?(add|mov)ss\s", line)]


@needs_avx512
@pytest.mark.parametrize(("kind", "add"), [("f32", "vaddps"), ("f64", "vaddpd"), ("i64", "vpaddq")])
def test_the_accumulators_of_a_reduction_stay_in_registers(kind, add):
    code = code_of(Kernel(reduction(kind)))
    start = next(i for i, line in enumerate(code) if line.startswith(add))
    loop = code[start : next(i for i in range(start, len(code)) if re.match(r"j[nb]e?\s", code[i]))]
    assert len([line for line in loop if line.startswith(add)]) >= 4
    assert not [line for line in loop if "(%rsp" in line]


@pytest.mark.parametrize("kind", ["i8", "i32", "i64", "f32", "f64"])
def test_reductions_in_lanes(kind):
    x, y = random_array(kind, 4096), numpy.zeros(1, random_array(kind, 1).dtype)
    Kernel(reduction(kind))(x, y)
    assert y[0] == pytest.approx(x.sum(dtype=x.dtype), rel=1e-3)


def reduction(kind):
    """The sum of 4096 elements: in 64 lanes, then one lane after the other."""
    add, zero = ("arith.addf", "0.0") if "f" in kind else ("arith.addi", "0")
    buffer = f"memref<64x{kind}>"
    return kernel_text(
        "%x: !llvm.ptr, %y: !llvm.ptr",
        f"""
        %zero = arith.constant {zero} : {kind}
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c64 = arith.constant 64 : index
        %lanes = memref.alloca() : {buffer}
        linalg.fill ins(%zero : {kind}) outs(%lanes : {buffer})
        scf.for %k = %c0 to %c64 step %c1 {{
          %first = arith.muli %k, %c64 : index
          linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}}
              outs(%lanes : {buffer}) {{
          ^bb0(%old: {kind}):
            %i = linalg.index 0 : index
            %at = arith.addi %first, %i : index
            %o = arith.index_cast %at : index to i64
            {load("v", "%x", "%o", kind)}
            %so_far = memref.load %lanes[%i] : {buffer}
            %s = {add} %so_far, %v : {kind}
            linalg.yield %s : {kind}
          }}
        }}
        %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%t = %zero) -> ({kind}) {{
          %v = memref.load %lanes[%k] : {buffer}
          %s = {add} %t, %v : {kind}
          scf.yield %s : {kind}
        }}
        llvm.store %sum, %y : {kind}, !llvm.ptr
        """,
    )


@needs_avx512
def test_offsets_modulo_the_size_are_contiguous_away_from_the_edge():
    body = f"""
      %c = arith.index_cast %i0 : index to i32
      %at = arith.addi %base, %c : i32
      %r = arith.remsi %at, %n : i32
      %from = arith.extsi %r : i32 to i64
      %o = arith.index_cast %i0 : index to i64
      {load("v", "%x", "%from", "f32")}
      {store("%v", "%y", "%o", "f32")}
    """
    before = "%size = arith.constant 256 : i32\n%base = arith.muli %pid, %size : i32"
    kernel = Kernel(kernel_text("%x: !llvm.ptr, %y: !llvm.ptr, %n: i32", before + store_tile((256,), body)))
    assert any(re.match(r"vmovups\s+\d*\(\S+\), %zmm", line) for line in code_of(kernel))
    x = random_array("f32", 1000)
    for pid in range(5):
        y = numpy.empty(256, "f4")
        kernel(x, y, 1000, pid=pid)
        assert numpy.array_equal(y, x[(pid * 256 + numpy.arange(256)) % 1000])
