"""TileLang's kernel text as a device function: what is edited, what stays, what is refused."""

import pytest

from tle_raw.adapters.tilelang.linked.device_function import device_function
from tle_raw.errors import UnsupportedFeatureError

pytestmark = pytest.mark.one_triton

FRAME = """#include <tl_templates/cuda/copy.h>
namespace user {{ struct S {{ int x; }}; __device__ int helper(int a) {{ return a; }} }}

extern "C" __global__ void k_kernel({parameters});
extern "C" __global__ void __launch_bounds__(128, 1) k_kernel({parameters}) {{
{body}
}}
"""


def rewritten(body: str, parameters: str = "const half_t* __restrict__ A, float* __restrict__ C, int n"):
    return device_function(FRAME.format(body=body, parameters=parameters), "k_kernel")


def test_the_kernel_becomes_a_device_function_and_the_rest_stays():
    found = rewritten("  C[blockIdx.x] = A[0]; /* extern __shared__ in a comment */")
    assert "__global__" not in found.text and "__launch_bounds__" not in found.text
    assert found.text.count("k_kernel") == 1
    assert (
        "void k_kernel(const half_t* __restrict__ A, float* __restrict__ C, int n, "
        "const uint3 tle_raw_block, const dim3 tle_raw_grid, unsigned char* tle_raw_shared, "
        "unsigned& tle_raw_registers)"
    ) in found.text
    assert "C[blockIdx.x] = A[0]; /* extern __shared__ in a comment */" in found.text
    assert "__device__ int helper(int a) { return a; }" in found.text
    assert not found.uses_shared and not found.uses_grid


def test_a_kernel_without_parameters():
    assert "void k_kernel(const uint3 tle_raw_block" in rewritten("", "").text


def test_lines_stay_where_they_were():
    before = FRAME.format(parameters="int n", body="  int x = 0;\n\n  x = n;\n")
    after = device_function(before, "k_kernel").text
    assert before.splitlines().index("  x = n;") == after.splitlines().index("  x = n;")


@pytest.mark.parametrize(
    "declaration, pointer",
    [
        ("extern __shared__ __align__(1024) uchar buf[];", "uchar* const buf = (uchar*)tle_raw_shared;"),
        ("extern __shared__ half_t  A_s [ ] ;", "half_t* const A_s = (half_t*)tle_raw_shared;"),
        (
            "extern __shared__ __align__(16) unsigned int x[];",
            "unsigned int* const x = (unsigned int*)tle_raw_shared;",
        ),
    ],
)
def test_dynamic_shared_memory_comes_in_as_a_pointer(declaration, pointer):
    found = rewritten(f"  {declaration}\n  C[0] = 1;")
    assert pointer in found.text and "extern __shared__" not in found.text and found.uses_shared


def test_static_shared_memory_stays():
    found = rewritten("  __shared__ __align__(16) uint64_t mbarrier_mem[4];")
    assert "__shared__ __align__(16) uint64_t mbarrier_mem[4];" in found.text and not found.uses_shared


@pytest.mark.parametrize("function, ours", [("Row", "row_panels"), ("Column", "column_panels")])
def test_a_swizzle_gets_the_block_and_the_grid(function, ours):
    found = rewritten(f"  const dim3 blockIdx = tl::rasterization2D{function}<10>();\n  C[blockIdx.x] = 0;")
    assert f"const dim3 blockIdx = tle::tilelang::{ours}<10>(tle_raw_block, tle_raw_grid);" in found.text
    assert found.uses_grid


def test_register_budgets_are_left_out():
    found = rewritten("  tl::warpgroup_reg_dealloc<24>();\n  tl::warpgroup_reg_alloc<240>();")
    assert "warpgroup_reg" not in found.text and found.text.count("(void)0;") == 2


@pytest.mark.parametrize(
    "body, parameters, named",
    [
        ("  tl::cluster_sync();", "float* C", "cluster"),
        ("  const dim3 blockIdx = tl::rasterization2DRowWithCluster<4, 2>();", "float* C", "cluster"),
        ("  extern __shared__ int x[4][8];", "float* C", "extern __shared__ int x"),
        ("  extern int other;", "float* C", "extern int other"),
        ("  auto b = tl::rasterization2DRow<4, 5>();", "float* C", "rasterization2DRow < 4 , 5"),
    ],
)
def test_what_only_a_launch_can_give_is_refused_by_name(body, parameters, named):
    with pytest.raises(UnsupportedFeatureError, match=named):
        rewritten(body, parameters)


def test_two_kernels_are_refused():
    one = FRAME.format(parameters="int n", body="")
    with pytest.raises(UnsupportedFeatureError, match="other_kernel"):
        device_function(one + one.replace("k_kernel", "other_kernel"), "k_kernel")
    with pytest.raises(UnsupportedFeatureError, match="got k_kernel"):
        device_function(one, "missing_kernel")


def test_names_in_strings_and_comments_are_no_names():
    found = rewritten('  // tl::rasterization2DRow<4>() CUtensorMap\n  const char* s = "this_grid CUtensorMap";')
    assert "tl::rasterization2DRow<4>() CUtensorMap" in found.text


def test_short_loops_are_unrolled_and_pipelines_are_not():
    found = rewritten(
        """
  for (int i = 0; i < 4; ++i) { C[i] = 0; }
  #pragma unroll
  for (int j = 0; j < 8; ++j) { C[j] = 1; }
  for (int k = 0; k < 4; ++k) {
    tl::cp_async_wait<1>();
    for (int m = 0; m < 3; ++m) { C[m] += 1; }
  }
  for (int n = 0; n < 30; ++n) { C[n] = 2; }
"""
    ).text
    assert '_Pragma("unroll") for (int i = 0' in found and '_Pragma("unroll") for (int m = 0' in found
    assert '_Pragma("nounroll") for (int k = 0' in found
    assert "#pragma unroll\n  for (int j = 0" in found and "\n  for (int n = 0" in found
