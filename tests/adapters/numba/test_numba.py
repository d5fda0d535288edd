"""Numba's functions and kernels as fragments: numbers on the CPU, one inlined kernel for GPUs, and refusals."""

import math
import runpy

import numpy as np
import pytest

pytest.importorskip("numba.cuda", exc_type=ImportError)
pytest.importorskip("numba_cuda", exc_type=ImportError)

from numba import cuda, njit

import tle_raw
from tests.adapters.numba import programs as p
from tests.documents import examples
from tests.support import compile_kernel, ptx_calls
from tle_raw import Element, InOut, Pointer, Scalar, Tile
from tle_raw.adapters.numba import installed
from tle_raw.errors import (
    ArgumentTypeError,
    CompilationFailed,
    DialectError,
    FragmentSourceError,
    SignatureError,
    ToolchainError,
    UnsupportedFeatureError,
)

pytestmark = pytest.mark.every_triton(2)

RANDOM = np.random.default_rng(7)


def floats(*shape, dtype=np.float32):
    return RANDOM.standard_normal(shape).astype(dtype)


def test_signatures_follow_from_numbas_types():
    assert p.elementwise.dialect == "numba"
    assert str(p.elementwise.signature) == "wave(x: Element[f32], y: Element[f32]) -> Element[f32]"
    assert str(p.scaled.signature) == "scale(x: InOut[Pointer[f32]], x_size: Scalar[i64], factor: Scalar[f32])"
    assert str(p.turned.signature) == (
        "transpose(x: InOut[Pointer[f64]], x_size0: Scalar[i64], x_size1: Scalar[i64], "
        "y: InOut[Pointer[f64]], y_size0: Scalar[i64], y_size1: Scalar[i64])"
    )
    assert str(p.counted.signature) == "counts(x: InOut[Pointer[i32]], n: Scalar[i32], out: InOut[Pointer[i64]])"


def test_a_device_function_is_applied_to_elements():
    x, z = floats(256), np.zeros(256, np.float32)
    p.wave_kernel[(1,)](x, z, N=256)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(z, np.sin(np.where(wide > 0, wide, wide * 0.25)) + np.exp(-2 * wide), rtol=1e-5)


def test_bools_and_halves():
    x, z, h = floats(64), np.zeros(64, np.int8), floats(64, dtype=np.float16)
    expected = h * 2
    p.between_kernel[(1,)](x, z, h, N=64)
    np.testing.assert_array_equal(z, (x > -0.5) & (x < 0.5))
    np.testing.assert_array_equal(h, expected)


def test_a_kernel_is_a_region_and_a_whole_kernel():
    x = floats(101)
    expected, other = np.append(2 * x[:100], np.float32(7)), x.copy()
    p.scale_kernel[(1,)](x, 100)  # an early return ends the region only
    np.testing.assert_array_equal(x, expected)
    p.scaled.as_kernel(block=64)[(2,)](other, 2.0)  # Numba's own arguments
    np.testing.assert_array_equal(other[:100], expected[:100])


