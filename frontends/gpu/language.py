"""``tle.gpu``: shared buffers and what copies and reads them, for GPUs, inside kernels."""

from tle_raw.frontends.gpu.alloc import alloc
from tle_raw.frontends.gpu.barrier_value import PENDING, READY, barrier, barrier_type
from tle_raw.frontends.gpu.barriers import alloc_barrier, alloc_barriers, barrier_arrive, barrier_wait
from tle_raw.frontends.gpu.buffered_tensor import buffered_tensor
from tle_raw.frontends.gpu.copy import copy
from tle_raw.frontends.gpu.grouped_tile import grouped_tile
from tle_raw.frontends.gpu.groups import async_commit_group, async_wait_group
from tle_raw.frontends.gpu.keep_in_step import keep_in_step, leave_step
from tle_raw.frontends.gpu.layouts.encodings import (
    BlockEncoding,
    DotOperandEncoding,
    MmaEncoding,
    SlicedEncoding,
    distributed_encoding,
)
from tle_raw.frontends.gpu.layouts.nv_mma import nv_mma_shared_layout
from tle_raw.frontends.gpu.layouts.padded import padded_shared_layout
from tle_raw.frontends.gpu.layouts.shared_layout import shared_layout
from tle_raw.frontends.gpu.layouts.swizzled import swizzled_shared_layout
from tle_raw.frontends.gpu.layouts.tensor_memory import tensor_memory_layout
from tle_raw.frontends.gpu.local_access import local_load, local_store
from tle_raw.frontends.gpu.local_ptr import local_ptr
from tle_raw.frontends.gpu.memory_space import memory_space
from tle_raw.frontends.gpu.methods import add_methods
from tle_raw.frontends.gpu.pipes.methods import add_methods as add_pipe_methods
from tle_raw.frontends.gpu.set_layout import set_layout
from tle_raw.frontends.gpu.storage_kind import smem, storage_kind, tmem
from tle_raw.frontends.gpu.tile_scheduler import alloc_tile_scheduler, fetch_tile, next_tile
from tle_raw.frontends.gpu.warp_specialize import warp_specialize
from tle_raw.frontends.gpu.wgmma import wgmma, wgmma_wait

__all__ = [
    "PENDING",
    "READY",
    "BlockEncoding",
    "DotOperandEncoding",
    "MmaEncoding",
    "SlicedEncoding",
    "alloc",
    "alloc_barrier",
    "alloc_barriers",
    "alloc_tile_scheduler",
    "async_commit_group",
    "async_wait_group",
    "barrier",
    "barrier_arrive",
    "barrier_type",
    "barrier_wait",
    "buffered_tensor",
    "copy",
    "distributed_encoding",
    "fetch_tile",
    "grouped_tile",
    "keep_in_step",
    "leave_step",
    "local_load",
    "local_ptr",
    "local_store",
    "memory_space",
    "next_tile",
    "nv_mma_shared_layout",
    "nv_tma_shared_layout",
    "padded_shared_layout",
    "set_layout",
    "shared_layout",
    "smem",
    "storage_kind",
    "swizzled_shared_layout",
    "tensor_memory_layout",
    "tmem",
    "warp_specialize",
    "wgmma",
    "wgmma_wait",
]

# TMA writes what tensor cores read: FlagTree has a name for each.
nv_tma_shared_layout = nv_mma_shared_layout

add_methods()
add_pipe_methods()
