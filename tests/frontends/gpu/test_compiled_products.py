"""Products, barriers and TMA copies: what they compile to."""

import re

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.frontends.gpu import product_kernels as kernels
from tests.support import cause_of, compile_kernel, ptx_calls

pytestmark = pytest.mark.every_triton(4)

POINTERS = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "k": "i32"}
TILE = "tensordesc<fp16[128,64]>"
DESCRIPTORS = {"a_desc": TILE, "b_desc": TILE, "c_ptr": "*fp32", "k": "i32"}
SHAPE = {"M": 128, "N": 128, "K": 64}


def compiled(name, signature, capability=90, **constants):
    kernel = compile_kernel(getattr(kernels, name), signature, constants, capability)
    assert not ptx_calls(kernel) and "cubin" in kernel.asm
    return kernel


def count(kernel, pattern):
    return len(re.findall(pattern, kernel.asm["ptx"]))


def waits(kernel):
    return re.findall(r"wgmma\.wait_group\.sync\.aligned\s+(\d+)", kernel.asm["ptx"])


def loop_of(kernel):
    """The text of the kernel's loop."""
    ptx = kernel.asm["ptx"]
    start = ptx.index("Loop Header")
    return ptx[start : ptx.index("_crit_edge", start) if "_crit_edge" in ptx[start:] else len(ptx)]


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_on_sm_90_a_dot_reads_its_buffers_in_place(dtype):
    kernel = compiled("from_buffers", POINTERS | {"a_ptr": f"*{dtype}", "b_ptr": f"*{dtype}"}, **SHAPE)
    assert count(kernel, r"wgmma\.mma_async") > 0
    assert kernel.metadata.shared == 2 * 128 * 64 * 2
    assert not re.search(r"st\.shared|ldmatrix|ld\.shared", loop_of(kernel))
    assert set(waits(kernel)) == {"0"}, "the next copy writes the buffer"


@triton.jit
def turned(x_ptr, c_ptr, LEFT: tl.constexpr):
    """Tiles that are transposed on their way from a buffer to a product."""
    i = tl.arange(0, 64)
    at = x_ptr + i[:, None] * 64 + i[None, :]
    x = tle.gpu.alloc([64, 64], tl.float16)
    x.store(tl.load(at))
    c = tl.dot(x.load().T if LEFT else x.load(), x.load().T)
    tl.store(c_ptr + i[:, None] * 64 + i[None, :], c)


@pytest.mark.parametrize("left", [False, True])
def test_a_dot_reads_tiles_that_are_transposed_on_the_way_in_place(left):
    kernel = compile_kernel(turned, {"x_ptr": "*fp16", "c_ptr": "*fp32"}, {"LEFT": left})
    assert count(kernel, r"wgmma\.mma_async") > 0 and count(kernel, "ldmatrix") == 0
    assert len(re.findall("ttg.local_alloc", kernel.asm["ttgir"])) == 1


@triton.jit
def scaled_products(x_ptr, c_ptr, n, BEHIND: tl.constexpr, NEWER: tl.constexpr):
    """Sums of products of tiles that are scaled in registers."""
    i = tl.arange(0, 64)
    at = i[:, None] * 64 + i[None, :]
    x = tle.gpu.alloc([64, 64], tl.float16)
    x.store(tl.load(x_ptr + at))
    c, d = tl.zeros((64, 64), tl.float32), tl.zeros((64, 64), tl.float32)
    for k in range(n):
        c = tle.gpu.wgmma(tl.load(x_ptr + k * 4096 + at) * 2, x, c)
        if NEWER:
            d = tle.gpu.wgmma(x, x, d)
        c = tle.gpu.wgmma_wait(1, c)
        if BEHIND:
            c = tle.gpu.wgmma_wait(0, c)
    tl.store(c_ptr + at, tle.gpu.wgmma_wait(0, c) + tle.gpu.wgmma_wait(0, d))


