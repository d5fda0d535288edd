"""Binding a signature to the arguments of a call, without Triton."""

import pytest

from tle_raw import Const, Element, InOut, Out, Pointer, Scalar, Tile
from tle_raw.errors import ArgumentCountError, ArgumentTypeError, BindingError, ShapeError
from tle_raw.fragments.annotations import signature_of
from tle_raw.fragments.argument import CONSTANT, OTHER, POINTER_TILE, Argument
from tle_raw.fragments.bind_untyped import bind_untyped
from tle_raw.fragments.binding import bind, bind_names, match_arguments
from tle_raw.fragments.bound import POINTER, SCALAR, TILE, bound_from_json
from tle_raw.fragments.dtypes import DTYPES

pytestmark = pytest.mark.one_triton


def scale_stub(t: InOut[Tile["T", "M", "N"]], s: Pointer["T"], n: Scalar["i32"], k: Const["K"]): ...


def make_stub(o: Out[Tile["T", "M"]], n: Scalar["i32"]): ...


def pair_stub(a: Tile["f32", "M"], b: Tile["f32", "M"]): ...


def element_stub(x: Element["T"], y: Element["T"]) -> Element["T"]: ...


SCALE, MAKE, PAIR, ELEMENT = map(signature_of, (scale_stub, make_stub, pair_stub, element_stub))
F32, F16, I32 = DTYPES["f32"], DTYPES["f16"], DTYPES["i32"]


def tile(*dims, dtype=F32):
    return Argument(TILE, dtype, dims)


def constant(value):
    return Argument(CONSTANT, value=value)


def scale_arguments(**changed):
    good = {"t": tile(16, 32), "s": Argument(POINTER, F32), "n": Argument(SCALAR, I32), "k": constant(3)}
    return good | changed


def test_every_name_takes_its_value():
    bound = bind(SCALE, scale_arguments())
    assert bound.names == (("T", F32), ("M", 16), ("N", 32), ("K", 3))
    assert [str(p) for p in bound.parameters] == ["t: Tile[f32, 16, 32]", "s: Pointer[f32]", "n: Scalar[i32]", "k = 3"]


def test_constants_do_not_cross_the_border():
    bound = bind(SCALE, scale_arguments())
    assert bound.entry_parameters == ("i32", "ptr addrspace(1)", "i32")
    assert bound.entry_result == "i32"


def test_a_call_without_run_time_arguments_still_has_an_operand():
    def nothing() -> Scalar["f32"]: ...

    assert bind(signature_of(nothing), {}).entry_parameters == ("i32",)


@pytest.mark.parametrize("result", DTYPES)
def test_the_result_crosses_under_its_llvm_type(result):
    def value() -> Scalar[result]: ...

    assert bind(signature_of(value, locals()), {}).entry_result == DTYPES[result].llvm


def test_a_bound_signature_survives_json():
    bound = bind(SCALE, scale_arguments())
    assert bound_from_json(bound.to_json()) == bound


def test_names_alone_bind_as_a_call_does():
    assert bind_names(SCALE, {"T": "f32", "M": 16, "N": 32, "K": 3}) == bind(SCALE, scale_arguments())


@pytest.mark.parametrize(
    ("bindings", "words"),
    [
        ({"T": "f32", "M": 16, "N": 32}, "needs values for T, M, N, K"),
        ({"T": "f32", "M": 16, "N": 32, "K": 3, "L": 1}, "needs values"),
        ({"T": "f32", "M": "x", "N": 32, "K": 3}, "stands for an integer"),
    ],
)
def test_names_alone_must_be_complete(bindings, words):
    with pytest.raises(BindingError, match=words):
        bind_names(SCALE, bindings)


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"t": tile(16, 32, dtype=F16)}, BindingError, "two different values"),
        ({"t": tile(16)}, ShapeError, "rank 1, the signature says rank 2"),
        ({"t": tile(16, 48)}, ShapeError, "powers of two"),
        ({"t": Argument(POINTER, F32)}, ArgumentTypeError, "a pointer where a tile belongs"),
        ({"s": tile(16, 32)}, ArgumentTypeError, "a tile where a pointer belongs"),
        ({"s": Argument(POINTER_TILE, text="block of pointers [64]")}, ArgumentTypeError, "block of pointers"),
        ({"n": Argument(SCALAR, F32)}, ArgumentTypeError, "another dtype"),
        ({"n": tile(1)}, ArgumentTypeError, "a tile where a scalar belongs"),
        ({"n": constant(2**31)}, ArgumentTypeError, "does not fit"),
        ({"n": constant(1.5)}, ArgumentTypeError, "does not fit"),
        ({"k": Argument(SCALAR, I32)}, ArgumentTypeError, "a scalar where a constant belongs"),
        ({"k": constant(1.5)}, ArgumentTypeError, "no integer"),
        ({"n": Argument(OTHER, text="tensor descriptor")}, ArgumentTypeError, "an other where a scalar"),
    ],
)
def test_a_misfit_names_its_argument(changed, error, words):
    with pytest.raises(error, match=words):
        bind(SCALE, scale_arguments(**changed))


