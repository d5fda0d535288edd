"""The scanner finds the functions of C++ text, and nothing else."""

import pytest

from tle_raw.adapters.cpp.declarations import functions
from tle_raw.adapters.cuda.symbol import default_symbol, split_symbol

pytestmark = pytest.mark.one_triton


def only(text):
    (function,) = functions(text)
    return function


@pytest.mark.parametrize(
    "text",
    [
        "// __device__ void f(int);",
        "/* __device__ void f(int); */",
        'const char* s = "__device__ void f(int);";',
        'const char* s = R"x(__device__ void f(int) {})x";',
        "#define F __device__ \\\n void f(int)",
        "struct S { __device__ void f(int); };",
        "template <class T> struct S { void f() {} };",
        "using F = void(int);",
        "__constant__ float f[4] = {1, 2};",
        "auto f = [](int x) { return x; };",
        "int x = f(3);",
        "MACRO(f)",
        "template <> __device__ void f<int>(int) {}",
        "template __device__ void f<int>(int);",
        "static_assert(sizeof(int) == 4);",
        "__device__ V operator+(V a, V b) { return a; }",
    ],
)
def test_what_is_no_function_is_left_out(text):
    assert functions(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "__device__ int f(float* x) { return x[b[0]]; }",
        'extern "C" __device__ int f(float* x);',
        'extern "C" { __device__ int f(float* x); }',
        "namespace { __device__ __forceinline__ auto f(float* x) -> int { return 1; } }",
        "__attribute__((device)) int __launch_bounds__(128) f(float *x) noexcept {}",
        "[[nodiscard]] static __device__ const Vec<int, 3>& f(float *x) { if (1) {} }",
        "MACRO(g) __device__ int f(float* x) {}",
        "struct S { int a; };\n__device__ S f(float* x) {}",
        "__device__ decltype(1 + 2) f(float* x) {}",
    ],
)
def test_a_function_is_found(text):
    function = only(text)
    assert (function.qualified, function.types) == ("f", ("float*",))


def test_types_names_and_defaults_of_parameters_are_read():
    function = only(
        "void f(const float *__restrict__ a, tle::tile<float, 4, 8> b, int n = g(1, 2), unsigned, float x[4]) {}"
    )
    assert function.types == ("const float* __restrict__", "tle::tile<float, 4, 8>", "int", "unsigned", "float[4]")
    assert [p.name for p in function.parameters] == ["a", "b", "n", "", "x"]
    assert [p.has_default for p in function.parameters] == [False, False, True, False, False]


def test_void_is_no_parameter():
    assert only("int f(void);").parameters == ()


def test_template_parameters_are_read():
    function = only("template <typename T, int K = 4, template <class> class C, class... R> void f(T x) {}")
    assert [(p.kind, p.name, p.default, p.is_pack) for p in function.template] == [
        ("typename", "T", "", False), ("int", "K", "4", False), ("template", "C", "", False),
        ("typename", "R", "", True),
    ]  # fmt: skip


def test_namespaces_are_part_of_the_name():
    text = "namespace a { inline namespace b::c { void f(); } void g(); }\nvoid d::h() {}"
    assert [function.qualified for function in functions(text)] == ["a::b::c::f", "a::g", "d::h"]


def test_lines_and_definitions_are_known():
    first, second = functions("void f();\n\n  void f() {}")
    assert (first.line, first.is_definition) == (1, False)
    assert (second.line, second.column, second.is_definition) == (3, 8, True)


@pytest.mark.parametrize(
    "text", ["void f(", "{{{", "}", "template <", "namespace a {", '"', "/*", "'", "void f() {", "<<", "\\"]
)
def test_broken_text_is_survived(text):
    functions(text)


def test_the_default_symbol_follows_flagtrees_rule():
    text = "void host() {}\nnamespace a { __device__ void only() {} }"
    assert default_symbol("edsl", functions(text), text) == "a::only"
    assert default_symbol("host", functions(text), text) == "host"


def test_a_symbol_is_split():
    assert split_symbol("::a::f<float, g<int>>") == ("a::f", "float, g<int>")
