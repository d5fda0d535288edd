"""The entry function has exactly the LLVM type that the ports expect, for every dtype and kind of parameter."""

import pytest

from tle_raw.fragments.dtypes import DTYPES

pytestmark = pytest.mark.one_triton

KINDS = """
__device__ {cxx} f(tle::tile<{cxx}, 4> t, const {cxx}* p, {cxx}* q, {cxx} s) {{
  q[0] = p[1];
  t[2] = s;
  return t[1];
}}
"""


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalar_pointer_tile_and_result_of_every_dtype_cross(cuda, entry_type, dtype):
    parameters = (f"t: InOut tile {dtype} 4", f"p: pointer {dtype}", f"q: InOut pointer {dtype}", f"s: scalar {dtype}")
    output = cuda.compile(KINDS.format(cxx=DTYPES[dtype].cxx), parameters, result=dtype)
    bound = cuda.bound(parameters, dtype)
    assert entry_type(output) == (bound.entry_result, bound.entry_parameters)
    assert entry_type(output) == (
        DTYPES[dtype].llvm,
        ("i32", "ptr addrspace(1)", "ptr addrspace(1)", DTYPES[dtype].llvm),
    )


ELEMENTS = """
__device__ void f({cxx}& x, {cxx} y) {{ x = y; }}
"""


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_updated_element_of_every_dtype_comes_back(cuda, entry_type, dtype):
    parameters = (f"x: InOut element {dtype}", f"y: element {dtype}")
    output = cuda.compile(ELEMENTS.format(cxx=DTYPES[dtype].cxx), parameters)
    llvm = DTYPES[dtype].llvm
    assert entry_type(output) == (llvm, (llvm, llvm))


def test_an_element_may_be_updated_through_a_pointer(cuda, entry_body):
    output = cuda.compile(
        "__device__ void f(float* x, float y) { *x += y; }", ("x: InOut element f32", "y: element f32")
    )
    assert "fadd" in entry_body(output)


def test_an_element_function_may_return_its_value(cuda, entry_type):
    output = cuda.compile("__device__ float f(int x) { return x * 0.5f; }", ("x: element i32",), result="f32")
    assert entry_type(output) == ("float", ("i32",))


def test_nothing_to_pass_and_nothing_to_return_become_a_dummy(cuda, entry_type):
    assert entry_type(cuda.compile("__device__ void f() { __syncthreads(); }")) == ("i32", ("i32",))


@pytest.mark.parametrize("dims", ["8", "4 8", "2 4 8", "2 2 4 8"])
def test_tiles_of_every_rank_cross_as_a_shared_address(cuda, entry_type, dims):
    text = (
        f"__device__ void f(tle::tile<float, {', '.join(dims.split())}> t) {{ for (int i : t.indices()) t[i] += 1; }}"
    )
    assert entry_type(cuda.compile(text, (f"t: InOut tile f32 {dims}",))) == ("i32", ("i32",))


@pytest.mark.parametrize(
    "parameters",
    [
        "float* t, const float* s, int n",
        "const float* __restrict__ t, float* s, const int& n",
        "tle::tile<const float, 8, 8> t, const float* const s, int32_t n",
        "const tle::tile<float, 8, 8>& t, float __attribute__((address_space(1)))* s, const int n",
        "float __attribute__((address_space(3)))* t, volatile float* s, int n",
    ],
)
def test_every_spelling_of_a_parameter_is_taken(cuda, entry_type, entry_body, parameters):
    text = f'__device__ void f({parameters}) {{ if (t[0] < s[n]) asm volatile("trap;"); }}'
    output = cuda.compile(text, ("t: InOut tile f32 8 8", "s: pointer f32", "n: scalar i32"))
    assert entry_type(output) == ("i32", ("i32", "ptr addrspace(1)", "i32"))
    body = entry_body(output)
    assert body.count("load ") + body.count("load volatile ") >= 2 and "fcmp" in body and "trap" in body


@pytest.mark.parametrize(
    ("cxx", "dtype"),
    [("int64_t", "i64"), ("long", "i64"), ("long long", "i64"), ("char", "i8"), ("int8_t", "i8"), ("uint8_t", "u8"),
     ("size_t", "u64"), ("unsigned", "u32"), ("half", "f16"), ("_Float16", "f16"), ("nv_bfloat16", "bf16")],
)  # fmt: skip
def test_another_name_of_the_same_type_is_taken(cuda, entry_type, cxx, dtype):
    text = f"__device__ void f(tle::tile<{cxx}, 4> t, {cxx}* p, {cxx} s, {cxx}* u) {{ t[0] = s; u[0] = p[1]; }}"
    parameters = (f"t: Out tile {dtype} 4", f"p: pointer {dtype}", f"s: scalar {dtype}", f"u: InOut tile {dtype} 2")
    llvm = DTYPES[dtype].llvm
    assert entry_type(cuda.compile(text, parameters)) == ("i32", ("i32", "ptr addrspace(1)", llvm, "i32"))


def test_the_user_function_is_inlined_into_the_entry(cuda, entry_body):
    text = """
    __device__ __noinline__ float big(float x) { for (int i = 0; i < 100; ++i) x = sinf(x) * cosf(x); return x; }
    __device__ float f(float x) { return x * 3.0f; }
    """
    assert "call" not in entry_body(cuda.compile(text, ("x: scalar f32",), result="f32"))


@pytest.mark.parametrize("target", ["cuda:80", "cuda:89", "cuda:90", "cuda:100", "cuda:120"])
def test_each_architecture_compiles(cuda, target):
    text = "__device__ int f() { return __CUDA_ARCH__; }"
    assert f"ret i32 {target[5:]}0" in cuda.compile(text, result="i32", target=target).text


def test_equal_input_gives_equal_text(cuda, tmp_path):
    read = cuda.read(source="__device__ float f(float x) { return x; }")
    from tle_raw.target import parse_target

    bound = cuda.bound(("x: scalar f32",), "f32")
    first, second = (cuda.adapter.compile(read, bound, parse_target("cuda:90")) for _ in range(2))
    assert first.text == second.text and first.entry == second.entry
    assert "tle_raw-" not in first.text  # no temporary folder