@pytest.mark.parametrize("behind, newer, expected", [(False, False, "0"), (True, False, "1"), (False, True, "1")])
def test_no_product_that_reads_registers_is_under_way_from_one_iteration_to_the_next(behind, newer, expected):
    """Its registers are free for ptxas: the next operand was written over the one that was still read."""
    types, constants = {"x_ptr": "*fp16", "c_ptr": "*fp32", "n": "i32"}, {"BEHIND": behind, "NEWER": newer}
    kernel = compile_kernel(scaled_products, types, constants)
    text = kernel.asm["ttgir"]
    loop = text[text.index("scf.for") : text.index("scf.yield")]
    assert re.findall(r"warp_group_dot_wait .*pendings = (\d)", loop)[0] == expected


@triton.jit
def stored_slots(x_ptr, c_ptr, steps, SLOTS: tl.constexpr, TURNED: tl.constexpr):
    """Tiles that threads store, into one buffer or into slots of one, where tensor cores read them."""
    i = tl.arange(0, 64)
    at = i[:, None] * 64 + i[None, :]
    x = tle.gpu.alloc([SLOTS, 64, 64], tl.float16) if SLOTS else tle.gpu.alloc([64, 64], tl.float16)
    c = tl.zeros((64, 64), tl.float32)
    for step in range(steps):
        slot = x[step % SLOTS] if SLOTS else x
        slot.store(tl.load(x_ptr + step * 4096 + at) * 2)
        if TURNED:
            c += tl.dot(slot.load(), slot.load().T)
        else:
            c = tle.gpu.wgmma_wait(0, tle.gpu.wgmma(slot, slot, c))
    tl.store(c_ptr + at, c)


@pytest.mark.parametrize("slots", [0, 1, 2])
@pytest.mark.parametrize("turned", [False, True])
def test_what_threads_store_is_fenced_before_wgmma_in_slots_too(slots, turned):
    constants = {"SLOTS": slots, "TURNED": turned}
    kernel = compile_kernel(stored_slots, {"x_ptr": "*fp16", "c_ptr": "*fp32", "steps": "i32"}, constants, 90)
    loop = loop_of(kernel)
    assert loop.index("st.shared") < loop.index("fence.proxy.async") < loop.index("wgmma.mma_async")


@pytest.mark.parametrize("capability", [80, 90])
def test_copies_are_fenced_before_wgmma(capability):
    """cp.async writes by another way than wgmma reads."""
    kernel = compiled("from_buffers", POINTERS, capability, **SHAPE)
    assert (count(kernel, r"fence\.proxy\.async") > 0) == (capability == 90)


@pytest.mark.parametrize("capability, stages", [(80, 3), (90, 3), (90, 4), (100, 4)])
@pytest.mark.every_triton(2)
def test_an_asynchronous_gemm(capability, stages):
    kernel = compiled("async_gemm", POINTERS, capability, **SHAPE, S=stages)
    assert count(kernel, r"cp\.async\.cg") == 16 * (stages - 1)
    if capability == 90:
        assert waits(kernel) == ["1", "0"], "one product in the background, and all at the end"
        assert kernel.metadata.shared == stages * 2 * 128 * 64 * 2


@pytest.mark.parametrize("warps", [4, 8])
def test_products_are_spread_over_the_warps(warps):
    kernel = compile_kernel(kernels.async_gemm, POINTERS, {**SHAPE, "S": 3}, num_warps=warps)
    assert waits(kernel) == ["1", "0"]


@pytest.mark.parametrize("capability", [90, 100])
def test_a_gemm_by_tma(capability):
    kernel = compiled("tma_gemm", DESCRIPTORS, capability, **SHAPE, S=4)
    assert count(kernel, r"cp\.async\.bulk\.tensor\.2d\.shared") == 2 * 4
    assert count(kernel, r"mbarrier\.init") == 4 + (capability == 100) and count(kernel, r"arrive\.expect_tx") == 4
    assert not re.search(r"ld\.global", kernel.asm["ptx"])
    if capability == 90:
        assert waits(kernel) == ["1", "0"]


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_tiles_by_descriptors_that_are_waited_for(capability):
    kernel = compiled("tma_copied", {"x_desc": TILE, "o_desc": TILE, "n": "i32"}, capability, M=128, N=64)
    assert (count(kernel, r"cp\.async\.bulk\.tensor\.2d\.shared") == 1) == (capability >= 90)


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_a_barrier_that_the_block_arrives_at(capability):
    """All threads' accesses come before the arrival, which one thread makes."""
    kernel = compiled("handed_over", {"x": "*fp32", "o": "*fp32", "n": "i32"}, capability, B=128)
    order = re.findall(r"st(?:\.shared|matrix)|bar\.sync|mbarrier\.arrive|mbarrier\.try_wait", kernel.asm["ptx"])
    first = order.index("mbarrier.arrive")
    assert order[first - 1] == "bar.sync" and order[first - 2].startswith("st")


