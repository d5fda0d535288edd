"""What is asked of a compiled kernel whose blocks form clusters: how large they are, and what a block takes."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

from triton.compiler import CompiledKernel
from triton.runtime import driver

from tle_raw.distributed.driver import Device
from tle_raw.errors import ArgumentTypeError, MeshError, Row
from tle_raw.regions.clusters import DIMS, METADATA


class ClusterKernel(NamedTuple):
    """Of a kernel for a GPU; ``shared``: bytes of dynamic shared memory."""

    device: Device
    function: int
    cluster: tuple[int, int, int]
    threads: int
    shared: int

    @property
    def blocks(self) -> int:
        return math.prod(self.cluster)


def cluster_kernel(kernel: CompiledKernel, asked: str) -> ClusterKernel | None:
    """Loaded on the current device; none of the CPU target. ``asked``: the function that an error names.

    Raises
    ------
    ArgumentTypeError : no compiled kernel.
    MeshError : its blocks form no clusters.
    ToolchainError, ContextError : there is no GPU, or its driver refuses.
    """
    if not isinstance(kernel, CompiledKernel):
        raise ArgumentTypeError(
            f"{asked} asks for a compiled kernel",
            table=[Row("kernel", "what a launch or kernel.warmup(…) returns", type(kernel).__name__)],
        )
    metadata = kernel.metadata
    if not (getattr(metadata, METADATA, None) or {}).get("cluster"):
        raise MeshError(
            f"the blocks of kernel `{metadata.name}` form no clusters",
            hint="a mesh with a level `block_cluster` says what a cluster is",
        )
    if metadata.target.backend == "cpu":
        return None
    kernel._init_handles()
    threads = metadata.num_warps * metadata.target.warp_size
    device = _device(driver.active.get_current_device())
    return ClusterKernel(device, kernel.function, tuple(getattr(metadata, DIMS)), threads, metadata.shared)


@cache
def _device(number: int) -> Device:
    """Each ``Device`` holds its primary context, which would never be let go as often as this is asked for."""
    return Device(number)
