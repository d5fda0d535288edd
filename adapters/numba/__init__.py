"""Functions and kernels of numba.cuda as fragments: Numba lowers them to LLVM IR, which is linked."""

from tle_raw.adapters.numba.adapter import NumbaAdapter

__all__ = ["NumbaAdapter"]
