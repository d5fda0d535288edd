"""Symbols without their namespace: completed where the file lets it be left out, refused at once elsewhere."""

import numpy as np
import pytest

import tle_raw
from tle_raw.adapters.cpp.declarations import functions
from tle_raw.adapters.cuda import source_facts
from tle_raw.adapters.cuda.namespaces import with_namespace
from tle_raw.errors import SymbolError

pytestmark = pytest.mark.one_triton

INNER = "namespace a { namespace b { template <class T> __global__ void f(T* x) { *x = 1; } } }\n"


def _whole(symbol: str, text: str) -> str:
    return with_namespace(symbol, functions(text, "k.cu"), [text])


@pytest.mark.parametrize(
    "more, symbol",
    [
        ("using namespace a::b;", "f<float>"),
        ("using a::b::f;", "f<float>"),
        ("namespace short_of = a::b;", "short_of::f<float>"),
        ("namespace a { using namespace b; }", "a::f<float>"),
    ],
)
def test_what_the_file_leaves_out_may_be_left_out(more, symbol):
    assert _whole(symbol, INNER + more) == "a::b::f<float>"


def test_so_may_inline_namespaces():
    assert _whole("f", "namespace a { inline namespace v1 { __global__ void f(int* x) {} } }") == "a::v1::f"


def test_a_whole_kernel_is_made_of_it():
    fragment = tle_raw.fragment(INNER + "using namespace a::b;", dialect="cuda", symbol="f<float>")
    assert fragment.as_kernel(block=32).compile("cuda:90").asm["cubin"]


@pytest.mark.parametrize("symbol, where", [("f<float>(float*)", "a"), ("c::f<float>(float*)", "another")])
def test_elsewhere_the_whole_name_is_told_before_clang_runs(monkeypatch, tmp_path, symbol, where):
    monkeypatch.setattr(source_facts, "prototype_of", lambda *_: pytest.fail("clang was asked"))
    file = tmp_path / "k.cu"
    file.write_text(INNER)
    with pytest.raises(SymbolError, match=f"it stands in {where} namespace") as raised:
        tle_raw.fragment(file, dialect="cuda", symbol=symbol)
    assert raised.value.hint == "did you mean a::b::f? Write symbol='a::b::f<float>(float*)'"
    assert raised.value.context.source.line == 1


def test_a_name_that_a_macro_may_make_is_left_to_the_compiler():
    text = INNER + "#define KERNEL(n) __global__ void n(int* x) {}\nKERNEL(f)\n"
    assert _whole("f", text) == "f"


def test_names_in_the_arguments_of_calls_are_no_such_macro():
    text = INNER + "using namespace a::b;\nvoid host() { set(f, 3); }\n"
    assert _whole("f<int>", text) == "a::b::f<int>"


OVERLOADS = """
namespace sorted {
template <class T> struct Item { int at; T value; };
namespace grad {
template <class T> __global__ void set(const int n, const Item<T>* items, T* o) { o[threadIdx.x] = items[0].value; }
template <class T> __global__ void set(const int n, const unsigned* at, T* o) { o[threadIdx.x] = at[0]; }
}
}
"""


@pytest.mark.parametrize("types", ["const int, const Item<float>*, float*", "int, const sorted::Item<float>*, float*"])
def test_types_that_choose_a_kernel_are_looked_up_in_its_namespaces(types):
    symbol = f"sorted::grad::set<float>({types})"
    kernel = tle_raw.fragment(OVERLOADS, dialect="cuda", symbol=symbol).as_kernel(block=4)
    items, o = np.zeros(1, [("at", np.int32), ("value", np.float32)]), np.zeros(4, np.float32)
    items["value"] = 3
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        kernel[(1,)](1, items.view(np.int32), o)
    np.testing.assert_array_equal(o, 3)