def test_the_table_marks_the_rows_that_differ_and_only_those():
    with pytest.raises(ArgumentTypeError) as caught:
        bind(SCALE, scale_arguments(n=Argument(SCALAR, F32)))
    assert [row.what for row in caught.value.table if row.differs] == ["n"]
    marked = [line.split() for line in str(caught.value).splitlines() if line.lstrip().startswith(">")]
    assert marked == [[">", "n", "Scalar[i32]", "Scalar[f32]"]]


def test_two_values_of_one_dim_name_are_both_shown():
    with pytest.raises(BindingError) as caught:
        bind(PAIR, {"a": tile(64), "b": tile(128)})
    assert "M in `a`" in str(caught.value) and "64" in str(caught.value) and "128" in str(caught.value)


def test_an_out_tile_needs_its_shape_from_somewhere():
    arguments = {"n": Argument(SCALAR, I32)}
    with pytest.raises(ShapeError, match="how large the Out tile `o` is"):
        bind(MAKE, arguments, given={"T": F32})
    by_shape = bind(MAKE, arguments, {"o": (64,)}, {"T": F32})
    assert by_shape == bind(MAKE, arguments, given={"T": F32, "M": 64})
    with pytest.raises(ShapeError, match="powers of two"):
        bind(MAKE, arguments, {"o": (65,)}, {"T": F32})
    with pytest.raises(BindingError, match="nothing says which dtype `T`"):
        bind(MAKE, arguments, {"o": (64,)})
    with pytest.raises(BindingError, match="of another kind"):
        bind(MAKE, arguments, {"o": (64,)}, {"T": 3})


def test_a_dtype_name_that_only_constants_carry_takes_tritons_own():
    bound = bind(ELEMENT, {"x": constant(1.5), "y": constant(2.0)})
    assert bound.names == (("T", F32),)


def test_arguments_are_matched_as_python_matches_them():
    assert match_arguments(PAIR, [1], {"b": 2}) == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("positional", "keywords", "words"),
    [
        ([1], {}, "takes 2 arguments, got 1"),
        ([1, 2, 3], {}, "takes 2 arguments, got 3"),
        ([1], {"c": 2}, "no argument `c`"),
        ([1, 2], {"b": 2}, "`b` twice"),
    ],
)
def test_a_wrong_number_of_arguments_is_an_error(positional, keywords, words):
    with pytest.raises(ArgumentCountError, match=words):
        match_arguments(PAIR, positional, keywords)


def test_an_out_parameter_cannot_be_passed():
    with pytest.raises(ArgumentCountError, match="`o`"):
        match_arguments(MAKE, [1], {"o": 2})


def test_an_untyped_stub_takes_its_signature_from_the_call():
    bound = bind_untyped("edsl", [tile(16, 32), Argument(POINTER, F16), constant(3)], [0])
    assert [p.is_memref for p in bound.parameters] == [p.kind == TILE for p in bound.parameters]
    assert [(p.kind, p.effect) for p in bound.parameters] == [("tile", "InOut"), ("pointer", "InOut"), ("scalar", "In")]


@pytest.mark.parametrize(
    ("arguments", "outputs", "error"),
    [
        ([tile(16)], [1], ArgumentCountError),
        ([Argument(SCALAR, I32)], [0], ArgumentTypeError),
        ([Argument(OTHER, text="tuple")], [], ArgumentTypeError),
    ],
)
def test_an_untyped_call_is_checked_too(arguments, outputs, error):
    with pytest.raises(error):
        bind_untyped("edsl", arguments, outputs)
