"""Fragments whose types are spelled as MLIR's, called directly and in both of FlagTree's ways."""

from typing import Literal as L

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import compile_kernel, ptx_calls, report_of
from tle_raw import InOut, Input, Pointer, Tile

pytestmark = pytest.mark.every_triton(2)

ROWS = """
extern "C" __device__ void rows(TILE allocated, TILE t, long long offset, long long rows, long long columns,
                                long long step, long long stride, const float* s, int n) {
  for (int i = threadIdx.x; i < rows * columns; i += blockDim.x) {
    float* at = (float*)t + offset + (i / columns) * step + (i % columns) * stride;
    *at = *at * s[i % columns] + n;
  }
  __syncthreads();
}
"""
IN_SHARED = "__attribute__((address_space(3))) float*"


@tle_raw.dialect("cuda", source=ROWS, symbol="rows", defines={"TILE": "float*"})
def rows(t: InOut["memref<?x?xf32, 3>"], s: Input["!llvm.ptr<1>"], n: Input["i32"]): ...


@tle_raw.dialect(name="cuda", source=ROWS, extern_func_name="rows", defines={"TILE": IN_SHARED})
def sized_rows(t: InOut[L["memref<8x32xf32, 3>"]], s: Input[L["!llvm.ptr<1>"]], n: Input[L["i32"]]): ...


@tle_raw.dialect(
    "cuda",
    source="""
#include <tle_raw/tile.h>
template <int M>
__device__ void mixed(tle::tile<float, M> a, float* allocated, float* b, long long offset, long long size,
                      long long stride, const float* p) {
  for (long long i = threadIdx.x; i < size; i += blockDim.x) b[offset + i * stride] += a[i] - p[i];
}
""",
)
def mixed(a: Tile["f32", "M"], b: InOut["memref<?xf32, 3>"], p: Pointer["f32"]): ...


@triton.jit
def block(x):
    return x + tl.arange(0, 8)[:, None] * 32 + tl.arange(0, 32)[None, :]


@triton.jit
def direct(x, s, o, n):
    tl.store(block(o), rows(tl.load(block(x)), s, n))


@triton.jit
def with_indices(x, s, o, n):
    tl.store(block(o), tle_raw.call(sized_rows, [tl.load(block(x)), s, n], output_indices=[0]))


@triton.jit
def outputs_first(x, s, o, n):
    tl.store(block(o), tle_raw.call(sized_rows, [tl.load(block(x))], [s, n]))


@triton.jit
def in_shared_memory(x, s, o, n):
    tl.store(block(o), tle_raw.call_smem(rows, [tl.load(block(x)), s, 5], output_indices=[0]))


@triton.jit
def beside_tiles(x, s, o, n):
    i = tl.arange(0, 128)
    tl.store(o + i, mixed(tl.load(x + i), tl.load(x + 128 + i), s))


KERNELS = [direct, with_indices, outputs_first, in_shared_memory, beside_tiles]
TYPES = {"x": "*fp32", "s": "*fp32", "o": "*fp32", "n": "i32"}


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_they_compile_for_cuda_without_a_call(kernel):
    compiled = compile_kernel(kernel, TYPES)
    assert ptx_calls(compiled) == []
    assert report_of(compiled, machine_code=kernel in (direct, beside_tiles)).one_kernel


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_they_compute_on_the_cpu(kernel):
    random = np.random.default_rng(7)
    x, s = random.standard_normal((8, 32), np.float32), random.standard_normal(128, np.float32)
    o = np.zeros_like(x)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        kernel[(1,)](x, s, o, 5)
    expected = x.astype(np.float64) * s[:32].astype(np.float64) + 5
    if kernel is beside_tiles:
        expected = np.zeros((8, 32))
        flat = x.reshape(-1).astype(np.float64)
        expected.reshape(-1)[:128] = flat[128:] + flat[:128] - s
    np.testing.assert_allclose(o, expected, rtol=1e-6, atol=1e-6)


def test_the_prototype_takes_a_memref_apart():
    text = rows.prototype()
    assert (
        "s_T* s, int n" in text
        and "float* t_allocated, float* t_aligned, long long t_offset, long long t_size0, long long t_size1, "
        "long long t_stride0, long long t_stride1"
        in text
    )


def test_a_fragment_with_memrefs_compiles_alone():
    compiled = rows.compile(t_0=8, t_1=32, s_T="f32")
    assert compiled.kept_calls == ()


@pytest.mark.parametrize(
    ("annotation", "words"), [("memref<?xf32>", "memory space 3"), ("!llvm.ptr<3>", "memref<.xf32, 3>")]
)
def test_a_wrong_annotation_names_the_stub(annotation, words):
    with pytest.raises(tle_raw.errors.SignatureError, match=words) as e:

        @tle_raw.dialect("cuda", source=ROWS)
        def wrong(t: InOut[annotation]): ...

    assert e.value.context.source.text.strip().startswith("def wrong")


def test_a_function_with_another_parameter_list_is_explained():
    wrong = tle_raw.fragment("__device__ void f(float* t, int n) {}", signature=_stub, dialect="cuda", symbol="f")
    with pytest.raises(tle_raw.errors.SignatureMismatchError, match=r"t\.aligned"):
        wrong.compile(t_0=8)


def _stub(t: InOut["memref<?xf32, 3>"], n: Input["i32"]): ...
