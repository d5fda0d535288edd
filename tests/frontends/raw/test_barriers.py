"""Regions wait for the kernel's barriers and arrive at them: the eight bytes in place, and nothing is copied."""

from __future__ import annotations

import re

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw
import tle_raw.language as tle
import tle_raw.mlir as mlir
from tests.contracts.running import our_error
from tests.frontends.gpu import barrier_kernels as kernels
from tests.support import compile_kernel, report_of
from tle_raw import Barrier, Buffer, In, InOut, Out, Pointer, Scalar, Tile
from tle_raw.errors import ArgumentTypeError, CompilationFailed, KernelFailed, SignatureError
from tle_raw.fragments.annotations import signature_of

pytestmark = pytest.mark.every_triton(4)

SIZES = {"M": 32, "N": 64, "S": 3}
RING = {"x": "*fp32", "y": "*fp32", "n": "i32"}


def instructions(kernel, pattern):
    return len(re.findall(rf"^\s*(?:@%\w+ )?{pattern}", kernel.asm["ptx"], re.MULTILINE))


def check(kernel, regions, machine_code=True):
    report = report_of(kernel, machine_code)
    assert report.one_kernel and not report.sass_calls and len(report.regions) == regions
    assert all(region.inlined for region in report.regions)


@pytest.mark.parametrize("capability", [90, 100])
def test_regions_bring_tiles_by_bulk_copies_and_wait_for_them(capability):
    constants = {"FETCH": kernels.fetch, "ARRIVALS": 1, **SIZES}
    kernel = compile_kernel(kernels.fetched, RING, constants, capability)
    check(kernel, 4)
    assert instructions(kernel, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes") == 3
    assert instructions(kernel, "mbarrier.arrive.expect_tx") == 3
    assert 0 <= kernel.metadata.shared - 3 * 32 * 64 * 4 - 6 * 8 < 16  # slots and barriers: no copy of either
    # the kernel's accesses are over before a region begins copies, and what a region wrote before those of others
    fences = [m.start() for m in re.finditer(r"fence\.proxy\.async", kernel.asm["ptx"])]
    copies = [m.start() for m in re.finditer(r"cp\.async\.bulk", kernel.asm["ptx"])]
    assert all(any(fence < copy for fence in fences) for copy in copies)


@pytest.mark.parametrize("capability", [80, 90])
def test_threads_arrive_when_their_own_copies_have_come(capability):
    constants = {"FETCH": kernels.fetch_async, "ARRIVALS": 128, **SIZES}
    kernel = compile_kernel(kernels.fetched, RING, constants, capability)
    check(kernel, 4)
    assert instructions(kernel, "cp.async.mbarrier.arrive.noinc") == 3
    assert ("mbarrier.test_wait.parity" in kernel.asm["ptx"]) == (capability == 80)


def test_a_region_waits_for_copies_of_the_kernel():
    kernel = compile_kernel(kernels.waited_for, {"x_desc": "tensordesc<fp32[32, 64]>", "y": "*fp32", "n": "i32"}, SIZES)
    check(kernel, 1)
    assert instructions(kernel, "cp.async.bulk.tensor") == 3
    assert instructions(kernel, "mbarrier.try_wait") == 1  # the region's: the kernel itself waits for nothing


def on_cpu(kernel, *arguments, debug=False, **constants):
    with tle_raw.knobs.scope() as knobs:
        knobs.target, knobs.debug = "cpu", debug
        return kernel[(1,)](*arguments, **constants)


@pytest.mark.parametrize("fetch, arrivals", [(kernels.fetch, 1), (kernels.fetch_async, 128)])
@pytest.mark.parametrize("slots, debug", [(1, True), (2, False), (5, True)])
def test_rings_that_regions_fill(fetch, arrivals, slots, debug):
    x = np.random.default_rng(slots).standard_normal((7, 16, 8)).astype(np.float32)
    y = np.zeros_like(x)
    on_cpu(kernels.fetched, x, y, 7, fetch, arrivals, 16, 8, slots, debug=debug)
    assert np.array_equal(y, 2 * x)


@pytest.mark.parametrize("slots, debug", [(2, True), (3, False)])
def test_regions_wait_for_copies_of_the_kernel(slots, debug):
    x = np.random.default_rng(slots).standard_normal((6, 16, 32)).astype(np.float32)
    y = np.zeros(6, np.float32)
    x_desc = TensorDescriptor.from_tensor(pytest.importorskip("torch").from_numpy(x.reshape(96, 32)), [16, 32])
    on_cpu(kernels.waited_for, x_desc, y, 6, 16, 32, slots, debug=debug)
    np.testing.assert_allclose(y, x.astype(np.float64).sum((1, 2)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("warps", [1, 8])
def test_all_threads_of_a_region_arrive(warps):
    y = np.zeros((5, 16, 8), np.float32)
    on_cpu(kernels.numbered, y, 5, warps, 16, 8, debug=True, num_warps=warps)
    assert np.array_equal(y, np.arange(5)[:, None, None] + np.arange(128).reshape(16, 8))


def test_a_region_that_arrives_too_seldom_is_found_by_the_kernels_wait():
    y = np.zeros((5, 16, 8), np.float32)
    with pytest.raises(KernelFailed, match="a phase of a barrier that nobody completes") as caught:
        on_cpu(kernels.numbered, y, 5, 2, 16, 8, num_warps=1)  # the barrier counts 64 threads, the block has 32
    assert "arrivals missing" in str(caught.value) and "32" in str(caught.value)


def test_a_region_that_waits_for_ever_is_an_error_and_no_hang():
    @triton.jit
    def forgotten(y, M: tl.constexpr, N: tl.constexpr):
        buffer = tle.gpu.alloc([M, N], tl.float32, nv_mma_shared_layout=False)
        buffer.store(1.0)
        full, empty = tle.gpu.alloc_barrier(), tle.gpu.alloc_barrier()
        kernels.double_it(buffer, full, empty, 0)
        tl.store(y + tl.arange(0, N), tl.sum(buffer.load(), 0))

    with pytest.raises(KernelFailed) as caught, tle_raw.knobs.scope() as knobs:
        knobs.cpu.patience = 0.2
        on_cpu(forgotten, np.zeros(8, np.float32), 16, 8)
    assert "waits in a loop for memory that no program" in str(caught.value)
    assert "full.wait(use)" in str(caught.value) or "barrier.h" in str(caught.value), str(caught.value)


@triton.jit
def two_phases(y, n, F: tl.constexpr, FIRST: tl.constexpr):
    bars = tle.gpu.alloc_barriers(2, init=FIRST)
    for use in range(n):
        F(bars[1])
        tle.gpu.barrier_wait(bars[1], use + (1 if FIRST == "READY" else 0))
        tl.store(y + use, use)


POINTERS = {
    "cuda": "__device__ void arrive(unsigned long long* b) { if (threadIdx.x == 0) asm volatile("
    '"mbarrier.arrive.shared.b64 _, [%0];" :: "r"((unsigned)__cvta_generic_to_shared(b)) : "memory"); }',
    "llvm": """
define void @arrive(ptr addrspace(3) %b) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %i, 0
  br i1 %first, label %do, label %done
do:
  %state = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) %b)
  br label %done
done:
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
""",
    "mlir": """
llvm.func @arrive(%b: !llvm.ptr<3>) {
  %i = nvvm.read.ptx.sreg.tid.x : i32
  %zero = llvm.mlir.constant(0 : i32) : i32
  %first = llvm.icmp "eq" %i, %zero : i32
  llvm.cond_br %first, ^do, ^done
^do:
  %a = llvm.ptrtoint %b : !llvm.ptr<3> to i32
  llvm.inline_asm has_side_effects "mbarrier.arrive.shared.b64 _, [$0];", "r" %a : (i32) -> ()
  llvm.br ^done
^done:
  llvm.return
}
""",
}


@pytest.mark.parametrize("first", ["PENDING", "READY"])
@pytest.mark.parametrize("dialect", POINTERS)
def test_other_languages_get_the_address_of_the_eight_bytes(dialect, first):
    @tle_raw.dialect(dialect, source=POINTERS[dialect])
    def arrive(b: Barrier): ...

    kernel = compile_kernel(two_phases, {"y": "*i32", "n": "i32"}, {"F": arrive, "FIRST": first})
    check(kernel, 1, machine_code=first == "READY")
    assert instructions(kernel, "mbarrier.arrive.shared") == 1
    y = np.full(6, -1, np.int32)
    on_cpu(two_phases, y, 6, arrive, first)
    assert y.tolist() == list(range(6))


def test_a_python_function_as_mlir_gets_a_memref_of_one_word():
    @tle_raw.dialect("mlir")
    def clear(b: InOut["memref<1xi64, 3>"]):
        if mlir.thread_id() == 0:
            b[0] = 0

    kernel = compile_kernel(two_phases, {"y": "*i32", "n": "i32"}, {"F": clear, "FIRST": "PENDING"})
    check(kernel, 1)
    assert kernel.metadata.shared == 16


def test_use_0_of_a_ready_barrier_passes_in_a_region_too():
    @triton.jit
    def ready(y, M: tl.constexpr, N: tl.constexpr):
        buffer = tle.gpu.alloc([M, N], tl.float32, nv_mma_shared_layout=False)
        buffer.store(1.0)
        full, empty = tle.gpu.alloc_barrier(init=tle.gpu.READY), tle.gpu.alloc_barrier()
        kernels.double_it(buffer, full, empty, 0)
        tle.gpu.barrier_wait(empty, 0)
        tl.store(y + tl.arange(0, N), tl.sum(buffer.load(), 0))

    y = np.zeros(8, np.float32)
    on_cpu(ready, y, 16, 8)
    assert (y == 32).all()


def refused(fragment, kernel=two_phases, capability=90):
    with pytest.raises(triton.CompilationError) as caught:
        compile_kernel(kernel, {"y": "*i32", "n": "i32"}, {"F": fragment, "FIRST": "PENDING"}, capability)
    return our_error(caught.value)


def test_what_is_no_barrier_is_refused():
    @triton.jit
    def buffer(y, n, F: tl.constexpr, FIRST: tl.constexpr):
        F(tle.gpu.alloc([1], tl.int64))

    @triton.jit
    def several(y, n, F: tl.constexpr, FIRST: tl.constexpr):
        F(tle.gpu.alloc_barriers(2))

    @tle_raw.dialect("cuda", source=POINTERS["cuda"])
    def arrive(b: Barrier): ...

    error = refused(arrive, buffer)
    assert type(error) is ArgumentTypeError and "a buffer where a barrier belongs" in str(error)
    assert "tle.gpu.alloc_barrier" in error.hint and "F(tle.gpu.alloc" in error.context.call_site.text
    assert "barriers[i]" in str(refused(arrive, several))


def test_a_barrier_is_no_buffer_of_numbers():
    @tle_raw.dialect("cuda", source="__device__ void f(float* b) {}")
    def f(b: InOut[Buffer["f32", "N"]]): ...

    @tle_raw.dialect("cuda", source="__device__ void f(float x) {}", symbol="f")
    def g(x: Scalar["f32"]): ...

    assert "Buffer[i64, 1]" in str(refused(f))
    assert "barrier" in str(refused(g))


def test_bytes_are_counted_from_sm_90_on():
    source = "#include <tle_raw/barrier.h>\n__device__ void f(tle::barrier b) { b.expect(16); }"

    @tle_raw.dialect("cuda", source=source)
    def f(b: Barrier): ...

    with pytest.raises(CompilationFailed, match="from sm_90 on"):
        compile_kernel(two_phases, {"y": "*i32", "n": "i32"}, {"F": f, "FIRST": "PENDING"}, 80)


def test_another_type_than_a_barriers_is_refused():
    @tle_raw.dialect("cuda", source="__device__ void f(float* b) {}")
    def f(b: Barrier): ...

    assert "tle::barrier" in str(refused_type(f))


def refused_type(fragment):
    with pytest.raises(tle_raw.TLEError) as caught:
        compile_kernel(two_phases, {"y": "*i32", "n": "i32"}, {"F": fragment, "FIRST": "PENDING"})
    return caught.value


def test_signatures_with_barriers():
    def f(a: Tile["f32", "M"], full: Barrier, empty: In[Barrier], again: InOut[Barrier]): ...

    signature = signature_of(f)
    assert str(signature) == ("f(a: Tile[f32, M], full: InOut[Barrier], empty: Barrier, again: InOut[Barrier])")
    assert [p.name for p in signature.passed] == ["a", "full", "empty", "again"] and not signature.returned

    def out(full: Out[Barrier]): ...

    with pytest.raises(SignatureError, match="cannot be Out"):
        signature_of(out)
    with pytest.raises(SignatureError, match="neither dtype nor dims"):
        Barrier["f32"]


def test_the_prototype_of_a_barrier():
    text = kernels.double_it.prototype()
    assert "#include <tle_raw/barrier.h>" in text
    assert "tle::barrier full, tle::barrier empty, int use" in text
    assert "full: a barrier of the kernel, waited for by the threads" in text


def test_barriers_alone_compile_too():
    kernels.fetch.compile(target="cuda:90", M=32, N=32)
    kernels.double_it.compile(target="cpu", M=32, N=32)


def test_flagtrees_call_passes_barriers_and_gives_them_back():
    @triton.jit
    def called(y, n, F: tl.constexpr, FIRST: tl.constexpr):
        bar = tle.gpu.alloc_barrier()
        same = tle.call_smem(F, [bar], output_indices=[0])
        tle.gpu.barrier_wait(same, 0)
        tl.store(y, 1)

    @tle_raw.dialect("cuda", source=POINTERS["cuda"])
    def arrive(b: Barrier): ...

    y = np.zeros(1, np.int32)
    on_cpu(called, y, 1, arrive, "PENDING")
    assert y[0] == 1
    assert isinstance(
        compile_kernel(called, {"y": "*i32", "n": "i32"}, {"F": arrive, "FIRST": "PENDING"}).metadata.shared, int
    )


def test_a_pointer_is_no_barrier():
    @triton.jit
    def pointer(y, n, F: tl.constexpr, FIRST: tl.constexpr):
        F(y)

    @tle_raw.dialect("cuda", source=POINTERS["cuda"])
    def arrive(b: Barrier): ...

    assert "a pointer where a barrier belongs" in str(refused(arrive, pointer))


def test_dialects_of_tiles_take_no_barrier():
    pytest.importorskip("cuda.tile")

    @tle_raw.dialect("cutile")
    def twice(x):
        return x * 2.0

    assert "barrier" in str(refused(twice))


def test_pointer_parameters_keep_refusing_barriers():
    @tle_raw.dialect("cuda", source=POINTERS["cuda"])
    def arrive(b: InOut[Pointer["i64"]]): ...

    assert "where a pointer belongs" in str(refused(arrive))
