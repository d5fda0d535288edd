"""What CuPy's objects become, and what is refused at its line."""

import numpy as np
import pytest

pytest.importorskip("cupy", exc_type=ImportError)

import cupy

import tle_raw
from tests.adapters.cupy import programs as p
from tle_raw.adapters.cupy import installed
from tle_raw.errors import (
    CompilationFailed,
    DialectError,
    FragmentSourceError,
    SignatureError,
    SymbolError,
    ToolchainError,
    UnsupportedFeatureError,
)

pytestmark = pytest.mark.one_triton  # clang's part alone

ADD = 'extern "C" __global__ void add(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] += 1; }'


def test_signatures_are_those_of_the_objects():
    assert p.saxpy.dialect == "cupy"
    assert str(p.saxpy.signature) == ("saxpy(a: Scalar[f32], x: Pointer[f32], y: InOut[Pointer[f32]], n: Scalar[i32])")
    assert str(p.turn.signature) == "turn(x: InOut[Pointer[f32]], n: Scalar[i32])"
    assert str(p.gathered.signature) == (
        "gathered(x: Element[T], y: Element[T], w: Pointer[f32], i: Element[i32]) -> Element[T]"
    )
    assert str(p.clamp.signature) == "clamp(x: Element[T], limit: Element[f32], z: InOut[Element[T]])"
    assert str(p.place.signature) == "place(x: Element[T], size: Scalar[i32], i: Element[i32]) -> Element[f64]"
    assert str(p.norm.signature) == "euclidean_norm(x: Tile[T, SIZE]) -> Scalar[T]"
    assert str(p.row_norms.signature) == "euclidean_norm(x: Tile[T, ROWS, COLUMNS], y: Out[Tile[T, ROWS]])"
    assert str(p.largest.signature) == (
        "largest(x: Tile[T, ROWS, COLUMNS], w: Pointer[T], at: Out[Tile[i32, ROWS]], most: Out[Tile[T, ROWS]])"
    )


@pytest.mark.parametrize(
    "operation, expected",
    [
        ("z = x", "-> Element[f32]"),
        ("float t = x; z = t;", "-> Element[f32]"),
        ("z += x", "z: InOut[Element[f32]]"),
        ("z = z + x", "z: InOut[Element[f32]]"),
        ("if (x > 0) z = x", "z: InOut[Element[f32]]"),
        ("if (x > 0) return; z = x", "z: InOut[Element[f32]]"),
        ("float i = 3; z = x * i", "-> Element[f32]"),
        ("z == x ? 1 : 0", "z: InOut[Element[f32]]"),
    ],
)
def test_a_result_is_passed_where_its_old_elements_may_stay(operation, expected):
    kernel = tle_raw.fragment(cupy.ElementwiseKernel("float32 x", "float32 z", operation))
    assert expected in str(kernel.signature) and "i:" not in str(kernel.signature)
    assert kernel.compile("cuda:90").instructions > 0


def test_types_that_no_argument_tells_are_given():
    ramp = cupy.ElementwiseKernel("", "T z", "z = i", "ramp")
    with pytest.raises(SignatureError, match="`T`"):
        tle_raw.fragment(ramp)
    assert str(tle_raw.fragment(ramp, types={"T": np.dtype("int64").name}).signature) == (
        "ramp(i: Element[i32]) -> Element[i64]"
    )


def test_functions_with_mangled_names_are_found():
    # RawModule.get_function gives such kernels, where there is a driver.
    kernel = cupy.RawKernel(p.MODULE.code, "_ZN6scales5scaleIfEEvPT_i", options=("-std=c++17",))
    assert tle_raw.fragment(kernel).symbol == "scales::scale<float>"
    assert tle_raw.fragment(kernel, block=(16, 16)).block == (16, 16)


def test_calls_of_cucomplex_are_translated_where_cupy_does():
    code = """
    #include <cuComplex.h>
    extern "C" __global__ void k(cuFloatComplex* x, int n) {
      if (threadIdx.x < n) x[threadIdx.x] = TWICE(cuCmulf(x[threadIdx.x], make_cuFloatComplex(0, 1)));
    }
    """
    plain = cupy.RawKernel(code, "k", options=("-DTWICE(z)=cuCaddf(z, z)",))
    both = cupy.RawKernel(code, "k", options=("-DTWICE(z)=(z + z)",), translate_cucomplex=True)
    for kernel in (plain, both):
        z = (np.arange(32) + 2j).astype(np.complex64)
        tle_raw.fragment(kernel).as_kernel(block=32)[(1,)](z, 32)
        np.testing.assert_array_equal(z, (np.arange(32) + 2j) * 2j)


