"""What a kernel can do in a launch of CUDA's own only: named, at the line that asks for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from tle_raw.adapters.cpp.diagnostics import Diagnostic
from tle_raw.adapters.cuda.symbol import Callee, location_of
from tle_raw.errors import Context, SourceLocation, UnsupportedFeatureError
from tle_raw.linker.llvm.calls import calls
from tle_raw.linker.llvm.sites import Sites
from tle_raw.linker.llvm.text import Module

_LAUNCH = re.compile(
    r"reference to __global__ function '(\w+)' in __(?:global|device|host)__"
    r"|'(cudaLaunch(?:Kernel|Device|Cooperative|HostFunc)\w*)'"
    r"|'__cuda(Push)CallConfiguration'"
)
_CALLED = re.compile(r"no matching function for call to '([^']+)'")
_TEXTURES = re.compile(r"'(texture|surface|tex(?:1D|2D|3D|Cubemap)\w*|surf(?:1D|2D|3D|Cubemap)\w*)'")
# PTX that a region's launch gives no meaning to, by the beginning of the instruction.
_INSTRUCTIONS = (
    (re.compile(r'"(?:tex|tld4|txq)\.'), "a texture", "a texture object of the host",
     "read the memory through a pointer: __ldg() takes the same cache"),
    (re.compile(r'"(?:suld|sust|sured|suq)\.'), "a surface", "a surface object of the host",
     "read and write the memory through a pointer"),
)  # fmt: skip


def refused_construct(error: Diagnostic) -> UnsupportedFeatureError | None:
    """The compiler's error of a construct that no region can have; its place is left to the caller."""
    launch = _LAUNCH.search(error.text)
    if launch:
        # of an instance of a template clang names what `<<<…>>>` stands for first
        what = f"the launch of `{launch[1]}`" if launch[1] else "`<<<…>>>`" if launch[3] else f"`{launch[2]}`"
        return UnsupportedFeatureError(
            f"dynamic parallelism ({what}) cannot work inside a Triton kernel",
            hint="do the work in the calling block, or in a kernel of its own",
        )
    called = _CALLED.match(error.text)
    if called and any("call to __global__ function from" in note.text for note in error.notes):
        return UnsupportedFeatureError(
            f"`{called[1]}` is a __global__ function, which only a launch can start, and it is called",
            hint="move its body into a __device__ function that both call",
        )
    fetch = _TEXTURES.search(error.text)
    if fetch:
        kind = "surface" if fetch[1].startswith("surf") else "texture"
        return UnsupportedFeatureError(
            f"{kind}s (`{fetch[1]}`) cannot be bound inside a Triton kernel",
            hint="read the memory through a pointer: __ldg() takes the same cache",
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


def refuse_instructions(
    module: Module,
    reached: Collection[str],
    name: str,
    source_location: SourceLocation,
    is_users: Callable[[str], bool],
) -> None:
    """Look through what the kernel reaches.

    Raises
    ------
    UnsupportedFeatureError : textures, surfaces; at the user's line.
    """
    for what, needs, hint, location in _found(module, reached, _INSTRUCTIONS):
        site = Sites(module, source_location, is_users).source_location(location) or source_location
        raise UnsupportedFeatureError(
            f"the kernel `{name}` has {what}, which needs {needs}", hint=hint, context=Context(source=site)
        )


def _found(
    module: Module, reached: Collection[str], patterns: Sequence[tuple[re.Pattern[str], str, str, str]]
) -> Iterator[tuple[str, str, str, str]]:
    for entity in module.of_kind("define"):
        if entity.name not in reached or " asm " not in module.text[entity.body : entity.end]:
            continue
        for call in calls(module, entity, "@llvm.none"):
            for pattern, what, needs, hint in patterns:
                if call.assembly and pattern.search(call.assembly):
                    yield what, needs, hint, call.location
