"""Rounding to bf16 where the CPU has no instruction for it: functions that LLVM calls then, and few libraries have.

On x86-64 without AVX512-BF16 LLVM makes calls of ``__truncsfbf2`` and ``__truncdfbf2`` of some ``fptrunc``. compiler-rt
and GCC 13's libgcc define them. Both round to the nearest, ties to even, and keep a NaN one.
"""

from __future__ import annotations

from collections.abc import Iterable

from tle_raw.host.cpu import HostCpu

# A double goes by way of a float that is rounded to odd: what the second rounding asks is in its last bit.
DEFINITIONS = """
define weak hidden bfloat @__truncsfbf2(float %x) noinline {
  %bits = bitcast float %x to i32
  %high = lshr i32 %bits, 16
  %odd = and i32 %high, 1
  %half = add i32 %odd, 32767
  %sum = add i32 %bits, %half
  %nearest = lshr i32 %sum, 16
  %quiet = or i32 %high, 64
  %is_nan = fcmp uno float %x, 0.0
  %chosen = select i1 %is_nan, i32 %quiet, i32 %nearest
  %word = trunc i32 %chosen to i16
  %result = bitcast i16 %word to bfloat
  ret bfloat %result
}

define weak hidden bfloat @__truncdfbf2(double %x) noinline {
  %nearest = fptrunc double %x to float
  %back = fpext float %nearest to double
  %is_exact = fcmp ueq double %back, %x
  %size = call double @llvm.fabs.f64(double %x)
  %back_size = call double @llvm.fabs.f64(double %back)
  %is_larger = fcmp ogt double %back_size, %size
  %one = zext i1 %is_larger to i32
  %bits = bitcast float %nearest to i32
  %below = sub i32 %bits, %one
  %to_odd = or i32 %below, 1
  %chosen = select i1 %is_exact, i32 %bits, i32 %to_odd
  %single = bitcast i32 %chosen to float
  %result = call bfloat @__truncsfbf2(float %single)
  ret bfloat %result
}

declare double @llvm.fabs.f64(double)
"""


def may_call(texts: Iterable[str], cpu: HostCpu) -> bool:
    """Whether code of these LLVM IR texts may call the functions on this CPU."""
    return "+avx512bf16" not in cpu.features and any("bfloat" in text for text in texts)
