"""What CUDA code uses inside a fragment compiles: blocks, memrefs, CUB, cooperative groups, inline PTX."""

import re

import pytest

from tle_raw.errors import SignatureMismatchError

pytestmark = pytest.mark.one_triton

SAMPLES = {
    "cub": """
        #include <cub/block/block_reduce.cuh>
        __device__ float f(float v) {
          using Reduce = cub::BlockReduce<float, 128>;
          __shared__ typename Reduce::TempStorage scratch;
          return Reduce(scratch).Sum(v);
        }""",
    "cooperative groups": """
        #include <cooperative_groups.h>
        #include <cooperative_groups/reduce.h>
        namespace cg = cooperative_groups;
        __device__ float f(float v) {
          return cg::reduce(cg::tiled_partition<32>(cg::this_thread_block()), v, cg::plus<float>());
        }""",
    "fp16, bf16, fp8": """
        #include <cuda_bf16.h>
        #include <cuda_fp16.h>
        #include <cuda_fp8.h>
        __device__ float f(float v) {
          __half2 h = __hfma2(__float2half2_rn(v), __float2half2_rn(3.0f), __float2half2_rn(1.0f));
          return __low2float(h) + __bfloat162float(__float2bfloat16(v)) + float(__nv_fp8_e4m3(v));
        }""",
    "inline PTX": """
        __device__ float f(float v) { float r; asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(v)); return r; }""",
    "warp shuffles": """
        __device__ float f(float v) {
          for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
          return v;
        }""",
    "constant and static shared memory": """
        __constant__ float table[4] = {1, 2, 3, 4};
        __device__ float f(float v) {
          __shared__ float s[32];
          s[threadIdx.x & 31] = v;
          __syncthreads();
          return s[31 - (threadIdx.x & 31)] + table[threadIdx.x & 3];
        }""",
    "libdevice": "__device__ float f(float v) { return expf(v) + erff(v) + sinf(v); }",
    "C++ headers": "#include <cstdint>\n#include <type_traits>\n"
    "__device__ float f(std::decay_t<float&> v) { return v; }",
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_feature_compiles(cuda, entry_type, name):
    assert entry_type(cuda.compile(SAMPLES[name], ("v: scalar f32",), result="f32")) == ("float", ("float",))


@pytest.mark.parametrize(
    "function, scope", [("atomicAdd", ""), ("atomicAdd_block", ".cta"), ("atomicAdd_system", ".sys")]
)
def test_an_atomic_addition_of_several_floats_is_done_also_when_its_result_is_not_used(cuda, function, scope):
    text = f"""
    __device__ void f(float* p) {{
      {function}(reinterpret_cast<float2*>(p), make_float2(1, 2));
      {function}(reinterpret_cast<float4*>(p), make_float4(1, 2, 3, 4));
    }}"""
    found = re.findall(
        r"asm sideeffect \"atom(\S*)\.add\.(v\d)\.f32 .*~{memory}", cuda.compile(text, ("p: pointer f32",)).text
    )
    assert set(found) == {(scope, "v2"), (scope, "v4")}


def test_libdevice_leaves_no_undefined_function(cuda):
    text = cuda.compile(SAMPLES["libdevice"], ("v: scalar f32",), result="f32").text
    declared = re.findall(r"^declare .*@([\w.]+)\(", text, re.M)
    assert [name for name in declared if not name.startswith("llvm.")] == []


BLOCK = """
__device__ unsigned corner(dim3 d) { return d.x + 100 * d.y; }
__device__ int f() {
  static_assert(sizeof(dim3) == 12);
  uint3 t = threadIdx;
  return ::threadIdx.x + 16 * threadIdx.y + 128 * threadIdx.z + t.x + corner(blockDim) * 1000000;
}
"""


def test_a_block_of_two_dims_has_its_own_thread_index(cuda, entry_body):
    body = entry_body(cuda.compile(BLOCK, result="i32", block=(16, 8)))
    assert "tid.x" in body and "tid.y" not in body and "ntid" not in body
    assert re.search(r"816000000", body)


def test_a_block_of_three_dims_has_z(cuda, entry_body):
    body = entry_body(cuda.compile(BLOCK, result="i32", block=(4, 4, 8)))
    assert "tid.x" in body and "tid.z" not in body


def test_a_block_of_one_dim_is_the_kernels(cuda):
    unit = cuda.adapter.unit(cuda.read(source=BLOCK, block=(128,)), cuda.bound(result="i32"))
    assert "#undef" not in unit


def test_cub_works_in_a_block_of_two_dims(cuda):
    text = SAMPLES["cub"].replace("float, 128", "float, 16, cub::BLOCK_REDUCE_WARP_REDUCTIONS, 8")
    cuda.compile(text, ("v: scalar f32",), result="f32", block=(16, 8))


MEMREF = """
#define SHARED __attribute__((address_space(3)))
extern "C" __device__ void f(SHARED float* allocated, SHARED float* aligned, const int64_t offset, const int64_t rows,
                             const int64_t columns, const int64_t stride0, const int64_t stride1,
                             __attribute__((address_space(1))) float* p, int n) {
  p[0] = aligned[stride0] + rows * 1000 + columns + n;
}
"""
MEMREF_PARAMETERS = ("t: InOut tile f32 8 16", "p: pointer f32", "n: scalar i32")


def test_a_memref_fragment_gets_all_its_parameters(cuda, entry_type):
    output = cuda.compile(MEMREF, MEMREF_PARAMETERS, style="memref")
    assert entry_type(output) == ("i32", ("i32", "ptr addrspace(1)", "i32"))


def test_a_memref_fragment_of_the_wrong_rank_is_explained(cuda):
    with pytest.raises(SignatureMismatchError) as error:
        cuda.compile(MEMREF, ("t: InOut tile f32 8", *MEMREF_PARAMETERS[1:]), style="memref")
    assert {"t.allocated", "t.size0"} <= {row.what for row in error.value.table}


def test_a_tile_is_read_from_shared_memory_with_its_alignment(cuda, entry_body):
    text = """
    __device__ void f(tle::tile<float, 64> t) {
      for (int i : t.vectors<4>()) { float4& v = *reinterpret_cast<float4*>(&t[i]); v.x += 1; v.y += v.z * v.w; }
    }"""
    body = entry_body(cuda.compile(text, ("t: InOut tile f32 64",)))
    assert "align 16" in body and "addrspace(3)" in body


def test_the_prototype_compiles(cuda):
    from tle_raw.fragments.parameter_types import INOUT, Const, Element, Parameter, Pointer, Scalar, Tile
    from tle_raw.fragments.signature import Signature

    signature = Signature(
        "f",
        (
            Parameter("t", Tile["T", "M", 16], INOUT),
            Parameter("s", Pointer["f16"]),
            Parameter("n", Scalar["i32"]),
            Parameter("k", Const["K"]),
        ),
        Scalar["f32"],
    )
    text = cuda.adapter.prototype(None, signature)
    parameters = ("t: InOut tile f32 8 16", "s: pointer f16", "n: scalar i32", "k: const 4")
    names = {"T": "f32", "M": 8, "K": 4}
    cuda.compile(text, parameters, result="f32", names=names)
    plain = text.replace("#if 0", "#if 1").replace("template", "#if 0\ntemplate").replace("}\n\n#if", "}\n#endif\n#if")
    cuda.compile(plain, parameters, result="f32", names=names)
    element = Signature("g", (Parameter("x", Element["f32"], INOUT), Parameter("y", Element["f32"])))
    cuda.compile(cuda.adapter.prototype(None, element), ("x: InOut element f32", "y: element f32"), name="g")
