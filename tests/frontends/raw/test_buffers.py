"""Regions work in the kernel's own shared buffers: one address, a barrier on both sides, and nothing is copied."""

from __future__ import annotations

import re

import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
import tle_raw.mlir as mlir
from tests.contracts.running import our_error
from tests.support import compile_kernel, report_of
from tle_raw import AnyLayout, Buffer, In, InOut, Out, Pointer, Scalar, Tile
from tle_raw.errors import ArgumentTypeError, ShapeError, SharedBufferError, SignatureError

SOURCE = r"""
#include <tle_raw/buffer.h>
template <int M, int N> __device__ void twice(float* b) {
  for (int i = threadIdx.x; i < M * N; i += blockDim.x) b[i] *= 2;
}
template <int M, int N, class Layout> __device__ void number(tle::buffer<float, Layout, M, N> b) {
  for (int i : b.indices()) b[i] = i;
}
template <int M, int N, class Layout> __device__ void sum(tle::buffer<const float, Layout, M, N> b, float* total) {
  if (b.thread() == 0) *total = b(0, 1) + b(1, 0);
}
"""


@tle_raw.dialect("cuda", source=SOURCE)
def twice(b: InOut[Buffer["f32", "M", "N"]]): ...


@tle_raw.dialect("cuda", source=SOURCE)
def number(b: Out[Buffer["f32", "M", "N", AnyLayout]]): ...


@tle_raw.dialect("cuda", source=SOURCE, symbol="sum")
def sum_corner(b: In[Buffer["f32", "M", "N", AnyLayout]], total: InOut[Pointer["f32"]]): ...


@tle_raw.dialect("cuda", source=SOURCE, symbol="twice")
def twice_tile(b: InOut[Tile["f32", "M", "N"]]): ...


