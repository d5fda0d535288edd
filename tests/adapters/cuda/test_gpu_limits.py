"""What clang compiles and no GPU runs ends in an error at the user's line, and never in LLVM's or ptxas's own."""

import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import cause_of, compile_kernel, report_of
from tle_raw import Scalar
from tle_raw.adapters.cuda.gpu_limits import refuse_beyond_gpu
from tle_raw.errors import (
    CompilationFailed,
    SharedMemoryError,
    SourceLocation,
    UnsupportedFeatureError,
    WarpMaskWarning,
)

WARP = """
__device__ float down(float x) {
  return __shfl_down(x, 1);
}
__device__ float sum(float x) { return down(x) + 1; }
__device__ int votes(int x) {
  return
    __any(x) + 1;
}
__device__ float with_masks(float x) {
  return __shfl_down_sync(0xffffffff, x, 1) + __any_sync(0xffffffff, x > 0) + __ballot_sync(0xffffffff, x > 1);
}
"""


def test_instructions_without_a_mask_are_named_at_their_line(cuda):
    source = """
__device__ int votes(int x) {
  asm("{ .reg .pred p; setp.ne.b32 p, %0, 0; vote.any.pred p, p; selp.b32 %0, 1, 0, p; }" : "+r"(x));
  return x;
}"""
    with pytest.raises(UnsupportedFeatureError, match="`__any`") as error:
        cuda.compile(source, ("x: scalar i32",), result="i32", name="votes")
    assert error.value.context.source.line == 3
    assert "__any_sync(0xffffffff, …)" in error.value.hint


@pytest.mark.parametrize(
    ("name", "dtype", "word"), [("sum", "f32", "shfl.sync.down"), ("votes", "i32", "vote.any.sync")]
)
def test_functions_without_a_mask_get_one(cuda, name, dtype, word):
    with pytest.warns(WarpMaskWarning):
        assert word in cuda.compile(WARP, (f"x: scalar {dtype}",), result=dtype, name=name).text


def test_warp_functions_with_masks_are_the_gpus(cuda):
    assert "llvm.nvvm.shfl.sync" in cuda.compile(WARP, ("x: scalar f32",), result="f32", name="with_masks").text


FUNCTION = SourceLocation("k.cu", 1)


@pytest.mark.parametrize(("call", "word"), [
    ("call float @llvm.nvvm.shfl.bfly.f32(float %x, i32 1, i32 31)", "__shfl_xor"),
    ("call i32 @llvm.nvvm.shfl.idx.i32(i32 %x, i32 1, i32 31)", "__shfl"),
    ("call i32 @llvm.nvvm.vote.ballot(i1 %x)", "__ballot"),
    ('call i32 asm sideeffect "shfl.up.b32 $0, $1, 1, 0;", "=r,r"(i32 %x)', "__shfl_up"),
    ('call i32 asm sideeffect "{ vote.all.pred p, p; }", "=r,r"(i32 %x)', "__all"),
    ("call { i32, i1 } @llvm.nvvm.shfl.sync.idx.i32p(i32 -1, i32 %x, i32 1, i32 31)", ""),
    ("call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %x)", ""),
    ('call i32 asm sideeffect "shfl.sync.up.b32 $0, $1, 1, 0, -1;", "=r,r"(i32 %x)', ""),
])  # fmt: skip
def test_every_spelling_without_a_mask_is_found(call, word):
    kind = call.split(" %x")[0].replace("(", " ").split()[-1]
    text = f"define void @f({kind} %x) {{\n  %r = {call}\n  ret void\n}}\n"
    if not word:
        refuse_beyond_gpu(text, "f", FUNCTION, "", bool)
        return
    with pytest.raises(UnsupportedFeatureError, match=f"`{word}`"):
        refuse_beyond_gpu(text, "f", FUNCTION, "", bool)


SHARED = """
__global__ void k(float* o) {
  __shared__ float small[16];
  __shared__ double large[6144];
  large[threadIdx.x * 9] = small[threadIdx.x % 16] = threadIdx.x;
  __syncthreads();
  o[threadIdx.x] = large[63 - threadIdx.x] + small[3];
}
"""


def test_static_shared_memory_of_a_kernel_may_be_all_that_a_block_has():
    compiled = tle_raw.fragment(SHARED, dialect="cuda", symbol="k").as_kernel(block=64).compile("cuda:90")
    report = tle_raw.report(compiled)
    assert (report.regions[0].dynamic_shared, report.static_shared) == (49152, 64)  # what can stay stays
    assert "shared.b64" in compiled.asm["ptx"] and "large" not in compiled.asm["ptx"]