@triton.jit
def half_of_a_phase(d, tile, bar):
    tle.gpu.copy(d, tile, [128, 64], offsets=[0, 0], barrier=bar)


@triton.jit
def wrong(x, d, n, WHAT: tl.constexpr):
    tile = tle.gpu.alloc([128, 64], tl.float16)
    plain = tle.gpu.alloc([128, 64], tl.float16, nv_mma_shared_layout=False)
    small = tle.gpu.alloc([32, 64], tl.float16)
    other = tle.gpu.alloc([128, 64], tl.bfloat16)
    bars = tle.gpu.alloc_barriers(2, expect_bytes=128 * 64 * 2)
    silent = tle.gpu.alloc_barrier()
    two = tle.gpu.alloc_barriers(2, expect_bytes=2 * 128 * 64 * 2)
    if WHAT == "no number":
        tle.gpu.alloc_barriers(0)
    if WHAT == "another beginning":
        tle.gpu.alloc_barrier(init="READY?")
    if WHAT == "no such barrier":
        bars[2]
    if WHAT == "all barriers":
        tle.gpu.barrier_wait(bars, 0)
    if WHAT == "no use":
        tle.gpu.barrier_wait(silent, -1)
    if WHAT == "too many arrivals":
        tle.gpu.barrier_arrive(silent, 2)
    if WHAT == "a barrier that expects nothing":
        tle.gpu.copy(d, tile, [128, 64], offsets=[0, 0], barrier=silent)
    if WHAT == "more than expected":
        tle.gpu.copy(d, tle.gpu.alloc([128, 64], tl.float16), [128, 64], [0, 0], tle.gpu.alloc_barrier(expect_bytes=64))
    if WHAT == "half of a phase in a function":
        tle.gpu.copy(d, tile, [128, 64], offsets=[0, 0], barrier=two[0])
        half_of_a_phase(d, tile, two[0])
    if WHAT == "a function that is called for each half":
        half_of_a_phase(d, tile, two[0])
        half_of_a_phase(d, tile, two[0])
        tle.gpu.barrier_wait(two[0], 0)
    if WHAT == "a plain buffer":
        tle.gpu.copy(d, plain, [128, 64], offsets=[0, 0], barrier=bars[0])
    if WHAT == "another block":
        tle.gpu.copy(d, small, [32, 64], offsets=[0, 0])
    if WHAT == "another dtype":
        tle.gpu.copy(d, other, [128, 64], offsets=[0, 0])
    if WHAT == "one offset":
        tle.gpu.copy(d, tile, [128, 64], offsets=[0])
    if WHAT == "no offsets":
        tle.gpu.copy(d, tile, [128, 64])
    if WHAT == "a product of plain buffers":
        tle.gpu.wgmma(tile, plain, trans_b=True)
    if WHAT == "a product of few rows":
        tle.gpu.wgmma(small, tile, trans_b=True)
    if WHAT == "a product that does not fit":
        tle.gpu.wgmma(tile, tile)
    if WHAT == "a product of two dtypes":
        tle.gpu.wgmma(tile, other, trans_b=True)
    if WHAT == "a wait for nothing":
        tle.gpu.wgmma_wait(0)


