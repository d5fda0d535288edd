"""Modules in generic form as trees: operations, their values by scope, blocks and what follows them."""

import pytest

from tle_raw.errors import RegionError
from tle_raw.linker.mlir.generic_tree import read_tree

MODULE = """
#loc = loc("kernel.py":1:0)
"builtin.module"() ({
  "tt.func"() <{function_type = (i32) -> (), sym_name = "k"}> ({
  ^bb0(%n: i32 loc("n"(#loc))):
    %c = "arith.constant"() <{value = 0 : i32}> : () -> i32 loc(#loc)
    %r:2 = "scf.for"(%c, %n, %c, %c, %n) ({
    ^bb0(%i: i32 loc(#loc), %a: i32 loc(#loc), %b: i32 loc(#loc)):
      %x = "arith.addi"(%a, %i) : (i32, i32) -> i32 loc(#loc)
      "scf.yield"(%x, %b) : (i32, i32) -> () loc(#loc)
    }) {tt.num_stages = 1 : i32} : (i32, i32, i32, i32, i32) -> (i32, tensor<4x!tt.ptr<f32>>) loc(#loc)
    %y = "scf.if"(%c) ({
      %x = "test.one"(%r#1) : (tensor<4x!tt.ptr<f32>>) -> i32 loc(#loc)
      "scf.yield"(%x) : (i32) -> () loc(#loc)
    }, {
      %x = "test.other"() {text = "%fake }) ({ -> i8"} : () -> i32 loc(#loc)
      "scf.yield"(%x) : (i32) -> () loc(#loc)
    }) : (i32) -> i32 loc(#loc)
    "cf.cond_br"(%c, %y)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (i32, i32) -> () loc(#loc)
  ^bb1(%z: i32 loc(#loc)):  // pred: ^bb0
    "cf.br"()[^bb2] : () -> () loc(#loc)
  ^bb2:  // 2 preds
    "tt.return"() : () -> () loc(#loc)
  }) : () -> () loc(#loc)
}) : () -> () loc(#loc)
""".strip()


def operations():
    (module,) = read_tree(MODULE.splitlines())
    return {operation.name: operation for operation in module.walk()}, module


def test_values_are_known_by_their_scope():
    found, _ = operations()
    first, second = (each.operations for each in (region[0] for region in found["scf.if"].regions))
    assert first[0].results[0] is first[1].operands[0] is not second[0].results[0]
    assert found["arith.addi"].operands[0] is found["scf.for"].regions[0][0].arguments[1]
    assert first[0].operands[0] is found["scf.for"].results[1]


def test_types_blocks_and_jumps():
    found, _ = operations()
    assert [value.type for value in found["scf.for"].results] == ["i32", "tensor<4x!tt.ptr<f32>>"]
    assert found["test.other"].results[0].type == "i32"
    function = found["tt.func"]
    assert [block.label for block in function.regions[0]] == ["^bb0", "^bb1", "^bb2"]
    assert found["cf.cond_br"].successors == ["^bb1", "^bb2"] and found["cf.br"].successors == ["^bb2"]
    assert [value.type for value in function.regions[0][1].arguments] == ["i32"]
    assert [above.name for above in found["arith.addi"].ancestors()] == ["scf.for", "tt.func", "builtin.module"]


def test_values_know_the_operations_that_use_them():
    found, _ = operations()
    loop, branch = found["scf.for"], found["scf.if"]
    assert [each.name for each in loop.results[1].uses] == ["test.one"]
    assert [each.name for each in found["arith.constant"].results[0].uses] == ["scf.for"] * 3 + ["scf.if", "cf.cond_br"]
    assert not loop.results[0].uses and [each.name for each in branch.results[0].uses] == ["cf.cond_br"]


def test_lines_are_those_of_the_text():
    found, module = operations()
    lines = MODULE.splitlines()
    for operation in module.walk():
        assert f'"{operation.name}"(' in lines[operation.line]
    assert lines[found["scf.for"].end].strip().startswith("}) {tt.num_stages")


def test_what_is_no_generic_form_is_told():
    with pytest.raises(RegionError, match="a form that this release"):
        read_tree(["%x = tt.load %p : tensor<4x!tt.ptr<f32>>"])
