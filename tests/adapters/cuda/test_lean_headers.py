"""Parts of large headers are left out where no text names them, and the code stays the same."""

from __future__ import annotations

import re

import pytest

import tle_raw
from tle_raw import Element, Scalar
from tle_raw.adapters.cpp.lean_headers import lean_defines, with_halfs_bodies, with_small_floats

pytestmark = pytest.mark.one_triton

HALF, BFLOAT = "CCCL_DISABLE_FP16_SUPPORT", "CCCL_DISABLE_BF16_SUPPORT"
CUB = ("cub/block/block_reduce.cuh",)


def test_what_a_text_names_stays():
    assert {HALF, BFLOAT} <= set(lean_defines(["int x;"], CUB, (3, 1, 0)))
    assert not {HALF, BFLOAT} & set(lean_defines(["__half x;"], CUB, (3, 1, 0)))
    assert not {HALF, BFLOAT} & set(with_small_floats(lean_defines(["int x;"], CUB, (3, 1, 0))))
    assert not {HALF, BFLOAT} & set(lean_defines(["int x;"], ("vector",), (3, 1, 0)))


def test_special_functions_are_read_where_one_is_named():
    special = "_GLIBCXX_BITS_SPECFUN_H"
    assert special in lean_defines(["int x;"], CUB, ())
    assert special not in lean_defines(["std::sph_legendre(l, m, x)"], CUB, ())
    assert special not in lean_defines(["int x;"], ("vector",), ())


STRINGS, BODIES = "TLE_RAW_WITHOUT_STRINGS", "__CUDA_FP16_HPP__"


def test_strings_and_streams_are_read_but_for_programs_of_blocks():
    assert STRINGS in lean_defines(["cuda::std::plus<>"], (*CUB, "tle_raw/tile.h"), ())
    assert STRINGS not in lean_defines(["std::runtime_error"], CUB, ())
    assert STRINGS not in lean_defines(["int x;"], (*CUB, "vector"), ())
    assert STRINGS not in lean_defines(["int x;"], ("cub/device/device_reduce.cuh",), ())


def test_of_halves_that_must_stay_the_bodies_are_left_out():
    defines = lean_defines(["int x;"], CUB, (3, 0, 1))
    assert BODIES in defines and BODIES not in lean_defines(["int x;"], CUB, (3, 1, 0))
    assert BODIES not in with_small_floats(defines)
    assert with_halfs_bodies(defines, "declare float @_Z1ff(float)") == defines
    assert BODIES not in with_halfs_bodies(defines, "declare i16 @_Z6__habs6__half(i16)")


def test_a_body_that_is_wanted_after_all_is_read():
    @tle_raw.dialect(
        "cuda",
        source="""
        #include <cub/block/block_reduce.cuh>
        __device__ float absolute(float x) { return __habs(x); }""",
    )
    def absolute(x: Element["f32"]) -> Element["f32"]: ...

    assert not re.search(r"^declare [^@\n]*half", absolute.compile("cuda:90").text, re.MULTILINE)


@pytest.mark.parametrize("text, includes, are_all", [
    ("_CCCL_HAS_NVB\\\nF\\\n16()", CUB, True),  # a name on several lines
    ("#define NAME(a, b) a##b", CUB, True),
    ("#define NAME(a, b) a %:%: b", CUB, True),
    ("#include HEADER", (*CUB, ""), True),
    ("int x;", CUB, False),
])  # fmt: skip
def test_nothing_is_left_out_where_names_cannot_be_seen(text, includes, are_all):
    assert not {HALF, BFLOAT} & set(lean_defines([text], includes, (3, 1, 0), are_all))


ASKS = "#include <cuda/std/version>\n"


