"""LLVM IR fragments on the device: tiles, descriptors, pointers, elements, shared memory, warps, libdevice."""

import pytest
import torch
import triton
import triton.language as tl

import tle_raw
from tests.gpu.device import COMPILE_ONLY, DEVICE
from tle_raw import Const, Element, InOut, Out, Pointer, Scalar, Tile

pytestmark = pytest.mark.gpu

HEAD = "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"


@tle_raw.dialect("llvm", source=f"""{HEAD}
@scratch = internal addrspace(3) global [128 x float] undef, align 16
declare void @llvm.nvvm.barrier0()
declare float @__nv_expf(float)
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
define float @scale(ptr addrspace(3) %t, ptr addrspace(1) %v, i1 %negate, i32 %n) {{
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(3) %t, i32 %i
  %x = load float, ptr addrspace(3) %p
  %q = getelementptr float, ptr addrspace(1) %v, i32 %i
  %y = load float, ptr addrspace(1) %q
  %e = call float @__nv_expf(float %y)
  %xe = fmul float %x, %e
  %s = getelementptr float, ptr addrspace(3) @scratch, i32 %i
  store float %xe, ptr addrspace(3) %s
  call void @llvm.nvvm.barrier0()
  %last = sub i32 %n, 1
  %j = sub i32 %last, %i
  %r = getelementptr float, ptr addrspacecast (ptr addrspace(3) @scratch to ptr), i32 %j
  %back = load float, ptr %r
  %minus = fneg float %back
  %w = select i1 %negate, float %minus, float %back
  store float %w, ptr addrspace(3) %p
  %o = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float 1.5, i32 1, i32 31)
  ret float %o
}}
""")  # fmt: skip
def scale(t: InOut[Tile["f32", "N"]], v: Pointer["f32"], negate: Scalar["i1"], n: Const["N"]) -> Scalar["f32"]: ...


@triton.jit
def scale_kernel(x, v, out, limit, N: tl.constexpr):
    offsets = tl.program_id(0) * N + tl.arange(0, N)
    t, r = scale(tl.load(x + offsets), v, tl.program_id(0) > limit, N)
    tl.store(x + offsets, t)
    tl.store(out + tl.program_id(0), r)


def test_a_region_with_shared_memory_a_barrier_and_libdevice():
    x, v = torch.randn(5, 128, device=DEVICE), torch.randn(128, device=DEVICE)
    out = torch.zeros(5, device=DEVICE)
    before = x.double()
    scale_kernel[(5,)](x, v, out, 2, N=128)
    if not COMPILE_ONLY:
        wanted = (before * v.double().exp()).flip(1)
        wanted[3:] *= -1
        torch.testing.assert_close(x.double(), wanted, rtol=1e-5, atol=1e-6)
        assert (out == 1.5).all()


@tle_raw.dialect("llvm", source=f"""{HEAD}
define void @turn(ptr addrspace(3) %b, ptr addrspace(3) %t, i64 %o, i64 %m, i64 %n, i64 %sm, i64 %sn, i32 %out) {{
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %w = zext i32 %i to i64
  %row = udiv i64 %w, %n
  %column = urem i64 %w, %n
  %a = mul i64 %row, %sm
  %from = add i64 %a, %column
  %p = getelementptr half, ptr addrspace(3) %t, i64 %from
  %v = load half, ptr addrspace(3) %p
  %c = mul i64 %column, %m
  %to = add i64 %c, %row
  %bytes = mul i64 %to, 2
  %small = trunc i64 %bytes to i32
  %address = add i32 %out, %small
  %q = inttoptr i32 %address to ptr addrspace(3)
  store half %v, ptr addrspace(3) %q
  ret void
}}
""")  # fmt: skip
def turn(t: Tile["f16", "M", "N"], o: Out[Tile["f16", "N", "M"]]): ...


@triton.jit
def turn_kernel(x, y, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    t = turn(tl.load(x + i[:, None] * N + j[None, :]))
    tl.store(y + j[:, None] * M + i[None, :], t)


def test_a_memref_descriptor_and_a_shared_address():
    x = torch.randn(8, 16, device=DEVICE).half()
    y = torch.zeros(16, 8, device=DEVICE, dtype=torch.float16)
    turn_kernel[(1,)](x, y, M=8, N=16)
    if not COMPILE_ONLY:
        assert torch.equal(y, x.T)


@tle_raw.dialect("llvm", source="""
declare double @__nv_erf(double)
define void @both(ptr %x, double %y, i8 %flag) {
  %v = load double, ptr %x
  %e = call double @__nv_erf(double %v)
  %s = fadd double %e, %y
  %c = icmp ne i8 %flag, 0
  %w = select i1 %c, double %s, double %v
  store double %w, ptr %x
  ret void
}
""")  # fmt: skip
def both(x: InOut[Element["f64"]], y: Element["f64"], flag: Element["i1"]): ...


@triton.jit
def element_kernel(x, y, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    inside = offsets < n
    v = both(tl.load(x + offsets), tl.load(y + offsets), inside)
    tl.store(x + offsets, v)


def test_elements():
    x, y = torch.randn(2, 1024, device=DEVICE, dtype=torch.float64)
    before = x.clone()
    element_kernel[(1,)](x, y, 777, N=1024)
    if not COMPILE_ONLY:
        torch.testing.assert_close(x[:777], torch.erf(before[:777]) + y[:777], rtol=1e-14, atol=1e-15)
        assert torch.equal(x[777:], before[777:])
