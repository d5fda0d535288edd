"""TileLang kernels as regions of Triton kernels, by the linked route: one kernel, inlined, nothing in local memory."""

import itertools
import re

import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import cause_of, compile_kernel, ptx_calls, report_of

pytest.importorskip("tilelang")

from tests.adapters.tilelang.linked import kernels
from tests.adapters.tilelang.linked.linking import linked
from tle_raw.errors import RegionError, SharedMemoryError

pytestmark = pytest.mark.every_triton(4)

gemm = linked(kernels.gemm())
large_gemm = linked(kernels.gemm(tile=(128, 256, 64), threads=256, stages=3))
larger_gemm = linked(kernels.gemm(tile=(128, 256, 64), threads=256, stages=4))
placed_gemm = linked(kernels.gemm(), {"blockIdx.x": "column", "blockIdx.y": 0})
swizzled_gemm = linked(kernels.gemm(swizzle=4), {"blockIdx.x": "column", "blockIdx.y": "row"})
softmax = linked(kernels.softmax())
axpy = linked(kernels.axpy())
histogram = linked(kernels.histogram())
dequantise_gemm = linked(kernels.dequantise_gemm())
attention = linked(kernels.attention())
causal_attention = linked(kernels.attention(causal=True, dim=128))
transpose = linked(kernels.transpose())
convolution = linked(kernels.convolution())


@triton.jit
def with_gemm(a, b, c):
    gemm(a, b, c)


@triton.jit
def with_large_gemm(a, b, c):
    large_gemm(a, b, c)


@triton.jit
def with_larger_gemm(a, b, c):
    larger_gemm(a, b, c)


@triton.jit
def with_placed_gemm(a, b, c):
    for column in range(4):
        placed_gemm(a, b, c, column)


@triton.jit
def with_swizzled_gemm(a, b, c):
    pid = tl.program_id(0)
    swizzled_gemm(a, b, c, pid % 4, pid // 4)


@triton.jit
def with_softmax(a, b):
    softmax(a, b)


@triton.jit
def with_axpy(a, b, n, alpha):
    axpy(a, alpha, b, n)


@triton.jit
def with_histogram(a, b, c):
    histogram(a, b, c)


@triton.jit
def with_dequantise(a, b, c):
    dequantise_gemm(a, b, c)


@triton.jit
def with_attention(a, b, c, d):
    attention(a, b, c, d)


@triton.jit
def with_causal_attention(a, b, c, d):
    causal_attention(a, b, c, d)


@triton.jit
def with_transpose(a, b):
    transpose(a, b)


@triton.jit
def with_convolution(a, b, c):
    convolution(a, b, c)


@triton.jit
def several(a, b, c, d, x, n, alpha):
    pid = tl.program_id(0)
    i = pid * 1024 + tl.arange(0, 1024)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(x + i, v - tl.sum(v, 0), mask=i < n)
    gemm(a, b, c)
    attention(a, b, c, d)
    axpy(x, alpha, x, n)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1.0, mask=i < n)


HALVES = dict.fromkeys("abc", "*fp16")
ATTENTION = dict.fromkeys("abcd", "*fp16")
CASES = {
    "gemm": (with_gemm, HALVES, 4),
    "large gemm": (with_large_gemm, HALVES, 8),
    "placed gemm": (with_placed_gemm, HALVES, 4),
    "swizzled gemm": (with_swizzled_gemm, HALVES, 4),
    "softmax": (with_softmax, {"a": "*fp32", "b": "*fp32"}, 4),
    "axpy": (with_axpy, {"a": "*fp32", "b": "*fp32", "n": "i32", "alpha": "fp32"}, 4),
    "histogram": (with_histogram, {"a": "*i32", "b": "*i32", "c": "*fp32"}, 4),
    "dequantise": (with_dequantise, {"a": "*fp16", "b": "*u8", "c": "*fp16"}, 4),
    "attention": (with_attention, ATTENTION, 4),
    "causal attention": (with_causal_attention, ATTENTION, 4),
    "transpose": (with_transpose, {"a": "*fp32", "b": "*fp32"}, 8),
    "several": (several, {**ATTENTION, "x": "*fp32", "n": "i32", "alpha": "fp32"}, 4),
}


# Before Hopper products and copies are other instructions ("several" holds a product and attention).
ON_SM_80 = ("dequantise", "several")
# Those that need the most registers: their machine code is read.
READ = ("large gemm", "causal attention", "several")