@pytest.mark.parametrize("text", [
    ASKS + "#define N(a, b, c) a##b##c\n__device__ int types(int x) { return x * 8 + N(_CCCL_HAS_NVB, F1, 6)(); }",
    ASKS + "__device__ int types(int x) { return x * 8 + _CCCL_HAS_NVB\\\nF\\\n16(); }",
    ASKS + "#define HEADER \"asks.h\"\n#include HEADER\n__device__ int types(int x) { return x * 8 + asked(); }",
    ASKS + "#include <{0}/asks.h>\n__device__ int types(int x) { return x * 8 + asked(); }",
], ids=["pasted", "on several lines", "computed", "absolute"])  # fmt: skip
def test_code_that_asks_for_types_has_them(tmp_path, text):
    (tmp_path / "asks.h").write_text("__device__ inline int asked() { return _CCCL_HAS_NVBF16(); }\n")
    (tmp_path / "types.cu").write_text(text.replace("{0}", str(tmp_path)))

    @tle_raw.dialect("cuda", file=tmp_path / "types.cu")
    def types(x: Element["i32"]) -> Element["i32"]: ...

    assert re.search(r"(?:or|add) [^,]*, 1\b", types.compile("cuda:90").text)


def test_textures_whose_name_is_pasted_are_read():
    @tle_raw.dialect(
        "cuda",
        source="""
        #define NAME(a, b) a##b
        __device__ int fetched(unsigned long long texture, int x) { return NAME(te, x1Dfetch)<int>(texture, x); }""",
    )
    def fetched(texture: Scalar["u64"], x: Element["i32"]) -> Element["i32"]: ...

    assert "tex" in fetched.compile("cuda:90").text


@pytest.mark.parametrize("release", [(), (2, 8, 2), (3, 0, 1)])
def test_half_stays_where_cub_goes_wrong_without_it(release):
    defines = lean_defines(["int x;"], CUB, release)
    assert HALF not in defines and BFLOAT in defines


@pytest.mark.parametrize("operation", ["cuda::std::plus<>", "cuda::maximum<>", "cuda::minimum<int>"])
def test_reductions_of_integers_take_no_way_of_small_floats(operation):
    """CUB of CCCL 3.0 took four and more integers for packed floats: the code was a trap."""

    @tle_raw.dialect("cuda", source=f"""
        #include <cuda/functional>
        #include <cub/thread/thread_reduce.cuh>
        __device__ int of_eight(int x) {{
          int items[8];
          for (int i = 0; i < 8; i++) items[i] = x * i;
          return cub::ThreadReduce(items, {operation}{{}});
        }}""")  # fmt: skip
    def of_eight(x: Element["i32"]) -> Element["i32"]: ...

    text = of_eight.compile("cuda:90").text
    assert "of_eight" in text and "llvm.trap" not in text and "assertfail" not in text


SORTS = ("thrust/sort.h", "cstdio")
PLAIN_THRUST = "THRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP"


@pytest.mark.parametrize(
    "text", ["#if THRUST_DEVICE_SYSTEM == 1", "thrust::cuda::par.on(s)", "cub::DeviceScan", "#if CUB_VERSION > 1"]
)
def test_thrusts_algorithms_for_the_device_are_read_where_a_text_may_see_them(text):
    assert PLAIN_THRUST in lean_defines(["thrust::sort(thrust::device, a, b);"], SORTS, ())
    assert PLAIN_THRUST not in lean_defines([text], SORTS, ())
    assert PLAIN_THRUST not in lean_defines(["int x;"], (*CUB, "thrust/system/cuda/vector.h"), ())


def test_a_kernel_beside_host_code_that_sorts_by_thrust():
    """What kernels do with Thrust, they do one element after the other; without its algorithms for the device, too."""

    @tle_raw.dialect(
        "cuda",
        source="""
        #include <thrust/device_ptr.h>
        #include <thrust/device_vector.h>
        #include <thrust/functional.h>
        #include <thrust/sort.h>
        void sort_all(thrust::device_vector<int>& keys, cudaStream_t stream) {
          thrust::sort(thrust::device.on(stream), keys.begin(), keys.end(), thrust::greater<int>());
        }
        __device__ int middle(int a, int b, int c) {
          int all[3] = {a, b, c};
          thrust::sort(thrust::seq, all, all + 3, thrust::greater<int>());
          thrust::device_ptr<int> pointer(all);
          return pointer[1];
        }""",
    )
    def middle(a: Element["i32"], b: Element["i32"], c: Element["i32"]) -> Element["i32"]: ...

    text = middle.compile("cuda:90").text
    assert "middle" in text and not re.search(r"declare [^@\n]*@[^(\n]*sort", text), "the sort is compiled"
