"""PyCUDA's modules and kernels as fragments, from plain source or from PyCUDA's own objects."""

from tle_raw.adapters.pycuda.adapter import PycudaAdapter

__all__ = ["PycudaAdapter"]
