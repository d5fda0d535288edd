"""Kernels with shared buffers compile for each GPU to one entry without calls, with the copies and barriers needed."""

import re

import pytest
import triton
import triton.language as tl

import tle_raw.language as tle
from tests.frontends.gpu import buffer_kernels as kernels
from tests.support import compile_kernel, ptx_calls

pytestmark = pytest.mark.every_triton(9)

SIGNATURE = {"x": "*fp32", "o": "*fp32", "n": "i32"}
DTYPES = ["i1", "i8", "u16", "i32", "i64", "fp16", "bf16", "fp32", "fp64", "fp8e5", "fp8e4nv"]
PLAIN = ["ring", "while_ring", "chosen", "copied", "masked", "parts", "reshaped", "aliased", "uneven", "dtypes"]


def compiled(name, capability=90, signature=SIGNATURE, **constants):
    return compile_kernel(getattr(kernels, name), signature, {"B": 64, **constants}, capability)


def count(kernel, pattern):
    return len(re.findall(pattern, kernel.asm["ptx"]))


@pytest.mark.parametrize(
    "name, capability", [*((name, 90) for name in PLAIN), *((name, c) for name in PLAIN[::3] for c in (80, 100))]
)
@pytest.mark.every_triton(4)
def test_it_is_one_kernel_without_calls(name, capability):
    kernel = compiled(name, capability)
    assert not ptx_calls(kernel) and count(kernel, r"\.entry") == 1 and "cubin" in kernel.asm


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_a_ring_takes_two_barriers_and_no_memory_but_its_own(capability):
    """One before the first load, one an iteration; wide accesses, and nothing moves before the store."""
    kernel = compiled("ring", capability)
    assert count(kernel, r"bar\.sync") == 2
    assert kernel.metadata.shared == 2 * 64 * 64 * 4
    assert (
        count(kernel, r"st\.shared(?:::cta)?\.v4") == 16
        and count(kernel, r"ld\.shared(?:::cta)?\.v[24]\.b(?:32|64)") == 8
    )


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_a_copy_into_a_buffer_passes_no_registers(capability):
    kernel = compiled("copied", capability)
    assert count(kernel, r"cp\.async\.cg") == 8
    assert not count(kernel, r"ld\.global|st\.shared")


@pytest.mark.parametrize("dtype, copies", [("fp32", True), ("fp16", False), ("i8", False)])
def test_a_mask_that_splits_four_bytes_makes_a_copy_a_load(dtype, copies):
    kernel = compiled("masked", signature=SIGNATURE | {"x": f"*{dtype}", "o": f"*{dtype}"})
    assert (count(kernel, r"cp\.async\.c[ag]") > 0) == copies
    assert (count(kernel, r"ld\.global") > 0) != copies


def test_a_mask_of_whole_rows_keeps_the_copy():
    signature = SIGNATURE | {"x": "*fp16", "o": "*fp16"}
    kernel = compile_kernel(kernels.masked, signature, {"B": 64}, multiples=("n",))
    assert count(kernel, r"cp\.async\.c[ag]") > 0 and not count(kernel, r"ld\.global")


@pytest.mark.parametrize("stages", [2, 4])
def test_groups_are_waited_for_as_said(stages):
    kernel = compiled("groups", S=stages)
    waits = re.findall(r"cp\.async\.wait_group\s+(\d+)|cp\.async\.(wait_all)", kernel.asm["ptx"])
    assert [int(groups or 0) for groups, _ in waits] == [stages - 2]
    assert count(kernel, r"cp\.async\.commit_group") == stages
    assert kernel.metadata.shared == stages * 64 * 64 * 4


@pytest.mark.parametrize(
    "dtype, block", [*((dtype, 1024) for dtype in DTYPES), *((dtype, 16) for dtype in ("i1", "i8", "fp16", "fp64"))]
)
@pytest.mark.every_triton(3)
def test_every_dtype_compiles(dtype, block):
    signature = {"x": f"*{dtype}", "o": f"*{dtype}", "n": "i32"}
    assert "cubin" in compile_kernel(kernels.dtypes, signature, {"B": block}).asm


@pytest.mark.parametrize("dtype, capability", [("fp16", 90), ("fp32", 80)])
@pytest.mark.parametrize("layout", ["swizzled", "columns", "padded", "mma columns", "default"])
@pytest.mark.every_triton(4)
def test_every_layout_compiles(layout, dtype, capability):
    signature = {"x": f"*{dtype}", "o": f"*{dtype}", "n": "i32"}
    kernel = compiled("laid_out", capability, signature, LAYOUT=layout)
    assert "cubin" in kernel.asm
    padding = 63 * 16 if layout == "padded" else 0
    assert kernel.metadata.shared == 64 * 64 * (2 if dtype == "fp16" else 4) + padding


def test_uneven_dims_take_the_memory_of_the_next_power():
    kernel = compiled("uneven")
    assert kernel.metadata.shared == (3 * 64 * 64 + 128 * 64) * 4


@triton.jit
def through_memory(x, o, n, B: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(o + at, tle.gpu.memory_space(tl.load(x + at), "shared_memory"))


def test_a_tensor_goes_through_shared_memory():
    kernel = compile_kernel(through_memory, SIGNATURE, {"B": 64})
    assert count(kernel, r"st\.shared") and count(kernel, r"ld\.shared")
    assert kernel.metadata.shared == 64 * 64 * 4


def test_buffers_carry_the_kernels_names():
    ir = compiled("ring").asm["ttgir"]
    assert 'tle.name = "slots"' in ir
