"""Tensor memory: tcgen05 on sm_100, memory on the CPU, refused elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.contracts.running import our_error
from tests.frontends.gpu import tensor_memory_kernels as kernels
from tests.support import compile_kernel, ttgir_lines
from tle_raw.errors import ArgumentTypeError, LayoutError, ShapeError, SharedBufferError

pytestmark = pytest.mark.every_triton(4)

GEMM = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "k": "i32"}


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("rows", [64, 128])
def test_products_are_added_in_tensor_memory(rows, warps):
    kernel = compile_kernel(kernels.gemm, GEMM, {"M": rows, "N": 64, "K": 64}, 100, num_warps=warps)
    ptx = kernel.asm["ptx"]
    assert ptx.count("tcgen05.mma.cta_group::1.kind::f16") == 4 and kernel.metadata.tmem_size == 64
    assert ptx.count("tcgen05.commit") == 1 and "tcgen05.ld" in ptx and "tcgen05.st" in ptx
    (product,) = ttgir_lines(kernel, "ttng.tc_gen5_mma")
    assert "is_async" in product  # the wait is the kernel's


@pytest.mark.parametrize("element", ["fp16", "bf16", "fp8e4nv"])
def test_operands(element):
    kernel = compile_kernel(kernels.once, {"a_ptr": f"*{element}", "c_ptr": "*fp32"}, {"M": 128, "K": 64}, 100)
    assert f"kind::{'f8f6f4' if element.startswith('fp8') else 'f16'}" in kernel.asm["ptx"]


def test_the_barrier_of_products_has_memory_before_they_begin():
    """What is allocated behind a product could get the memory that it reads."""
    kernel = compile_kernel(kernels.once, {"a_ptr": "*fp16", "c_ptr": "*fp32"}, {"M": 128, "K": 64}, 100)
    lines = ttgir_lines(kernel, "ttg.local_alloc", "ttng.tc_gen5_mma")
    assert "tc_gen5_mma" in lines[-1] and sum("xi64" in line for line in lines[:-1]) == 1


def on_cpu(kernel, *arguments, debug=False, **constants):
    with tle_raw.knobs.scope() as knobs:
        knobs.target, knobs.debug = "cpu", debug
        kernel[(1,)](*arguments, **constants)


@pytest.mark.parametrize(("k", "rows", "columns", "debug"), [(1, 64, 32, True), (3, 128, 64, False), (2, 64, 64, True)])
@pytest.mark.every_triton(2)
def test_on_the_cpu_it_is_memory(k, rows, columns, debug):
    generator = np.random.default_rng(k)
    a = generator.standard_normal((rows, k * 32)).astype(np.float16)
    b = generator.standard_normal((columns, k * 32)).astype(np.float16)
    c = np.zeros((rows, columns), np.float32)
    on_cpu(kernels.gemm, a, b, c, k, M=rows, N=columns, K=32, debug=debug)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64).T, rtol=1e-3, atol=1e-3)
    c = np.zeros((rows, rows), np.float32)
    x = a[:, :32].copy()
    on_cpu(kernels.once, x, c, M=rows, K=32, debug=debug)
    np.testing.assert_allclose(c, x.astype(np.float64) @ x.astype(np.float64).T + 1, rtol=1e-3, atol=1e-3)


@triton.jit
def wrong(x, n, WHAT: tl.constexpr):
    tile = tle.gpu.alloc([128, 64], tl.float16)
    if WHAT == "rows":
        tle.gpu.alloc([32, 64], tl.float32, scope=tle.gpu.tmem)
    if WHAT == "columns":
        tle.gpu.alloc([128, 1024], tl.float32, scope=tle.gpu.tmem)
    if WHAT == "halves":
        tle.gpu.alloc([128, 64], tl.float16, scope=tle.gpu.tmem)
    if WHAT == "a shared layout":
        tle.gpu.alloc([128, 64], tl.float32, tle.gpu.swizzled_shared_layout.make_default(2), tle.gpu.tmem)
    if WHAT == "in shared memory":
        tle.gpu.alloc([128, 64], tl.float32, tle.gpu.tensor_memory_layout(128, 64))
    if WHAT == "a stride":
        tle.gpu.tensor_memory_layout(128, 64, colStride=2)
    if WHAT == "an alias":
        tle.gpu.alloc([128, 64], tl.float32, scope=tle.gpu.tmem, alias=tile)
    if WHAT == "another shape":
        tle.gpu.wgmma(tile, tile.trans(), tle.gpu.alloc([128, 64], tl.float32, scope=tle.gpu.tmem))
    if WHAT == "a shared accumulator":
        tle.gpu.wgmma(tile, tile.trans(), tle.gpu.alloc([128, 128], tl.float32))
    if WHAT == "a copy":
        tle.gpu.copy(
            x + tl.arange(0, 128)[:, None] + tl.arange(0, 64)[None, :],
            tle.gpu.alloc([128, 64], tl.float32, scope=tle.gpu.tmem),
            [128, 64],
        )
    if WHAT == "integers":
        numbers = tle.gpu.alloc([128, 64], tl.int8)
        tle.gpu.wgmma(numbers, numbers.trans(), tle.gpu.alloc([128, 128], tl.float32, scope=tle.gpu.tmem))
    if WHAT == "no wait":
        tle.gpu.wgmma_wait(0, tile)
    if WHAT == "a transpose":
        tle.gpu.alloc([128, 128], tl.float32, scope=tle.gpu.tmem).trans()
    if WHAT == "some rows":
        tle.gpu.alloc([128, 128], tl.float32, scope=tle.gpu.tmem).subslice(0, 64, dim=0)


@pytest.mark.parametrize(
    ("what", "type_", "words"),
    [
        ("rows", LayoutError, "64 or 128"),
        ("columns", LayoutError, "up to 512 columns"),
        ("halves", LayoutError, "elements of 32 bits"),
        ("a shared layout", LayoutError, "of another memory"),
        ("in shared memory", LayoutError, "of another memory"),
        ("a stride", LayoutError, "colStride"),
        ("an alias", ArgumentTypeError, "in shared memory"),
        ("another shape", ShapeError, "[128, 128]"),
        ("a shared accumulator", SharedBufferError, "one in tensor memory"),
        ("a copy", SharedBufferError, "buffer.load()"),
        ("integers", ArgumentTypeError, "fp16 or bf16"),
        ("no wait", SharedBufferError, "products in tensor memory"),
        ("a transpose", LayoutError, "stay where they are"),
        ("some rows", ShapeError, "at least 128"),
    ],
)
def test_what_cannot_be_is_refused(what, type_, words):
    with pytest.raises(triton.CompilationError) as caught:
        compile_kernel(wrong, {"x": "*fp32", "n": "i32"}, {"WHAT": what}, 100)
    error = our_error(caught.value)
    assert type(error) is type_ and words in str(error) + error.hint
    assert what == "a stride" or error.context.call_site.file == __file__  # Triton tells the line of a layout


@pytest.mark.parametrize("capability", [80, 90, 120])
def test_other_gpus_have_none(capability):
    with pytest.raises(triton.CompilationError) as caught:
        compile_kernel(kernels.once, {"a_ptr": "*fp16", "c_ptr": "*fp32"}, {"M": 128, "K": 64}, capability)
    error = our_error(caught.value)
    assert "no tensor memory" in str(error) and f"sm_{capability}" in str(error) and "registers" in error.hint


def test_two_warps_are_too_few():
    with pytest.raises(triton.CompilationError) as caught:
        compile_kernel(kernels.once, {"a_ptr": "*fp16", "c_ptr": "*fp32"}, {"M": 128, "K": 64}, 100, num_warps=2)
    assert "4 or 8" in str(our_error(caught.value))


def test_an_accumulator_that_a_function_gets_is_waited_for_where_it_was_made():
    @triton.jit
    def helper(a, acc):
        tle.gpu.wgmma(a, a.trans(), acc)

    @triton.jit
    def calling(x):
        a = tle.gpu.alloc([128, 64], tl.float16)
        a.store(1.0)
        acc = tle.gpu.alloc([128, 128], tl.float32, scope=tle.gpu.tmem, init_value=0)
        helper(a, acc)
        tle.gpu.wgmma_wait(0, acc)
        tl.store(x + tl.arange(0, 128), tl.sum(acc.load(), 0))

    assert "tcgen05.commit" in compile_kernel(calling, {"x": "*fp32"}, {}, 100).asm["ptx"]
    x = np.zeros(128, np.float32)
    on_cpu(calling, x)
    assert (x == 128 * 64).all()
