"""CuPy's own kernels as fragments: raw kernels and modules, elementwise kernels and reductions."""

from tle_raw.adapters.cupy.adapter import CupyAdapter

__all__ = ["CupyAdapter"]
