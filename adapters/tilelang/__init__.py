"""TileLang: PrimFuncs as regions, traced into Triton IR where that reaches, else through TileLang's own lowering."""

from tle_raw.adapters.tilelang.adapter import TileLangAdapter
from tle_raw.adapters.tilelang.eager_kernel import EagerKernel, eager_kernel
from tle_raw.adapters.tilelang.split_kernels import split_kernels

__all__ = ["EagerKernel", "TileLangAdapter", "eager_kernel", "split_kernels"]
