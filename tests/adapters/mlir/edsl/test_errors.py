"""Errors of functions that cannot be built: what is said, at which line and column."""

# ruff: noqa: B007, F841, RET503, SIM105 - these functions are wrong on purpose
import math

import numpy as np
import pytest

import tle_raw
from tle_raw import Const, Element, InOut, Out, Pointer, Scalar, Tile, mlir
from tle_raw.errors import CompilationFailed, DialectError, RegionError

LIST = [1, 2]


def ordinary(x):
    return x


@mlir.function
def endless(x):
    return endless(x) + 1


@mlir.function
def some_paths(x):
    if x > 0:
        return 1


@mlir.function
def wants_f32(x: mlir.f32):
    return x


@mlir.function
def wrong_inside(x):
    return x + undefined_there


def undefined_name(n: Scalar["i32"]) -> Scalar["i32"]:
    return n + undefined  # @ 16 the name `undefined` is not defined


def misspelt(number: Scalar["i32"]) -> Scalar["i32"]:
    return numbr  # @ 12 the name `numbr` is not defined


def before_assignment(n: Scalar["i32"]) -> Scalar["i32"]:
    x = y  # @ 9 `y` is used before it is assigned
    y = n
    return x


def on_one_path(n: Scalar["i32"]) -> Scalar["i32"]:
    if n > 0:
        x = 1
    return x  # @ 12 `x` has no value on some path to here


def two_types(n: Scalar["i32"], f: Scalar["f32"]) -> Scalar["f32"]:
    if n > 0:
        x = n
    else:
        x = f
    return f + x  # @ 16 `x` has another type on another path to here


def only_in_the_loop(n: Scalar["i32"]) -> Scalar["i32"]:
    for i in range(n):
        x = i
    return x  # @ 12 `x` has no value on some path to here


def changes_in_the_loop(n: Scalar["i32"], f: Scalar["f32"]) -> Scalar["i32"]:
    for i in range(n):
        n = f  # @ 9 `n` changes its type in the loop
    return n


def float_bits(f: Scalar["f32"]) -> Scalar["f32"]:
    return f & 1  # @ 12 `&` is for integers and bools


def tile_arithmetic(t: InOut[Tile["f32", 8]]):
    t[0] = t * 2  # @ 12 `*` is not defined for these


def too_few_indices(t: InOut[Tile["f32", 8, 8]]):
    t[0] = 1.0  # @ 5 Tile[f32, 8, 8] takes 2 indices, got 1


def outside_the_tile(t: InOut[Tile["f32", 8]]):
    t[8] = 1.0  # @ 5 the index is outside the tile


def float_index(t: InOut[Tile["f32", 8]], f: Scalar["f32"]):
    t[f] = 1.0  # @ 5 index 0 is no integer


def index_of_a_number(n: Scalar["i32"]) -> Scalar["i32"]:
    return n[0]  # @ 12 i32 has no elements


def in_tile(t: Tile["f32", 8]):
    t[0] = 1.0  # @ 5 this tile is In: it may be read only


def in_pointer(p: Pointer["f32"]):
    p[0] += 1.0  # @ 5 this pointer is In: it may be read only


def in_atomic(p: Pointer["i32"]):
    mlir.atomic_add(p, 0, 1)  # @ 5 this pointer is In: it may be read only


def assigned_constant(t: InOut[Tile["f32", "M"]]):
    M = 3  # @ 5 `M` is a constant of the signature: it cannot be assigned
    t[0] = M


def assigned_const(k: Const["K"], t: InOut[Tile["f32", 8]]):
    k = 3  # @ 5 `k` is a constant of the signature: it cannot be assigned
    t[0] = k


def assigned_tile(t: InOut[Tile["f32", 8]]):
    t = 3  # @ 5 `t` is a tile


def wrong_result(n: Scalar["i32"]) -> Scalar["f32"]:
    return n  # @ 5 the result has another type


def missing_return(n: Scalar["i32"]) -> Scalar["i32"]:  # @ 1 the function returns nothing
    n += 1


def return_on_some_paths(n: Scalar["i32"]) -> Scalar["i32"]:  # @ 1 the function returns nothing
    if n > 0:
        return n


def unasked_result(n: Scalar["i32"]):
    return n  # @ 5 the function returns a value, its signature says that it does not


def calls_python(n: Scalar["i32"]) -> Scalar["i32"]:
    return ordinary(n)  # @ 12 `ordinary` is an ordinary Python function


def recursion(n: Scalar["i32"]) -> Scalar["i32"]:
    return endless(n)  # the error stands in `endless`


def inner_paths(n: Scalar["i32"]) -> Scalar["i32"]:
    return some_paths(n)  # the error stands in `some_paths`