def test_static_and_dynamic_shared_memory_lie_side_by_side():
    both = SHARED.replace("__global__", "extern __shared__ int more[];\n__global__")
    both = both.replace("__syncthreads", "more[threadIdx.x] = 1;\n  __syncthreads").replace("small[3]", "more[3]")
    kernel = tle_raw.fragment(both, dialect="cuda", symbol="k").as_kernel(block=64, shared=264)
    (region,) = report_of(kernel.compile("cuda:90"), machine_code=False).regions
    assert region.dynamic_shared == 272 + 49152  # at a multiple of 16
    too_large = tle_raw.fragment(both.replace("[6144]", "[30000]"), dialect="cuda", symbol="k")
    with pytest.raises(SharedMemoryError, match="more shared memory than a block of sm_90 has"):
        too_large.as_kernel(block=64, shared=264).compile("cuda:90")


def test_static_shared_memory_above_the_limit_is_refused_where_a_function_that_is_kept_declares_it():
    apart = SHARED.replace("__global__ void k", "__device__ __noinline__ void f")
    apart += "__global__ void k(float* o) { f(o); f(o + 1); }"
    kernel = tle_raw.fragment(apart, dialect="cuda", symbol="k").as_kernel(block=64)
    with pytest.raises(Exception, match="__shared__") as error:
        kernel.compile("cuda:90")
    found = cause_of(error.value)
    assert isinstance(found, SharedMemoryError) and "large[6144]" in found.context.source.text
    assert (found.table[0].expected, found.table[0].got) == ("at most 49152", "49216")


WRONG = r"""
struct Shape { __device__ virtual float area() { return 1; } };
struct Square : Shape { __device__ float area() override { return 2; } };
__device__ float indirect(float x) {
  Shape shape; Square square;
  Shape* chosen = threadIdx.x % 2 ? &square : &shape;
  return x + chosen->area();
}
__device__ float typo(float x) {
  float y;
  asm volatile("mov.f33 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
"""


@tle_raw.dialect("cuda", source=WRONG)
def indirect(x: Scalar["f32"]) -> Scalar["f32"]: ...


@tle_raw.dialect("cuda", source=WRONG)
def typo(x: Scalar["f32"]) -> Scalar["f32"]: ...


@triton.jit
def calls_indirectly(o):
    tl.store(o, indirect(1.0))


@triton.jit
def misspells(o):
    tl.store(o, typo(1.0))


@pytest.mark.parametrize(
    ("kernel", "kind", "message", "text"),
    [
        (calls_indirectly, UnsupportedFeatureError, "through a pointer", "chosen->area()"),
        (misspells, CompilationFailed, "'.f33'", "asm volatile"),
    ],
)
def test_what_is_known_of_the_finished_kernel_only_is_told_at_its_line(kernel, kind, message, text, capsys):
    with pytest.raises(kind, match=message) as error:
        compile_kernel(kernel, {"o": "*fp32"})
    context = error.value.context
    assert text in context.source.text and context.call_site.file == __file__
    assert "reproducer" not in capsys.readouterr().out


ABORTING = """
__device__ float libm(float x) {
  return __builtin_sinf(x);
}
__device__ long long high(long long x) { return (__int128)x * x >> 64; }
"""


def test_what_would_end_the_process_is_tried_in_another(cuda):
    with pytest.raises(UnsupportedFeatureError, match="fsin") as error:
        cuda.compile(ABORTING, ("x: scalar f32",), result="f32", name="libm")
    assert error.value.context.source.line == 3


def test_what_is_unusual_and_works_is_compiled(cuda):
    cuda.compile(ABORTING, ("x: scalar i64",), result="i64", name="high")


def test_a_kernel_with_dynamic_shared_memory_is_tried_too():
    source = """extern __shared__ float s[];
    __global__ void k(float* o) { s[threadIdx.x] = o[0]; __syncthreads(); o[0] = __builtin_cosf(s[1]); }"""
    kernel = tle_raw.fragment(source, dialect="cuda", symbol="k", shared=256).as_kernel(block=64)
    with pytest.raises(UnsupportedFeatureError, match="fcos"):
        kernel.compile("cuda:90")
