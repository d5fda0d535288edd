"""The subjects as PyCUDA's kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from tle_raw import pycuda

MODULE = pycuda.SourceModule("""
__global__ void halved(const float *x, float *y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] * 0.5f + 1;
}
""")


def product(factor: float) -> Any:
    return pycuda.ElementwiseKernel("float *x, float *w, float *y", f"y[i] = x[i] * w[i] - {factor}f * x[i]", "product")


SUBJECTS = {
    "tile": pycuda.InclusiveScanKernel(np.float32, "a+b"),
    "scalar": pycuda.ElementwiseKernel("float *x, float s, int k, float *y", "y[i] = x[i] * s + k", "scaled"),
    "element": product(3.0),
    "pointer": MODULE.get_function("halved"),
}


def missing() -> Any:
    return MODULE.get_function("absent")


def broken() -> Any:
    return pycuda.SourceModule("""
__global__ void halved(const float *x, float *y, int n) {
  y[0] = undeclared * x[0];
}
""").get_function("halved")
