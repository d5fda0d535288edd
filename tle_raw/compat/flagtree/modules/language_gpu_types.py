"""``triton.experimental.tle.language.gpu.types``: buffers, their layouts, and the memories that they lie in."""

from tle_raw.frontends.gpu.buffered_tensor import BufferType as buffered_tensor_type
from tle_raw.frontends.gpu.language import (
    buffered_tensor,
    nv_mma_shared_layout,
    nv_tma_shared_layout,
    shared_layout,
    smem,
    storage_kind,
    swizzled_shared_layout,
    tensor_memory_layout,
    tmem,
)
from tle_raw.frontends.gpu.storage_kind import Scope as scope

# FlagTree's base of all layouts; those of shared memory are all that there are.
layout = shared_layout

__all__ = [
    "buffered_tensor",
    "buffered_tensor_type",
    "layout",
    "nv_mma_shared_layout",
    "nv_tma_shared_layout",
    "scope",
    "shared_layout",
    "smem",
    "storage_kind",
    "swizzled_shared_layout",
    "tensor_memory_layout",
    "tmem",
]
