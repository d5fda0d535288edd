"""What a kernel can do in a launch of CUDA's own only: named, at the line that asks for it."""

from __future__ import annotations

import re

from tle_raw.adapters.cpp.diagnostics import Diagnostic
from tle_raw.adapters.cuda.symbol import Callee, location_of
from tle_raw.errors import Context, UnsupportedFeatureError

_LAUNCH = re.compile(
    r"reference to __global__ function '(\w+)' in __(?:global|device|host)__"
    r"|'(cudaLaunch(?:Kernel|Device|Cooperative|HostFunc)\w*)'"
    r"|'__cuda(Push)CallConfiguration'"
)
_LAUNCHED = re.compile(r"(\w+)\s*(?:<(?:[^<>]|<[^<>]*>)*>)?\s*<<<")
_CALLED = re.compile(r"no matching function for call to '([^']+)'")
_REFERENCE = re.compile(r"no (?:template|type) named '(texture|surface)'|unknown type name '(texture|surface)'")
_INSTEAD = {
    "texture": "take an object as a parameter, cudaTextureObject_t, and read it by tex1Dfetch<float>(object, x), "
    "tex2D<float>(object, x, y), …; or read memory by a pointer: __ldg() takes the same cache",
    "surface": "take an object as a parameter, cudaSurfaceObject_t, and use it by surf2Dread<float>(object, x, y), "
    "surf2Dwrite(value, object, x, y), …",
}


def refused_construct(error: Diagnostic, line: str) -> UnsupportedFeatureError | None:
    """The compiler's error of a construct that no region can have; its place, the ``line``, is left to the caller."""
    launch, called = _LAUNCH.search(error.text), _CALLED.match(error.text)
    if called and not any("call to __global__ function from" in note.text for note in error.notes):
        called = None
    if launch or (called and "<<<" in line):
        # clang says what stands for the launch, and in instances of templates not the kernel's name
        named = _LAUNCHED.search(line)
        kernel = (launch and launch[1]) or (named and named[1])
        what = f"the launch of `{kernel}`" if kernel else f"`{launch[2]}`" if launch and launch[2] else "`<<<…>>>`"
        return UnsupportedFeatureError(
            f"dynamic parallelism ({what}) cannot work inside a Triton kernel",
            hint="do the work in the calling block, or in a kernel of its own",
        )
    if called:
        return UnsupportedFeatureError(
            f"`{called[1]}` is a __global__ function, which only a launch can start, and it is called",
            hint="move its body into a __device__ function that both call",
        )
    reference = _REFERENCE.search(error.text)
    if reference:
        kind = reference[1] or reference[2]
        return UnsupportedFeatureError(
            f"`{kind}<…>` is a {kind} reference, which CUDA has had no more since version 12",
            hint=_INSTEAD[kind],
        )
    return None


def refuse_clusters(callee: Callee, cluster: int) -> None:
    """A kernel that is launched in clusters of blocks: a region's block is a cluster of its own, a whole kernel says.

    Raises
    ------
    UnsupportedFeatureError : at the function's line.
    """
    if cluster == 1 and callee.function and "__cluster_dims__" in callee.function.specifiers:
        raise UnsupportedFeatureError(
            f"the kernel `{callee.name}` asks for clusters of blocks (__cluster_dims__), and each block of its launch "
            f"stands alone",
            hint="launch it alone, as_kernel(block=…, cluster=2) with as many blocks along x as the attribute says; or "
            "leave the attribute out where clusters of one block will do",
            context=Context(source=location_of(callee.function)),
        )
