"""The passes of FLIR as values, in the order in which they run: one tuple for each pipeline.

``run_stage`` runs a pipeline from its tuple. ``knobs.print_after``, ``knobs.disable_passes``, ``tle-raw inspect
--passes`` and the tests read the same tuples. The names are part of the interface.

This module is loaded with the knobs, at ``import tle_raw``: it imports nothing but the standard library, and a pass
names its file and function instead of importing them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

ALL = "all"

# What a pass does with the module.
REWRITES = "rewrites"  # and can be shown by knobs.print_after
DECIDES = "decides"  # finds out what later passes need
CHECKS = "checks"  # raises an error, or changes nothing
OUTSIDE = "outside"  # Triton's own stage, or another tool

# How often a pass must find what it looks for, in a kernel that asks for it.
ANY = 0
PROMISED = 1  # at least once: the kernel, or one of its fragments, promised that it stands there

# The stage of passes over one fragment, by itself. They run while it is compiled, and are not shown.
FRAGMENT_STAGE = "fragment"


@dataclass(frozen=True)
class Pass:
    """One step of a pipeline.

    Attributes
    ----------
    name : for settings, errors and lists.
    stage : the stage of the compilation in which it runs, as Triton calls it.
    file : where it is written, within the package.
    run : the function of that file.
    does : what the module is, or what is known of it, afterwards.
    kind : ``REWRITES``, ``DECIDES``, ``CHECKS`` or ``OUTSIDE``.
    expects : how often it must find its pattern where the kernel asks for the pass: ``ANY`` or ``PROMISED``.
    for_speed : the code is as right without it, and slower: ``knobs.disable_passes`` turns it off.
    """

    name: str
    stage: str
    file: str
    run: str
    does: str
    kind: str = REWRITES
    expects: int = ANY
    for_speed: bool = False

    @property
    def module(self) -> str:
        """The file as Python imports it."""
        return "tle_raw." + self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def can_be_shown(self) -> bool:
        return self.kind == REWRITES and self.stage != FRAGMENT_STAGE


# After Triton's own `ttir` stage, on every target, for kernels with regions.
VIEW = (
    Pass(
        "show-regions",
        "tle",
        "flir/dialect/show_regions.py",
        "show_regions",
        'the kernel\'s Triton IR with its regions as tle.dsl_region: kernel.asm["tle"]',
    ),
)

# Kernels for NVIDIA GPUs all of whose regions are traced. All else there is Triton's.
NVIDIA_TRACED = (
    Pass(
        "order-traced-regions",
        "ttgir",
        "flir/nvidia/order_regions.py",
        "place_in_text",
        "block barriers between traced regions and the code around them, in place of their markers",
    ),
)

# Kernels with linked regions, for NVIDIA GPUs.
NVIDIA = (
    Pass(
        "convert-to-ttgpuir",
        "ttgir",
        "flir/nvidia/convert_to_ttgpuir.py",
        "convert_to_ttgpuir",
        "a layout for every tensor; the regions are still port markers",
    ),
    Pass(
        "read-ports",
        "ttgir",
        "flir/nvidia/read_ports.py",
        "read_regions",
        "the regions of the module, from their port markers",
        kind=DECIDES,
        expects=PROMISED,
    ),
    Pass(
        "declared-block",
        "ttgir",
        "flir/exact_block.py",
        "exact_block",
        "the block that the regions were declared for, where no launch of Triton's has as many threads",
        kind=DECIDES,
    ),
    Pass(
        "check-launch",
        "ttgir",
        "flir/nvidia/check_regions.py",
        "check_launch",
        "the launch has the block and the cluster that the fragments were declared for",
        kind=CHECKS,
    ),
    Pass(
        "check-not-specialised",
        "ttgir",
        "flir/nvidia/check_regions.py",
        "check_not_specialised",
        "no loop asks for warp specialisation",
        kind=CHECKS,
    ),
    Pass(
        "compile-fragments",
        "ttgir",
        "flir/compile_fragments.py",
        "compile_fragments",
        "LLVM IR of each fragment, or what the cache has",
        kind=DECIDES,
    ),
    # Over each fragment, by `linker/prepare.py`, before it enters the cache.
    Pass(
        "normalise",
        FRAGMENT_STAGE,
        "linker/llvm/normalise.py",
        "normalise",
        "a module that links with Triton's: no clashing flags, no target attributes, older spellings",
    ),
    Pass(
        "pack-halves",
        FRAGMENT_STAGE,
        "linker/llvm/pack_halves.py",
        "pack_halves",
        "halves that are shifted into an integer as a vector",
        for_speed=True,
    ),
    Pass(
        "privatise",
        FRAGMENT_STAGE,
        "linker/llvm/symbols.py",
        "privatise",
        "names that clash with nobody's, and the entry to be inlined",
    ),
    Pass(
        "check-alone",
        "ttgir",
        "flir/nvidia/check_alone.py",
        "check_alone",
        "fragments that were compiled to be all of their kernel have no company",
        kind=CHECKS,
    ),
    Pass(
        "compiled-block",
        "ttgir",
        "flir/exact_block.py",
        "exact_block",
        "the same for the block that the compilers wrote the code for",
        kind=DECIDES,
    ),
    Pass(
        "check-compiled",
        "ttgir",
        "flir/nvidia/check_regions.py",
        "check_compiled",
        "where the launch decides about the block, it has the one that the code was written for",
        kind=CHECKS,
    ),
    Pass(
        "decide-barriers",
        "ttgir",
        "flir/nvidia/order_regions.py",
        "missing_barriers",
        "where block barriers must order global memory",
        kind=DECIDES,
    ),
    Pass(
        "order-regions",
        "ttgir",
        "flir/nvidia/order_regions.py",
        "place_in_text",
        "block barriers at the borders of traced regions and at loops; calls have theirs later",
    ),
    Pass(
        "place-buffers",
        "ttgir",
        "flir/nvidia/place_buffers.py",
        "place_buffers",
        "a buffer of shared memory for each tile of a region",
        kind=DECIDES,
    ),
    Pass(
        "place-barriers",
        "ttgir",
        "flir/nvidia/order_regions.py",
        "place_barriers",
        "the block barriers of each call",
        kind=DECIDES,
    ),
    Pass(
        "pin-barriers",
        "ttgir",
        "flir/nvidia/pin_barriers.py",
        "pin_barriers",
        "which of them stand before the software pipeliner runs",
        kind=DECIDES,
    ),
    Pass(
        "replace-ports",
        "ttgir",
        "flir/nvidia/replace_ports.py",
        "replace_ports",
        "shared memory and the linked functions' calls in place of the markers",
        expects=PROMISED,
    ),
    Pass(
        "limit-registers",
        "ttgir",
        "flir/nvidia/limit_registers.py",
        "limit_registers",
        "the registers of a thread at the start, where a region's warps hand registers to each other; else absent",
        expects=PROMISED,
    ),
    Pass(
        "triton-ttgir",
        "ttgir",
        "flir/nvidia/pipeline.py",
        "Compilation.triton_ttgir",
        "Triton's own stage: layouts, the software pipeliner",
        kind=OUTSIDE,
    ),
    Pass(
        "check-order",
        "ttgir",
        "flir/nvidia/check_order.py",
        "check_order",
        "the tiles of calls in loops are stored before and loaded after them, as written",
        kind=CHECKS,
    ),
    Pass(
        "insert-barriers",
        "ttgir",
        "flir/nvidia/insert_barriers.py",
        "insert_barriers",
        "block barriers around the calls in pipelined loops; absent where there are none",
        expects=PROMISED,
    ),
    Pass(
        "leave-out-libdevice",
        "llir",
        "flir/nvidia/leave_out_libdevice.py",
        "may_need_libdevice",
        "whether the kernel is linked without libdevice, which saves time of the compilation",
        kind=DECIDES,
        for_speed=True,
    ),
    Pass(
        "link-fragments",
        "llir",
        "flir/nvidia/link_fragments.py",
        "link_fragments",
        "LLVM IR by Triton's own stage: the fragments linked and inlined",
    ),
    Pass(
        "keep-scalars",
        "llir",
        "linker/llvm/no_vectors.py",
        "optimised",
        "LLVM IR without the attribute that kept its vectoriser from fragments; absent where none had it",
        expects=PROMISED,
        for_speed=True,
    ),
    Pass(
        "check-warps",
        "llir",
        "flir/nvidia/check_regions.py",
        "check_warps",
        "Triton's stage kept the number of warps",
        kind=CHECKS,
    ),
    Pass(
        "launch-exact-block",
        "llir",
        "flir/exact_block.py",
        "with_block",
        "LLVM IR for a launch of the block that the regions want, where it is no power of two; else absent",
        expects=PROMISED,
    ),
    Pass(
        "check-shared-memory",
        "llir",
        "flir/nvidia/shared_memory_limit.py",
        "check_shared_memory",
        "a block has as much shared memory as kernel and fragments take together",
        kind=CHECKS,
    ),
    Pass(
        "align-shared-memory",
        "llir",
        "linker/llvm/shared_memory.py",
        "dynamic_shared_alignment",
        "LLVM IR: Triton's shared memory behind static variables; absent where there are none",
    ),
    Pass(
        "record-regions",
        "llir",
        "flir/record_regions.py",
        "record_regions",
        "what became of the regions, in the kernel's metadata",
        kind=DECIDES,
    ),
    Pass(
        "triton-ptx",
        "ptx",
        "flir/nvidia/pipeline.py",
        "Compilation.triton_ptx",
        "Triton's own stage: LLVM's code generation",
        kind=OUTSIDE,
    ),
    Pass(
        "zero-accumulators",
        "ptx",
        "linker/ptx/zero_accumulators.py",
        "zero_accumulators",
        "PTX with the zeros that accumulators of warpgroup products begin with in sight of ptxas",
        for_speed=True,
    ),
    Pass(
        "pair-words",
        "ptx",
        "linker/ptx/pair_words.py",
        "pair_words",
        "PTX with the descriptors of warpgroup products put together from two words",
        for_speed=True,
    ),
    Pass(
        "spread-divisions",
        "ptx",
        "linker/ptx/spread_divisions.py",
        "spread_divisions",
        "PTX with exact divisions next to what uses them",
        for_speed=True,
    ),
    Pass(
        "refuse-indirect-calls",
        "ptx",
        "flir/nvidia/explain_ptx.py",
        "refuse_indirect_calls",
        "no call goes through a pointer",
        kind=CHECKS,
    ),
    Pass(
        "verify-kernel",
        "ptx",
        "linker/verify.py",
        "verify_kernel",
        "one entry, no call left of what was to be inlined; knobs.verify turns it off",
        kind=CHECKS,
    ),
    Pass(
        "explain-refusals",
        "cubin",
        "flir/nvidia/explain_ptx.py",
        "explained_refusals",
        "Triton's own stage, ptxas: what it refuses is told at the fragment's line",
        kind=OUTSIDE,
    ),
)

# Every kernel for the CPU.
CPU = (
    Pass(
        "simplify-ttir",
        "ttir",
        "flir/cpu/simplify_ttir.py",
        "simplify_ttir",
        "Triton IR: inlined, plain pointers, canonical",
    ),
    Pass(
        "read-ttir",
        "linalg",
        "flir/cpu/read_ttir.py",
        "read_ttir",
        "the same module in upstream MLIR, Triton's operations unregistered",
    ),
    Pass(
        "structure-control-flow",
        "linalg",
        "flir/cpu/structure_control_flow.py",
        "structure_control_flow",
        "early returns as scf; absent where there are none",
    ),
    Pass(
        "compile-fragments",
        "linalg",
        "flir/compile_fragments.py",
        "compile_fragments",
        "LLVM IR of each fragment for the host, or what the cache has",
        kind=DECIDES,
    ),
    # Over each fragment, by `host/prepare.py`, before it enters the cache.
    Pass(
        "total-divisions",
        FRAGMENT_STAGE,
        "linker/llvm/total_divisions.py",
        "total_divisions",
        "integer divisions by zero give what a GPU gives, and do not end the process",
    ),
    Pass(
        "exact-block",
        "linalg",
        "flir/exact_block.py",
        "exact_block",
        "the threads of a team, where the regions want a number that no launch of Triton's has",
        kind=DECIDES,
    ),
    Pass(
        "convert-to-linalg",
        "linalg",
        "flir/cpu/convert/convert.py",
        "convert_to_linalg",
        "the Linalg form",
    ),
    Pass(
        "clean",
        "linalg",
        "flir/cpu/clean.py",
        "clean",
        'the Linalg form, verified and canonical: kernel.asm["linalg"]',
    ),
    Pass(
        "block-matmul",
        "llvmir",
        "flir/cpu/block_matmul/__init__.py",
        "block_matmul",
        "products of tiles as register-blocked vector code",
    ),
    Pass(
        "vectorise",
        "llvmir",
        "flir/cpu/vectorise/__init__.py",
        "vectorise",
        "linalg.generic as loops over vectors",
    ),
    Pass(
        "prefetch",
        "llvmir",
        "flir/cpu/prefetch.py",
        "prefetch_next",
        "what the next row or program reads is fetched in this one; absent where tiles are multiplied",
        for_speed=True,
    ),
    Pass(
        "stream-stores",
        "llvmir",
        "flir/cpu/stream_stores.py",
        "stream_stores",
        "each store of a whole cache line twice, once past the caches; absent where vectors have 16 bytes",
        for_speed=True,
    ),
    Pass(
        "multiply-by-reciprocals",
        "llvmir",
        "flir/cpu/common_divisor.py",
        "multiply_by_reciprocals",
        "no divisions of vectors by one number; absent where the host's vectors are shorter than 64 bytes",
        for_speed=True,
    ),
    Pass(
        "place-buffers",
        "llvmir",
        "flir/cpu/place_buffers.py",
        "place_buffers",
        "tiles in memory that the launcher gives",
    ),
    Pass(
        "expand-math",
        "llvmir",
        "flir/cpu/math_functions/__init__.py",
        "expand_math",
        "mathematical functions as vector arithmetic",
    ),
    Pass(
        "emulate-small-floats",
        "llvmir",
        "flir/cpu/upstream_passes.py",
        "emulate_small_floats",
        "arithmetic of bf16 and f16 in f32",
    ),
    Pass(
        "keep-rounding",
        "llvmir",
        "flir/cpu/keep_rounding.py",
        "keep_rounding",
        "no contraction across conversions",
    ),
    Pass(
        "expand-arithmetic",
        "llvmir",
        "flir/cpu/upstream_passes.py",
        "expand_arithmetic",
        "operations that LLVM lacks as others",
    ),
    Pass(
        "convert-to-llvm",
        "llvmir",
        "flir/cpu/upstream_passes.py",
        "convert_to_llvm",
        "the LLVM dialect",
    ),
    Pass(
        "translate-to-llvmir",
        "llvmir",
        "flir/cpu/upstream_passes.py",
        "translate_to_llvmir",
        'LLVM IR: kernel.asm["llvmir"]',
    ),
    Pass(
        "link-host-code",
        "asm",
        "host/code.py",
        "link_host_code",
        'assembly text, the fragments linked: kernel.asm["asm"]',
    ),
    Pass("assemble", "obj", "host/code.py", "assemble", "the object file", kind=OUTSIDE),
)

# Each with the kernels that it is for.
PIPELINES = {
    "Kernels with regions, all targets": VIEW,
    "Kernels with traced regions only, cuda": NVIDIA_TRACED,
    "Kernels with linked regions, cuda": NVIDIA,
    "All kernels, cpu": CPU,
}


def every_pass() -> Iterable[Pass]:
    """The passes of all pipelines, in order."""
    return (each for pipeline in PIPELINES.values() for each in pipeline)


SHOWN = tuple(dict.fromkeys(each.name for each in every_pass() if each.can_be_shown))
FOR_SPEED = tuple(dict.fromkeys(each.name for each in every_pass() if each.for_speed))


# What the knobs take. An error of theirs shows the docstring as what was expected.


def shown_names(value: object) -> str:
    words = _words(value)
    if any(word != ALL and word not in SHOWN for word in words):
        raise ValueError
    return ",".join(words)


def disabled_names(value: object) -> str:
    words = _words(value)
    if any(word not in FOR_SPEED for word in words):
        raise ValueError
    return ",".join(name for name in FOR_SPEED if name in words)  # equal sets are equal texts, and equal keys


def _words(value: object) -> list[str]:
    if not isinstance(value, str):
        raise ValueError
    return [word.strip() for word in value.split(",")] if value.strip() else []


shown_names.__doc__ = f"`{ALL}`, or names with commas between them: {', '.join(SHOWN)}"
disabled_names.__doc__ = f"names, with commas between them, of passes that exist for speed: {', '.join(FOR_SPEED)}"
