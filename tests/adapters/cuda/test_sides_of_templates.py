"""Function templates and their specialisations for the host or the device, and launches that templates ask for."""

import numpy as np
import pytest

import tle_raw
from tle_raw.errors import CompilationFailed, UnsupportedFeatureError


@pytest.fixture(name="on_cpu")
def fixture_on_cpu():
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        yield


SIDES = """
template <class T> {primary} inline int last(T v, int w = 255) {{ static_assert(sizeof(T) == 0, ""); return w; }}
template <> inline {pair} int last(char2 v, int) {{ return v.y; }}
template <> inline __host__ __device__ int last(char4 v, int) {{ return v.w; }}
__global__ void k(int* o) {{ o[threadIdx.x] = last(make_char2(1, 2)) + last(make_char4(1, 2, 3, threadIdx.x)); }}
"""


@pytest.mark.one_triton
@pytest.mark.parametrize(("primary", "pair"), [
    ("__device__", "__host__ __device__"),
    ("__host__ __device__", "__device__"),
    ("__device__", "__device__"),
])  # fmt: skip
def test_a_specialisation_may_be_for_other_sides_than_its_template(primary, pair, on_cpu):
    o = np.zeros(32, np.int32)
    source = SIDES.format(primary=primary, pair=pair)
    tle_raw.fragment(source, dialect="cuda", symbol="k").as_kernel(block=32)[(1,)](o)
    np.testing.assert_array_equal(o, 2 + np.arange(32))


FRIEND = """
template <class T> struct Pair;
template <int i, class T> __device__ T get(const Pair<T>& pair) { return i ? pair.b : pair.a; }
template <class T> struct Pair {
  __device__ Pair(T a, T b) : a(a), b(b) {}
private:
  T a, b;
  friend T get<0>(const Pair<T>&);
  friend T get<1>(const Pair<T>&);
};
__global__ void k(int* o) { Pair<int> p(3, threadIdx.x); o[threadIdx.x] = get<0>(p) + get<1>(p); }
"""


@pytest.mark.one_triton
def test_a_friend_may_leave_out_the_side_of_its_template(on_cpu):
    o = np.zeros(32, np.int32)
    tle_raw.fragment(FRIEND, dialect="cuda", symbol="k").as_kernel(block=32)[(1,)](o)
    np.testing.assert_array_equal(o, 3 + np.arange(32))


ELSEWHERE = """
#define BOTH __host__ __device__
template <class T> __device__ T twice(T x) { return 2 * x; }
template <> float twice<float>(float x) { return 3 * x; }
template <> int twice(int x) { return 4 * x; }
template <class T> struct One { __device__ T first() { return 1; } __device__ T second(); };
template <> float One<float>::first() { return 5; }
template <class T> T One<T>::second() { return 6; }
struct Shape {
  __device__ Shape();
  __device__ float area(float by);
  BOTH float area() const;
  static __device__ float unit();
  __device__ float operator()(int) const;
  float other(float x);
  float of_host(int);
  float a;
};
Shape::Shape() : a{7} {}
float Shape::area(float by) { return by * a; }
float Shape::area() const { return a; }
float Shape::unit() { return 8; }
float Shape::operator()(int) const { return 9; }
BOTH float Shape::other(float x) { return 10 * x; }
float Shape::of_host(int n) { std::cout << n; return n; }
__device__ float before(float x);
float before(float x) { return 11 * x; }
float overloaded(float x) { std::cout << x; return x; }
__device__ int overloaded(int x) { return x; }
__global__ void k(float* o) {
  One<float> one;
  Shape s;
  const float found[] = {
    twice(1.f), twice(1), twice(1.0), one.first(), one.second(), s.area(), s.area(2), Shape::unit(), s(1), s.other(1),
    before(1), overloaded(12)
  };
  for (int i = 0; i < 12; i++) o[i] = found[i];
}
"""


@pytest.mark.one_triton
def test_what_one_declaration_says_another_may_leave_out(on_cpu):
    o = np.zeros(12, np.float32)
    tle_raw.fragment(ELSEWHERE, dialect="cuda", symbol="k").as_kernel(block=1)[(1,)](o)
    np.testing.assert_array_equal(o, [3, 4, 2, 5, 6, 7, 14, 8, 9, 10, 11, 12])


OF_NOTHING = """
template <class T> __device__ int last(T* v) { return *v; }
template <> __host__ __device__ int last(int v) { return v; }
__global__ void k(int* o) { o[threadIdx.x] = last(o); }
"""


@pytest.mark.one_triton
def test_a_specialisation_of_nothing_is_refused_as_clang_does(on_cpu):
    with pytest.raises(CompilationFailed, match="no function template matches"):
        tle_raw.fragment(OF_NOTHING, dialect="cuda", symbol="k").as_kernel(block=32)[(1,)](np.zeros(32, np.int32))


LAUNCH = """
template <int N> __global__ void child(int* p) { *p = N; }
template <int N> __global__ void parent(int* p) { if (*p > 0) child<N><<<1, 32>>>(p); }
"""


@pytest.mark.one_triton
def test_a_templates_launch_from_the_device_is_named():
    with pytest.raises(UnsupportedFeatureError, match=r"dynamic parallelism \(the launch of `child`\)"):
        tle_raw.fragment(LAUNCH, dialect="cuda", symbol="parent<3>").as_kernel(block=1).compile(target="cpu")
