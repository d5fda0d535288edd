"""Under knobs.debug a fragment stays in the memory that it was given: arrays, tiles, shared and own variables."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch_mlir.ir")

import triton
import triton.language as tl

import tle_raw
from tests.emulation.tables import apart
from tle_raw import InOut, Out, Pointer, Scalar, Tile
from tle_raw.errors import KernelFailed

pytestmark = pytest.mark.every_triton(2)


@pytest.fixture(autouse=True)
def debug():
    with tle_raw.knobs.scope() as knobs:
        knobs.target, knobs.debug = "cpu", True
        yield


def fails(kernel, *arguments, grid=(1,), **constants) -> str:
    with pytest.raises(KernelFailed) as caught:
        kernel[grid](*arguments, **constants)
    return str(caught.value)


ACCESSES = r"""
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
__constant__ int table[4] = {1, 2, 3, 4};
__device__ float own[4];

extern "C" __global__ void k(float* o, const float* p, int how, int n) {  // one way out of bounds for each `how`
  __shared__ float first[64];
  __shared__ alignas(16) float s[64];
  float local[8];
  const int i = threadIdx.x;
  s[i] = first[i] = p[i];
  local[i % 8] = p[i];
  __syncthreads();
  switch (how) {
    case 1: o[i] = p[i + n]; break;  // load
    case 2: o[i + n] = 1; break;  // store
    case 3: atomicAdd(o + i + n, 1.f); break;  // atomic
    case 4: reinterpret_cast<float4*>(o)[i / 4 + n / 4] = make_float4(1, 2, 3, 4); break;  // vector
    case 5: asm volatile("ld.global.f32 %0, [%1];" : "=f"(o[i]) : "l"(p + i + n)); break;  // ptx load
    case 6: asm volatile("st.global.f32 [%0], %1;" :: "l"(o + i + n), "f"(1.f) : "memory"); break;  // ptx store
    case 7: asm volatile("red.global.add.f32 [%0], %1;" :: "l"(o + i + n), "f"(1.f) : "memory"); break;  // ptx red
    case 8: __pipeline_memcpy_async(&s[i / 4 * 4], p + i / 4 * 4 + n, 16); break;  // async copy
    case 9: memcpy(local, p + i / 8 * 8 + n, sizeof(local)); o[i] = local[i % 8]; break;  // memcpy
    case 10: atomicAdd(reinterpret_cast<__half*>(o) + 2 * (i + n), __half(1.f)); break;  // half
    case 11: o[i] = __ldg(p + i + n); break;  // read-only load
    case 12: o[i] = s[i + n]; break;  // shared load
    case 13: s[i + n] = 1; break;  // shared store
    case 14: o[i] = own[(i + n) % (4 + n)] + table[i % (4 + n)]; break;  // own variables
    case 15: o[i] = *reinterpret_cast<const float*>(size_t(n)); break;  // any number
    default: o[i] = s[i ^ 1] + local[i % 8] + table[i % 4] + (own[i % 4] = i);
  }
}
"""


@pytest.fixture(scope="module")
def accesses(tmp_path_factory):
    file = tmp_path_factory.mktemp("bounds") / "accesses.cu"
    file.write_text(ACCESSES)
    return tle_raw.fragment(file, symbol="k").as_kernel(block=64)


OUTSIDE = {  # how: (what the line says, what the message says, with n = 4)
    1: ("load", "thread 63 reads 4 bytes outside of the memory of every argument: 12 bytes beyond the 256 bytes of"),
    2: ("store", "writes 4 bytes outside"),
    3: ("atomic", "reads 4 bytes outside"),
    4: ("vector", "writes 4 bytes outside"),
    5: ("ptx load", "reads 4 bytes outside"),
    6: ("ptx store", "writes 4 bytes outside"),
    7: ("ptx red", "reads 4 bytes outside"),
    8: ("async copy", "reads 16 bytes outside"),
    9: ("memcpy", "reads"),
    10: ("half", "reads 2 bytes outside"),
    11: ("read-only load", "reads 4 bytes outside"),
    12: ("shared load", "reads 4 bytes, 12 bytes beyond the 256 bytes of the shared variable `k::s`"),
    13: ("shared store", "writes 4 bytes, 12 bytes beyond the 256 bytes of the shared variable `k::s`"),
    14: ("own variables", "outside of the memory of every argument"),
    15: ("any number", "outside of the memory of every argument"),
}


@pytest.mark.one_triton
@pytest.mark.parametrize("how", OUTSIDE)
def test_every_way_out_of_bounds_is_found(accesses, how):
    line, message = OUTSIDE[how]
    o, p = apart(np.zeros(64, np.float32)), apart(np.ones(64, np.float32))
    text = fails(accesses, o, p, how, 4)
    assert message in text
    assert f"// {line}" in text
    if "every argument" in message and how < 14:
        assert (
            f"argument `{'p' if line in ('load', 'ptx load', 'async copy', 'memcpy', 'read-only load') else 'o'}`"
            in text
        )


@pytest.mark.one_triton
def test_what_stays_inside_is_left_alone(accesses):
    o = np.zeros(64, np.float32)
    for how in (0, *range(1, 15)):
        accesses[(1,)](o, np.ones(64, np.float32), how, 0)


@pytest.mark.one_triton
def test_memory_before_an_array_is_outside_as_well(accesses):
    text = fails(accesses, np.zeros(64, np.float32), np.ones(1024, np.float32)[512:576], 1, -1)
    assert "4 bytes before the 256 bytes of argument `p`" in text


DYNAMIC = """
__global__ void k(float* o, int n) {
  extern __shared__ float s[];
  s[threadIdx.x + n] = 1;
  __syncthreads();
  o[threadIdx.x] = s[63 - threadIdx.x + n];
}
"""


@pytest.mark.one_triton
def test_dynamic_shared_memory_has_an_end():
    kernel = tle_raw.fragment(DYNAMIC, dialect="cuda", symbol="k").as_kernel(block=64, shared=256)
    o = np.zeros(64, np.float32)
    kernel[(1,)](o, 0)
    assert (o == 1).all()
    assert "thread 0 writes 4 bytes, 19744 bytes beyond the 256 bytes of the shared variable `s`" in fails(
        kernel, o, 5000
    )


@tle_raw.dialect(
    "cuda",
    source="""
    extern "C" __device__ void bump(float* t, const float* p, float* made, int n) {
      for (int i = threadIdx.x; i < TLE_M; i += blockDim.x) { made[i] = p[i]; t[i] = t[i] + p[i + n] + made[i]; }
    }""",
)
def bump(t: InOut[Tile["f32", "M"]], p: Pointer["f32"], made: Out[Tile["f32", "M"]], n: Scalar["i32"]): ...


@triton.jit
def bumped(x, weights, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    new, made = bump(tl.load(x + at), weights, n)
    tl.store(x + at, new + made)


def test_a_region_in_a_kernel_names_the_kernels_argument():
    x, weights = np.zeros(128, np.float32), np.ones(64, np.float32)
    bumped[(2,)](x, weights, 0, B=64)
    assert (x == 3).all()
    assert "0 bytes beyond the 256 bytes of argument `weights`" in fails(bumped, x, weights, 1, grid=(2,), B=64)
    assert "outside of the memory of every argument" in fails(bumped, x, weights, 1 << 28, grid=(2,), B=64)


HEAP = """
struct Node { Node* next; int value; };
__global__ void k(int* o) {
  Node* list = nullptr;
  for (int i = 0; i < 3; ++i) {
    Node* node = static_cast<Node*>(malloc(sizeof(Node)));
    *node = Node{list, i};
    list = node;
  }
  int sum = 0;
  while (list) { sum += list->value; Node* next = list->next; free(list); list = next; }
  o[threadIdx.x] = sum;
}
"""


@pytest.mark.one_triton
def test_memory_that_the_fragment_allocates_is_its_own():
    o = np.zeros(32, np.int32)
    tle_raw.fragment(HEAP, dialect="cuda", symbol="k").as_kernel(block=32)[(1,)](o)
    assert (o == 3).all()


MODULE = '''
import triton

import tle_raw

@tle_raw.dialect("cuda", source="""
__device__ void reach(float* p) {
  if (threadIdx.x == 3) p[64] = 1;
}
""")
def reach(p: tle_raw.Pointer["f32"]): ...

@triton.jit
def kernel(p):
    tle_raw.call(reach, [p])
'''


def test_a_fragment_that_moves_tells_its_new_line(tmp_path):
    for lines in (0, 7):
        file = tmp_path / f"module_{lines}.py"
        file.write_text("\n" * lines + MODULE)
        names: dict[str, Any] = {}
        exec(compile(file.read_text(), str(file), "exec"), names)
        with pytest.raises(KernelFailed) as caught:
            names["kernel"][(1,)](np.zeros(64, np.float32))
        source = caught.value.context.source
        assert source is not None and (source.file, source.line) == (str(file), lines + 8)
