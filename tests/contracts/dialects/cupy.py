"""The subjects as CuPy's kernels."""

from __future__ import annotations

from typing import Any

import cupy

import tle_raw


def product(factor: float) -> Any:
    return tle_raw.fragment(cupy.ElementwiseKernel("float32 x, float32 w", "float32 y", f"y = x * w - {factor}f * x"))


HALVED = """
extern "C" __global__ void halved(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] * 0.5f + 1;
}
"""

SUBJECTS = {
    "scalar": tle_raw.fragment(cupy.ElementwiseKernel("float32 x, float32 s, int32 k", "float32 y", "y = x * s + k")),
    "element": product(3.0),
    "pointer": tle_raw.fragment(cupy.RawKernel(HALVED, "halved")),
}


def missing() -> Any:
    return tle_raw.fragment(cupy.RawModule(code=HALVED), symbol="absent")


def broken() -> Any:
    return tle_raw.fragment(cupy.RawKernel(HALVED.replace("0.5f", "undeclared"), "halved"))
