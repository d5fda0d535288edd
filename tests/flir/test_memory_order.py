"""Barriers between a region and what may touch the same global memory, in every dialect; and none elsewhere."""

import re

import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import compile_kernel, ttgir_lines
from tle_raw import Element, InOut, Pointer, Scalar, Tile

pytestmark = pytest.mark.every_triton(4)

CUDA = """
#include <cuda_fp16.h>
__device__ void write_half(__half* p) { p[threadIdx.x] = __float2half(1); }
__device__ void write(float* p, float v) { p[threadIdx.x] = v; }
__device__ float read(const float* p, int i) { return p[i]; }
__device__ void move(const float* a, float* b) { b[threadIdx.x] = a[127 - threadIdx.x]; }
__device__ void twice(float* t, const float* s) { t[threadIdx.x] *= s[0]; }
__device__ float looked_up(float x, const float* p) { return x + p[(int)x]; }
"""
LLVM = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define void @write(ptr addrspace(1) %p, float %v) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = getelementptr float, ptr addrspace(1) %p, i32 %i
  store float %v, ptr addrspace(1) %a
  ret void
}
define float @read(ptr addrspace(1) %p, i32 %i) {
  %a = getelementptr float, ptr addrspace(1) %p, i32 %i
  %v = load float, ptr addrspace(1) %a
  ret float %v
}
"""
MLIR = """
llvm.func @write(%p: !llvm.ptr<1>, %v: f32) {
  %i = nvvm.read.ptx.sreg.tid.x : i32
  %a = llvm.getelementptr %p[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  llvm.store %v, %a : f32, !llvm.ptr<1>
  llvm.return
}
llvm.func @read(%p: !llvm.ptr<1>, %i: i32) -> f32 {
  %a = llvm.getelementptr %p[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %v = llvm.load %a : !llvm.ptr<1> -> f32
  llvm.return %v : f32
}
"""


def write_stub(p: Pointer["f32"], v: Scalar["f32"]): ...


def read_stub(p: Pointer["f32"], i: Scalar["i32"]) -> Scalar["f32"]: ...


def pair(dialect, source, **options):
    """A region that writes and one that only reads."""
    return tuple(
        tle_raw.fragment(source, signature=stub, dialect=dialect, symbol=symbol, **options)
        for stub, symbol in ((write_stub, "write"), (read_stub, "read"))
    )


def numba_pair():
    cuda = pytest.importorskip("numba.cuda")

    @cuda.jit(device=True)
    def write(p, v):
        p[cuda.threadIdx.x] = v

    @cuda.jit(device=True)
    def read(p, i):
        return p[i]

    return (
        tle_raw.fragment(write, signature=write_stub),
        tle_raw.fragment(read, signature=read_stub),
    )


PAIRS = {
    "cuda": lambda: pair("cuda", CUDA),
    "llvm": lambda: pair("llvm", LLVM),
    "mlir": lambda: pair("mlir", MLIR),
    "pycuda": lambda: pair("pycuda", CUDA),
    "cupy": lambda: pair("cupy", CUDA),
    "numba": numba_pair,
}
TYPES = {"x": "*fp32", "y": "*fp32"}


def order(kernel, types=TYPES, **constants):
    """What the PTX does to global memory, repetitions left out: loads, stores and barriers."""
    found = []
    for line in compile_kernel(kernel, types, constants).asm["ptx"].splitlines():
        match = re.search(r"\b(bar\.sync|barrier\.sync|st\.global|ld\.global|red\.global|atom\.global)", line)
        word = match[1].split(".")[0] if match else ""
        if word and (word.startswith("bar") or found[-1:] != [word]):
            found.append("bar" if word.startswith("bar") else word)
    return found


def kernels(write, read):
    """Kernels by the order that each must have."""

    @triton.jit
    def written_then_read(x, y):
        write(x, 1.0)
        tl.store(y, read(y, 5))

    @triton.jit
    def stored_then_read(x, y):
        tl.store(x + tl.arange(0, 128), 1.0)
        tl.store(y, read(x, 5))

    @triton.jit
    def written_then_loaded(x, y):
        write(x, 1.0)
        tl.store(y + tl.arange(0, 128), tl.load(x + 127 - tl.arange(0, 128)))

    return written_then_read, stored_then_read, written_then_loaded


@pytest.mark.parametrize("dialect", PAIRS)
def test_a_barrier_stands_between_a_region_and_what_may_touch_the_same_memory(dialect):
    written_then_read, stored_then_read, written_then_loaded = kernels(*PAIRS[dialect]())
    assert order(written_then_read) == ["st", "bar", "ld", "bar", "st"]
    assert order(stored_then_read) == ["st", "bar", "ld", "bar", "st"]
    assert order(written_then_loaded) == ["st", "bar", "ld", "st"]


def cuda(stub, **options):
    return tle_raw.dialect("cuda", source=CUDA, **options)(stub)


@cuda
def write(p: Pointer["f32"], v: Scalar["f32"]): ...


@cuda
def read(p: Pointer["f32"], i: Scalar["i32"]) -> Scalar["f32"]: ...


@cuda
def move(a: Pointer["f32"], b: Pointer["f32"]): ...


@cuda
def twice(t: InOut[Tile["f32", "N"]], s: Pointer["f32"]): ...


@cuda
def looked_up(x: Element["f32"], p: Pointer["f32"]) -> Element["f32"]: ...


unordered = tle_raw.fragment(CUDA, signature=write_stub, dialect="cuda", symbol="write", ordered=False)


def barriers(kernel, types=TYPES, **constants):
    return len(ttgir_lines(compile_kernel(kernel, types, constants), "barrier"))


def test_reads_need_none():
    @triton.jit
    def kernel(x, y):
        i = tl.arange(0, 128)
        a = tl.load(x + i)
        b = read(x, 1) + read(y, 2)
        tl.store(y + i, a + b)

    assert barriers(kernel) == 1  # between the reads and the store


def test_nothing_stands_before_the_first_and_after_the_last():
    @triton.jit
    def kernel(x, y):
        move(x, y)

    assert barriers(kernel) == 0


def test_arithmetic_around_it_needs_none():
    @triton.jit
    def kernel(x, y):
        v = tl.sum(tl.arange(0, 128)).to(tl.float32)
        write(x, v)

    assert "barrier" not in str(ttgir_lines(compile_kernel(kernel, TYPES), "extern"))
    assert barriers(kernel) == 0


def test_a_tiles_barriers_are_enough():
    @triton.jit
    def kernel(x, y):
        i = tl.arange(0, 128)
        tl.store(y + i, 1.0)
        tl.store(x + i, twice(tl.load(x + i), y))
        write(x, 2.0)

    @triton.jit
    def without(x, y):
        i = tl.arange(0, 128)
        tl.store(y + i, 1.0)
        tl.store(x + i, twice(tl.load(x + i), y))

    assert barriers(without) == 2
    assert barriers(kernel) == 3


def test_the_users_own_barrier_is_enough():
    @triton.jit
    def kernel(x, y):
        write(x, 1.0)
        tl.debug_barrier()
        tl.store(y, tl.load(x + 5))

    assert barriers(kernel) == 1


def test_a_promise_that_it_meets_nothing():
    @triton.jit
    def kernel(x, y):
        unordered(x, 1.0)
        tl.store(y, tl.load(y + 5))
        unordered(x, 2.0)

    assert barriers(kernel) == 0


def test_a_region_meets_itself_in_the_next_turn_of_a_loop():
    @triton.jit
    def kernel(x, y, n):
        for i in range(n):
            move(x + i, y + i)

    types = {**TYPES, "n": "i32"}
    assert barriers(kernel, types) == 1


def test_a_barrier_stands_outside_of_a_loop_where_that_will_do():
    @triton.jit
    def kernel(x, y, n):
        tl.store(x, 1.0)
        v = 0.0
        for i in range(n):
            v += read(x, i)
        tl.store(y, v)

    text = compile_kernel(kernel, {**TYPES, "n": "i32"}).asm["ttgir"]
    assert text.count("barrier") == 2
    assert text.index("barrier") < text.index("scf.for") < text.index("scf.yield") < text.rindex("barrier")


def test_code_of_a_branch_and_after_an_early_return_counts():
    @triton.jit
    def kernel(x, y, n):
        if n == 3:
            write(x, 1.0)
        tl.store(y, tl.load(x + 5))

    @triton.jit
    def early(x, y, n):
        write(x, 1.0)
        if n == 3:
            return
        tl.store(y, read(x, 5))

    types = {**TYPES, "n": "i32"}
    assert barriers(kernel, types) == 1
    assert barriers(early, types) == 2


def test_functions_of_elements_are_as_loads_and_stores():
    @triton.jit
    def kernel(x, y):
        i = tl.arange(0, 128)
        tl.store(y + i, looked_up(tl.load(x + i), y))

    @triton.jit
    def beside_a_region(x, y):
        i = tl.arange(0, 128)
        v = looked_up(tl.load(x + i), y)
        write(y, 1.0)
        tl.store(x + i, v)

    assert barriers(kernel) == 0
    assert barriers(beside_a_region) == 2


def test_a_called_function_may_stand_between_anything():
    @triton.jit(noinline=True)
    def helper(x):
        write(x, 1.0)

    @triton.jit
    def kernel(x, y):
        helper(x)

    assert barriers(kernel) == 2


@cuda
def write_half(p: Pointer["f16"]): ...


def test_a_loop_that_loads_what_a_region_writes_is_not_pipelined():
    @triton.jit
    def kernel(x, y, z, n, K: tl.constexpr, SAME: tl.constexpr):
        i = tl.arange(0, K)
        acc = tl.zeros([K, K], tl.float32)
        for k in tl.range(n, num_stages=3):
            a = tl.load(x + k * K * K + i[:, None] * K + i)
            acc = tl.dot(a, a, acc)
            write_half((x if SAME else z) + (k + 1) * K * K)
        tl.store(y + i[:, None] * K + i, acc)

    types = {"x": "*fp16", "y": "*fp32", "z": "*fp16", "n": "i32"}
    one, other = (compile_kernel(kernel, types, {"K": 64, "SAME": same}).asm["ttgir"] for same in (True, False))
    assert "async_copy" not in one
    assert "async_copy" in other
    assert one.count("barrier") == 2
    assert other.count("barrier") == 2
