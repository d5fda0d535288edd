"""CUDA C++ fragments, compiled by clang."""

from tle_raw.adapters.cuda.adapter import CudaAdapter

__all__ = ["CudaAdapter"]
