"""Asynchronous loads: what they become on each GPU, and that their values are those of plain loads."""

import inspect
import re

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw.language as tle
from tests.support import compile_kernel

SIGNATURE = {"x": "*fp32", "o": "*fp32", "n": "i32", "m": "i32"}


@triton.jit
def summed(x, o, n, m, B: tl.constexpr, ASYNC: tl.constexpr, MASKED: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for k in range(n):
        at = x + (pid * n + k) * B + i
        if MASKED:
            acc += tle.load(at, i < m, 2.0, is_async=ASYNC).to(tl.float32)
        else:
            acc += tle.load(at, is_async=ASYNC).to(tl.float32)
    tl.store(o + pid * B + i, acc)


@triton.jit
def in_a_range(x, o, n, m, B: tl.constexpr, STAGES: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for k in tl.range(0, n, num_stages=STAGES):
        acc += tle.load(x + k * B + i, is_async=True)
    tl.store(o + i, acc)


@triton.jit
def products(x, o, n, m, B: tl.constexpr, ASYNC: tl.constexpr):
    r = tl.arange(0, B)
    at = r[:, None] * B + r[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for k in range(n):
        a = tle.load(x + k * B * B + at, is_async=ASYNC)
        b = tle.load(x + (k + n) * B * B + at, is_async=ASYNC)
        acc = tl.dot(a, b, acc)
    tl.store(o + at, acc)


@triton.jit
def outside(x, o, n, m, B: tl.constexpr, ASYNC: tl.constexpr):
    i = tl.arange(0, B)
    value = tle.load(x + i, mask=i < m, other=0, cache_modifier=".cg", is_async=ASYNC)
    tl.store(o + i, value + tle.load(x + n, is_async=ASYNC))


@triton.jit
def scalars_and_branches(x, o, n, m, B: tl.constexpr, ASYNC: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for k in range(n):
        acc += tle.load(x + k, is_async=ASYNC)
        acc += tle.load(x + k + i, volatile=True, is_async=ASYNC)
        if k > m:
            acc += tle.load(x + k * B + i, is_async=ASYNC)
    while n > 0:
        acc += tle.load(x + n * B + i, is_async=ASYNC)
        n -= 1
    tl.store(o + i, acc)


@triton.jit
def by_block_pointer(x, o, n, m, B: tl.constexpr):
    block = tl.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))
    tl.store(o + tl.arange(0, B), tle.load(block, boundary_check=(0,), padding_option="zero", is_async=True))


def copies(kernel):
    return len(re.findall(r"cp\.async\.c[ag]", kernel.asm["ptx"]))


def global_loads(kernel):
    return len(re.findall(r"ld\.global", kernel.asm["ptx"]))


def code(kernel):
    """PTX without debug information."""
    return [line for line in kernel.asm["ptx"].splitlines() if not re.match(r"\s*(\.loc|\$L__tmp|\.file|//)", line)]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("capability", [80, 90, 100])
@pytest.mark.every_triton(3)
def test_loads_in_a_loop_are_copies_in_the_background(capability, masked):
    plain = compile_kernel(summed, SIGNATURE, {"B": 1024, "ASYNC": False, "MASKED": masked}, capability)
    ahead = compile_kernel(summed, SIGNATURE, {"B": 1024, "ASYNC": True, "MASKED": masked}, capability)
    assert copies(plain) == 0 and global_loads(plain) > 0
    assert copies(ahead) > 0 and global_loads(ahead) == 0
    assert ahead.metadata.shared == 2 * 1024 * 4 and "cubin" in ahead.asm


@pytest.mark.parametrize("stages, buffers", [(1, 1), (2, 1), (4, 3)])
def test_the_loops_stages_say_how_far_ahead(stages, buffers):
    kernel = compile_kernel(in_a_range, SIGNATURE, {"B": 1024, "STAGES": stages}, num_stages=3)
    assert copies(kernel) > 0
    assert kernel.metadata.shared == buffers * 1024 * 4


def test_the_kernels_stages_count_where_the_loop_says_none():
    kernel = compile_kernel(summed, SIGNATURE, {"B": 1024, "ASYNC": True, "MASKED": False}, num_stages=5)
    assert kernel.metadata.shared == 4 * 1024 * 4


@pytest.mark.parametrize("dtype", ["i1", "i8", "i16", "i64", "fp16", "bf16", "fp64", "fp8e5", "fp8e4nv"])
@pytest.mark.every_triton(3)
def test_every_dtype_compiles_in_a_loop(dtype):
    signature = SIGNATURE | {"x": f"*{dtype}"}
    for block in (16, 2048):
        kernel = compile_kernel(summed, signature, {"B": block, "ASYNC": True, "MASKED": False})
        assert block == 16 or copies(kernel) > 0


@pytest.mark.parametrize("capability", [80, 90])
def test_operands_of_products_are_overlapped(capability):
    signature = SIGNATURE | {"x": "*fp16"}
    kernel = compile_kernel(products, signature, {"B": 64, "ASYNC": True}, capability)
    assert copies(kernel) > 0 and global_loads(kernel) == 0


def test_elsewhere_it_is_the_plain_load():
    plain = compile_kernel(scalars_and_branches, SIGNATURE, {"B": 1024, "ASYNC": False})
    ahead = compile_kernel(scalars_and_branches, SIGNATURE, {"B": 1024, "ASYNC": True})
    assert code(plain) == code(ahead)


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_outside_of_loops_blocks_are_copied(capability):
    kernel = compile_kernel(outside, SIGNATURE, {"B": 1024, "ASYNC": True}, capability)
    assert copies(kernel) > 0 and global_loads(kernel) == 1
    assert kernel.metadata.shared == 1024 * 4


@triton.jit
def two_outside(x, o, n, m, B: tl.constexpr, OTHER: tl.constexpr):
    i = tl.arange(0, B)
    a = tle.load(x + i, i < m, OTHER, is_async=True)
    b = tle.load(x + B + i, i < m, OTHER, is_async=True)
    tl.store(x + i, a + b)


def test_two_copies_are_under_way_together():
    lines = compile_kernel(two_outside, SIGNATURE, {"B": 512, "OTHER": 0}).asm["ttgir"].splitlines()
    order = [m[0] for line in lines if (m := re.search(r"async_copy_global|async_wait|tt\.store", line))]
    assert order[:2] == ["async_copy_global"] * 2 and order[2:3] == ["async_wait"]


@pytest.mark.parametrize("dtype, other", [("fp16", 0), ("i8", 0), ("fp32", 1)])
def test_what_cannot_be_copied_outside_of_loops_is_loaded(dtype, other):
    """A mask that splits four bytes, and what ``cp.async`` cannot fill in."""
    signature = SIGNATURE | {"x": f"*{dtype}"}
    kernel = compile_kernel(two_outside, signature, {"B": 512, "OTHER": other})
    assert copies(kernel) == 0 and global_loads(kernel) > 0 and kernel.metadata.shared == 0


def test_a_mask_of_whole_rows_splits_nothing():
    signature = SIGNATURE | {"x": "*fp16"}
    kernel = compile_kernel(two_outside, signature, {"B": 512, "OTHER": 0}, multiples=("m",))
    assert copies(kernel) > 0 and global_loads(kernel) == 0


@triton.jit
def with_boundary_check(x, o, n, m, B: tl.constexpr):
    tl.store(o, tle.load(x, boundary_check=(0,)))


@triton.jit
def with_a_place(x, o, n, m, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for k in tl.range(0, n, 1, 4):
        acc += tle.load(x + k * B + i, is_async=True)
    tl.store(o + i, acc)


def test_stages_may_be_given_by_their_place():
    assert compile_kernel(with_a_place, SIGNATURE, {"B": 1024}).metadata.shared == 3 * 1024 * 4


def test_block_pointers_are_taken_where_triton_has_them():
    if "boundary_check" in inspect.signature(tl.load).parameters:
        assert "cubin" in compile_kernel(by_block_pointer, SIGNATURE, {"B": 128}).asm
    else:
        with pytest.raises(triton.compiler.errors.CompilationError, match="has no boundary_check"):
            compile_kernel(with_boundary_check, SIGNATURE, {"B": 128})


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "float16", "float32", "float64"])
@pytest.mark.every_triton(3)
def test_the_values_on_the_cpu(dtype):
    pytest.importorskip("torch_mlir")
    x = np.random.default_rng(1).integers(0, 2, (3, 5, 64)).astype(dtype)
    o = np.zeros((3, 64), np.float32)
    summed[(3,)](x, o, 5, 40, 64, True, True)
    assert (o[:, :40] == x.sum(1, dtype=np.float32)[:, :40]).all()
    assert (o[:, 40:] == (5 if dtype == "bool" else 10)).all()


def test_products_on_the_cpu():
    pytest.importorskip("torch_mlir")
    x = np.random.default_rng(1).integers(0, 4, (4, 16, 16)).astype(np.float16)
    o = np.zeros((16, 16), np.float32)
    products[(1,)](x, o, 2, 0, 16, True)
    assert (o == x[0].astype("f") @ x[2].astype("f") + x[1].astype("f") @ x[3].astype("f")).all()
