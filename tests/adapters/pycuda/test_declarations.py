"""What PyCUDA's arguments become, and what is refused at its line."""

import importlib.util
import inspect

import numpy as np
import pytest

import tle_raw
from tests.adapters.pycuda import programs as p
from tle_raw import pycuda
from tle_raw.errors import (
    CompilationFailed,
    DialectError,
    FragmentSourceError,
    SignatureError,
    SymbolError,
    ToolchainError,
    UnsupportedFeatureError,
)

pytestmark = pytest.mark.every_triton(2)


@pytest.mark.one_triton
def test_signatures_follow_from_what_the_operation_does():
    assert str(p.axpby.signature) == (
        "axpby(a: Scalar[f32], x: Element[f32], b: Scalar[f32], y: Element[f32]) -> Element[f32]"
    )
    assert str(p.clamp.signature) == "clamp(x: InOut[Element[f32]], limit: Scalar[f32])"
    assert str(p.ramp.signature) == "ramp(step: Scalar[i32], i: Element[i32]) -> Element[i32]"
    assert str(p.dot.signature) == "reduce_kernel(x: Tile[f32, N], y: Tile[f32, N]) -> Scalar[f32]"
    assert str(p.row_sums.signature) == (
        "reduce_kernel(x: Tile[f32, M, N], shift: Scalar[f64], out: Out[Tile[f64, M]])"
    )
    assert str(p.running.signature) == "scan(data: InOut[Tile[f64, N]])"
    assert str(p.multiply.signature) == (
        "multiply(dest: InOut[Pointer[f32]], a: InOut[Pointer[f32]], b: InOut[Pointer[f32]])"
    )


@pytest.mark.parametrize(
    "operation, expected",
    [
        ("z[i] = x[i]", "-> Element[f32]"),
        ("float t = x[i]; z[i] = t", "-> Element[f32]"),
        ("if (x[i] > 0) z[i] = x[i]", "z: InOut[Element[f32]]"),
        ("if (x[i] > 0) return; z[i] = x[i]", "z: InOut[Element[f32]]"),
        ("z[i] += x[i]", "z: InOut[Element[f32]]"),
        ("z[i] = z[i] + x[i]", "z: InOut[Element[f32]]"),
        ("z[i]++; x[i];", "z: InOut[Element[f32]]"),
        ("--z[i]", "z: InOut[Element[f32]]"),
        ("x[i] == 1 ? z[i] = 1 : 0", "z: InOut[Element[f32]]"),
        ("z[i] = 1", "-> Element[f32]"),
        ("atomicAdd(&z[i], x[i])", "z: InOut[Element[f32]]"),
    ],
)
def test_a_result_is_passed_where_its_old_elements_may_stay(operation, expected):
    kernel = pycuda.ElementwiseKernel("float *x, float *z", operation)
    assert expected in str(kernel.signature)
    assert kernel.compile("cuda:90").instructions > 0


@pytest.mark.one_triton
def test_a_vector_alone_tells_the_shape():
    assert str(pycuda.ElementwiseKernel("float a, float *z", "z[i] = a", "fill").signature) == (
        "fill(a: Scalar[f32], z: InOut[Element[f32]])"
    )


class VectorArg:
    """PyCUDA's own is known by its name and its two attributes."""

    def __init__(self, dtype, name):
        self.dtype, self.name = np.dtype(dtype), name


class ScalarArg(VectorArg):
    pass


@pytest.mark.one_triton
def test_arguments_may_be_objects():
    kernel = pycuda.ElementwiseKernel(
        [ScalarArg(np.int64, "k"), VectorArg(np.float64, "x"), VectorArg(np.float64, "z")], "z[i] = x[i] * k", "scaled"
    )
    assert str(kernel.signature) == "scaled(k: Scalar[i64], x: Element[f64]) -> Element[f64]"


def line_of(words):
    lines, first = inspect.getsourcelines(inspect.getmodule(line_of))
    return next(first + k + (first == 0) for k, text in enumerate(lines) if words in text and "line_of" not in text)