def annotated_argument(n: Scalar["i32"]) -> Scalar["f32"]:
    return wants_f32(n)  # @ 12 argument `x` of `wants_f32` has another type


def missing_argument(n: Scalar["i32"]) -> Scalar["f32"]:
    return wants_f32()  # @ 12 missing a required argument


def captured_list(n: Scalar["i32"]) -> Scalar["i32"]:
    return n + LIST[0]  # @ 16 `LIST` is no constant that the mlir dialect can use


def captured_array(n: Scalar["i32"]) -> Scalar["i32"]:
    return np.zeros(3)[n]  # @ 12


def unknown_attribute(n: Scalar["i32"]) -> Scalar["i32"]:
    return n.real  # @ 12 has no attribute `real`


def unknown_function(n: Scalar["f32"]) -> Scalar["f32"]:
    return math.gcd(n, n)  # @ 12 `math.gcd` has no counterpart in device code


def too_large(n: Scalar["i8"]) -> Scalar["i8"]:
    return n + 300  # @ 12 the constant 300 does not fit into i8


def division_by_zero(n: Scalar["i32"]) -> Scalar["i32"]:
    return n // 0  # @ 12 `//` by zero


def shift_too_far(n: Scalar["i32"]) -> Scalar["i32"]:
    return n << 32  # @ 12 a shift of i32


def integer_power(n: Scalar["i32"]) -> Scalar["i32"]:
    return n**n  # @ 12 an integer power needs a constant exponent


def no_range(t: InOut[Tile["f32", 8]]):
    for x in t:  # @ 5 a loop runs over range(…) or over a tuple
        t[0] = x


def float_range(n: Scalar["f32"]):
    for _ in range(n):  # @ 14 range takes integers
        pass


def step_of_zero(n: Scalar["i32"]):
    for _ in range(0, n, 0):  # @ 14 the step of a range cannot be 0
        pass


def dynamic_static_range(n: Scalar["i32"]):
    for _ in mlir.static_range(n):  # @ 14 static_range takes constants
        pass


def endless_loop(n: Scalar["i32"]):
    while True:  # @ 11 this loop never ends
        n += 1


def loop_else(n: Scalar["i32"]):
    for _ in range(n):
        pass
    else:
        n = 1  # @ 9 `else` after a loop is not supported


def tries(n: Scalar["i32"]):
    try:  # @ 5 `try` is not supported
        pass
    except ValueError:
        pass


def inner_function(n: Scalar["i32"]):
    def inner():  # @ 5 a function inside a function is not supported
        pass


def imports(n: Scalar["i32"]):
    import os  # noqa: F401 # @ 5 `import` is not supported


def comprehension(n: Scalar["i32"]) -> Scalar["i32"]:
    return sum([n for _ in range(3)])  # @ 16 a list comprehension is not supported


def slices(t: InOut[Tile["f32", 8]]):
    t[0] = t[1:3]  # @ 14 a slice is not supported


def f_string(n: Scalar["i32"]):
    print(f"{n}")  # @ 11 an f-string is not supported


def deletes(n: Scalar["i32"]):
    del n  # @ 5 `del` is not supported


def unpacks_too_much(n: Scalar["i32"]) -> Scalar["i32"]:
    a, b = (n, n, n)  # @ 5 the number of names and of values differ
    return a + b


def truth_of_a_tile(t: InOut[Tile["f32", 8]]):
    if t:  # @ 8 this is neither true nor false
        t[0] = 1


def wrong_format(n: Scalar["i32"]):
    mlir.printf("%d %d\n", n)  # @ 5 the format and the values differ in number


def format_of_a_float(f: Scalar["f32"]):
    mlir.printf("%d\n", f)  # @ 5 `%d` prints integers


def never_holds(t: InOut[Tile["f32", "M"]]):
    assert M > 100, "too small"  # @ 5 the assertion can never hold: too small


def fp8_arithmetic(x: Scalar["f8e4m3"]) -> Scalar["f8e4m3"]:
    return x + x  # @ 12 `+` is not for f8e4m3


def stored_tile(t: InOut[Tile["f32", 8]]):
    t[0] = t  # @ 5 this cannot be stored as f32


def float_into_integers(t: InOut[Tile["i32", 8]]):
    t[0] = 1.5  # @ 5 this cannot be stored as i32


def atomic_of_small_integers(t: InOut[Tile["i8", 8]]):
    mlir.atomic_add(t, 0, 1)  # @ 5 atomic_add is not for i8


def wrong_width(n: Scalar["i32"]) -> Scalar["i32"]:
    return mlir.shuffle_xor(n, 1, width=3)  # @ 12 the width of a shuffle is a constant power of two


