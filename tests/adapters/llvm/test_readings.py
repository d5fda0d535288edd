"""A parameter is left out only where nothing else can be meant."""

import pytest

from tle_raw import Const, Element, InOut, Out, Pointer, Scalar, Tile
from tle_raw.errors import SignatureMismatchError

pytestmark = pytest.mark.every_triton(2)


def tile(t: InOut[Tile["f32", "M"]], k: Const["K"]) -> Scalar["i32"]: ...
def scalar(n: Scalar["i32"], k: Const["K"]) -> Scalar["i32"]: ...
def wide(n: Scalar["i64"], k: Const["K"], p: Pointer["f32"]): ...
def late(n: Scalar["i32"], p: Pointer["f32"], k: Const["K"]): ...
def sized(t: InOut[Tile["f32", "M"]], m: Const["M"]) -> Scalar["i32"]: ...
def two(a: Tile["f32", "M"], b: Tile["f32", "M"], k: Const["K"], l: Const["L"]): ...  # noqa: E741
def elements(x: Element["i32"], y: Out[Element["i32"]], k: Const["K"]): ...
def floats(t: Tile["f32", "M"], s: Scalar["f32"], k: Const["K"]): ...


def function(parameters, result="void"):
    back = "ret void" if result == "void" else f"ret {result} 0"
    return f"define {result} @NAME({parameters}) {{\n  {back}\n}}\n"


REFUSED = {
    "the constant, by its name": (tile, function("i32 %k", "i32")),
    "by its name, in other letters": (tile, function("i32 %K", "i32")),
    "nothing tells": (tile, function("i32 %0", "i32")),
    "no names at all": (tile, function("i32", "i32")),
    "a name of the author's own": (tile, function("i32 noundef %address", "i32")),
    "a scalar was forgotten": (scalar, function("i32 %k", "i32")),
    "a scalar, or the constant": (scalar, function("i32 %0", "i32")),
    "the scalar before it": (wide, function("i64 %k, ptr %p")),
    "two tiles were forgotten": (two, function("i32 %0, i32 %1")),
    "one tile and one constant": (two, function("ptr %0, i32 %1")),
    "an element was forgotten": (elements, function("i32 %k", "i32")),
    "an output, by its name": (elements, function("i32 %y, i32 %k", "i32")),
    "another number than the constant": (sized, function("ptr %0, ptr %1, i64 %m, i64 %3, i64 %4", "i32")),
}
NAMES = {"tile": ["M", "K"], "sized": ["M"], "two": ["M", "K", "L"], "floats": ["M", "K"]}
TAKEN = {
    "all": (tile, function("ptr %0, i32 %1", "i32")),
    "an address, by its name": (tile, function("i32 %t", "i32")),
    "a pointer is no integer": (tile, function("ptr %0", "i32")),
    "a descriptor, whose numbers are no constant's": (tile, function("ptr %0, ptr %1, i64 %2, i64 %3, i64 %4", "i32")),
    "a size that is named after its constant": (sized, function("ptr %0, ptr %1, i64 %2, i64 %m, i64 %4", "i32")),
    "a scalar, by its name": (scalar, function("i32 %n", "i32")),
    "the order tells": (late, function("i32 %0, ptr %1")),
    "a scalar among others, by its name": (wide, function("i64 %n, ptr %0")),
    "two addresses, by their names": (two, function("i32 noundef %a, i32 noundef %b")),
    "an element, by its name": (elements, function("i32 %x", "i32")),
    "an output that is returned": (elements, function("i32 %0, i32 %1", "i32")),
    "no integer anywhere": (floats, function("ptr %0, float %1")),
}


def names(stub):
    return {name: 16 if name == "M" else 7 for name in NAMES.get(stub.__name__, ["K"])}


@pytest.mark.parametrize("case", REFUSED)
def test_what_may_mean_another_thing_is_refused(refusal, case):
    stub, text = REFUSED[case]
    error = refusal(text.replace("NAME", stub.__name__), stub, names(stub))
    assert isinstance(error, SignatureMismatchError) and "one of its parameters may be" in str(error)
    assert "take every parameter" in error.hint and error.context.source.text.startswith("define")


@pytest.mark.parametrize("case", TAKEN)
def test_what_has_one_meaning_is_taken(declare, case):
    stub, text = TAKEN[case]
    assert declare(text.replace("NAME", stub.__name__), stub).compile(target="cuda:90", **names(stub)).entry
