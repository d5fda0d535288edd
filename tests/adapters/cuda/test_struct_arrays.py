"""Arrays in structs by value whose index is known at run time only."""

import numpy as np
import pytest

import tle_raw
from tle_raw.linker.machine_code.sass import read_cubin

SOURCE = r"""
template <class T> struct Of { T a[7]; };
template <class T> __global__ void one(T* o, const int* at, Of<T> p, int n) {
  o[threadIdx.x] = p.a[(at[threadIdx.x] + n) % 7];
}
struct Part { float w[4]; int tag[4]; };
struct Whole {
  long long count; double d[3]; int n; short s[6]; Part parts[3]; const float* x[5]; float m[2][3]; bool mask[4];
  int last;
};
__global__ void nested(double* o, const int* at, Whole p, int n) {
  const int i = at[threadIdx.x];
  const Part& part = p.parts[i % 3];
  o[threadIdx.x] = p.x[i % 5][p.n] + part.w[i % 4] * part.tag[(i + 1) % 4] + p.d[i % 3] + p.s[i % 6] + p.m[i % 2][i % 3]
                 + p.mask[i % 4] + p.count + p.last + n;
}
__global__ void sums(float* o, int n, Of<const float*> rows, Of<float> scales) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += rows.a[i][threadIdx.x] * scales.a[i];
  o[threadIdx.x] = sum;
}
__global__ void changed(float* o, const int* at, Of<float> p) {
  p.a[at[threadIdx.x]] += 1;
  o[threadIdx.x] = p.a[(at[threadIdx.x] + threadIdx.x % 2) % 7];
}
__global__ void walked(int* o, const int* at, Of<int> p) {
  const int* size = p.a;
  int left = at[threadIdx.x] * 10;
  while (left >= *size && size < p.a + 6) left -= *size++;
  o[threadIdx.x] = left * 100 + *size;
}
struct Vectors { float4 v[7]; int2 w[2]; };
__global__ void vectors(float* o, const int* at, Vectors p) {
  const float4 v = p.v[at[threadIdx.x]];
  const int2 w = p.w[at[threadIdx.x] % 2];
  o[threadIdx.x] = v.x + v.y * v.z - v.w + w.x * w.y;
}
struct Apart { short first[3]; Of<float> p[2]; };  // the launch puts its numbers closer together
__global__ void apart(float* o, const int* at, char, Apart p) {
  o[threadIdx.x] = p.p[at[threadIdx.x] % 2].a[at[threadIdx.x]] + p.first[at[threadIdx.x] % 3];
}
"""
TYPES = {
    "float": "f4",
    "double": "f8",
    "int": "i4",
    "long long": "i8",
    "short": "i2",
    "unsigned char": "u1",
    "__half": "f2",
}
AT = np.random.default_rng(5).integers(0, 7, 64).astype(np.int32)


def of(symbol):
    source = f"#include <cuda_fp16.h>\n{SOURCE}" if "half" in symbol else SOURCE
    return tle_raw.fragment(source, dialect="cuda", symbol=symbol).as_kernel(block=64)


@pytest.fixture
def put():
    """Arrays as the target takes them: NumPy's, on the CPU."""
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        yield lambda array: array


@pytest.mark.one_triton
@pytest.mark.parametrize("type_", ["double", "short", "unsigned char", "__half"])  # all of them run on a GPU
def test_an_array_of_each_type(put, type_):
    check_type(put, type_)


@pytest.mark.every_triton(1)
@pytest.mark.parametrize("case", ["nested", "sums", "walked", "vectors", "changed", "apart"])
def test_arrays_beside_others(put, case):
    CASES[case](put)


@pytest.mark.every_triton(1)
@pytest.mark.parametrize("symbol", ["one<short>", "one<__half>", "nested", "sums", "walked", "vectors"])
def test_a_gpu_reads_the_parameters_themselves(symbol):
    compiled = of(symbol).compile("cuda:90")
    assert ".local" not in compiled.asm["ptx"] and compiled.asm["ptx"].count(".entry") == 1
    if symbol in ("one<__half>", "walked", "vectors"):
        facts = read_cubin(compiled.asm["cubin"])
        assert (facts.stack, facts.local, facts.local_loads, facts.local_stores) == (0, 0, 0, 0) and not facts.reason


@pytest.mark.one_triton
@pytest.mark.parametrize("symbol", ["changed", "apart"])
def test_what_is_written_or_lies_elsewhere_is_a_copy(symbol):
    assert ".local" in of(symbol).compile("cuda:90").asm["ptx"]


def check_type(put, type_):
    values = np.random.default_rng(7).integers(0, 200 if TYPES[type_] == "u1" else 30000, 7).astype(TYPES[type_])
    o = put(np.zeros(64, values.dtype))
    of(f"one<{type_}>")[(1,)](o, put(AT), (values,), 3)
    np.testing.assert_array_equal(as_numpy(o), values[(AT + 3) % 7])


