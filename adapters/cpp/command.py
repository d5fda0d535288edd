"""The compiler's command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tle_raw.adapters.cpp.block_indices import index_defines
from tle_raw.adapters.cpp.lean_headers import OF_BLOCKS
from tle_raw.adapters.cpp.options import Options
from tle_raw.adapters.cpp.toolchain import INCLUDE, Toolchain

# Triton inlines everything that is not __noinline__ anyway; here it is done where the compiler still optimises.
_INLINE_ALL = "-inline-threshold=100000"
# Loops are unrolled about as nvcc 13.0 does it, which kernels with loops of every size told: all turns of
# short loops; four turns, or two, of longer loops, and of those whose turns are counted at run time. That count may
# take nine instructions to compute, as for a loop of 64 bits that begins at the thread's index; LLVM's own limit is 4.
# Turns that are left over are no loop.
_UNROLL = (
    "-unroll-threshold=1000",
    "-unroll-max-count=4",
    "-unroll-partial-threshold=130",
    "-scev-cheap-expansion-budget=9",
    "-unroll-remainder",
)
# A local array lives in registers only where the loops over it have no turns left, for which nvcc unrolls more.
_UNROLL_FOR_ARRAYS = "-unroll-threshold=2000"
# A loop that asks something that no turn changes becomes two loops, each without the question. LLVM does that for CPUs
# alone, where threads do not part; here it is kept where they all give the same answer (`without_unswitching`). Its
# limit is 50, for which a division is too much.
_UNSWITCH = ("-enable-nontrivial-unswitch", "-unswitch-threshold=200")
# Two turns of a loop over halves or bytes at a time want strides and distances compared before it, three forms of the
# loop, and registers for them; nvcc has the loop alone. Halves that lie side by side become words without it.
_NO_VECTORS = ("-fno-vectorize",)
# nvcc lets code read memory as another type than it was written as, and programs do.
ANY_TYPE = "-fno-strict-aliasing"
# What nvcc warns of, at most, and clang's own warnings are errors by default.
_WARNED_OF = (
    "-Wno-address-of-temporary",
    "-Wno-c++11-narrowing",
    "-Wno-elaborated-enum-class",
    "-Wno-increment-bool",
    "-Wno-invalid-constexpr",
    "-Wno-missing-template-arg-list-after-template-kw",
    "-Wno-register",
    "-Wno-reserved-user-defined-literal",
    "-Wno-return-mismatch",
    "-Wno-static-float-init",
)
_NO_UNROLLING = frozenset(("-O0", "-O1", "-Og", "-Os", "-Oz", "-fno-unroll-loops"))


def command_line(
    toolchain: Toolchain, options: Options, arch: str, folder: Path, line_info: bool = True
) -> tuple[str, ...]:
    """Everything but the output; the unit comes by standard input. The user's flags come last and win."""
    searched = _searched(options, folder)
    return (*_before_unit(toolchain, options, arch, line_info), *searched, *options.flags, *options.stand_ins)


def headers_line(toolchain: Toolchain, options: Options, arch: str, only_cudas: bool = False) -> tuple[str, ...]:
    """The part of ``command_line`` by which the headers that come before every unit are read.

    ``only_cudas`` says that no others are, so that it does not matter what stands in for them.
    """
    stand_ins = () if only_cudas else options.stand_ins
    return (*_before_unit(toolchain, options, arch, True), *options.flags, *stand_ins)


def _before_unit(toolchain: Toolchain, options: Options, arch: str, line_info: bool) -> tuple[str, ...]:
    command = [*toolchain.command]
    if toolchain.resource_dir:
        command += ["-resource-dir", str(toolchain.resource_dir)]
    command += [
        "-x",
        "cuda",
        "--cuda-device-only",
        f"--cuda-gpu-arch={arch}",
        f"--cuda-path={toolchain.toolkit.root}",
    ]
    command += ["-isystem", str(INCLUDE / "tle_raw" / "of_blocks")] if OF_BLOCKS in options.lean else []
    command += ["-idirafter", str(toolchain.stubs), "-isystem", str(INCLUDE)]
    if toolchain.cccl:
        command += ["-isystem", str(toolchain.cccl)]
    command += toolchain.host.options
    # behind clang's own headers, in front of all others
    for header in ("vector_atomics", "nvcc_functions", "nvcc_rare_functions", "short_floats", "new_delete"):
        command += ["-include", f"tle_raw/{header}.h"]
    # the first define: CUDA 13.5 headers use a macro that clang's wrapper does not know
    # the second: cooperative groups have clusters where the compiler is known to have their functions
    command += [
        "-D_NV_RSQRT_SPECIFIER=",
        "-D_CG_CLUSTER_INTRINSICS_AVAILABLE",
        "-Wno-unknown-cuda-version",
        "-Wno-invalid-specialization",
        *_WARNED_OF,
    ]
    command += ["-fno-caret-diagnostics", "-fno-color-diagnostics", "-fmessage-length=0", "-O3"]
    command += ["-std=c++17", "-fgnu-keywords"]  # `typeof`, which nvcc knows
    # "directives": PTX gets .loc lines and no debug sections; the folder keeps the text the same anywhere
    command += ["-gline-directives-only", "-fdebug-compilation-dir=."] if line_info else []
    command += index_defines(options.block, options.grid)
    command += (f"-D{define}" for define in options.lean)
    # other defines come after the headers that every unit needs: -DT=float would break them
    return (*command, *(f"-D{define}" for define in options.defines if define.startswith("_")))


def _searched(options: Options, folder: Path) -> tuple[str, ...]:
    # a source string's quoted includes start at its Python file's folder, a file's own at the file
    quoted = ("-iquote", str(options.file.parent if options.file else folder))
    return (*quoted, *(part for path in options.include_dirs for part in ("-I", str(path))))


def optimiser_flags(
    users: Sequence[str], is_kernel: bool, is_for_gpu: bool, has_arrays: bool = False
) -> tuple[str, ...]:
    """What the compiler is told of CUDA code beyond the level. LLVM takes each of these once: the user's own stand.

    ``has_arrays``: the code without that has local arrays in memory, and is compiled once more.
    """
    wanted = [_INLINE_ALL] if is_kernel else []
    if is_for_gpu and _NO_UNROLLING.isdisjoint(users):
        wanted += (_UNROLL_FOR_ARRAYS, *_UNROLL[1:]) if has_arrays else _UNROLL
        wanted += _UNSWITCH if is_kernel else ()
    names = {flag.lstrip("-").partition("=")[0] for flag in users}
    aliasing = () if "-fstrict-aliasing" in users else (ANY_TYPE,)
    scalar = _NO_VECTORS if is_kernel and is_for_gpu and "-fvectorize" not in users else ()
    told = (part for flag in wanted if flag.strip("-").partition("=")[0] not in names for part in ("-mllvm", flag))
    return (*aliasing, *scalar, *told)


def without_unswitching(flags: Sequence[str]) -> tuple[str, ...]:
    """The flags without those by which loops are divided: each of these stands behind an ``-mllvm``."""
    own = [place for place, flag in enumerate(flags) if flag in _UNSWITCH]
    return tuple(flag for place, flag in enumerate(flags) if place not in own and place + 1 not in own)
