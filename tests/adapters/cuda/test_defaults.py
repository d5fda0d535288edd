"""A default of C++ never stands for what the signature gives a value."""

import pytest

import tle_raw
from tle_raw import Const, InOut, Pointer, Scalar, Tile
from tle_raw.errors import SignatureMismatchError

pytestmark = pytest.mark.one_triton


def f(t: InOut[Tile["f32", "M"]], p: Pointer["f32"], n: Scalar["i32"], k: Const["K"]): ...


LOST = {
    "a constant's": "__device__ void f(float* t, const float* p, int n, int k = 3) {}",
    "by the constant's own name": "__device__ void f(float* t, const float* p, int n, int K = 3) {}",
    "a parameter's, behind another": "__device__ void f(float* t, const float* p, int m = 1, int n = 2) {}",
    "a template parameter's": "template <class X = int, int K = 3> "
    "__device__ void f(float* t, const float* p, int n) {}",
}
KEPT = {
    "another name": "__device__ void f(float* t, const float* p, int n, int more = 3) {}",
    "passed": "__device__ void f(float* t, const float* p, int n = 3) {}",
    "by name": "template <int K = 3> __device__ void f(float* t, const float* p, int n) {}",
    "deduced": "#include <tle_raw/tile.h>\ntemplate <class X, int M = 3> "
    "__device__ void f(tle::tile<X, M> t, const X* p, int n) {}",
    "another template parameter": "template <int M, int Z = 3> __device__ void f(float* t, const float* p, int n) {}",
}


def compiled(text):
    return tle_raw.dialect("cuda", source=text)(f).compile("cuda:90", M=64, K=5)


@pytest.mark.parametrize("case", LOST)
def test_a_value_that_a_default_would_replace_is_an_error(case):
    with pytest.raises(SignatureMismatchError, match="would be the default") as caught:
        compiled(LOST[case])
    assert len(caught.value.table) == 1 and "TLE_" in caught.value.hint


@pytest.mark.parametrize("case", KEPT)
def test_other_defaults_are_cxx(case):
    assert compiled(KEPT[case]).entry


def test_an_explicit_list_that_stops_before_a_name():
    text = "template <class X, int K = 3> __device__ void f(X* t, const float* p, int n) {}"
    with pytest.raises(SignatureMismatchError, match="`K` would be the default"):
        tle_raw.dialect("cuda", source=text, symbol="f<float>")(f).compile("cuda:90", M=64, K=5)
    assert tle_raw.dialect("cuda", source=text, symbol="f<float, 5>")(f).compile("cuda:90", M=64, K=5).entry
