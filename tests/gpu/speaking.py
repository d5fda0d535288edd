"""Kernels that print or that stop, each run as a process of its own: python -m tests.gpu.speaking llvm-print

A failed assertion ends a process's use of its device, and what a device prints comes when the process ends.
"""

import sys

import torch
import triton
import triton.language as tl

import tle_raw
from tests.gpu.device import COMPILE_ONLY, DEVICE
from tle_raw import Pointer, Scalar, mlir

LLVM = """
@format = private constant [18 x i8] c"thread %d has %g\\0A\\00"
@what = private constant [10 x i8] c"x < limit\\00"
@file = private constant [8 x i8] c"here.ll\\00"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @vprintf(ptr, ptr)
declare void @__assertfail(ptr, ptr, i32, ptr, i64)
define void @speak(ptr addrspace(1) %p, float %limit) {
  %buffer = alloca { i32, double }
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = getelementptr float, ptr addrspace(1) %p, i32 %i
  %x = load float, ptr addrspace(1) %a
  %large = fcmp oge float %x, %limit
  br i1 %large, label %stop, label %go
stop:
  call void @__assertfail(ptr @what, ptr @file, i32 7, ptr @what, i64 1)
  unreachable
go:
  %one = icmp eq i32 %i, 37
  br i1 %one, label %say, label %end
say:
  store i32 %i, ptr %buffer
  %wide = fpext float %x to double
  %field = getelementptr { i32, double }, ptr %buffer, i32 0, i32 1
  store double %wide, ptr %field
  %n = call i32 @vprintf(ptr @format, ptr %buffer)
  br label %end
end:
  ret void
}
"""
MLIR = """llvm.func @speak(%p: !llvm.ptr<1>, %limit: f32) {
  %i = nvvm.read.ptx.sreg.tid.x : i32
  %a = llvm.getelementptr %p[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %x = llvm.load %a : !llvm.ptr<1> -> f32
  %small = arith.cmpf olt, %x, %limit : f32
  cf.assert %small, "x < limit"
  %c37 = arith.constant 37 : i32
  %one = arith.cmpi eq, %i, %c37 : i32
  scf.if %one {
    gpu.printf "thread %d has %g\\0A", %i, %x : i32, f32
  }
  llvm.return
}
"""
UPSTREAM = """func.func @speak(%p: !llvm.ptr<1>, %limit: f32) {
  %own = memref.alloca() : memref<1xf32>
  %c0 = arith.constant 0 : index
  %i = gpu.thread_id x
  %k = arith.index_cast %i : index to i32
  %a = llvm.getelementptr %p[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %v = llvm.load %a : !llvm.ptr<1> -> f32
  memref.store %v, %own[%c0] : memref<1xf32>
  %x = memref.load %own[%c0] : memref<1xf32>
  %small = arith.cmpf olt, %x, %limit : f32
  cf.assert %small, "x < limit"
  %c37 = arith.constant 37 : i32
  %one = arith.cmpi eq, %k, %c37 : i32
  scf.if %one {
    gpu.printf "thread %d has %g\\0A", %k, %x : i32, f32
  }
  return
}
"""


def speak(p: Pointer["f32"], limit: Scalar["f32"]): ...


@tle_raw.dialect("mlir")
def speak_edsl(p: Pointer["f32"], limit: Scalar["f32"]):
    i = mlir.thread_id()
    mlir.vassert(p[i] < limit, "x < limit")
    if i == 37:
        mlir.printf("thread %d has %g\n", i, p[i])


FRAGMENTS = {
    "llvm": lambda: tle_raw.fragment(LLVM, signature=speak, dialect="llvm"),
    "mlir": lambda: tle_raw.fragment(MLIR, signature=speak, dialect="mlir"),
    "upstream": lambda: tle_raw.fragment(UPSTREAM, signature=speak, dialect="mlir"),
    "edsl": lambda: speak_edsl,
}


@triton.jit
def kernel(p, limit, FRAGMENT: tl.constexpr):
    FRAGMENT(p, limit)


def main(dialect: str, what: str) -> None:
    if COMPILE_ONLY:
        from samples.benchmarks import compile_only

        compile_only.install()
    x = torch.arange(128, dtype=torch.float32, device=DEVICE) / 4
    kernel[(1,)](x, 1000.0 if what == "print" else 20.0, FRAGMENTS[dialect]())
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    print("the end")


if __name__ == "__main__":
    main(*sys.argv[1].split("-"))
