"""``max_active_clusters`` without a GPU: the CPU target's answer, and what is refused. tests/gpu has the others."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tle_raw.distributed import max_active_clusters
from tle_raw.errors import ArgumentTypeError, MeshError

PAIR = tl.constexpr(tle.device_mesh({"block_cluster": 2}))


@triton.jit
def ranks(o_ptr):
    tl.store(o_ptr + tl.program_id(0), tle.shard_id(PAIR, "block_cluster"))


@triton.jit
def programs(o_ptr):
    tl.store(o_ptr + tl.program_id(0), tl.program_id(0))


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    monkeypatch.setattr(tle_raw.knobs, "target", "cpu")


def test_as_many_as_a_launch_has_threads(monkeypatch):
    monkeypatch.setattr(tle_raw.knobs.cpu, "threads", 3)
    assert max_active_clusters(ranks.warmup(np.zeros(4, np.int32), grid=(2,))) == 3
    o = np.full(4, -1, np.int32)
    assert max_active_clusters(ranks[(4,)](o)) == 3
    assert o.tolist() == [0, 1, 0, 1]


def test_a_kernel_without_clusters_is_refused():
    with pytest.raises(MeshError, match="kernel `programs` form no clusters"):
        max_active_clusters(programs.warmup(np.zeros(4, np.int32), grid=(2,)))


def test_what_is_no_compiled_kernel_is_refused():
    with pytest.raises(ArgumentTypeError, match="JITFunction"):
        max_active_clusters(ranks)
