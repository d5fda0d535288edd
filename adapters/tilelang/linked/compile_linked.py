"""From a PrimFunc to LLVM IR text: lower, rewrite, compile by clang."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tle_raw.adapters.common.launched_kernel import WARP, launched_threads, whole_warps
from tle_raw.adapters.cpp.command import ANY_TYPE
from tle_raw.adapters.cpp.options import Options, read_options
from tle_raw.adapters.cpp.precompiled_headers import compile_unit
from tle_raw.adapters.cpp.toolchain import Toolchain, belongs_to, find_toolchain
from tle_raw.adapters.tilelang.installed import RANGE, installed_version
from tle_raw.adapters.tilelang.linked.beginning import common_beginning
from tle_raw.adapters.tilelang.linked.curand import curand_folders, curand_version
from tle_raw.adapters.tilelang.linked.device_function import device_function
from tle_raw.adapters.tilelang.linked.explain import explain
from tle_raw.adapters.tilelang.linked.host_call import HostValueError, descriptors_missing
from tle_raw.adapters.tilelang.linked.lower import Lowered
from tle_raw.adapters.tilelang.linked.lower_for_emulation import lower_for_emulation
from tle_raw.adapters.tilelang.linked.lower_for_launch import lower_for_launch
from tle_raw.adapters.tilelang.linked.lower_tiles import lower_with_tiles
from tle_raw.adapters.tilelang.linked.register_budgets import needed_by_products
from tle_raw.adapters.tilelang.linked.write_unit import Unit, write_unit
from tle_raw.adapters.tilelang.named_buffers import NamedBuffer
from tle_raw.adapters.tilelang.named_tiles import NamedTile
from tle_raw.adapters.tilelang.tir_types import PrimFunc
from tle_raw.errors import Row, SourceLocation, TLEError, ToolchainError, UnsupportedFeatureError
from tle_raw.fragments.adapter import CompilerOutput, DeviceCode, Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.parameter_types import OUT
from tle_raw.knobs import knobs
from tle_raw.linker.llvm.no_vectors import NO_VECTORS
from tle_raw.linker.tools.wheels import package_folder
from tle_raw.target import Target
from tle_raw.targets.base import DeviceCodeWanted
from tle_raw.targets.device_code import wanted_device_code

LINKED = "linked"  # the route's name
WITHOUT_TMA = "sm_80"  # the newest architecture whose operations are all those of threads
# What nvcc means by --use_fast_math, as far as clang can do it before Triton's own code generation.
_FAST_MATH = ("-fgpu-flush-denormals-to-zero", "-fgpu-approx-transcendentals")
# Accumulators live in registers only where the loops over them are unrolled, as nvcc does. Loops over k are longer.
_UNROLL = ("-mllvm", "-unroll-threshold=1500")
_HINT = "write that part by tile operations: what is traced runs on the CPU"


@dataclass(frozen=True)
class Linkable:
    """What there is to link.

    Attributes
    ----------
    prim_func : the PrimFunc. The signature's parameters have its buffers', scalars' and dynamic dims' own names.
    places : where each block index comes from, by its tag: ``{"blockIdx.x": 0, "blockIdx.y": "row"}`` is the first
        program id, and a parameter of the signature.
    pass_configs : TileLang's pass configuration. ``tiles`` : the buffers that are tiles of the caller, by name.
    tma : the caller passes TMA descriptors, and has the warps that TileLang wants: nothing is lowered away.
    exclusive : the region is all that its kernel does. The launch then has as many threads as the kernel; otherwise the
        next power of two.
    barriers : the buffers that are barriers of the caller. ``buffers`` : those that are its shared buffers.
    """

    prim_func: PrimFunc
    places: Mapping[str, int | str] = field(default_factory=dict)
    pass_configs: Mapping[str, Any] = field(default_factory=dict)
    tiles: Mapping[str, NamedTile] = field(default_factory=dict)
    tma: bool = False
    exclusive: bool = False
    barriers: tuple[str, ...] = ()
    buffers: tuple[NamedBuffer, ...] = ()


@dataclass(frozen=True)
class LinkedUnit:
    """The text that clang compiles for ``arch``, with what TileLang told of it."""

    unit: Unit
    lowered: Lowered
    route: str
    arch: str


def compiler_identity() -> str:
    """One line that names TileLang, clang and their headers by version.

    Raises
    ------
    ToolchainError : one of them is missing.
    """
    _headers()
    curand = curand_version()
    return f"TileLang {installed_version()}, {find_toolchain().identity()}" + (f", {curand}" if curand else "")


def linked_unit(source: Source, linkable: Linkable, bound: BoundSignature, wanted: DeviceCodeWanted) -> LinkedUnit:
    """The C++ text for one call and one target."""
    if wanted.is_emulated:
        linkable = replace(linkable, exclusive=False)  # idle threads are there
        own = linkable
        lowered, arch = lower_for_emulation(own.prim_func, own.tiles, own.pass_configs, own.buffers, own.tma)
        route = f"{LINKED}, with TMA" if lowered.descriptors else LINKED
    else:
        arch = wanted.arch
        lowered, route = _lower(linkable, arch)
        _check_barriers(lowered, linkable.exclusive)
    clusters = _takes_clusters(lowered, linkable.exclusive, wanted.is_emulated)
    launched = whole_warps(lowered.threads if linkable.exclusive else launched_threads(lowered.threads))
    blocks = (lowered.threads, launched)
    given = linkable.barriers, linkable.buffers
    function = device_function(lowered.text, lowered.kernel, *blocks, linkable.exclusive, *given, clusters)
    tiles = {name: tile.effect == OUT and not tile.is_written_whole for name, tile in linkable.tiles.items()}
    needed = needed_by_products(lowered.text) if function.budgets else 0
    if function.budgets and needed > function.budgets.launch:
        raise UnsupportedFeatureError(
            f"the products of `{source.name}` need more registers than a thread has in a block of {launched}",
            table=[Row("registers of a thread", f"at least {needed}", str(function.budgets.launch))],
            hint="leave tma= out, or launch it by as_kernel()",
        )
    unit = write_unit(
        source.name, lowered, function, bound, linkable.places, [arch], tiles, launched, linkable.exclusive,
        wanted.is_emulated,
    )  # fmt: skip
    return LinkedUnit(unit, lowered, route, arch)


def _check_barriers(lowered: Lowered, exclusive: bool) -> None:
    """Barriers of the block count its warps, and those of the grid its threads, so that some may not stand idle.

    A whole kernel's idle threads are those that its last warp has too many, and are gone at once.
    """
    launched = lowered.threads if exclusive else launched_threads(lowered.threads)
    idle = whole_warps(launched) - lowered.threads
    if "this_grid" in lowered.text and idle:
        what, wanted = "T.sync_grid", "a multiple of 32" if exclusive else "a power of two, from 32 on"
    elif "__syncthreads" in lowered.text and lowered.threads % WARP and not exclusive:
        what, wanted = "a barrier", "a multiple of 32"
    else:
        return
    raise UnsupportedFeatureError(
        f"the threads of the TileLang kernel wait for each other at {what}, and the launch has more of them",
        table=[Row("threads=", wanted, str(lowered.threads))],
    )


def _takes_clusters(lowered: Lowered, exclusive: bool, is_emulated: bool) -> bool:
    """Whether blocks are launched in clusters: along x, by a launch of the kernel alone, on a GPU."""
    if max(lowered.cluster) == 1:
        return False
    # A launch of one ended with an illegal instruction on an H200; what was mended since has not been seen there.
    is_seen_to_work = False
    asked = " x ".join(map(str, lowered.cluster))
    if is_emulated:
        what, wanted, hint = "on the CPU each block stands alone", "1 x 1 x 1", "launch it on a GPU"
    elif not is_seen_to_work:
        what, wanted = "this release does not do that", "1 x 1 x 1"
        hint = "leave cluster_dims= out, or launch the kernel with TileLang"
    elif not exclusive:
        what, wanted, hint = "Triton launches a region", "1 x 1 x 1", "fragment.as_kernel() launches it so"
    elif max(lowered.cluster[1:]) > 1:
        what, wanted, hint = "Triton's are along x", "n x 1 x 1", "leave cluster_dims= out, or give them along x"
    else:
        return True
    raise UnsupportedFeatureError(
        f"the TileLang kernel is launched in clusters of blocks, and {what}",
        table=[Row("cluster_dims", wanted, asked)],
        hint=hint,
    )


def _lower(linkable: Linkable, arch: str) -> tuple[Lowered, str]:
    """Lower for the architecture, or, where that takes TMA descriptors, for one that has none; and the route's name.

    Some operations, such as a convolution's, have no other form from sm_90 on.
    """
    try:
        form = lower_for_launch if linkable.tma else lower_with_tiles
        lowered = form(linkable.prim_func, linkable.tiles, arch, linkable.pass_configs)
        if not lowered.descriptors:
            return lowered, LINKED
        if linkable.tma:
            return lowered, f"{LINKED}, with TMA"
        raise descriptors_missing(len(lowered.descriptors))
    except HostValueError as error:
        try:
            lowered = lower_with_tiles(linkable.prim_func, linkable.tiles, WITHOUT_TMA, linkable.pass_configs)
            return lowered, f"{LINKED}, as for {WITHOUT_TMA}"
        except TLEError:
            raise error from None


def compile_linked(
    source: Source, bound: BoundSignature, target: Target, linkable: Linkable | None = None
) -> CompilerOutput:
    """Compile for one call and one target. ``linkable`` is ``source.data`` where it is not given.

    Raises
    ------
    ToolchainError : TileLang, clang or a header is missing.
    CompilationFailed : TileLang refused the PrimFunc, or clang what TileLang wrote.
    UnsupportedFeatureError : the kernel needs a launch of its own kind.
    SignatureMismatchError : the kernel takes what the signature does not pass.
    """
    wanted = wanted_device_code(target, "TileLang's own lowering is")
    try:
        return _compile(source, linkable or source.data, bound, wanted)
    except TLEError as error:
        raise error.at(fragment=source.name, source=source.location) from None


def _compile(source: Source, linkable: Linkable, bound: BoundSignature, wanted: DeviceCodeWanted) -> CompilerOutput:
    toolchain, headers = find_toolchain(), _headers()
    linked = linked_unit(source, linkable, bound, wanted)
    arch = linked.arch
    headers += curand_folders(linked.unit.text, toolchain.toolkit.root)
    options = _options(toolchain, headers, source.location, linkable, linked.lowered.block, replace(wanted, arch=arch))
    run = compile_unit(
        toolchain,
        options,
        arch,
        Path(source.location.file).parent,
        linked.unit.text,
        knobs.compile_timeout,
        line_info=bool(knobs.line_info) or wanted.is_emulated,
        beginning=common_beginning(linked.unit.text, arch, headers[0]),
    )
    if run.returncode != 0:
        raise explain(run, toolchain, headers, arch, knobs.compile_timeout)
    own = (*toolchain.folders, *headers, *(header.resolve() for header in headers))
    return CompilerOutput(
        run.text,
        linked.unit.entry,
        tuple(sorted({file for file in run.files if not belongs_to(own, file)})),
        run.seconds,
        compiler_identity(),
        run.command,
        dynamic_shared=linked.unit.shared,
        block=linked.lowered.block if linked.unit.threads == linked.lowered.threads else (linked.unit.threads,),
        register_limit=linked.unit.registers,
        exclusive=linkable.exclusive and not wanted.is_emulated,
        route=linked.route,
        device=DeviceCode(source.name, source.location, _is_users, _HINT) if wanted.is_emulated else None,
    )


def _is_users(file: str) -> bool:
    """TileLang's text names the kernel's own file and line, which is Python."""
    return file.endswith(".py")


def _options(
    toolchain: Toolchain,
    headers: tuple[Path, ...],
    location: SourceLocation,
    linkable: Linkable,
    block: Sequence[int],
    wanted: DeviceCodeWanted,
) -> Options:
    settings = {str(getattr(key, "value", key)): value for key, value in linkable.pass_configs.items()}
    flags: list[str] = ["-std=c++20", "-w", ANY_TYPE, *(() if wanted.is_emulated else (*_UNROLL, *NO_VECTORS))]
    for header in headers:
        flags += ["-isystem", str(header)]
    # The headers choose what a compiler can do by nvcc's version, which clang does not tell.
    major, _, minor = toolchain.toolkit_version.partition(".")
    flags += [f"-D__CUDACC_VER_MAJOR__={major}", f"-D__CUDACC_VER_MINOR__={minor}"]
    flags += [f"-D__CUDA_ARCH_LIST__={''.join(filter(str.isdecimal, wanted.arch))}0"]
    flags += _FAST_MATH if settings.get("tl.enable_fast_math") else ()
    flags += _users(settings.get("tl.device_compile_flags") or ())
    return read_options({"source": "", "flags": flags, "block": tuple(block)}, Path(location.file).parent)


def _users(flags: Any) -> list[str]:
    """The user's own flags for nvcc; those for ptxas have no meaning before Triton's own."""
    words = shlex.split(flags) if isinstance(flags, str) else [w for flag in flags for w in shlex.split(str(flag))]
    return [word for word in words if not word.startswith(("--ptxas-options", "-Xptxas", "-lineinfo"))]


def _headers() -> tuple[Path, ...]:
    """TileLang's own headers and CUTLASS's, inside its wheel."""
    folder = package_folder("tilelang")
    if folder is None:
        raise ToolchainError("TileLang is not installed", hint=f"pip install '{RANGE}'")
    found = (folder / "src", folder / "3rdparty" / "cutlass" / "include")
    for header in found:
        if not header.is_dir():
            raise ToolchainError(f"TileLang's wheel lacks its headers in {header}", hint=f"pip install '{RANGE}'")
    return found
