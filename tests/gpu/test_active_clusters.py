"""``max_active_clusters`` against what runs: clusters that wait for each other all come, and one more does not."""

from __future__ import annotations

import pytest

from tests.gpu.device import COMPILE_ONLY, HOPPER, ON_CPU
from tests.gpu.resident_clusters import launch
from tle_raw.distributed import max_active_clusters

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(COMPILE_ONLY or ON_CPU or not HOPPER, reason="of clusters that run at the same time on a GPU"),
]


@pytest.mark.parametrize("blocks", [2, 4, 8])
@pytest.mark.parametrize("size", [2**17, 2**14], ids=["one block a processor", "several"])
def test_so_many_clusters_run_at_the_same_time(blocks, size):
    kernel, *_ = launch(1, blocks, size)
    most = max_active_clusters(kernel)
    print(f"{blocks} blocks of {size} bytes: {most} clusters")
    for clusters, all_come in ((most, True), (most + 1, False)):
        seen = launch(clusters, blocks, size)[1]
        assert bool((seen == clusters * blocks).all()) is all_come
