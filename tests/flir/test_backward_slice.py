"""The part of a module that is asked about some values of one line."""

import re

from triton._C.libtriton import ir

from tle_raw.flir.nvidia.backward_slice import KernelLines
from tle_raw.flir.parse_module import parse_module

TYPE = "tensor<64xf32>"
POINTERS = "tensor<64x!tt.ptr<f32>>"
MODULE = f"""\
#loc = loc("kernel.py":1:0)
"builtin.module"() ({{
  "tt.func"() <{{function_type = (!tt.ptr<f32>, i32) -> (), sym_name = "kernel", sym_visibility = "public"}}> ({{
  ^bb0(%x: !tt.ptr<f32> loc("x"(#loc)), %n: i32 loc("n"(#loc))):
    %0 = "arith.constant"() <{{value = 0 : i32}}> : () -> i32 loc(#loc1)
    %1 = "arith.constant"() <{{value = 1 : i32}}> : () -> i32 loc(#loc1)
    %2 = "arith.constant"() <{{value = dense<0.0> : {TYPE}}}> : () -> {TYPE} loc(#loc1)
    %3 = "tt.splat"(%x) : (!tt.ptr<f32>) -> {POINTERS} loc(#loc1)
    %unused = "arith.addi"(%n, %1) : (i32, i32) -> i32 loc(#loc1)
    %4:3 = "scf.for"(%0, %n, %1, %3, %2, %0) ({{
    ^bb0(%i: i32 loc(#loc1), %at: {POINTERS} loc(#loc1), %sum: {TYPE} loc(#loc1), %k: i32 loc(#loc1)):
      %5 = "tt.splat"(%k) : (i32) -> tensor<64xi32> loc(#loc1)
      %6 = "tt.addptr"(%at, %5) : ({POINTERS}, tensor<64xi32>) -> {POINTERS} loc(#loc1)
      %7 = "arith.addf"(%sum, %2) : ({TYPE}, {TYPE}) -> {TYPE} loc(#loc1)
      %8 = "arith.addi"(%k, %1) : (i32, i32) -> i32 loc(#loc1)
      "scf.yield"(%6, %7, %8) : ({POINTERS}, {TYPE}, i32) -> () loc(#loc1)
    }}) : (i32, i32, i32, {POINTERS}, {TYPE}, i32) -> ({POINTERS}, {TYPE}, i32) loc(#loc1)
    %9 = "arith.cmpi"(%n, %1) <{{predicate = 4 : i64}}> : (i32, i32) -> i1 loc(#loc1)
    "scf.if"(%9) ({{
      %10 = "tt.splat"(%n) : (i32) -> tensor<64xi32> loc(#loc1)
      "tt.store"(%4#0, %4#1) : ({POINTERS}, {TYPE}) -> () loc(#loc1)
      "scf.yield"() : () -> () loc(#loc1)
    }}, {{
    }}) : (i1) -> () loc(#loc1)
    "tt.return"() : () -> () loc(#loc1)
  }}) : () -> () loc(#loc)
}}) : () -> () loc(#loc)
#loc1 = loc("kernel.py":2:4)"""
LINES = MODULE.splitlines()


def sliced(at, *names):
    """The texts that are left, and the module that they are."""
    number = next(n for n, line in enumerate(LINES) if at in line)
    text = "\n".join(line for _, line in KernelLines(LINES).slice(number, names))
    context = ir.context()
    ir.load_dialects(context)
    assert parse_module(text, context).str()
    return text


def test_what_nothing_asks_for_falls_away_and_so_do_locations():
    text = sliced("%5 =", "%k")
    assert "loc(" not in text and "#loc" not in text
    for gone in ("%unused", '"tt.addptr"', '"arith.addf"', '"scf.if"', '"tt.store"'):
        assert gone not in text
    assert '"arith.addi"(%k, %1)' in text


def test_a_loop_yields_the_arguments_themselves_that_nothing_reads():
    assert '"scf.yield"(%at, %sum, %8)' in sliced("%5 =", "%k")
    assert '"scf.yield"(%6, %sum, %8)' in sliced("%7 =", "%6")
    assert '"scf.yield"(%at, %7, %k)' in sliced("%8 =", "%7")


def test_the_results_of_a_loop_need_all_that_it_yields():
    text = sliced('"tt.store"', "%4#0")
    assert '"scf.yield"(%6, %7, %8)' in text
    assert "%10" not in text and '"scf.if"' in text


def test_branches_around_the_line_stay_and_others_go():
    text = sliced("%10 =", "%n")
    assert '"scf.if"(%9)' in text and '"arith.cmpi"' in text and '"scf.for"' not in text
    assert len(re.findall(r"^\s*\}, \{", text, re.MULTILINE)) == 1


def test_a_module_with_calls_is_left_whole():
    lines = [
        line.replace('"tt.splat"(%x) : (!tt.ptr<f32>)', '"tt.call"(%x) <{callee = @f}> : (!tt.ptr<f32>)')
        for line in LINES
    ]
    number = next(n for n, line in enumerate(lines) if "%6 =" in line)
    assert [line for _, line in KernelLines(lines).slice(number, ["%at"])] == lines
