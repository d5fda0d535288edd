"""The passes of kernels with regions for NVIDIA GPUs, in the order in which they run.

What each does stands in ``pass_lists``, by what it works on.
"""

from __future__ import annotations

from tle_raw.flir.nvidia.pass_lists import behind_triton, layouts, llvm_ir, regions
from tle_raw.flir.nvidia.pass_lists.ptx import PTX

# Kernels for NVIDIA GPUs all of whose regions are traced. All else there is Triton's.
NVIDIA_TRACED = (layouts.ORDER_TRACED, layouts.TRITON_TTGIR)

# From layouts for all tensors to Triton's own stage, and what looks at its buffers first.
_TO_BUFFERS = (
    behind_triton.NAMED_BARRIERS,
    behind_triton.EXPLICIT_TTGIR,
    *layouts.PIPELINE_GROUPS,
    layouts.TRITON_TTGIR,
    behind_triton.KEEP_WAITS,
    behind_triton.CONVERT_RESULTS,
    behind_triton.RELEASE_LAYOUTS,
    behind_triton.DEFER_STORES,
    behind_triton.READ_BUFFERS,
)
_TO_LLVM_IR = (
    behind_triton.ORDER_POINTERS,
    behind_triton.ORDER_COPIES,
    behind_triton.PLACE_CLUSTERS,
    behind_triton.READ_BACK,
)
_BUFFERS_IN_LLVM_IR = (llvm_ir.UNWANTED_BARRIERS, llvm_ir.SHARED_ACCESSES, llvm_ir.JOIN_CLUSTERS)

# Kernels with shared buffers, groups or meshes and no linked region, for NVIDIA GPUs. All else there is Triton's.
NVIDIA_BUFFERS = (
    *layouts.GROUPS,
    layouts.ORDER_TRACED,
    *layouts.LAYOUTS,
    behind_triton.CHECK_PHASES,
    *_TO_BUFFERS,
    *_TO_LLVM_IR,
    llvm_ir.TRITON_LLIR,
    *_BUFFERS_IN_LLVM_IR,
    llvm_ir.CHECK_SHARED,
)

# Kernels with linked regions, for NVIDIA GPUs.
NVIDIA = (
    *layouts.GROUPS,
    *layouts.LAYOUTS,
    behind_triton.CHECK_PHASES,
    *regions.REGIONS,
    *_TO_BUFFERS,
    *regions.REGION_BARRIERS,
    *_TO_LLVM_IR,
    *llvm_ir.LINKED,
    *_BUFFERS_IN_LLVM_IR,
    *llvm_ir.CUDA_CODE,
    llvm_ir.CHECK_SHARED,
    *llvm_ir.REGIONS_IN_LLVM_IR,
    *PTX,
)
