"""Two regions over the same memory, the second reading what other threads of the first wrote: in order every time."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.gpu.device import ON_CPU, TIMES, check_integers, integers, poisoned, random
from tle_raw import Pointer

pytestmark = pytest.mark.gpu

N = 4096
CUDA = f"""
__device__ void doubled(const int* x, int* y) {{
  for (int i = threadIdx.x; i < {N}; i += blockDim.x) y[i] = 2 * x[i];
}}
__device__ void turned(const int* y, int* z) {{
  for (int i = threadIdx.x; i < {N}; i += blockDim.x) z[i] = y[{N} - 1 - i] + 1;
}}
"""


def mlir(name: str, from_: str, body: str) -> str:
    """A loop of the block over N numbers: ``%v`` is read at ``from_``, and ``body`` makes %w of it."""
    return f"""llvm.func @{name}(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) {{
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %ntid = nvvm.read.ptx.sreg.ntid.x : i32
  %begin = arith.index_cast %tid : i32 to index
  %step = arith.index_cast %ntid : i32 to index
  %end = arith.constant {N} : index
  %last = arith.constant {N - 1} : i32
  %one = arith.constant 1 : i32
  scf.for %i = %begin to %end step %step {{
    %k = arith.index_cast %i : index to i32
    %back = arith.subi %last, %k : i32
    %a = llvm.getelementptr %x[{from_}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %v = llvm.load %a : !llvm.ptr<1> -> i32
    {body}
    %b = llvm.getelementptr %y[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %w, %b : i32, !llvm.ptr<1>
  }}
  llvm.return
}}
"""


MLIR = mlir("doubled", "%k", "%w = arith.addi %v, %v : i32") + mlir("turned", "%back", "%w = arith.addi %v, %one : i32")


def doubled(x: Pointer["i32"], y: Pointer["i32"]): ...


def turned(y: Pointer["i32"], z: Pointer["i32"]): ...


def tilelang(route):
    if ON_CPU and route == "linked":
        pytest.skip("TileLang's own lowering makes code for GPUs")
    T = pytest.importorskip("tilelang.language")

    @T.prim_func
    def doubled(X: T.Tensor((N,), "int32"), Y: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(N):
                Y[i] = X[i] * 2

    @T.prim_func
    def turned(Y: T.Tensor((N,), "int32"), Z: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(N):
                Z[i] = Y[N - 1 - i] + 1

    return tuple(tle_raw.fragment(f, route=route) for f in (doubled, turned))


def written(dialect, source):
    return tuple(
        tle_raw.fragment(source, signature=stub, dialect=dialect, symbol=stub.__name__) for stub in (doubled, turned)
    )


PAIRS = {
    "cuda": lambda: written("cuda", CUDA),
    "mlir": lambda: written("mlir", MLIR),
    "tilelang traced": lambda: tilelang("traced"),
    "tilelang linked": lambda: tilelang("linked"),
}


@pytest.mark.parametrize("num_warps", [4, 8])
@pytest.mark.parametrize("pair", PAIRS)
def test_the_second_region_sees_all_that_the_first_one_wrote(pair, num_warps):
    if pair.startswith("tilelang") and num_warps != 4:
        pytest.skip("TileLang's linked route has the threads of its source")
    first, second = PAIRS[pair]()

    @triton.jit
    def kernel(x_ptr, y_ptr, z_ptr, turns, FIRST: tl.constexpr, SECOND: tl.constexpr):
        for _ in range(turns):
            FIRST(x_ptr, y_ptr)
            SECOND(y_ptr, z_ptr)
            FIRST(z_ptr, x_ptr)

    x = random("i32", (N,))
    y, z = poisoned(x), poisoned(x)
    expected = integers(x).copy()
    with np.errstate(over="ignore"):
        for _ in range(TIMES):
            kernel[(1,)](x, y, z, 3, first, second, num_warps=num_warps)
            for _ in range(3):
                expected = 2 * ((2 * expected)[::-1] + 1)
    check_integers(x, expected)


@pytest.mark.parametrize("pair", PAIRS)
def test_tritons_own_accesses_are_in_order_with_a_region(pair):
    first, _ = PAIRS[pair]()

    @triton.jit
    def kernel(x_ptr, y_ptr, z_ptr, N: tl.constexpr, FIRST: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(x_ptr + i, tl.load(z_ptr + (N - 1 - i)) + i)
        FIRST(x_ptr, y_ptr)
        tl.store(z_ptr + i, tl.load(y_ptr + (i * 5 + 3) % N))

    x = random("i32", (N,))
    y, z = poisoned(x), random("i32", (N,), seed=1)
    i, expected = np.arange(N, dtype=np.int32), integers(z).copy()
    with np.errstate(over="ignore"):
        for _ in range(TIMES):
            kernel[(1,)](x, y, z, N, first)
            expected = (2 * (expected[::-1] + i))[(i * 5 + 3) % N]
    check_integers(z, expected)