@pytest.mark.one_triton
def test_shared_memory_barriers_shuffles_votes_and_atomics():
    x, out, total, votes = floats(256), np.zeros(2, np.float32), np.zeros(1, np.float32), np.zeros(8, np.int32)
    p.summed.as_kernel(block=128)[(2,)](x, 256, out, 2)  # or the signature's
    wide = x.astype(np.float64)
    np.testing.assert_allclose(out, wide.reshape(2, 128).sum(1), rtol=1e-4, atol=1e-4)
    p.warps.as_kernel(block=128)[(2,)](x, total, votes)
    np.testing.assert_allclose(total[0], wide.sum(), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(votes, (x > 0).reshape(8, 32).sum(1))


@pytest.mark.one_triton
def test_a_block_of_two_dims_and_arrays_of_two():
    x, y = floats(30, 70, dtype=np.float64), np.zeros((70, 30))
    p.turned.as_kernel(block=(8, 16))[(4, 5)](x, y)
    np.testing.assert_array_equal(y, x.T)
    for bad, message in [(x.T, "strides"), (x[0], "rank 1"), (1.5, "float")]:
        with pytest.raises(ArgumentTypeError, match=message):
            p.turned.as_kernel(block=(8, 16))[(4, 5)](bad, y)


@pytest.mark.one_triton
def test_pointers_and_integers():
    x, out = RANDOM.integers(-1000, 1000, 300).astype(np.int32), np.zeros(300, np.int64)
    p.counted.as_kernel(block=128)[(3,)](x, 300, out)
    np.testing.assert_array_equal(out, [(int(v) & 0xFFFFFFFF).bit_count() + int(v) // 3 + int(v) % 5 for v in x])


def test_a_signature_of_ours_tells_the_types():
    def typed(x: Pointer["f32"], n: Scalar["i32"]) -> Scalar["f32"]: ...

    @cuda.jit(device=True)
    def first(x, n):
        return x[n]

    kernel = tle_raw.fragment(first, signature=typed)
    assert str(kernel.signature) == "typed(x: Pointer[f32], n: Scalar[i32]) -> Scalar[f32]"
    assert kernel.compile("cuda:90").instructions > 0


def test_a_plain_function_under_the_dialect():
    @tle_raw.dialect("numba", types="float64(float64)")
    def cube(x):
        return x * x * x

    assert str(cube.signature) == "cube(x: Element[f64]) -> Element[f64]" and cube.compile("cpu").name == "cube"


def test_the_same_function_has_the_same_key():
    again = tle_raw.fragment(p.wave, types="float32(float32, float32)")
    assert again.cache_key == p.elementwise.cache_key
    assert tle_raw.fragment(p.wave, types="float64(float32, float32)").cache_key != again.cache_key


KERNELS = [
    (p.wave_kernel, {"x": "*fp32", "z": "*fp32"}, {"N": 256}),
    (p.scale_kernel, {"x": "*fp32", "n": "i64"}, {}),
]


@pytest.mark.parametrize("kernel, signature, constants", KERNELS, ids=lambda v: getattr(v, "__name__", ""))
def test_gpus_get_one_kernel_without_calls(kernel, signature, constants):
    compiled = compile_kernel(kernel, signature, constants)
    assert ptx_calls(compiled) == []
    assert tle_raw.report(compiled).one_kernel


def test_shuffles_and_votes_are_single_instructions():
    ptx = p.warps.as_kernel(block=128).compile("cuda:90").asm["ptx"]
    assert ptx.count("shfl.sync.bfly") >= 1 and ptx.count("vote.sync.ballot") == 1 and "call" not in ptx


def refused_signature():
    def tiled(x: Tile["f32", 64]) -> Scalar["f32"]: ...

    return tle_raw.fragment(p.half_of, signature=tiled)


def wrong_result():
    def given(x: Element["f32"]) -> Element["f64"]: ...

    return tle_raw.fragment(p.half_of, signature=given)


def updated():
    def given(x: InOut[Element["f32"]]): ...

    return tle_raw.fragment(p.half_of, signature=given)


@cuda.jit(device=True)
def unknown(x):
    return x + nothing_of_that_name  # noqa: F821


@cuda.jit(device=True, debug=True, opt=False)
def debugged(x):
    return x


@njit
def for_the_cpu(x):
    return x


@cuda.jit(device=True)
def first_of(x):
    return x[0]


@pytest.mark.parametrize(
    "make, kind, message",
    [
        (lambda: tle_raw.fragment(p.half_of), DialectError, "types="),
        (lambda: tle_raw.fragment(p.half_of, types="nonsense("), DialectError, "signature"),
        (lambda: tle_raw.fragment(p.half_of, types="void(float32, float32)"), DialectError, "2 arguments"),
        (lambda: tle_raw.fragment(p.half_of, types="complex64(complex64)"), SignatureError, "`x`"),
        (lambda: tle_raw.fragment(p.scale, types="void(float32[:], float32)"), UnsupportedFeatureError, "strides"),
        (lambda: tle_raw.fragment(first_of, types="float32(float32[::1])"), UnsupportedFeatureError, "each thread"),
        (lambda: tle_raw.fragment(p.half_of, types="float32(float32)", shared=64), UnsupportedFeatureError, "shared="),
        (lambda: tle_raw.fragment(p.half_of, types="float32(float32)", flags="-O3"), DialectError, "flags"),
        (lambda: tle_raw.fragment(p.half_of, types="float32(float32)", capability=9), DialectError, "capability"),
        (lambda: tle_raw.fragment(unknown, types="float32(float32)"), CompilationFailed, "unknown"),
        (lambda: tle_raw.fragment(debugged, types="float32(float32)"), UnsupportedFeatureError, "debug"),
        (
            lambda: tle_raw.fragment(for_the_cpu, dialect="numba", types="float32(float32)"),
            FragmentSourceError,
            "for the CPU",
        ),
        (refused_signature, SignatureError, "`x`"),
        (wrong_result, DialectError, "returns f32"),
        (updated, SignatureError, "`x`"),
        (lambda: p.elementwise.as_kernel(block=32), DialectError, "no whole kernel"),
    ],
)
def test_what_cannot_be_a_fragment_is_refused(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


def test_a_file_that_numba_links_is_refused():
    helper = cuda.declare_device("helper", "float32(float32)", link=cuda.CUSource("// none"))

    @cuda.jit(device=True)
    def calls(x):
        return helper(x)

    with pytest.raises(UnsupportedFeatureError, match="machine code"):
        tle_raw.fragment(calls, types="float32(float32)")


def test_a_cooperative_launch_is_refused():
    @cuda.jit
    def waits(x):
        cuda.cg.this_grid().sync()
        x[0] = 1

    with pytest.raises(UnsupportedFeatureError, match="cooperative"):
        tle_raw.fragment(waits, types="void(float32[::1])")


def test_versions_that_were_never_tried_are_refused():
    for version in ("0.29.9", "0.31.0"):
        with pytest.raises(ToolchainError, match="Numba"):
            installed.PACKAGE.check_version(version)


@pytest.mark.one_triton
def test_the_pages_example(tmp_path):
    text = examples("docs/cuda.md", kind="numba")["numba_gelu.py"]
    (tmp_path / "numba_gelu.py").write_text(text)
    done = runpy.run_path(str(tmp_path / "numba_gelu.py"))
    x = np.linspace(-3, 3, 256)
    expected = [2 * v * 0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x]
    np.testing.assert_allclose(done["y"], expected, rtol=1e-4, atol=1e-6)
