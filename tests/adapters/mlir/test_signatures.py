"""Signatures: inferred from the function's own type, and held against it where they are given."""

import numpy as np
import pytest

import tle_raw
from tle_raw import Const, Element, In, InOut, Out, Pointer, Scalar, Tile
from tle_raw.errors import BindingError, SignatureError, SignatureMismatchError

pytestmark = pytest.mark.every_triton(2)


def declaring(parameters: str, result: str = "") -> str:
    value = {"f32": "arith.constant 1.0 : f32", "index": "arith.constant 1 : index"}.get(result)
    end = f"%r = {value} return %r : {result}" if value else "return"
    return f"func.func @f({parameters}){f' -> {result}' if result else ''} {{ {end} }}\n"


def test_inferred_from_the_type():
    fragment = tle_raw.fragment(
        declaring("%t: memref<?x16xf32, 3>, %p: !llvm.ptr<1>, %n: i32, %i: index, %b: i1", "f32")
    )
    assert str(fragment.signature) == (
        "f(t: InOut[memref<?x16xf32, 3>], p: InOut[!llvm.ptr<1>], n: i32, i: index, b: i1) -> f32"
    )
    assert fragment.name == "f" and fragment.signature.names == ("t_0", "p_T")
    fragment.compile("cuda:90", t_0=8, p_T="f16")
    with pytest.raises(BindingError):
        fragment.compile("cuda:90", p_T="f16")


def test_names_that_python_does_not_have():
    fragment = tle_raw.fragment(declaring("%0: f32, %class: f32, %ok: f32"))
    assert [p.name for p in fragment.signature.parameters] == ["arg0", "arg1", "ok"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("%t: memref<8x4xf32, strided<[1, 8]>, 3>", "a tile has other strides"),
        ("%t: memref<*xf32, 3>", "says nothing of its rank"),
        ("%t: memref<?xf32>", "a memref crosses in shared memory"),
        ("%t: tensor<?xf32>", "no region takes the MLIR type `tensor<?xf32>`"),
        ("%p: !llvm.ptr<3>", "crosses to global memory only"),
        ("%t: memref<?xcomplex<f32>, 3>", "no element type of a tile"),
    ],
)
def test_types_that_cannot_cross(parameters, message):
    with pytest.raises(SignatureError) as caught:
        tle_raw.fragment(declaring(parameters), dialect="mlir")
    assert message in caught.value.message
    assert caught.value.context.source.text.startswith("func.func @f")


def test_several_results_cannot_come_back():
    text = "func.func @f(%x: f32) -> (f32, f32) { return %x, %x : f32, f32 }\n"
    with pytest.raises(SignatureError, match="gives 2 values"):
        tle_raw.fragment(text)


def test_memory_cannot_be_a_result():
    text = "func.func @f(%x: memref<4xf32, 3>) -> memref<4xf32, 3> { return %x : memref<4xf32, 3> }\n"
    with pytest.raises(SignatureError, match="gives a tile"):
        tle_raw.fragment(text)


@pytest.mark.one_triton
def test_given_signatures_may_say_more(run):
    """Effects, shared dim names, constants and dtypes that the type does not tell."""

    def f(a: Tile["f32", "N"], b: Out[Tile["f32", "N"]], k: Const["K"]): ...

    text = """
func.func @f(%a: memref<?xf32, strided<[?], offset: ?>, 3>, %b: memref<?xf32, 3>, %k: i64) {
  %x = arith.sitofp %k : i64 to f32
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%a : memref<?xf32, strided<[?], offset: ?>, 3>) outs(%b : memref<?xf32, 3>) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %x : f32
    linalg.yield %r : f32
  }
  return
}
"""
    a = np.random.default_rng(0).uniform(-1, 1, 32).astype(np.float32)
    got = run(tle_raw.fragment(text, signature=f), {"N": 32, "K": 3}, a=a)
    np.testing.assert_array_equal(got, a * np.float32(3))


@pytest.mark.one_triton
def test_unsigned_and_signed_spellings_and_generic_pointers():
    def f(t: In[Tile["u8", 16]], p: Pointer["f32"], n: Scalar["u32"], i: Scalar["i64"]): ...

    text = declaring("%t: memref<16xi8, 3>, %p: !llvm.ptr, %n: i32, %i: index")
    assert tle_raw.fragment(text, signature=f).compile("cuda:90").instructions


