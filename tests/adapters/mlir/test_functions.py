"""Functions are found in custom and in generic text, in nested modules, under type aliases."""

import pytest

from tests.adapters.mlir import producers
from tle_raw.adapters.mlir.functions import functions
from tle_raw.adapters.mlir.operation_names import operation_names
from tle_raw.adapters.mlir.unwrap import unwrap

pytestmark = pytest.mark.one_triton

TEXT = """
!tile = memref<4x?xf32, strided<[8, 1], offset: 0>, 3>
// func.func @commented(%x: f32)
module @outer attributes {dlti.dl_spec = #dlti.dl_spec<>, test.note = "func.func @quoted(%x: f32) {"} {
  func.func @f(%t: !tile, %odd: i32 {llvm.note = "a, (b"}, %p: !llvm.ptr<1>) -> (f32 {llvm.note = 1 : i32}) {
    %c = arith.constant 1.0 : f32
    return %c : f32
  }
  gpu.module @kernels {
    gpu.func @k(%x: index) kernel { gpu.return }
    llvm.func internal @g(%x: !llvm.struct<(i32, array<2 x f32>)>) -> !llvm.struct<(i32, f32)> {
      %u = llvm.mlir.undef : !llvm.struct<(i32, f32)>
      llvm.return %u : !llvm.struct<(i32, f32)>
    }
    func.func nested @"h h"() -> (f32, i1) {
      %c = arith.constant 1.0 : f32
      %b = arith.constant true
      return %c, %b : f32, i1
    }
  }
  func.func private @declared(vector<4xf32>, (f32) -> f32) -> f32
}
"""


def described(text):
    return [(f.path, f.parameters, f.results, f.is_private, f.is_kernel, f.is_declaration) for f in functions(text)]


def expected(tile="memref<4x?xf32, strided<[8, 1], offset: 0>, 3>"):
    return [
        ("outer::f", (tile, "i32", "!llvm.ptr<1>"), ("f32",), False, False, False),
        ("outer::kernels::k", ("index",), (), False, True, False),
        (
            "outer::kernels::g",
            ("!llvm.struct<(i32, array<2 x f32>)>",),
            ("!llvm.struct<(i32, f32)>",),
            True,
            False,
            False,
        ),
        ("outer::kernels::h h", (), ("f32", "i1"), False, False, False),
        ("outer::declared", ("vector<4xf32>", "(f32) -> f32"), ("f32",), True, False, True),
    ]


def test_custom_form():
    found = described(TEXT)
    assert found == expected()
    assert [f.line for f in functions(TEXT)] == [5, 10, 11, 15, 21]
    assert functions(TEXT)[0].names == ("t", "odd", "p")


def parsable():
    return TEXT.replace("strided<[8, 1], offset: 0>", "strided<[8, 1]>")


@pytest.mark.parametrize("generic", [True, False])
def test_what_a_binding_prints(generic):
    module = producers.torch_mlir(parsable())
    printed = module.operation.get_asm(print_generic_op_form=generic)
    assert described(printed) == expected("memref<4x?xf32, strided<[8, 1]>, 3>")


def test_attributes_behind_the_region():
    """As older MLIR prints the generic form."""
    text = """
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%a: f32, %b: memref<4xf32, 3>):
    "func.return"(%a) : (f32) -> ()
  }) {function_type = (f32, memref<4xf32, 3>) -> f32, sym_name = "f", sym_visibility = "private"} : () -> ()
}) {sym_name = "m"} : () -> ()
"""
    assert described(text) == [("m::f", ("f32", "memref<4xf32, 3>"), ("f32",), True, False, False)]
    assert functions(text)[0].names == ("a", "b")


@pytest.mark.parametrize(
    "text",
    ["", "func.func", "func.func @f", "func.func @f(", '"func.func"(', "module {", "}}}>>>(((", '"', "func.func @f(%x"],
)
def test_broken_text_is_no_crash(text):
    assert functions(text) == () or functions(text)[0].name == "f"
    assert isinstance(operation_names(text), dict)


@pytest.mark.parametrize("generic", [True, False])
def test_text_with_a_piece_missing_is_no_crash(generic):
    """Whatever is left of a module, its lines stay where they are and nothing is raised."""
    text = producers.torch_mlir(parsable()).operation.get_asm(print_generic_op_form=generic)
    for start in range(0, len(text), 19):
        broken = text[:start] + text[start + 1 + start % 11 :]
        operation_names(broken)
        for function in functions(broken):
            assert unwrap(broken, function).count("\n") == broken.count("\n")


def test_operation_names():
    found = operation_names(TEXT)
    assert {"func.func", "func.return", "arith.constant", "gpu.module", "gpu.return", "llvm.return"} <= set(found)
    assert not {"llvm.note", "dlti.dl_spec"} & set(found)
