"""Regions copy blocks by tensor descriptors of the kernel into its buffers, counted by its barriers."""

from __future__ import annotations

import re

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw
import tle_raw.language as tle
from tests.contracts.running import our_error
from tests.frontends.raw import meeting_kernels as kernels
from tests.support import compile_kernel, report_of
from tle_raw import AnyLayout, Barrier, Buffer, Descriptor, InOut, Out, Pointer, Scalar, Tile
from tle_raw.errors import (
    ArgumentTypeError,
    BindingError,
    CompilationFailed,
    KernelFailed,
    SharedBufferError,
    SignatureError,
)
from tle_raw.fragments.annotations import signature_of

pytestmark = pytest.mark.every_triton(2)

CPP = {"FETCH": kernels.fetch_block, "PUT": kernels.put_block}
MLIR = {"FETCH": kernels.fetch_block_mlir, "PUT": kernels.put_block_mlir}
MADE_BY_KERNEL = {"x": "*fp16", "y": "*fp16", "rows": "i32", "columns": "i32", "n": "i32"}
SIZES = {"M": 64, "N": 128, "S": 3}


def of_host(dtype, m, n):
    return {"x_desc": f"tensordesc<{dtype}[{m}, {n}]>", "y_desc": f"tensordesc<{dtype}[{m}, {n}]>", "n": "i32"}


def count(kernel, pattern):
    return len(re.findall(pattern, kernel.asm["ptx"]))


@pytest.mark.parametrize("language, capability", [(CPP, 90), (CPP, 100), (MLIR, 90)], ids=["cuda", "sm_100", "mlir"])
def test_descriptors_of_the_kernel(language, capability):
    kernel = compile_kernel(kernels.blocks_of_kernel, MADE_BY_KERNEL, language | SIZES, capability)
    report = tle_raw.report(kernel)
    assert report.one_kernel and not report.sass_calls and all(region.inlined for region in report.regions)
    # Two boxes of 64 columns a block; three calls of one fragment, one of the other.
    assert count(kernel, r"cp\.async\.bulk\.tensor\.2d\.shared::cluster\.global") == 6
    assert count(kernel, r"cp\.async\.bulk\.tensor\.2d\.global\.shared::cta") == 2
    assert count(kernel, "ld.global") == 0  # what stands for a descriptor in the IR loads nothing
    assert 0 <= kernel.metadata.shared - 3 * 64 * 128 * 2 - 3 * 8 < 16