MISFITS = {
    "%t: memref<?x32xf32, 3>, %n: i32": ("t", "memref<?x32xf32, 3>"),
    "%t: memref<?xf32, 3>, %n: i32": ("t", "memref<?xf32, 3>"),
    "%t: memref<?x16xf16, 3>, %n: i32": ("t", "memref<?x16xf16, 3>"),
    "%t: memref<?x16xf32, 1>, %n: i32": ("t", "memref<?x16xf32, 1>"),
    "%t: memref<?x16xf32, strided<[1, ?], offset: ?>, 3>, %n: i32": (
        "t",
        "memref<?x16xf32, strided<[1, ?], offset: ?>, 3>",
    ),
    "%t: !llvm.ptr<1>, %n: i32": ("t", "!llvm.ptr<1>"),
    "%t: memref<?x16xf32, 3>, %n: f32": ("n", "f32"),
    "%t: memref<?x16xf32, 3>": ("n", "(nothing)"),
    "%t: memref<?x16xf32, 3>, %n: i32, %more: f32": ("#3", "f32"),
}


@pytest.mark.parametrize("parameters", MISFITS)
def test_a_signature_that_does_not_fit_gets_a_table(parameters):
    def f(t: InOut[Tile["f32", "M", "N"]], n: Scalar["i32"]): ...

    fragment = tle_raw.fragment(declaring(parameters), signature=f)
    with pytest.raises(SignatureMismatchError) as caught:
        fragment.compile("cuda:90", M=8, N=16)
    wrong = [(row.what, row.got) for row in caught.value.table if row.differs]
    assert wrong == [MISFITS[parameters]]
    assert caught.value.context.source.text.startswith("func.func @f(")


def test_results_are_compared():
    def f(n: Scalar["i32"]) -> Scalar["f64"]: ...

    with pytest.raises(SignatureMismatchError) as caught:
        tle_raw.fragment(declaring("%n: i32", "f32"), signature=f).compile("cuda:90")
    assert [(row.expected, row.got) for row in caught.value.table if row.differs] == [("f64", "f32")]


def test_prototypes_are_functions_that_fit():
    def f(t: InOut[Tile["bf16", "M", 16]], p: Pointer["f32"], n: Scalar["u8"], c: Const["K"]) -> Scalar["i64"]: ...

    fragment = tle_raw.fragment(declaring("%x: f32"), signature=f)
    made = fragment.prototype()
    assert "func.func @f(%t: memref<?x16xbf16, 3>, %p: !llvm.ptr<1>, %n: i8, %c: i32) -> i64 {" in made
    assert "// t: M x 16 elements of bf16 in shared memory, row-major, read and written by the whole block" in made
    tle_raw.fragment(made, signature=f).compile("cuda:90", M=8, K=5)


@pytest.mark.one_triton
def test_prototypes_of_elements():
    def f(x: Element["f32"], y: InOut[Element["f16"]]): ...

    made = tle_raw.fragment(declaring("%x: f32"), signature=f).prototype()
    assert "func.func @f(%x: f32, %y: !llvm.ptr) {" in made
    tle_raw.fragment(made, signature=f).compile("cuda:90")


@pytest.mark.one_triton
def test_a_constant_is_left_out_only_where_nothing_else_can_be_meant(run, refusal):
    def f(t: InOut[Tile["f32", "N"]], k: Const["K"]): ...
    def g(n: Scalar["i32"], k: Const["K"]) -> Scalar["i32"]: ...

    for parameters in ("%k: i32", "%0: i32"):
        error = refusal(declaring(parameters), {"N": 16, "K": 7}, signature=f, symbol="f")
        assert isinstance(error, SignatureMismatchError) and "one of its parameters may be" in str(error)
    for parameters in ("%t: memref<?xf32, 3>", "%t: i32", "%0: memref<?xf32, 3>, %1: i32"):
        assert tle_raw.fragment(declaring(parameters), signature=f).compile("cuda:90", N=16, K=7)
    text = "func.func @g(%n: i32) -> i32 { return %n : i32 }\n"
    assert run(tle_raw.fragment(text, signature=g), {"K": 7}, n=3) == 3
    error = refusal(text.replace("%n", "%k"), {"K": 7}, signature=g, symbol="g")
    assert isinstance(error, SignatureMismatchError)
