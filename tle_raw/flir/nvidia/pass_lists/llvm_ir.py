"""Passes on LLVM IR."""

from __future__ import annotations

from tle_raw.flir.pass_value import CHECKS, DECIDES, OUTSIDE, PROMISED, Pass

UNWANTED_BARRIERS = Pass(
    "unwanted-barriers",
    "llir",
    "linker/llvm/unwanted_barriers.py",
    "without_unwanted",
    "LLVM IR without the barriers that Triton put before what is ordered otherwise; absent where nothing is marked",
    expects=PROMISED,
)
SHARED_ACCESSES = Pass(
    "shared-accesses",
    "llir",
    "linker/llvm/shared_accesses.py",
    "shared_accesses",
    "LLVM IR: instructions for shared memory in place of the marked ones; absent where there are none",
    expects=PROMISED,
)
JOIN_CLUSTERS = Pass(
    "join-clusters",
    "llir",
    "linker/llvm/clusters.py",
    "with_clusters",
    "LLVM IR of a kernel that is launched in clusters, with copies to several of their blocks; absent without clusters",
    expects=PROMISED,
)
CHECK_SHARED = Pass(
    "check-shared-memory",
    "llir",
    "flir/nvidia/shared_memory_limit.py",
    "check_shared_memory",
    "a block has as much shared memory as kernel and fragments take together",
    kind=CHECKS,
)

TRITON_LLIR = Pass(
    "triton-llir",
    "llir",
    "flir/nvidia/calls/llvm_ir.py",
    "LlvmIr.triton_llir",
    "Triton's own stage: LLVM IR",
    kind=OUTSIDE,
)

# With linked regions.
LINKED = (
    Pass(
        "fit-partitions",
        "llir",
        "flir/nvidia/region_partitions.py",
        "fit_partitions",
        "the code of these entries, for their partitions' threads and barriers; absent where no warps are specialised",
        kind=DECIDES,
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
        also=("dsl-region-inline",),
    ),
)
CUDA_CODE = (
    Pass(
        "keep-scalars",
        "llir",
        "linker/llvm/no_vectors.py",
        "without_no_vectors",
        "LLVM IR without the attribute that kept its vectoriser from fragments; absent where none had it",
        expects=PROMISED,
        for_speed=True,
    ),
    Pass(
        "launched-structs",
        "llir",
        "linker/llvm/launched_structs.py",
        "launched_structs",
        "LLVM IR of CUDA code that reads structs by value from the kernel's parameters, at indices of run time too",
        for_speed=True,
    ),
    Pass(
        "wide-copies",
        "llir",
        "linker/llvm/wide_copies.py",
        "wide_copies",
        "LLVM IR of CUDA code in which copies of 16 bytes are one load and one store",
        for_speed=True,
    ),
    Pass(
        "join-offsets",
        "llir",
        "linker/llvm/join_offsets.py",
        "join_offsets",
        "LLVM IR of CUDA code whose addresses add their offsets up first",
        for_speed=True,
    ),
    Pass(
        "constant-factors",
        "llir",
        "linker/llvm/constant_factors.py",
        "constant_factors",
        "LLVM IR of CUDA code in which products whose factors differ by constants follow from each other",
        for_speed=True,
    ),
    Pass(
        "constant-offsets",
        "llir",
        "linker/llvm/constant_offsets.py",
        "constant_offsets",
        "LLVM IR of CUDA code whose indices add constants last, where accesses have them for nothing",
        for_speed=True,
    ),
    Pass(
        "choose-values",
        "llir",
        "linker/llvm/choose_values.py",
        "choose_values",
        "LLVM IR of CUDA code whose short nests of branches that only choose values are selections",
        for_speed=True,
    ),
    Pass(
        "words-of-halves",
        "llir",
        "linker/llvm/words_of_halves.py",
        "words_of_halves",
        "LLVM IR of CUDA code in which halves that are loaded side by side come out of branches as one word",
        for_speed=True,
    ),
    Pass(
        "plain-loops",
        "llir",
        "linker/llvm/plain_loops.py",
        "plain_loops",
        "LLVM IR of CUDA code whose loops count as they are written",
        for_speed=True,
    ),
    Pass(
        "join-pointers",
        "llir",
        "linker/llvm/join_pointers.py",
        "join_pointers",
        "LLVM IR of CUDA code whose long loops count one offset for pointers that they move together",
        for_speed=True,
    ),
    Pass(
        "launch-bounds",
        "llir",
        "linker/llvm/launch_bounds.py",
        "with_launch_bounds",
        "LLVM IR of a CUDA kernel that says how many of its blocks shall run at a time; absent where it does not",
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
)
REGIONS_IN_LLVM_IR = (
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
)