CASES = [
    ("no number", "ArgumentTypeError", "1 or more"),
    ("another beginning", "ArgumentTypeError", "PENDING or tle.gpu.READY"),
    ("no such barrier", "TileIndexError", "0 to 1"),
    ("all barriers", "ArgumentTypeError", "barriers[i]"),
    ("no use", "ArgumentTypeError", "phaseIdx"),
    ("too many arrivals", "ArgumentTypeError", "1 to 1"),
    ("a barrier that expects nothing", "ArgumentTypeError", "expects no bytes"),
    ("more than expected", "ArgumentTypeError", "more than the barrier expects"),
    ("half of a phase in a function", "ArgumentTypeError", "16384 there, 16384 here"),
    ("a function that is called for each half", "ArgumentTypeError", "less than the barrier expects"),
    ("a plain buffer", "SharedBufferError", "nv_mma_shared_layout"),
    ("another block", "ShapeError", "a descriptor's block"),
    ("another dtype", "ArgumentTypeError", "one dtype"),
    ("one offset", "ArgumentTypeError", "2 integers"),
    ("no offsets", "ArgumentTypeError", "2 integers"),
    ("a product of plain buffers", "SharedBufferError", "tensor cores read"),
    ("a product of few rows", "ShapeError", "a multiple of 64"),
    ("a product that does not fit", "ShapeError", "[M, K] by [K, N]"),
    ("a product of two dtypes", "ArgumentTypeError", "one dtype"),
    ("a wait for nothing", "ArgumentTypeError", "the result of a product"),
]


@pytest.mark.parametrize("what, error, words", CASES, ids=[case[0] for case in CASES])
def test_a_wrong_use_is_a_named_error(what, error, words):
    with pytest.raises(triton.compiler.errors.CompilationError) as caught:
        compile_kernel(wrong, {"x": "*fp16", "d": TILE, "n": "i32"}, {"WHAT": what})
    cause = cause_of(caught.value)
    assert type(cause).__name__ == error and isinstance(cause, tle_raw.TLEError), repr(cause)
    assert words in str(cause) and cause.context.call_site.file == __file__


def test_copies_that_complete_a_barrier_need_sm_90():
    with pytest.raises(triton.compiler.errors.CompilationError, match="need sm_90"):
        compile_kernel(kernels.tma_gemm, DESCRIPTORS, {**SHAPE, "S": 3}, 80)


@pytest.mark.parametrize("tensor, capability", [(False, 90), (True, 100)])
def test_the_operands_of_a_product_keep_their_memory_until_the_wait(tensor, capability):
    types = {"x_ptr": "*fp16", "o_ptr": "*fp32"}
    kernel = compile_kernel(kernels.stored_beside, types, {"M": 64, "TENSOR": tensor}, capability)
    assert kernel.metadata.shared >= 3 * 64 * 64 * 2  # the third tile lies beside the two that are read
    again = compile_kernel(kernels.from_buffers, POINTERS, {"M": 64, "N": 64, "K": 64}, capability)
    assert "local_dealloc" not in again.asm["ttgir"]  # a product that is waited for at once


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_a_wait_stands_behind_what_is_computed_meanwhile(capability):
    types = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "s_ptr": "*fp32"}
    kernel = compiled("sum_meanwhile", types, capability, N=64)
    order = re.findall(r"wgmma\.commit_group|ex2\.approx|nanosleep|wgmma\.wait_group", kernel.asm["ptx"])
    steps = [step for number, step in enumerate(order) if order[number - 1 : number] != [step]]
    expected = ["wgmma.commit_group", "ex2.approx", "nanosleep", "wgmma.wait_group"]
    assert steps == (expected if capability == 90 else ["ex2.approx"])


def test_what_a_wait_stands_behind_on_the_cpu():
    pytest.importorskip("torch_mlir")
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((64, 64)).astype(np.float16) for _ in range(2))
    c, s = np.zeros((64, 64), np.float32), np.zeros(64, np.float32)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        kernels.sum_meanwhile[(1,)](a, b, c, s, N=64)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64).T, atol=1e-4)
    np.testing.assert_allclose(s, np.exp2(a.astype(np.float64)).sum(1), rtol=1e-5)


def test_a_wait_stands_behind_tensors_of_f32_alone():
    with pytest.raises(Exception) as raised:
        compile_kernel(kernels.behind_halves, {"a_ptr": "*fp16"}, {"N": 64})
    found = cause_of(raised.value)
    assert type(found) is tle_raw.errors.ArgumentTypeError and "a block tensor of fp32" in str(found)