@pytest.mark.parametrize("dtype, m, n, boxes", [("fp16", 64, 64, 1), ("fp32", 64, 64, 2), ("i8", 16, 32, 1)])
def test_descriptors_of_the_host_have_the_buffers_swizzle(dtype, m, n, boxes):
    kernel = compile_kernel(kernels.blocks_of_host, of_host(dtype, m, n), CPP | {"M": m, "N": n, "S": 2})
    assert count(kernel, r"cp\.async\.bulk\.tensor\.2d\.shared::cluster\.global") == 2 * boxes
    swizzle = {32: 1, 64: 2, 128: 3}[min(128, n * int(re.sub(r"\D", "", dtype)) // 8)]
    assert [each["swizzle"] for each in kernel.metadata.tensordesc_meta] == [swizzle, swizzle]


def copied(x, rows, block, ahead=4):
    """What the kernels leave in y: the blocks of full columns, twice."""
    expected = 2 * x.astype(np.float64)
    expected[:, x.shape[1] // block * block :] = 0
    expected[rows:] = 0
    return expected


@pytest.mark.parametrize("dtype, debug", [(np.float16, True), (np.float32, False), (np.int8, False)])
def test_blocks_on_the_cpu(dtype, debug):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(5)
    x = (rng.integers(-60, 60, (107, 80)) if dtype == np.int8 else rng.standard_normal((107, 80))).astype(dtype)
    with tle_raw.knobs.scope() as knobs:
        knobs.target, knobs.debug = "cpu", debug
        y = np.zeros_like(x)
        kernels.blocks_of_kernel[(2,)](x, y, 107, 80, 7, **CPP, M=16, N=32, S=3)
        np.testing.assert_array_equal(y, copied(x, 108, 32).astype(dtype))
        z = np.zeros_like(x)
        x_desc, z_desc = (TensorDescriptor.from_tensor(torch.from_numpy(each), [16, 32]) for each in (x, z))
        kernels.blocks_of_host[(2,)](x_desc, z_desc, 7, **CPP, M=16, N=32, S=3)
        np.testing.assert_array_equal(z, y)


@pytest.mark.parametrize("padding", ["zero", "nan"])
def test_what_lies_beyond_the_array_is_padding(padding):
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(6).standard_normal((10, 16)).astype(np.float32)
    expected = np.full((16, 32), np.nan if padding == "nan" else 0, np.float64)
    expected[3:13, :8] = x[:, 8:]
    descriptor = TensorDescriptor(torch.from_numpy(x), [10, 16], [16, 1], [16, 32], padding)
    y = np.ones((16, 32), np.float32)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        kernels.padded[(1,)](descriptor, y, M=16, N=32)
    np.testing.assert_array_equal(y, expected)


def test_blocks_of_rank_3():
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(7).standard_normal((6, 8, 64)).astype(np.float16)
    y = np.zeros((8, 8, 64), np.float16)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        descriptor = TensorDescriptor.from_tensor(torch.from_numpy(x), [4, 8, 64])
        kernels.cubes[(1,)](descriptor, y, 2, A=4, M=8, N=64)
    np.testing.assert_array_equal(y[:6], x)
    assert not y[6:].any()
    signature = {"x_desc": "tensordesc<fp16[4, 8, 64]>", "y": "*fp16", "n": "i32"}
    kernel = compile_kernel(kernels.cubes, signature, {"A": 4, "M": 8, "N": 64})
    assert count(kernel, r"cp\.async\.bulk\.tensor\.3d") == 1


@triton.jit
def stored_at(y_desc, row, column, M: tl.constexpr, N: tl.constexpr):
    block = tle.gpu.alloc([M, N], y_desc.dtype)
    block.store(tl.zeros((M, N), y_desc.dtype))
    kernels.put_block(block, y_desc, row, column)


@pytest.mark.parametrize(
    ("row", "column", "what"),
    [(-1, 0, "is stored from place -1 of axis 0 on"), (0, 9, "begins at place 9 of the innermost axis, 36 bytes")],
)
def test_what_the_copy_engine_ends_a_kernel_for_fails_on_the_cpu(row, column, what):
    torch = pytest.importorskip("torch")
    y_desc = TensorDescriptor.from_tensor(torch.zeros(32, 64), [16, 32])
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        with pytest.raises(KernelFailed, match=f"a block {what}"):
            stored_at[(1,)](y_desc, row, column, M=16, N=32)


def test_mlir_functions_on_the_cpu():
    x = np.random.default_rng(8).standard_normal((44, 32)).astype(np.float16)
    y = np.zeros_like(x)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        kernels.blocks_of_kernel[(1,)](x, y, 44, 32, 3, **MLIR, M=16, N=32, S=2)
    np.testing.assert_array_equal(y, x)


@tle_raw.dialect(
    "cuda",
    source="""
#include <tle_raw/descriptor.h>
template <int M, int N, class Layout>
__device__ float first(tle::descriptor<float, M, N> x, int row, tle::buffer<float, Layout, M, N> t, tle::barrier full) {
  if (t.thread() == 0) {
    full.expect(x.bytes());
    x.load(t, full, row, 0);
  }
  full.wait(0);
  return t(0, 0);
}
""",
)
def first(
    x: Descriptor["f32", "M", "N"], row: Scalar["i32"], t: Out[Buffer["f32", "M", "N", AnyLayout]], full: Barrier
) -> Scalar["f32"]: ...


@triton.jit
def read_at_once(x_desc, y, row, M: tl.constexpr, N: tl.constexpr):
    tl.store(y, first(x_desc, row, tle.gpu.alloc([M, N], tl.float32), tle.gpu.alloc_barrier()))


@pytest.mark.parametrize("rows, fails", [(32, False), (64, True)])
def test_debugging_knows_what_a_copy_writes_and_reads(rows, fails):
    torch = pytest.importorskip("torch")
    x = torch.arange(32 * 32, dtype=torch.float32).reshape(32, 32)
    y = np.zeros(1, np.float32)
    descriptor = TensorDescriptor(x, [rows, 32], [32, 1], [16, 32])  # of more rows than the array has
    with tle_raw.knobs.scope() as knobs:
        knobs.target, knobs.debug = "cpu", True
        if fails:
            with pytest.raises(KernelFailed, match="reads 128 bytes outside of the memory of every argument"):
                read_at_once[(1,)](descriptor, y, 24, M=16, N=32)
        else:
            read_at_once[(1,)](descriptor, y, 8, M=16, N=32)
            assert y[0] == x[8, 0]


# What takes the address of the tensor map, which a GPU has in PTX's form.
TEXTS = {
    "llvm": """
define void @warm(ptr %map) {
  call void asm sideeffect "prefetch.tensormap [$0];", "l"(ptr %map)
  ret void
}
""",
    "mlir": """
llvm.func @warm(%map: !llvm.ptr) {
  %a = llvm.ptrtoint %map : !llvm.ptr to i64
  llvm.inline_asm has_side_effects "prefetch.tensormap [$0];", "l" %a : (i64) -> ()
  llvm.return
}
""",
    "cuda": """
#include <cuda.h>
__device__ void warm(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
""",
}


@triton.jit
def warmed(x_desc, y, WARM: tl.constexpr):
    WARM(x_desc)
    tl.store(y, 1)


@pytest.mark.parametrize("dialect", TEXTS)
def test_other_languages_get_the_address_of_the_tensor_map(dialect):
    @tle_raw.dialect(dialect, source=TEXTS[dialect])
    def warm(x: Descriptor["f16", "M", "N"]): ...

    kernel = compile_kernel(warmed, {"x_desc": "tensordesc<fp16[64, 64]>", "y": "*i32"}, {"WARM": warm})
    report = report_of(kernel, machine_code=dialect == "cuda")
    assert report.one_kernel and count(kernel, "prefetch.tensormap") == 1
    assert "tle.dsl_region" in kernel.asm["tle"]


# --- errors ----------------------------------------------------------------------------------------------------------


@triton.jit
def given(x_desc, y, F: tl.constexpr, M: tl.constexpr, N: tl.constexpr, DT: tl.constexpr, PLAIN: tl.constexpr):
    block = tle.gpu.alloc([M, N], DT, nv_mma_shared_layout=not PLAIN)
    full = tle.gpu.alloc_barrier()
    F(x_desc, 0, 0, block, full)


def refused(capability=90, m=64, n=64, dtype=tl.float16, plain=False, fragment=kernels.fetch_block):
    signature = {"x_desc": "tensordesc<fp16[64, 64]>", "y": "*fp16"}
    constants = {"F": fragment, "M": m, "N": n, "DT": dtype, "PLAIN": plain}
    with pytest.raises(triton.CompilationError) as caught:
        compile_kernel(given, signature, constants, capability)
    error = our_error(caught.value)
    assert error.context.source and "F(x_desc" in error.context.call_site.text
    return error


def test_a_buffer_of_another_shape_dtype_or_layout_is_refused_where_it_is_passed():
    shape = refused(m=32)
    assert type(shape) is BindingError and "name `M` has two different values" in str(shape)
    dtype = refused(dtype=tl.float32)
    assert type(dtype) is BindingError and "name `T` has two different values" in str(dtype)
    layout = refused(plain=True)
    assert type(layout) is SharedBufferError and "not the copy engine's layout" in str(layout)
    assert "rank 2, the signature says rank 3" in str(refused(fragment=kernels.fetch_cube_of_five))


def test_older_gpus_have_no_copy_engine():
    error = refused(80)
    assert type(error) is ArgumentTypeError and "sm_90 and later" in str(error)


@triton.jit
def pointer(x, F: tl.constexpr):
    block = tle.gpu.alloc([64, 64], tl.float16)
    F(x, 0, 0, block, tle.gpu.alloc_barrier())


def test_a_pointer_is_no_descriptor_and_a_descriptor_no_pointer():
    with pytest.raises(triton.CompilationError) as caught:
        compile_kernel(pointer, {"x": "*fp16"}, {"F": kernels.fetch_block})
    error = our_error(caught.value)
    assert "a pointer where a descriptor belongs" in str(error) and "make_tensor_descriptor" in error.hint

    @tle_raw.dialect("cuda", source="__device__ void f(const __half* x, int a, int b, __half* t, long long* c) {}")
    def f(
        x: Pointer["f16"], a: tle_raw.Scalar["i32"], b: tle_raw.Scalar["i32"], t: Tile["f16", 64, 64], c: Barrier
    ): ...

    assert "a descriptor where a pointer belongs" in str(refused(fragment=f))


def test_a_buffer_of_another_layout_in_the_function_is_refused_by_the_compiler():
    source = kernels.SOURCE + (
        "template <int M, int N, class L> __device__ void wrong(tle::descriptor<__half, M, N> d, int, int, "
        "tle::buffer<__half, L, M, N> t, tle::barrier b) {\n"
        "  d.load(tle::buffer<__half, tle::row_major, M, N>(t.data()), b, 0, 0);\n}\n"
    )

    @tle_raw.dialect("cuda", source=source)
    def wrong(
        d: Descriptor["f16", "M", "N"],
        row: Scalar["i32"],
        column: Scalar["i32"],
        t: Out[Buffer["f16", "M", "N", AnyLayout]],
        b: Barrier,
    ): ...

    with pytest.raises(CompilationFailed, match="has not the layout of this descriptor's blocks"):
        compile_kernel(
            given,
            {"x_desc": "tensordesc<fp16[64, 64]>", "y": "*fp16"},
            {"F": wrong, "M": 64, "N": 64, "DT": tl.float16, "PLAIN": False},
        )


def test_signatures_with_descriptors():
    def f(
        x: Descriptor["f16", "M", 64], y: InOut[Descriptor["f16", "M", 64]], t: Buffer["f16", "M", 64, AnyLayout]
    ): ...

    signature = signature_of(f)
    assert str(signature).startswith("f(x: Descriptor[f16, M, 64], y: InOut[Descriptor[f16, M, 64]], t: Buffer[")
    assert not signature.returned

    def out(x: Out[Descriptor["f16", "M", 64]]): ...

    with pytest.raises(SignatureError, match="cannot be Out"):
        signature_of(out)

    def rows(x: Descriptor["f16", "M", 64], t: Buffer["f16", "M", 64]): ...

    with pytest.raises(SignatureError, match="copy engine's layout") as caught:
        signature_of(rows)
    assert "AnyLayout" in caught.value.hint


def test_the_prototype_of_a_descriptor():
    text = kernels.fetch_block.prototype()
    assert "#include <tle_raw/descriptor.h>" in text and "tle::descriptor<T, M, N> source" in text