def test_cupys_headers_and_assertions_need_nothing_else():
    code = """
    #include <cuda_fp16.h>
    #include <cupy/carray.cuh>
    #include <cupy/complex.cuh>
    extern "C" __global__ void k(complex<double>* x, int n) {
      assert(n <= 32);
      if (threadIdx.x < n) x[threadIdx.x] = conj(x[threadIdx.x]) * M_PI;
    }
    """
    z = np.arange(32) + 2j
    expected = z[:20].conj() * np.pi
    kernel = tle_raw.fragment(cupy.RawKernel(code, "k"))
    kernel.as_kernel(block=32)[(1,)](z, 20)
    np.testing.assert_allclose(z[:20], expected, rtol=1e-15)
    assert kernel.compile("cuda:90").instructions > 0


def test_a_key_does_not_say_where_cupy_is_installed():
    settings = dict(p.saxpy._source.settings)
    assert settings["include_dirs"] == '["<cupy/_core/include>"]'
    assert settings["includes"] == '["<tle_raw/cupy_text.h>"]'
    assert settings["cupy"] == cupy.__version__


def test_the_dialect_takes_text_as_a_raw_kernel_does():
    @tle_raw.dialect("cupy", source=ADD.replace("1", "STEP"), options=("-D", "STEP=3", "--use_fast_math"))
    def add(*args, **kwargs): ...

    x = np.zeros(32, np.float32)
    add.as_kernel(block=32)[(1,)](x, 20)
    np.testing.assert_array_equal(x, [3] * 20 + [0] * 12)


@pytest.mark.parametrize("option", ["-default-device", "-rdc=true", "--device-c", "-dlto", "--unheard-of=3", "lines"])
def test_options_without_a_counterpart_are_named(option):
    with pytest.raises(DialectError) as error:
        tle_raw.fragment(cupy.RawKernel(ADD, "add", options=(option,)))
    assert repr(option) in error.value.message and error.value.context.source.file == __file__


@pytest.mark.parametrize(
    "make, kind, message",
    [
        (lambda: cupy.RawKernel(ADD, "missing"), SymbolError, "missing"),
        (lambda: cupy.RawKernel(ADD, "add", enable_cooperative_groups=True), UnsupportedFeatureError, "cooperative"),
        (lambda: cupy.RawModule(code=ADD), FragmentSourceError, "which one"),
        (lambda: cupy.RawModule(path="add.cubin"), FragmentSourceError, "add.cubin"),
        (lambda: cupy.add, FragmentSourceError, "ufunc"),
        (lambda: cupy.ElementwiseKernel("T x", "T y, T z", "y = x; z = x"), UnsupportedFeatureError, "2 outputs"),
        (lambda: cupy.ElementwiseKernel("T x", "raw T y", "y[i] = x"), UnsupportedFeatureError, "0 outputs"),
        (lambda: cupy.ElementwiseKernel("raw T x", "T y", "y = x.size()"), UnsupportedFeatureError, "raw array `x`"),
        (lambda: cupy.ElementwiseKernel("T x", "T y", "y = _ind.get()[0]"), UnsupportedFeatureError, "`_ind`"),
        (lambda: cupy.ElementwiseKernel("T x", "T y", "y = x", loop_prep="int k;"), UnsupportedFeatureError, "prep"),
        (lambda: cupy.ElementwiseKernel("complex64 x", "T y", "y = x"), SignatureError, "`x`"),
        (lambda: cupy.ElementwiseKernel("T size", "T y", "y = _ind.size()"), SignatureError, "`size`"),
        (
            lambda: cupy.ReductionKernel("T x", "T y, T z", "x", "a + b", "y = a; z = a", "0"),
            UnsupportedFeatureError,
            "y, z",
        ),
    ],
)
def test_objects_that_give_no_fragment_are_refused(make, kind, message):
    with pytest.raises(kind, match=message) as error:
        tle_raw.fragment(make())
    assert error.value.context.source.file == __file__


def test_options_of_reductions_are_checked():
    for options, message in [
        ({"axis": 2}, "axis"),
        ({"scalars": "y"}, "scalars"),
        ({"block": 32}, "block"),
        ({"scalars": "x"}, "array"),
    ]:
        with pytest.raises((DialectError, SignatureError), match=message):
            tle_raw.fragment(p.NORM, **options)


def test_an_operation_that_does_not_compile_is_shown_at_its_line():
    kernel = tle_raw.fragment(cupy.ElementwiseKernel("float32 x", "float32 z", "z = x * nowhere"))
    with pytest.raises(CompilationFailed, match="nowhere") as error:
        kernel.compile("cuda:90")
    assert error.value.context.source.file == __file__


def test_versions_that_were_never_tried_are_refused():
    assert installed.PACKAGE.check_version(cupy.__version__) is None
    for version in ("12.3.0", "13.5.1", "15.0.0"):
        with pytest.raises(ToolchainError, match="CuPy"):
            installed.PACKAGE.check_version(version)
