"""An order of a launch's clusters in which those of one GPC follow each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from triton.compiler import CompiledKernel

from tle_raw.distributed.cluster_kernel import cluster_kernel
from tle_raw.distributed.placement import processors_of_clusters, processors_of_gpcs
from tle_raw.errors import ArgumentTypeError, Row


def ranks_by_gpc(kernel: CompiledKernel, clusters: int) -> tuple[int, ...]:
    """The rank of each cluster of a launch, in an order in which those of one GPC follow each other.

    A launch deals its clusters out to the GPCs of the GPU in turn, so that neighbours by number run far from each
    other. What processors of one GPC read at about the same time is read from the L2 cache once. A persistent kernel
    that goes through its tiles by rank in place of number gives those that read the same to one GPC. What clusters copy
    for all of their blocks needs that no more: choose neighbours that share the other operand.

    GPCs that hold as many clusters as most others come first, so that groups of tiles begin with a GPC.

    Parameters
    ----------
    kernel : what a launch returns, or without one ``kernel.warmup(..., grid=...)``.
    clusters : of the launch; at most ``max_active_clusters(kernel)`` run at once, and have a place that is known.

    Returns
    -------
    The numbers 0 to ``clusters - 1``, each once: the rank of cluster ``tl.program_id(0) // blocks``. With the CPU
    target in order.

    Notes
    -----
    The first call for a kind of launch waits for the device, runs clusters of the same size that take as many warps and
    as much shared memory, and sees where each of them is; it cannot stand where a CUDA graph is captured. An H200
    places the kernel's own the same way when nothing else runs. Where a GPU does not, those of a GPC need not follow
    each other, and all have a rank all the same.

    Raises
    ------
    ArgumentTypeError : no compiled kernel, or no number of clusters of 1 or more.
    MeshError : its blocks form no clusters.
    ToolchainError, ContextError : there is no GPU, or its driver refuses.
    """
    if isinstance(clusters, bool) or not isinstance(clusters, int) or clusters < 1:
        raise ArgumentTypeError(
            "ranks_by_gpc asks for the clusters of a launch",
            table=[Row("clusters", "an integer of 1 or more", repr(clusters))],
        )
    loaded = cluster_kernel(kernel, "ranks_by_gpc")
    if loaded is None:
        return tuple(range(clusters))
    placed = processors_of_clusters(loaded.device, clusters, loaded.blocks, loaded.threads, loaded.shared)
    gpcs = processors_of_gpcs(loaded.device)
    return ranks_of([next((gpc for gpc in gpcs if gpc.issuperset(cluster)), cluster) for cluster in placed])


def ranks_of(places: Sequence[Hashable]) -> tuple[int, ...]:
    """The rank of each member when those of equal places follow each other, those in places of a common size first."""
    held = Counter(places)
    alike = Counter(held.values())
    first = {place: number for number, place in reversed(list(enumerate(places)))}

    def key(number: int) -> tuple[int, int, int, int]:
        place = places[number]
        count = held[place]
        return -count * alike[count], -count, first[place], number

    order = sorted(range(len(places)), key=key)
    return tuple(sorted(range(len(order)), key=order.__getitem__))
