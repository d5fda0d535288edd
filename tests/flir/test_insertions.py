"""Barriers, fences and marks beside operations: the module itself gets what its text would get."""

from __future__ import annotations

import random

import pytest
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend

from tle_raw.errors import RegionError
from tle_raw.flir.nvidia.barrier_walk import AFTER, BEFORE
from tle_raw.flir.nvidia.calls.triton_version import SPELLING
from tle_raw.flir.nvidia.insertions import BARRIER, FENCE, Insertion, insert_in_place, insert_in_text
from tle_raw.flir.parse_module import parse_module
from tle_raw.linker.mlir.generic_form import peek_generic
from tle_raw.linker.mlir.generic_tree import read_operations

MARK = "// tle.open"
HEAD = "#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>\n"
MODULE = """module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @kernel(%p: !tt.ptr<i32> loc("p"("k.py":1:1)), %n: i32 loc("n"("k.py":1:2)), %c: i1 loc("c"("k.py":1:3))) {
    %one = arith.constant 1 : i32 loc("k.py":2:1)
    %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked> loc("k.py":3:1)
    %q = tt.splat %p : !tt.ptr<i32> -> tensor<128x!tt.ptr<i32>, #blocked> loc("k.py":4:1)
    scf.for %k = %one to %n step %one : i32 {
      %sum = arith.addi %k, %n : i32 loc("k.py":6:1)
      scf.if %c {
        %s = tt.splat %sum : i32 -> tensor<128xi32, #blocked> loc("k.py":8:1)
        tt.store %q, %s : tensor<128x!tt.ptr<i32>, #blocked> loc("k.py":9:1)
        scf.yield loc("k.py":10:1)
      } else {
        tt.store %q, %i : tensor<128x!tt.ptr<i32>, #blocked> loc("k.py":11:1)
        scf.yield loc("k.py":11:2)
      } loc("k.py":7:1)
      scf.yield loc("k.py":7:2)
    } loc("k.py":5:1)
    tt.store %q, %i : tensor<128x!tt.ptr<i32>, #blocked> loc("k.py":12:1)
    tt.return loc("k.py":13:1)
  } loc("k.py":1:1)
} loc("k.py":0:0)
"""  # noqa: E501 - as Triton prints it


@pytest.fixture
def context():
    made = ir.context()
    ir.load_dialects(made)
    make_backend(GPUTarget("cuda", 90, 32)).load_dialects(made)
    return made


def test_a_peek_at_the_generic_form_leaves_a_module_as_it_was(context):
    module = parse_module(HEAD + MODULE, context)
    before = module.str()
    text = peek_generic(module, ir)
    assert '"builtin.module"() ' in text and '"ttg.threads-per-warp" = 32 : i32' in text
    assert module.str() == before == parse_module(text, context).str()
    assert module.verify()


def test_there_is_no_peek_at_a_module_without_layouts(context):
    lines = [line for line in MODULE.splitlines() if "tensor<" not in line]
    assert peek_generic(parse_module("\n".join(lines), context), ir) == ""
    assert peek_generic(parse_module("module {\n}", context), ir) == ""


@pytest.mark.parametrize("seed", range(12))
def test_in_place_and_in_the_text_it_is_the_same(context, seed):
    module = parse_module(HEAD + MODULE, context)
    text = peek_generic(module, ir)
    operations = read_operations(text.splitlines())
    inner = [each for each in operations if each.name not in ("builtin.module", "tt.func")]
    rng, made = random.Random(seed), []
    for each in rng.choices(inner, k=9):
        ends = each.name in ("scf.yield", "tt.return")
        if rng.random() < 0.5 or ends:
            made += [Insertion(each.line, BEFORE, what) for what in rng.sample((FENCE, MARK, MARK), rng.randint(1, 3))]
        else:
            made.append(Insertion(each.end, AFTER, rng.choice((FENCE, MARK))))
    want = parse_module(insert_in_text(text.splitlines(), operations, made, SPELLING), context).str()
    insert_in_place(module, operations, made)
    got = module.str()
    assert [pair for pair in zip(got.splitlines(), want.splitlines()) if pair[0] != pair[1]] == []
    assert got == want
    assert want.count(MARK) == sum(each.what == MARK for each in made)


def test_a_barrier_stands_where_the_text_has_it(context):
    module = parse_module(HEAD + MODULE, context)
    text = peek_generic(module, ir)
    operations = read_operations(text.splitlines())
    store = next(each for each in operations if each.name == "tt.store")
    insertions = [Insertion(store.line, BEFORE, BARRIER)]
    insert_in_place(module, operations, insertions)
    lines = module.str_nodebug().splitlines()
    place = next(n for n, line in enumerate(lines) if "barrier" in line)
    assert lines[place].split()[0] == SPELLING.barrier.split('"')[1] and "tt.store" in lines[place + 1]
    parsed = (
        parse_module(insert_in_text(text.splitlines(), operations, insertions, SPELLING), context)
        .str_nodebug()
        .splitlines()
    )
    assert [line.replace("local", "all") for line in parsed] == lines


def test_a_text_of_another_module_is_refused(context):
    module = parse_module(HEAD + MODULE, context)
    lines = peek_generic(module, ir).splitlines()
    operations = read_operations([line for line in lines if '"arith.addi"' not in line])
    with pytest.raises(RegionError, match="does not hold the operations of its text"):
        insert_in_place(module, operations[:-1], [Insertion(operations[3].line, BEFORE, FENCE)])