@triton.jit
def through(x, y, F: tl.constexpr, MMA: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    b = tle.gpu.alloc([M, N], dtype=tl.float32, nv_mma_shared_layout=MMA)
    b.store(tl.load(x + at))
    F(b)
    tl.store(y + at, b.load())


def compiled(fragment, mma, kernel=through, **more):
    constants = {"F": fragment, "MMA": mma, "M": 64, "N": 64, **more}
    return compile_kernel(kernel, {"x": "*fp32", "y": "*fp32"}, constants)


def instructions(kernel, pattern):
    return len(re.findall(rf"^\s*(?:@%\w+ )?{pattern}", kernel.asm["ptx"], re.MULTILINE))


@pytest.mark.parametrize("fragment, mma", [(twice, False), (twice_tile, False), (number, False), (number, True)])
def test_a_region_works_in_the_buffer_itself(fragment, mma):
    kernel = compiled(fragment, mma)
    report = report_of(kernel, machine_code=fragment is number)
    assert report.one_kernel and report.regions[0].inlined and not report.sass_calls
    assert kernel.metadata.shared == 64 * 64 * 4  # and no tile beside it
    assert instructions(kernel, "bar.sync") == 2  # in front of the region and behind it
    assert "local_load" in kernel.asm["ttgir"] and kernel.asm["ttgir"].count("local_alloc") == 1
    assert kernel.asm["ttgir"].count("ttg.local_load") == 1  # that of the kernel's own last line
    assert kernel.asm["ttgir"].count("ttg.local_store") == 1


def test_a_tile_of_a_swizzled_buffer_is_a_row_major_copy():
    kernel = compiled(twice_tile, True)
    assert kernel.metadata.shared == 2 * 64 * 64 * 4
    assert report_of(kernel, machine_code=False).regions[0].inlined


def test_what_a_region_writes_is_visible_to_tensor_cores_from_sm_90_on():
    assert instructions(compiled(number, True), "fence.proxy.async") >= 1
    constants = {"F": number, "MMA": True, "M": 64, "N": 64}
    older = compile_kernel(through, {"x": "*fp32", "y": "*fp32"}, constants, capability=80)
    assert instructions(older, "fence.proxy.async") == 0


def test_a_region_that_only_reads_needs_no_fence_of_its_own():
    @triton.jit
    def reading(x, y, M: tl.constexpr, N: tl.constexpr):
        at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
        b = tle.gpu.alloc([M, N], dtype=tl.float32)
        b.store(tl.load(x + at))
        sum_corner(b, y)

    kernel = compile_kernel(reading, {"x": "*fp32", "y": "*fp32"}, {"M": 64, "N": 64})
    assert kernel.asm["ttgir"].count("ttg.local_load") == 0 and kernel.asm["ttgir"].count("ttg.local_store") <= 1
    assert "fence_async_shared" not in kernel.asm["ttgir"]


def test_slots_in_a_loop():
    @triton.jit
    def ring(x, y, F: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
        at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
        b = tle.gpu.alloc([3, M, N], dtype=tl.float32, nv_mma_shared_layout=False)
        for i in range(10):
            b.slot(i % 3).store(tl.load(x + i * M * N + at))
            F(b.slot(i % 3))
            tl.store(y + i * M * N + at, b.slot(i % 3).load())

    kernel = compile_kernel(ring, {"x": "*fp32", "y": "*fp32"}, {"F": twice, "M": 32, "N": 32})
    report = tle_raw.report(kernel)
    assert report.regions[0].inlined and not report.sass_calls
    assert kernel.metadata.shared == 3 * 32 * 32 * 4
    assert kernel.asm["ttgir"].count("ttg.local_load") == 1


def refused(fragment, mma, kernel=through, **more):
    with pytest.raises(triton.CompilationError) as caught:
        compiled(fragment, mma, kernel, **more)
    return our_error(caught.value)


def test_rows_that_do_not_lie_behind_each_other_are_refused_by_who_wants_them_so():
    error = refused(twice, True)
    assert type(error) is ArgumentTypeError and "do not lie row by row" in str(error)
    assert "Buffer[f32, 64, 64, tle::nvmma<128>]" in str(error)
    assert "nv_mma_shared_layout=False" in error.hint and "AnyLayout" in error.hint
    assert "F(b)" in error.context.call_site.text


def test_a_tensor_is_no_buffer():
    @triton.jit
    def tensor(x, y, F: tl.constexpr, MMA: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
        F(tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]))

    error = refused(twice, False, tensor)
    assert "a tile where a buffer belongs" in str(error) and "tle.gpu.alloc" in error.hint


def test_a_buffer_of_slots_is_not_one_tile():
    @triton.jit
    def slots(x, y, F: tl.constexpr, MMA: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
        F(tle.gpu.alloc([2, M, N], dtype=tl.float32, nv_mma_shared_layout=MMA))

    error = refused(twice, False, slots)
    assert type(error) is SharedBufferError and ".slot(i)" in error.hint


def test_a_part_of_a_buffer_and_one_of_bools_are_refused():
    @triton.jit
    def part(x, y, F: tl.constexpr, MMA: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
        F(tle.gpu.alloc([M, N], dtype=tl.float32, nv_mma_shared_layout=MMA).subslice(0, 32))

    @triton.jit
    def bools(x, y, F: tl.constexpr, MMA: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
        F(tle.gpu.alloc([M, N], dtype=tl.int1, nv_mma_shared_layout=MMA))

    assert "not a part" in str(refused(twice, False, part))
    assert "dtype=tl.int8" in refused(twice, False, bools).hint


def test_another_shape_and_another_dtype_are_refused():
    @tle_raw.dialect("cuda", source=SOURCE, symbol="twice")
    def square(b: InOut[Buffer["f32", 32, 32]]): ...

    @tle_raw.dialect("cuda", source=SOURCE, symbol="twice")
    def halves(b: InOut[Buffer["f16", "M", "N"]]): ...

    assert type(refused(square, False)) is ShapeError
    assert "another dtype" in str(refused(halves, False))


def test_a_buffer_type_needs_dims():
    with pytest.raises(SignatureError, match="1 to 4 dims"):
        Buffer["f32"]


def test_a_buffer_type_says_what_it_is():
    assert str(Buffer["f32", "M", 4]) == "Buffer[f32, M, 4]"
    assert str(Buffer["f32", "M", "N", AnyLayout]) == "Buffer[f32, M, N, AnyLayout]"


def test_flagtrees_call_gives_the_buffer_back():
    @triton.jit
    def called(x, y, F: tl.constexpr, MMA: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
        at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
        b = tle.gpu.alloc([M, N], dtype=tl.float32, nv_mma_shared_layout=MMA)
        b.store(tl.load(x + at))
        tl.store(y + at, tle.call_smem(F, [b], output_indices=[0]).load())

    assert compiled(twice, False, called).metadata.shared == 64 * 64 * 4


def test_the_prototype_of_a_buffer_of_any_layout_is_a_template():
    text = number.prototype()
    assert "#include <tle_raw/buffer.h>" in text
    assert "template <int M, int N, class Layout>" in text
    assert "void number(tle::buffer<float, Layout, M, N> b) {" in text
    assert "in a layout that the call gives, written by the whole block" in text


DIALECTS = {
    "llvm": """
define void @add_one(ptr addrspace(3) %t, i32 %n) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %in = icmp ult i32 %i, %n
  br i1 %in, label %do, label %done
do:
  %p = getelementptr float, ptr addrspace(3) %t, i32 %i
  %x = load float, ptr addrspace(3) %p
  %y = fadd float %x, 1.0
  store float %y, ptr addrspace(3) %p
  br label %done
done:
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
""",
}


@triton.jit
def one_row(x, y, F: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    b = tle.gpu.alloc([N], dtype=tl.float32, nv_mma_shared_layout=False)
    b.store(tl.load(x + at))
    F(b, N)
    tl.store(y + at, b.load())


def test_llvm_text_gets_the_buffers_address():
    @tle_raw.dialect("llvm", source=DIALECTS["llvm"])
    def add_one(t: InOut[Buffer["f32", "N"]], n: Scalar["i32"]): ...

    kernel = compile_kernel(one_row, {"x": "*fp32", "y": "*fp32"}, {"F": add_one, "N": 128})
    assert kernel.metadata.shared == 512 and report_of(kernel, machine_code=False).regions[0].inlined
    assert kernel.asm["ttgir"].count("ttg.local_load") == 1


def test_an_mlir_function_gets_it_as_a_memref():
    @tle_raw.dialect("mlir")
    def add_one(t: InOut["memref<128xf32, 3>"], n: Scalar["i32"]):
        i = mlir.thread_id()
        t[i] = t[i] + 1.0

    kernel = compile_kernel(one_row, {"x": "*fp32", "y": "*fp32"}, {"F": add_one, "N": 128})
    assert kernel.metadata.shared == 512 and report_of(kernel, machine_code=False).regions[0].inlined


@pytest.mark.parametrize("route", ["traced", "linked"])
def test_a_tilelang_kernel_updates_the_buffer(route):
    pytest.importorskip("tilelang")
    import tilelang.language as T

    @T.prim_func
    def twice(X: T.Tensor((128,), "float32"), n: T.int32):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(128):
                X[i] = X[i] * 2.0

    fragment = tle_raw.fragment(twice, tiles=["X"], route=route)
    kernel = compile_kernel(one_row, {"x": "*fp32", "y": "*fp32"}, {"F": fragment, "N": 128})
    (region,) = report_of(kernel, machine_code=False).regions
    assert region.route == route
    if route == "linked":
        assert region.inlined and kernel.metadata.shared == 512
        assert kernel.asm["ttgir"].count("ttg.local_load") == 1


def test_a_cutile_function_gets_what_the_buffer_holds():
    pytest.importorskip("cuda.tile")

    @tle_raw.dialect("cutile")
    def twice(x):
        return x * 2.0

    @triton.jit
    def stored(x, y, F: tl.constexpr, N: tl.constexpr):
        at = tl.arange(0, N)
        b = tle.gpu.alloc([N], dtype=tl.float32, nv_mma_shared_layout=False)
        b.store(tl.load(x + at))
        b.store(F(b))
        tl.store(y + at, b.load())

    kernel = compile_kernel(stored, {"x": "*fp32", "y": "*fp32"}, {"F": twice, "N": 128})
    assert kernel.metadata.shared == 512 and len(report_of(kernel, machine_code=False).regions) == 1


@tle_raw.dialect("cuda", source="""
#include <tle_raw/buffer.h>
using cubes = tle::buffer<float, tle::swizzled<4, 1, 4>, 3, 8, 16>;
static_assert(cubes::offset(1, 0, 0) == 8 * 16 && cubes::offset(2, 1, 0) == 17 * 16 + 4, "rows count in their matrix");
using line = tle::buffer<float, tle::row_major, 48>;
static_assert(line::offset(47) == 47, "one row");
__device__ void last(float* x) { line{x}[47] = cubes{x}(2, 7, 15); }
""")  # fmt: skip
def last(x: Pointer["f32"]): ...


def test_matrices_begin_anew_and_a_row_is_a_buffer_too():
    assert last.compile(target="cuda:90").instructions > 0
