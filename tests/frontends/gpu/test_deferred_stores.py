"""Tiles that loops store by descriptors: where the kernel waits until the copy engine has read them."""

import re

import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.support import compile_kernel

M, N, K = 64, 128, 64
pytestmark = pytest.mark.every_triton(4)


@triton.jit
def products(
    a_desc, b_desc, c_desc, told_ptr, n,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, S: tl.constexpr, PARTS: tl.constexpr, HOW: tl.constexpr,
):  # fmt: skip
    """Tile after tile, stored in parts."""
    a, b = tle.gpu.alloc([S, M, K], a_desc.dtype), tle.gpu.alloc([N, K], b_desc.dtype)
    kept = tle.gpu.alloc([M, N // PARTS], c_desc.dtype)
    for i in range(n):
        tle.gpu.copy(a_desc, a[i % S], [M, K], offsets=[i * M, 0])
        tle.gpu.copy(b_desc, b, [N, K], offsets=[0, i * K])
        c = tle.gpu.wgmma(a[i % S], b, tl.zeros((M, N), tl.float32), trans_b=True)
        c = tle.gpu.wgmma_wait(0, c)
        if PARTS == 2:
            left, right = tl.split(tl.permute(tl.reshape(c, (M, 2, N // 2)), (0, 2, 1)))
            c_desc.store([i * M, 0], left.to(c_desc.dtype))
            c_desc.store([i * M, N // 2], right.to(c_desc.dtype))
        elif HOW == "in a branch":
            if i > 1:
                c_desc.store([i * M, 0], c.to(c_desc.dtype))
        elif HOW == "combined":
            c_desc.store([i * M, 0], c.to(c_desc.dtype))
            kept.store(c.to(c_desc.dtype))
            tle.gpu.copy(kept, c_desc, [M, N], offsets=[0, 0], reduce="add")
        else:
            c_desc.store([i * M, 0], c.to(c_desc.dtype))
            if HOW == "told to others":
                tl.atomic_add(told_ptr, 1)


@triton.jit
def in_partition(a_desc, b_desc, c_desc, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    tle.gpu.warp_specialize([(nothing, ()), (store_products, (a_desc, b_desc, c_desc, n, M, N, K))], [4])


@triton.jit
def nothing():
    pass


@triton.jit
def store_products(a_desc, b_desc, c_desc, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a, b = tle.gpu.alloc([M, K], a_desc.dtype), tle.gpu.alloc([N, K], b_desc.dtype)
    for i in range(n):
        tle.gpu.copy(a_desc, a, [M, K], offsets=[i * M, 0])
        tle.gpu.copy(b_desc, b, [N, K], offsets=[0, i * K])
        c = tle.gpu.wgmma_wait(0, tle.gpu.wgmma(a, b, tl.zeros((M, N), tl.float32), trans_b=True))
        c_desc.store([i * M, 0], c.to(c_desc.dtype))


@pytest.fixture(autouse=True)
def compiles_anew(monkeypatch):
    """Triton's cache knows nothing of passes that are left out."""
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")


def compiled(parts=1, slots=2, how="", disabled=""):
    types = {"a_desc": f"tensordesc<fp16[{M},{K}]>", "b_desc": f"tensordesc<fp16[{N},{K}]>"}
    types |= {"c_desc": f"tensordesc<fp16[{M},{N // parts}]>", "told_ptr": "*i32", "n": "i32"}
    constants = {"M": M, "N": N, "K": K, "S": slots, "PARTS": parts, "HOW": how}
    with tle_raw.knobs.scope() as knobs:
        knobs.disable_passes = disabled
        return compile_kernel(products, types, constants)


def waits(kernel):
    """For what the copy engine reads, and how many stores may not have been read behind each."""
    return [int(n) for n in re.findall(r"cp\.async\.bulk\.wait_group(?:\.read)? \t(\d+);", kernel.asm["ptx"])]


def test_a_tile_is_waited_for_before_the_next_one_is_written_and_behind_the_loop():
    kernel = compiled()
    ptx = kernel.asm["ptx"]
    assert waits(kernel) == [0, 0]
    assert "bulk.wait_group.read" in ptx


@pytest.mark.parametrize("slots, expected", [(2, [1, 1, 0]), (25, [0, 0, 0])])
def test_two_parts_have_two_slots_where_there_is_room(slots, expected):
    kernel = compiled(parts=2, slots=slots)
    assert waits(kernel) == expected
    assert ("memdesc<2x64x64xf16" in kernel.asm["ttgir"]) == (expected[0] == 1)


def test_each_partition_has_memory_of_its_own_for_them():
    types = {"a_desc": f"tensordesc<fp16[{M},{K}]>", "b_desc": f"tensordesc<fp16[{N},{K}]>"}
    types |= {"c_desc": f"tensordesc<fp16[{M},{N}]>", "n": "i32"}
    kernel = compile_kernel(in_partition, types, {"M": M, "N": N, "K": K})
    assert waits(kernel) == [0, 0] and "memdesc<1x64x128xf16" in kernel.asm["ttgir"]


@pytest.mark.parametrize("how", ["in a branch", "combined", "told to others"])
@pytest.mark.every_triton(1)
def test_other_loops_stay_as_they_are(how):
    assert compiled(how=how).asm["ptx"] == compiled(how=how, disabled="defer-stores").asm["ptx"]


def test_without_the_pass_each_store_is_waited_for():
    kernel = compiled(disabled="defer-stores")
    assert waits(kernel) == [0] and "memdesc<1x64x128xf16" not in kernel.asm["ttgir"]
    assert "memdesc<1x64x128xf16" in compiled().asm["ttgir"]
