"""Mathematical functions as vector arithmetic: LLVM alone would call libm once for each lane.

========================================== =========================================================================
operations of ``math``                     what becomes of them
========================================== =========================================================================
abs, ceil, floor, round, trunc, fma, sqrt, stay: the host has instructions for them
copysign, integers and predicates
the others on f32, f16, bf16               ``func.call`` of a private function ``@tle.<name>.<type>``, which LLVM
                                           inlines; half precision is computed in f32
exp, exp2, expm1, log, log10, log1p, log2, likewise
rsqrt on f64
the others on f64                          stay: calls of libm, lane by lane
========================================== =========================================================================

The functions hold no branches, but one: arguments of sin, cos and tan beyond 2**16 take the long way, when there are
any. They run in f32 where speed counts (exp, exp2, log, log2, log10, sin, cos, tanh, erf), in f64 elsewhere, whose
spare bits take the place of an error analysis.
"""

from __future__ import annotations

from typing import Any


def expand_math(module: Any, *, fma: bool = True) -> None:
    """Replace the ``math`` operations of a module by calls of functions that are added to it.

    Parameters
    ----------
    module : a module of the MLIR bindings (func, scf, arith, math, vector, llvm), changed in place. Run it after
        vectorisation: a function is made for each type that stands in the module.
    fma : whether the host has fused multiply-add. Without it LLVM would call ``fma()`` of libm.
    """
    from tle_raw.flir.cpu.math_functions.expand import expand  # the MLIR bindings are imported when a kernel needs them

    expand(module, fma)
