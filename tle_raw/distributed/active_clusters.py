"""How many clusters of a kernel run at the same time: what a persistent kernel launches, and no more."""

from __future__ import annotations

from functools import cache

from triton.compiler import CompiledKernel
from triton.runtime import driver

from tle_raw.distributed.driver import Device
from tle_raw.errors import ArgumentTypeError, MeshError, Row
from tle_raw.regions.clusters import DIMS, METADATA
from tle_raw.targets.cpu.utilities import threads_of_a_launch


def max_active_clusters(kernel: CompiledKernel) -> int:
    """How many of a kernel's clusters run at the same time on the current GPU, or with the CPU target on this machine.

    The processors of a GPU are parted, and a cluster lies in one part, so that some may be left over: of blocks that
    fill a processor each, an H200 of 132 processors runs 66 clusters of two, but only 30 of four. A persistent kernel,
    whose clusters share all of the work, takes twice its time when one of them begins after the others have ended.

    Parameters
    ----------
    kernel : what a launch returns, or without one ``kernel.warmup(..., grid=...)``. Its warps, registers and shared
        memory decide.

    Raises
    ------
    ArgumentTypeError : no compiled kernel.
    MeshError : its blocks form no clusters.
    ToolchainError, ContextError : there is no GPU, or its driver refuses the question.
    """
    if not isinstance(kernel, CompiledKernel):
        raise ArgumentTypeError(
            "max_active_clusters asks for a compiled kernel",
            table=[Row("kernel", "what a launch or kernel.warmup(…) returns", type(kernel).__name__)],
        )
    metadata = kernel.metadata
    if not (getattr(metadata, METADATA, None) or {}).get("cluster"):
        raise MeshError(
            f"the blocks of kernel `{metadata.name}` form no clusters",
            hint="a mesh with a level `block_cluster` says what a cluster is",
        )
    if metadata.target.backend == "cpu":
        return threads_of_a_launch()
    kernel._init_handles()
    device = _device(driver.active.get_current_device())
    threads = metadata.num_warps * metadata.target.warp_size
    return device.active_clusters(kernel.function, getattr(metadata, DIMS), threads, metadata.shared)


@cache
def _device(number: int) -> Device:
    """Each ``Device`` holds its primary context, which would never be let go as often as this is asked for."""
    return Device(number)
