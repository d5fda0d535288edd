"""Templates get their parameters from the names of the signature, or by deduction."""

import pytest

from tle_raw.errors import SignatureMismatchError

pytestmark = pytest.mark.one_triton

TILE = ("t: InOut tile f32 8 16", "s: pointer f32", "n: scalar i32")


@pytest.mark.parametrize(
    ("head", "parameters"),
    [
        ("int M, int N", "tle::tile<float, M, N> t, const float* s, int n"),
        ("int N, int M", "tle::tile<float, M, N> t, const float* s, int n"),
        ("typename T, int M, int N", "tle::tile<T, M, N> t, const T* s, int n"),
        ("class T", "T* t, const T* s, int n"),
        ("int M, int N, int Unroll = 4", "tle::tile<float, M, N> t, const float* s, int n"),
        ("int M, class U, int N", "tle::tile<U, M, N> t, const U* s, int n"),
        ("int Rows, int Columns", "tle::tile<float, Rows, Columns> t, const float* s, int n"),
        ("int Rows, int Columns", "tle::tile<const float, Rows, Columns> t, const float* s, int n"),
        ("class Element", "Element* t, const Element* s, int n"),
        ("class Tile", "Tile t, const float* s, int n"),
        ("class A, class B, class C", "A t, B s, C n"),
        ("int M, int... Rest", "tle::tile<float, M, Rest...> t, const float* s, int n"),
        ("class T, int... Dims", "const tle::tile<T, Dims...>& t, const float* s, int n"),
    ],
)
def test_a_template_is_called(cuda, entry_body, head, parameters):
    text = f"template <{head}> __device__ void f({parameters}) {{ if (threadIdx.x < n) t[0] = s[1]; }}"
    if "const float, Rows" in text:
        text = text.replace("t[0] = s[1]", "((float*)s)[0] = t[1]")
    body = entry_body(cuda.compile(text, TILE, names={"T": "f32", "M": 8, "N": 16}))
    assert "load float" in body and "store float" in body and "icmp" in body


def test_explicit_arguments_may_be_part_of_the_symbol(cuda):
    text = "template <class T, int K> __device__ T f(T x) { static_assert(K == 4); return x * K; }"
    assert "fmul" in cuda.compile(text, ("x: scalar f32",), result="f32", symbol="f<float, 4>").text


def test_constants_are_template_parameters_and_macros(cuda, entry_body):
    template = "template <int K> __device__ int f(int x) { return x + K; }"
    macro = "__device__ int f(int x) { return x + TLE_K; }"
    for text in (template, macro):
        output = cuda.compile(text, ("x: scalar i32", "k: const 77"), result="i32", names={"K": 77})
        assert "77" in entry_body(output)


def test_dtypes_and_dims_are_macros(cuda, entry_type):
    text = "__device__ TLE_T f(TLE_T* t) { static_assert(TLE_M == 8); return t[0]; }"
    output = cuda.compile(text, ("t: tile f16 8",), result="f16", names={"T": "f16", "M": 8})
    assert entry_type(output) == ("half", ("i32",))


def test_a_function_in_a_namespace_is_named_with_it(cuda, entry_body):
    text = """
    template <int M> __device__ void f(tle::tile<float, M> t) { t[0] = 1; }
    namespace a::b { template <int M> __device__ void f(tle::tile<float, M> t) { t[0] = M; } }
    """
    output = cuda.compile(text, ("t: Out tile f32 8",), names={"M": 8}, symbol="a::b::f")
    assert "store float 8.000000e+00" in entry_body(output)


def test_values_stay_exact_when_other_parameters_are_deduced(cuda):
    text = "template <int R> __device__ void f(tle::tile<float, R> t, int n) { t[0] = n; }"
    with pytest.raises(SignatureMismatchError):
        cuda.compile(text, ("t: Out tile f32 8", "n: scalar f32"), names={"M": 8})


def test_a_parameter_that_nothing_gives_is_explained(cuda):
    text = "template <int Q> __device__ void f(float* t) {}"
    with pytest.raises(SignatureMismatchError, match="couldn't infer template argument 'Q'") as error:
        cuda.compile(text, ("t: Out tile f32 8",), names={"M": 8})
    assert "M" in error.value.hint
