"""What blocks of a cluster and of a grid do with each other, as it is written in Triton IR: functions of scalars.

====================================  ============================================================
``tle_cluster.rank(program)``         the number of this block in its cluster; pure
``tle_cluster.arrive(zero)``          an arrival at the barrier of the cluster
``tle_cluster.wait(zero)``            a wait for all of its blocks to have arrived
``tle_cluster.leave(zero)``           others are done with this block's shared memory, whatever they do with each other
``tle_cluster.meet(barrier)``         a barrier of some blocks of it, by an mbarrier of each
``tle_cluster.map(address, rank)``    an address in shared memory, as another block has it; pure; or a tile of them
``tle_cluster.signal(barrier)``       an arrival at a mapped mbarrier
``tle_cluster.copy(to, from, bar)``   a copy of bytes to mapped shared memory, which a mapped mbarrier counts
``tle_cluster.multicast(ranks)``      the copies by descriptors up to ``tle_cluster.alone`` go to these
``tle_grid.program(program)``         the program's number, of a multiple of ``programs``; pure
``tle_grid.barrier(zero)``            a barrier of all blocks: ``programs`` where that is not 0
====================================  ============================================================

Each is a ``tt.extern_elementwise`` whose ``libname`` is a record in JSON. ``cluster`` is how many blocks a cluster has:
neighbours along the first axis of the grid, or in the box of ``counted``, numbered along its first axis first.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import prod
from typing import Any

CLUSTER, GRID = "tle_cluster.", "tle_grid."
RANK, ARRIVE, WAIT, MEET = "tle_cluster.rank", "tle_cluster.arrive", "tle_cluster.wait", "tle_cluster.meet"
LEAVE = "tle_cluster.leave"
MAP, SIGNAL, COPY = "tle_cluster.map", "tle_cluster.signal", "tle_cluster.copy"
MULTICAST, ALONE = "tle_cluster.multicast", "tle_cluster.alone"
PROGRAM, GRID_BARRIER = "tle_grid.program", "tle_grid.barrier"
PURE = frozenset({RANK, MAP, PROGRAM})
METADATA = "tle_clusters"  # of a kernel: what a launch has to be
DIMS = "cluster_dims"  # of a kernel, for who reads its metadata
COUNTED = "counted"  # of a record, and of these: the grid counts clusters, that have so many blocks along its axes
FAR = "far"  # of a record of addresses that may be another block's already
MEETS = "meets"  # of these records on the CPU: whether all of the grid runs together
MOST_BLOCKS = 8  # of a cluster that every GPU with clusters runs


def box_of(shape: Sequence[int]) -> list[int]:
    """Its blocks along the grid's axes, as FlagTree launches it: with more than three axes, all along the first."""
    return [*shape, 1, 1, 1][:3] if len(shape) <= 3 else [prod(shape), 1, 1]


def holds_clusters(text: str) -> bool:
    """Whether a module's text holds any of these functions."""
    return CLUSTER in text or GRID in text


def arrives_elsewhere(text: str) -> bool:
    """Whether blocks arrive at each other's barriers."""
    return SIGNAL in text or COPY in text


def record_text(**fields: Any) -> str:
    """A record as one line."""
    return json.dumps(fields)


def read_record(text: str) -> dict[str, Any]:
    """The record of a line."""
    found: dict[str, Any] = json.loads(text)
    return found
