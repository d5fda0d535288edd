"""The subjects in CUDA C++."""

from __future__ import annotations

from typing import Any

import tle_raw
from tle_raw import Element, InOut, Out, Pointer, Scalar, Tile

HEAD = "#include <tle_raw/tile.h>\n"


@tle_raw.dialect("cuda", source=HEAD + """
template <int N> __device__ void running(tle::tile<const float, N> x, tle::tile<float, N> y) {
  for (int i : y.indices()) {
    float sum = 0;
    for (int j = 0; j <= i; ++j) sum += x[j];
    y[i] = sum;
  }
}
""")  # fmt: skip
def running(x: Tile["f32", "N"], y: Out[Tile["f32", "N"]]): ...


@tle_raw.dialect("cuda", source=HEAD + """
template <int N> __device__ void scaled(tle::tile<float, N> t, float s, int k) {
  for (int i : t.indices()) t[i] = t[i] * s + k;
}
""")  # fmt: skip
def scaled(t: InOut[Tile["f32", "N"]], s: Scalar["f32"], k: Scalar["i32"]): ...


def product(factor: float) -> Any:
    def product(x: Element["f32"], w: Element["f32"]) -> Element["f32"]: ...

    source = f"__device__ float product(float x, float w) {{ return x * w - {factor}f * x; }}"
    return tle_raw.dialect("cuda", source=source)(product)


@tle_raw.dialect("cuda", source="""
extern "C" __device__ void halved(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] * 0.5f + 1;
}
""")  # fmt: skip
def halved(x: Pointer["f32"], y: InOut[Pointer["f32"]], n: Scalar["i32"]): ...


@tle_raw.dialect("cuda", source=HEAD + """
template <int N> __device__ void both(tle::tile<const float, N> x, tle::tile<float, N> y, tle::tile<int, N> signs) {
  for (int i : x.indices()) {
    y[i] = 2 * x[i];
    signs[i] = x[i] > 0 ? 1 : -1;
  }
}
""")  # fmt: skip
def both(x: Tile["f32", "N"], y: Out[Tile["f32", "N"]], signs: Out[Tile["i32", "N"]]): ...


SUBJECTS = {"tile": running, "scalar": scaled, "element": product(3.0), "pointer": halved, "results": both}


def stub(x: Element["f32"], w: Element["f32"]) -> Element["f32"]: ...


def missing() -> Any:
    return tle_raw.dialect("cuda", source="__device__ float there(float x, float w) { return x; }", symbol="absent")(
        stub
    )


def broken() -> Any:
    return tle_raw.dialect("cuda", source="""
__device__ float stub(float x, float w) {
  return x * undeclared + w;
}
""")(stub)  # fmt: skip