@pytest.mark.one_triton
@pytest.mark.parametrize(
    "arguments, operation, kind, message",
    [
        ("float *x", "x[i];", UnsupportedFeatureError, "no vector"),
        ("float n, float *x", "x[i] = x[0]", SignatureError, "`n`"),
        ("float **x", "x[i] = 0", SignatureError, "`x`"),
        ("struct S *x", "x[i] = 0", SignatureError, "`x`"),
        ("pycuda::complex<float> a, float *x", "x[i] = 0", SignatureError, "complex"),
        ("float3 a, float *x", "x[i] = 0", SignatureError, "float3"),
        ("", "x[i] = 0", UnsupportedFeatureError, "no vector"),
        (3, "x[i] = 0", SignatureError, "VectorArg"),
    ],
)
def test_elementwise_kernels_that_are_none_are_refused(arguments, operation, kind, message):
    with pytest.raises(kind, match=message) as error:
        pycuda.ElementwiseKernel(arguments, operation)
    assert error.value.context.source.file == __file__


@pytest.mark.one_triton
def test_an_operation_that_does_not_compile_is_shown_at_its_line():
    kernel = pycuda.ElementwiseKernel(
        "float *x",
        """
        float t = 2;
        x[i] = t * nowhere;
        """,
    )
    with pytest.raises(CompilationFailed, match="nowhere") as error:
        kernel.compile("cuda:90")
    place = error.value.context.source
    assert place.file == __file__ and place.line == line_of("x[i] = t * nowhere;")


MEMORY = {
    "y[i] = x[i] - (i ? x[i - 1] : 0)": "",
    "y[i] = x[0]": "",
    "y[i] = first(x)": "",
    "y[i] = 1; x[i] = 2": "",
    "y[i] = x[i] / n": "",
    "y[n - 1 - i] = x[i]": "",
    "y[i] = sum; sum += x[i]": "float sum = 0",
}


@pytest.mark.parametrize("operation", MEMORY)
def test_what_registers_cannot_have_takes_pointers(operation):
    kernel = pycuda.ElementwiseKernel(
        "float *x, float *y", operation, "k", preamble="__device__ float first(float *x) { return x[0]; }",
        loop_prep=MEMORY[operation],
    )  # fmt: skip
    assert str(kernel.signature) == "k(x: InOut[Pointer[f32]], y: InOut[Pointer[f32]], n: Scalar[i32])"


@pytest.mark.one_triton
def test_a_name_of_the_loop_may_be_the_operations_own():
    kernel = pycuda.ElementwiseKernel("float *x", "const int n = 3; x[i] = n", "k")
    assert str(kernel.signature) == "k(x: InOut[Element[f32]])"
    kernel = pycuda.ElementwiseKernel("float *x, float n, float *y", "y[i] = x[i] + n", "k")
    assert str(kernel.signature) == "k(x: Element[f32], n: Scalar[f32]) -> Element[f32]"


@pytest.mark.one_triton
def test_elements_of_several_numbers_are_memory_of_their_numbers():
    kernel = pycuda.ElementwiseKernel("const float4 *v, double2 *z", "z[i].x = v[i].w", "k")
    assert str(kernel.signature) == "k(v: Pointer[f32], z: InOut[Pointer[f64]], n: Scalar[i32])"
    with pytest.raises(SignatureError, match="several numbers"):
        pycuda.ReductionKernel(np.float32, "0", "a+b", "v[i].x", "float4 *v")


@pytest.mark.one_triton
def test_arguments_of_an_elementwise_kernel_are_pycudas():
    with pytest.raises(DialectError, match="prologue"):
        pycuda.ElementwiseKernel("float *x", "x[i] = 0", prologue="")


@pytest.mark.one_triton
def test_reductions_and_scans_check_their_arguments():
    with pytest.raises(SignatureError, match="vector"):
        pycuda.ReductionKernel(np.float32, "0", "a+b", "k", "float k")
    with pytest.raises(SignatureError, match="dtype_out"):
        pycuda.ReductionKernel(np.complex64, "0", "a+b")
    with pytest.raises(DialectError, match="axis"):
        pycuda.ReductionKernel(np.float32, "0", "a+b", axis=2)
    with pytest.raises(DialectError, match="neutral"):
        pycuda.ExclusiveScanKernel(np.int32, "a+b")
    with pytest.raises(CompilationFailed, match="nothing") as error:
        pycuda.ReductionKernel(np.float32, "0", "a + nothing").compile("cuda:90", N=64)
    assert error.value.context.source.file == __file__


@pytest.mark.one_triton
def test_functions_of_modules_are_looked_up():
    with pytest.raises(SymbolError, match="missing"):
        p.MODULE.get_function("missing")
    with pytest.raises(DialectError, match="text"):
        pycuda.SourceModule(b"")


