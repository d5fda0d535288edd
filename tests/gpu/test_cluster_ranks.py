"""``ranks_by_gpc`` against where a kernel's own clusters run, and larger clusters, which show who is together."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gpu import resident_clusters
from tests.gpu.device import COMPILE_ONLY, HOPPER, ON_CPU
from tle_raw.distributed import max_active_clusters, ranks_by_gpc

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(COMPILE_ONLY or ON_CPU or not HOPPER, reason="of places of a GPU on which clusters run"),
]

SIZE = 2**17  # bytes of shared memory: a processor has room for one block
MOST_OF_A_GPC = 9  # clusters of two, on H200s


def launch(clusters: int, blocks: int) -> tuple[Any, list[list[int]]]:
    """The kernel, and the processors of each of its clusters."""
    kernel, _, processors = resident_clusters.launch(clusters, blocks, SIZE)
    return kernel, processors


@pytest.mark.parametrize("fewer", [0, 1, 2, 30])
def test_those_of_a_larger_cluster_follow_each_other(fewer):
    kernel, _ = launch(1, 2)
    clusters = max_active_clusters(kernel) - fewer
    ranks = ranks_by_gpc(kernel, clusters)
    assert sorted(ranks) == list(range(clusters))
    _, placed = launch(clusters, 2)
    rank_of = {processor: rank for rank, cluster in zip(ranks, placed) for processor in cluster}
    assert len(rank_of) == 2 * clusters  # a block fills a processor
    eight, _ = launch(1, 8)
    neighbours = 0
    for together in launch(max_active_clusters(eight), 8)[1]:
        found = sorted({rank_of[processor] for processor in together if processor in rank_of})
        if found:
            assert found[-1] - found[0] < MOST_OF_A_GPC
            neighbours += len(found) - 1
    assert neighbours > clusters // 3
    print(f"{clusters} clusters of two: {neighbours} neighbours share a GPC with the one before")


def test_a_second_launch_has_the_same_places():
    """But for processors that no cluster of four reaches: an H200 has four pairs of them, which take turns."""
    kernel, first = launch(66, 2)
    four, _ = launch(1, 4)
    reached = {processor for cluster in launch(max_active_clusters(four), 4)[1] for processor in cluster}
    assert len(reached) > 100

    def in_gpcs(placed: list[list[int]]) -> list[list[int] | None]:
        return [cluster if reached.issuperset(cluster) else None for cluster in placed]

    for _ in range(3):
        assert in_gpcs(launch(66, 2)[1]) == in_gpcs(first)
    assert ranks_by_gpc(kernel, 66) == ranks_by_gpc(kernel, 66)


@pytest.mark.parametrize("blocks", [3, 4, 5, 6, 7, 8])
def test_clusters_of_every_size_have_ranks(blocks):
    kernel, _ = launch(1, blocks)
    most = max_active_clusters(kernel)
    for clusters in (1, most, most + 3):  # three of the last begin when others have ended
        assert sorted(ranks_by_gpc(kernel, clusters)) == list(range(clusters))
