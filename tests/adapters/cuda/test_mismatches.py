"""A function that does not fit the signature is an error with a table, never a silent conversion."""

import pytest

from tle_raw.errors import SignatureMismatchError, SymbolError

pytestmark = pytest.mark.one_triton


@pytest.mark.parametrize(
    ("cxx", "kind"),
    [("int", "scalar f32"), ("float", "scalar i32"), ("float", "scalar f64"), ("unsigned", "scalar i32"),
     ("long long", "scalar i32"), ("bool", "scalar i32"), ("int", "scalar i1"), ("float", "scalar f16"),
     ("bool", "pointer f32"), ("void*", "pointer f32"), ("double*", "pointer f32"), ("const int*", "pointer f32"),
     ("float", "pointer f32"), ("float*", "scalar f32"), ("bool", "tile f32 8"), ("void*", "tile f32 8"),
     ("double*", "tile f32 8"), ("tle::tile<float, 4>", "tile f32 8"), ("tle::tile<float, 8, 1>", "tile f32 8"),
     ("tle::tile<double, 8>", "tile f32 8"), ("int", "element f32"), ("int&", "InOut element f32"),
     ("float", "InOut element f32"), ("const float&", "InOut element f32"), ("__half*", "pointer bf16")],
)  # fmt: skip
def test_a_wrong_type_is_refused(cuda, cxx, kind):
    headers = "#include <cuda_fp16.h>\n" if "half" in cxx else ""
    with pytest.raises(SignatureMismatchError) as error:
        cuda.compile(f"{headers}__device__ void f({cxx} x) {{}}", (f"x: {kind}",))
    (row,) = error.value.table
    assert row.what == "x" and row.differs
    assert row.got == cxx


def test_only_the_wrong_row_differs(cuda):
    text = "\n__device__ void f(float* t, const float* s, float n) {}"
    with pytest.raises(SignatureMismatchError) as error:
        cuda.compile(text, ("t: InOut tile f32 8 8", "s: pointer f32", "n: scalar i32"))
    assert [(row.what, row.differs) for row in error.value.table] == [("t", False), ("s", False), ("n", True)]
    assert (error.value.table[2].expected, error.value.table[2].got) == ("int", "float")
    assert error.value.context.source.line == 2
    assert error.value.context.source.text == text.strip()
    assert error.value.context.fragment == "f"


def test_a_missing_parameter_has_a_row(cuda):
    with pytest.raises(SignatureMismatchError) as error:
        cuda.compile("__device__ void f(float* t) {}", ("t: tile f32 8", "n: scalar i32"))
    assert (error.value.table[1].expected, error.value.table[1].got) == ("int", "(nothing)")


def test_a_parameter_too_many_has_a_row(cuda):
    with pytest.raises(SignatureMismatchError) as error:
        cuda.compile("__device__ void f(float* t, int n, int m) {}", ("t: tile f32 8", "n: scalar i32"))
    assert (error.value.table[2].what, error.value.table[2].expected) == ("m", "(nothing)")


def test_a_default_argument_may_stay_away(cuda, entry_body):
    output = cuda.compile("__device__ void f(float* t, int n = 3) { t[0] = n; }", ("t: Out tile f32 8",))
    assert "store float 3.000000e+00" in entry_body(output)


@pytest.mark.parametrize(("cxx", "body"), [("int", "return 1;"), ("double", "return 1;"), ("void", "")])
def test_a_wrong_result_is_refused(cuda, cxx, body):
    with pytest.raises(SignatureMismatchError) as error:
        cuda.compile(f"__device__ {cxx} f() {{ {body} }}", result="f32")
    row = error.value.table[-1]
    assert (row.what, row.expected, row.got) == ("result", "float", cxx)


def test_overloads_are_ambiguous(cuda):
    with pytest.raises(SymbolError, match="ambiguous") as error:
        cuda.compile("__device__ void f(float* t) {}\n__device__ void f(int n) {}", ("t: tile f32 8",))
    assert "f(float*)" in error.value.log and "f(int)" in error.value.log


def test_a_forward_declaration_is_no_overload(cuda, entry_body):
    text = "__device__ void f(float* t);\n__device__ void f(float* x) { x[0] = 1; }"
    assert "store float 1.000000e+00" in entry_body(cuda.compile(text, ("t: Out tile f32 8",)))


def test_two_branches_of_an_if_are_no_overload(cuda, entry_body):
    text = "#if 1\n__device__ void f(float* t) { t[0] = 2; }\n#else\n__device__ void f(int n) {}\n#endif"
    assert "store float 2.000000e+00" in entry_body(cuda.compile(text, ("t: Out tile f32 8",)))


def test_a_missing_function_names_the_near_ones(cuda):
    with pytest.raises(SymbolError, match="no function `scale_tile`") as error:
        cuda.compile("__device__ void scale_tiles(float*) {}", ("t: tile f32 8",), symbol="scale_tile")
    assert "scale_tiles" in error.value.hint


def test_a_function_in_a_namespace_is_suggested(cuda):
    with pytest.raises(SymbolError) as error:
        cuda.compile("namespace a { __device__ void f(float*) {} }", ("t: tile f32 8",), symbol="f")
    assert "a::f" in error.value.hint


def test_a_host_function_is_refused(cuda):
    with pytest.raises(SymbolError, match="__host__"):
        cuda.compile("void f(float* t) {}", ("t: tile f32 8",))


def test_the_only_device_function_is_taken_when_the_name_is_nowhere(cuda, entry_body):
    text = "__global__ void kernel(float* t) {}\nvoid host(float* t) {}\n__device__ void only(float* t) { t[0] = 5; }"
    assert "store float 5.000000e+00" in entry_body(cuda.compile(text, ("t: Out tile f32 8",), name="edsl"))


def test_a_function_that_a_macro_makes_is_found(cuda, entry_body):
    text = "#define MAKE(name) __device__ void name(float* t) { t[0] = 1; }\nMAKE(f)"
    assert "store float 1.000000e+00" in entry_body(cuda.compile(text, ("t: Out tile f32 8",)))