# The user's text, the error, its words, and words of the line that it names.
BAD = [
    ("__global__ void other(float *x) { x[0] = 1; }", SymbolError, "no function `bad`", "void other(float"),
    ("""
     __global__ void bad(float *x) { x[0] = 1 }  // no end
     """, CompilationFailed, "expected ';'", "// no end"),
    ("""
     struct Pair { float a; virtual void f(); };
     __global__ void bad(Pair pair, float *x) { x[0] = pair.a; }
     """, SignatureError, "`pair`", "Pair pair"),
    ("""
     texture<float, 1> of_image;
     __global__ void bad(float *x) { x[0] = tex1Dfetch(of_image, 0); }
     """, UnsupportedFeatureError, "texture", "texture<float, 1> of_image"),
    ("""
     #include "no_such_header.h"
     __global__ void bad(float *x) { x[0] = 1; }
     """, FragmentSourceError, "no_such_header.h", '#include "no_such_header.h"'),
    ("__global__ void bad(float *x) { x[threadIdx.x] = 400; }", DialectError, "1200 threads", "[threadIdx.x] = 400"),
]  # fmt: skip


@pytest.mark.one_triton
@pytest.mark.parametrize("source, kind, message, words", BAD)
def test_bad_input_is_named_at_its_line(source, kind, message, words):
    block = (400, 3, 1) if kind is DialectError else (400, 1, 1)
    with pytest.raises(kind) as error:
        pycuda.SourceModule(source).get_function("bad").as_kernel(block=block).compile("cuda:90")
    place = error.value.context.source
    assert message in str(error.value) and place.file == __file__ and place.line == line_of(words), error.value
    assert words in str(error.value)


@pytest.mark.one_triton
def test_a_block_that_a_call_asks_for_is_checked():
    with pytest.raises(DialectError, match="2048 threads") as error:
        p.multiply.as_kernel()(*[np.zeros(1, np.float32)] * 3, grid=1, block=(64, 32))
    assert error.value.context.source.file == p.__file__


@pytest.mark.one_triton
def test_a_variable_of_a_module_is_that_of_a_compiled_kernel():
    with pytest.raises(DialectError, match="which compiled kernel") as error:
        p.MODULE.get_global("weights")
    assert error.value.context.source.line == line_of("p.MODULE.get_global(")


@pytest.mark.one_triton
def test_a_module_is_extern_c_unless_it_says_no():
    overloads = "template <class T> __global__ void k(T* x) { x[0] = 1; }\n"
    with pytest.raises(CompilationFailed, match="linkage"):
        pycuda.SourceModule(overloads).get_function("k<float>")
    assert pycuda.SourceModule(overloads, no_extern_c=True).get_function("k<float>").signature is not None


@pytest.mark.one_triton
@pytest.mark.skipif(importlib.util.find_spec("pycuda") is not None, reason="PyCUDA's headers are there")
def test_pycudas_own_headers_are_named():
    text = "#include <pycuda-complex.hpp>\n__global__ void k(float* x) { x[0] = 1; }\n"
    with pytest.raises(ToolchainError, match="pycuda-complex") as error:
        pycuda.SourceModule(text, no_extern_c=True).get_function("k")
    assert "pip install pycuda" in error.value.hint and error.value.context.source.file == __file__


@pytest.mark.one_triton
def test_the_dialect_takes_text_as_a_module_does():
    @tle_raw.dialect("pycuda", source="__global__ void k(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }")
    def k(*args, **kwargs): ...

    assert k.dialect == "pycuda" and str(k.signature) == "k(x: InOut[Pointer[f32]], n: Scalar[i32])"
    assert k.compile("cuda:90").instructions > 0


@pytest.mark.one_triton
def test_objects_of_pycuda_say_what_is_missing():
    kinds = {n: type(n, (), {"__module__": "pycuda.compiler"}) for n in ("SourceModule", "ReductionKernel", "Context")}
    for name, message in [("SourceModule", "remember"), ("ReductionKernel", "remember"), ("Context", "no fragment")]:
        with pytest.raises(FragmentSourceError) as error:
            tle_raw.fragment(kinds[name]())
        assert message in f"{error.value.message} {error.value.hint}"


@pytest.mark.one_triton
def test_remembering_needs_pycuda():
    try:
        import pycuda.driver  # noqa: F401
    except ImportError:
        with pytest.raises(ToolchainError, match="PyCUDA cannot be imported"):
            pycuda_remember()


def pycuda_remember():
    pycuda.remember()
