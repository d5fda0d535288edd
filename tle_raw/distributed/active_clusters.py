"""How many clusters of a kernel run at the same time: what a persistent kernel launches, and no more."""

from __future__ import annotations

from triton.compiler import CompiledKernel

from tle_raw.distributed.cluster_kernel import cluster_kernel
from tle_raw.targets.cpu.utilities import threads_of_a_launch


def max_active_clusters(kernel: CompiledKernel) -> int:
    """How many of a kernel's clusters run at the same time on the current GPU, or with the CPU target on this machine.

    The processors of a GPU are parted (into GPCs), and a cluster lies in one part, so that some may be left over: of
    blocks that fill a processor each, an H200 of 132 processors runs 66 clusters of two, but only 30 of four. A
    persistent kernel, whose clusters share all of the work, takes twice its time when one of them begins after the
    others have ended.

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
    loaded = cluster_kernel(kernel, "max_active_clusters")
    if loaded is None:
        return threads_of_a_launch()
    return loaded.device.active_clusters(loaded.function, loaded.cluster, loaded.threads, loaded.shared)