@pytest.mark.parametrize("case, capability", [*((case, 90) for case in CASES), *((case, 80) for case in ON_SM_80)])
def test_one_kernel_inlined_and_all_in_registers(case, capability):
    kernel, signature, warps = CASES[case]
    compiled = compile_kernel(kernel, signature, capability=capability, num_warps=warps)
    told = report_of(compiled, machine_code=case in READ)
    assert told.one_kernel and not ptx_calls(compiled)
    assert all(region.inlined and region.route == "linked" for region in told.regions)
    assert ".local" not in compiled.asm["ptx"]
    assert told.stack in (0, None) and told.spills in (0, None)


@pytest.mark.one_triton
def test_masks_and_the_last_divisions_are_as_nvcc_makes_them():
    compiled = compile_kernel(*CASES["causal attention"][:2])
    assert not re.search(r"icmp \w+ <\d+ x i", compiled.asm["llir"])  # scalars stay scalars
    ends = re.findall(r"div\.rn|st\.global", compiled.asm["ptx"])
    assert len(ends) == 96 and max(len(list(run)) for _, run in itertools.groupby(ends)) == 2


@pytest.mark.one_triton  # which instruction it is TileLang says, and the sample of GEMM on every Triton
@pytest.mark.parametrize("capability, instruction", [(80, "mma.sync"), (90, "wgmma.mma_async"), (120, "mma.sync")])
def test_tensor_cores_are_those_of_the_architecture(capability, instruction):
    compiled = compile_kernel(with_gemm, HALVES, capability=capability)
    assert instruction in compiled.asm["ptx"] and "cp.async" in compiled.asm["ptx"]


@pytest.mark.one_triton
def test_shared_memory_is_counted_above_48_kib_and_regions_share_it():
    alone = {name: compile_kernel(*CASES[name][:2]).metadata.shared for name in ("gemm", "attention")}
    assert alone["gemm"] == 3 * (128 * 32 + 32 * 128) * 2
    together = compile_kernel(*CASES["several"][:2]).metadata.shared
    assert max(alone.values()) <= together <= max(alone.values()) + 2048
    large = compile_kernel(with_large_gemm, HALVES, num_warps=8).metadata.shared
    assert large == 3 * (128 * 64 + 64 * 256) * 2 > 144 * 1000


@pytest.mark.one_triton
def test_block_indices_are_program_ids_or_the_callers_values():
    by_ids = compile_kernel(with_gemm, HALVES).asm["ptx"]
    assert "%ctaid.x" in by_ids and "%ctaid.y" in by_ids
    placed = compile_kernel(with_placed_gemm, HALVES).asm["ptx"]
    assert "%ctaid.x" in placed and "%ctaid.y" not in placed
    swizzled = compile_kernel(with_swizzled_gemm, HALVES).asm["ptx"]
    assert "%nctaid" not in swizzled and "%ctaid.y" not in swizzled


@pytest.mark.parametrize("warps", [2, 8])
def test_another_number_of_warps_is_refused(warps):
    with pytest.raises(Exception) as caught:
        compile_kernel(with_gemm, HALVES, num_warps=warps)
    error = cause_of(caught.value)
    assert isinstance(error, RegionError) and error.hint == "launch with num_warps=4"
    assert error.context.call_site.text.strip() == "gemm(a, b, c)"


@pytest.mark.one_triton
def test_more_shared_memory_than_a_block_has_is_refused():
    with pytest.raises(Exception) as caught:
        compile_kernel(with_larger_gemm, HALVES, capability=80, num_warps=8)  # 192 of 163 KiB
    assert isinstance(cause_of(caught.value), SharedMemoryError)


def test_the_report_shows_the_kernels_own_lines():
    told = tle_raw.report(compile_kernel(with_gemm, HALVES))
    assert told.regions[0].instructions > 100
    assert "TileLang 0.1" in told.regions[0].compiler
    assert told.regions[0].dynamic_shared == 49152


@pytest.mark.one_triton
def test_what_takes_descriptors_only_is_lowered_without_them():
    compiled = compile_kernel(with_convolution, HALVES)
    told = tle_raw.report(compiled)
    assert told.one_kernel and told.regions[0].route == "linked, as for sm_80"
    assert "mma.sync" in compiled.asm["ptx"] and ".local" not in compiled.asm["ptx"]
