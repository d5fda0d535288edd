"""Signatures read from typed stubs."""

import pytest

from tle_raw import AnyLayout, Buffer, Const, Element, In, InOut, Out, Pointer, Scalar, Tile
from tle_raw.errors import SignatureError
from tle_raw.fragments.annotations import signature_of
from tle_raw.fragments.dtypes import DTYPES, parse_dtype


def test_a_stub_gives_parameters_effects_names_and_result():
    def scale(t: InOut[Tile["f32", "M", "N"]], s: Pointer["T"], n: Scalar["i32"], k: Const["K"]) -> Scalar["T"]: ...

    signature = signature_of(scale)
    assert str(signature) == (
        "scale(t: InOut[Tile[f32, M, N]], s: Pointer[T], n: Scalar[i32], k: Const[K]) -> Scalar[T]"
    )
    assert signature.names == ("M", "N", "T", "K")
    assert [p.name for p in signature.returned] == ["t"]


def test_an_out_tile_is_returned_but_not_passed():
    def make(o: Out[Tile["f16", 64]], n: Scalar["i32"]): ...

    signature = signature_of(make)
    assert [p.name for p in signature.passed] == ["n"]
    assert [p.name for p in signature.returned] == ["o"]


def test_annotations_may_be_strings():
    def scale(t: "InOut[Tile['f32', 'M']]", n: "In[Scalar['i32']]"): ...

    assert str(signature_of(scale)) == "scale(t: InOut[Tile[f32, M]], n: Scalar[i32])"


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_has_one_meaning_under_its_triton_name(name):
    dtype = DTYPES[name]
    assert parse_dtype(dtype.triton) is dtype
    assert str(Pointer[name]) == f"Pointer[{name}]"


def bad_no_annotation():
    def f(x): ...

    return f


def bad_bare_type():
    def f(x: Tile): ...

    return f


def bad_python_type():
    def f(x: int): ...

    return f


def bad_default():
    def f(x: Scalar["i32"] = 3): ...

    return f


def bad_starred():
    def f(x: Scalar["i32"], *rest): ...

    return f


def bad_scalar_out():
    def f(x: Out[Scalar["i32"]]): ...

    return f


def bad_pointer_out():
    def f(x: Out[Pointer["i32"]]): ...

    return f


def bad_name_of_two_kinds():
    def f(x: Tile["T", "M"], k: Const["T"]): ...

    return f


def bad_tile_and_element():
    def f(x: Tile["f32", "M"], y: Element["f32"]) -> Element["f32"]: ...

    return f


def bad_two_element_results():
    def f(x: InOut[Element["f32"]]) -> Element["f32"]: ...

    return f


def bad_no_element_result():
    def f(x: Element["f32"]): ...

    return f


def bad_result():
    def f(x: Scalar["f32"]) -> Tile["f32", 64]: ...

    return f


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (bad_no_annotation, "parameter `x` has no type"),
        (bad_bare_type, "Tile needs its dtype"),
        (bad_python_type, "has the annotation"),
        (bad_default, "has a default value"),
        (bad_starred, "typed signature names each parameter"),
        (bad_scalar_out, "can only be In"),
        (bad_pointer_out, "cannot be Out"),
        (bad_name_of_two_kinds, "a dtype in one place and for an integer in another"),
        (bad_tile_and_element, "whole tiles or single elements"),
        (bad_two_element_results, "exactly one result, this one has 2"),
        (bad_no_element_result, "exactly one result, this one has 0"),
        (bad_result, "returns Scalar"),
    ],
)
def test_a_wrong_stub_is_a_signature_error(make, words):
    with pytest.raises(SignatureError, match=words):
        signature_of(make())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Tile["f32"], "1 to 4 dims, got 0"),
        (lambda: Tile["f32", 2, 2, 2, 2, 2], "1 to 4 dims, got 5"),
        (lambda: Tile["f32", 48], "power of two"),
        (lambda: Tile["f32", "M-1"], "must be an identifier"),
        (lambda: Tile["f32", 2.0], "an integer or a name"),
        (lambda: Scalar["f23"], "did you mean"),
        (lambda: Scalar["float33"], "did you mean"),
        (lambda: Const[3], "takes one name"),
        (lambda: Buffer["f32"], "1 to 4 dims"),
        (lambda: Buffer["f32", AnyLayout], "1 to 4 dims"),
        (lambda: Buffer["f32", 48], "power of two"),
        (lambda: InOut[float], "takes a parameter type"),
    ],
)
def test_a_wrong_type_is_refused_where_it_is_written(make, words):
    with pytest.raises(SignatureError, match=words):
        make()


def test_buffers_are_passed_and_not_returned_whatever_their_effect_is():
    def f(a: Buffer["f32", "M"], b: Out[Buffer["T", "M", 64, AnyLayout]], c: InOut[Buffer["f32", "M"]]): ...

    signature = signature_of(f)
    assert str(signature) == "f(a: Buffer[f32, M], b: Out[Buffer[T, M, 64, AnyLayout]], c: InOut[Buffer[f32, M]])"
    assert [p.name for p in signature.passed] == ["a", "b", "c"] and not signature.returned
    assert signature.names == ("M", "T") and signature.has_tiles