def check_nested(put):
    rng = np.random.default_rng(8)
    d, s, m = rng.standard_normal(3), rng.integers(-9, 9, 6), rng.standard_normal((2, 3)).astype("f4")
    parts = [(rng.standard_normal(4).astype("f4"), rng.integers(-9, 9, 4)) for _ in range(3)]
    x = [rng.standard_normal(3).astype("f4") for _ in range(5)]
    mask = np.array([True, False, False, True])
    o = put(np.zeros(64))
    given = (11, d, 2, s, tuple(parts), tuple(map(put, x)), m, mask, 13)
    of("nested")[(1,)](o, put(AT), given, 17)
    i, plain = AT, np.stack(x).astype("f8")
    w, tag = (np.stack([part[k] for part in parts]).astype("f8") for k in (0, 1))
    expected = plain[i % 5, 2] + w[i % 3, i % 4] * tag[i % 3, (i + 1) % 4] + d[i % 3] + s[i % 6] + m[i % 2, i % 3]
    np.testing.assert_allclose(as_numpy(o), expected + mask[i % 4] + 11 + 13 + 17, rtol=1e-5, atol=1e-5)


def check_sums(put):
    rng = np.random.default_rng(9)
    rows, scales = rng.standard_normal((7, 64)).astype("f4"), rng.standard_normal(7).astype("f4")
    o = put(np.zeros(64, "f4"))
    of("sums")[(1,)](o, 5, (tuple(map(put, rows)),), (scales,))
    np.testing.assert_allclose(as_numpy(o), scales[:5].astype("f8") @ rows[:5], rtol=1e-5, atol=1e-5)


def check_walked(put):
    sizes, expected = np.array([3, 9, 7, 20, 11, 2, 8], np.int32), []
    for left in AT * 10:
        place = 0
        while left >= sizes[place] and place < 6:
            left, place = left - sizes[place], place + 1
        expected.append(left * 100 + sizes[place])
    o = put(np.zeros(64, np.int32))
    of("walked")[(1,)](o, put(AT), (sizes,))
    np.testing.assert_array_equal(as_numpy(o), expected)


def check_vectors(put):
    v = np.random.default_rng(11).standard_normal((7, 4)).astype("f4")
    w = np.array([[3, -4], [5, 6]], np.int32)
    o = put(np.zeros(64, "f4"))
    of("vectors")[(1,)](o, put(AT), (tuple(map(tuple, v)), tuple(map(tuple, w))))
    x, y, z, last = v[AT].astype("f8").T
    np.testing.assert_allclose(as_numpy(o), x + y * z - last + np.prod(w, 1)[AT % 2], rtol=1e-5, atol=1e-5)


def check_changed(put):
    values = np.arange(7, dtype="f4") * 10
    o = put(np.zeros(64, "f4"))
    of("changed")[(1,)](o, put(AT), (values,))
    odd = np.arange(64) % 2
    np.testing.assert_array_equal(as_numpy(o), values[(AT + odd) % 7] + (1 - odd))


def check_apart(put):
    first, p = np.array([3, -4, 5]), np.random.default_rng(10).standard_normal((2, 7)).astype("f4")
    o = put(np.zeros(64, "f4"))
    of("apart")[(1,)](o, put(AT), 1, (first, tuple((row,) for row in p)))
    np.testing.assert_allclose(as_numpy(o), p[AT % 2, AT] + first[AT % 3], rtol=1e-6)


def as_numpy(array):
    return array if isinstance(array, np.ndarray) else array.cpu().numpy()


CASES = {
    "nested": check_nested,
    "sums": check_sums,
    "walked": check_walked,
    "vectors": check_vectors,
    "changed": check_changed,
    "apart": check_apart,
}


ODD = """
#include <complex>
struct Odd {
  const float* x;
  void (*told)(int);
  wchar_t wide;
  char16_t half;
  const float (*rows)[4];
  std::complex<float> z;
};
__global__ void k(float* o, Odd p, wchar_t more) {
  const float imaginary = reinterpret_cast<float*>(&p.z)[1] + (p.told != nullptr);
  o[threadIdx.x] = p.x[threadIdx.x] + p.wide + p.half + p.rows[1][threadIdx.x] + imaginary + more;
}
"""


def test_pointers_to_functions_and_to_rows_letters_and_complex_numbers_are_members():
    o, x, rows = np.zeros(4, np.float32), np.arange(4, dtype=np.float32), np.arange(8, dtype=np.float32)
    kernel = tle_raw.fragment(ODD, dialect="cuda", symbol="k").as_kernel(block=4)
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        kernel[(1,)](o, (x, None, 10, 20, rows, (0.5, 0.25)), 30)
    np.testing.assert_array_equal(o, x + 10 + 20 + rows[4:] + 0.25 + 30)
    assert kernel.compile("cuda:90").asm["cubin"]