def wrong_axis() -> Scalar["i32"]:
    return mlir.thread_id("w")  # @ 12 an axis is 0, 1 or 2


def bitcast_size(n: Scalar["i32"]) -> Scalar["f64"]:
    return n.bitcast("f64")  # @ 12 a bitcast keeps the size


def unset_output(x: Element["f32"], y: Out[Element["f32"]]):  # @ 1 nothing is assigned to `y`
    z = x


def read_output(x: Element["f32"], y: Out[Element["f32"]]):
    y = y + x  # @ 9 `y` has no value on some path to here


def wide_line(n: Scalar["i32"]):
    mlir.printf("äöü %d\n", undefined)  # @ 29 the name `undefined` is not defined


def immense(n: Scalar["i32"]) -> Scalar["f32"]:
    return mlir.f32(10**400)  # @ 12 a constant cannot be computed


def no_integer(n: Scalar["i32"]) -> Scalar["i32"]:
    return mlir.i32(math.nan)  # @ 12 a constant cannot be computed


CASES = [f for f in list(globals().values()) if callable(f) and hasattr(f, "__code__") and f.__annotations__]
NAMES = {"M": 8, "K": 2}


def expected(function) -> tuple[int, int, str] | None:
    """Line, column and text of the comment in a function that marks its error."""
    import inspect

    lines, first = inspect.getsourcelines(function)
    for number, line in enumerate(lines):
        if "# @ " in line:
            column, _, text = line.partition("# @ ")[2].strip().partition(" ")
            return first + number, int(column), text
    return None


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@pytest.mark.every_triton(12)
def test_the_error_points_at_the_line_and_column(refusal, function):
    fragment = tle_raw.dialect("mlir")(function)
    error = refusal(fragment, **{name: NAMES[name] for name in fragment.signature.names})
    wanted = expected(function)
    place = error.context.source
    if wanted is not None:
        line, column, text = wanted
        assert text in error.message
        assert (place.line, place.column) == (line, column), str(error)
        assert place.file == __file__
    shown = str(error).splitlines()
    mark = next(i for i, text in enumerate(shown) if text.strip() == "^")
    assert shown[mark - 1].strip() == place.text.strip()
    assert isinstance(error, CompilationFailed)


def test_an_error_in_a_called_function_tells_where_it_was_called(refusal):
    def f(n: Scalar["i32"]) -> Scalar["i32"]:
        return wrong_inside(n)

    error = refusal(f)
    assert "`undefined_there` is not defined" in error.message
    assert error.context.source.text.strip() == "return x + undefined_there"
    assert "called at" in error.log and "return wrong_inside(n)" in error.log


def test_a_recursion_is_named(refusal):
    error = refusal(recursion)
    assert "`endless` calls itself" in error.message
    assert error.context.source.text.strip() == "return endless(x) + 1"


def test_a_type_error_has_a_table(refusal):
    error = refusal(wrong_result)
    (row,) = error.table
    assert (row.what, row.expected, row.got) == ("result", "f32", "i32")
    assert error.hint == "convert it: f32(…)"


def test_the_hint_names_what_was_meant(refusal):
    assert refusal(misspelt).hint == "did you mean `number`?"


def test_an_ordinary_function_can_be_decorated(refusal):
    assert "@tle_raw.mlir.function" in refusal(calls_python).hint


def test_device_functions_do_not_run_on_the_host():
    with pytest.raises(RegionError, match="device code"):
        mlir.thread_id()
    with pytest.raises(RegionError, match="device code"):
        endless(1)


def test_untyped_parameters_are_refused():
    with pytest.raises(DialectError, match="names its parameters"):

        @tle_raw.dialect("mlir")
        def f(*args, **kwargs):
            return args


def test_a_body_and_a_source_exclude_each_other():
    with pytest.raises(DialectError, match="has a body"):

        @tle_raw.dialect("mlir", source="module {}")
        def f(n: Scalar["i32"]):
            n = 1


def test_the_error_reaches_the_caller_of_compile():
    fragment = tle_raw.dialect("mlir")(undefined_name)
    with pytest.raises(CompilationFailed, match="the name `undefined` is not defined"):
        fragment.compile("cuda:90")


def test_a_nest_that_is_too_deep_is_refused(refusal, tmp_path):
    file = tmp_path / "deep.py"
    file.write_text("def f(x):\n    return " + "x + (" * 150 + "x" + ")" * 150 + "\n")
    scope: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    deep = mlir.function(scope["f"])

    def g(x: Scalar["f32"]) -> Scalar["f32"]:
        return deep(x)

    import sys

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(300)
    try:
        error = refusal(g)
    finally:
        sys.setrecursionlimit(limit)
    assert "nested too deeply" in error.message
