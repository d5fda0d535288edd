"""Meshes of GPUs, clusters and blocks, what each member has of a tensor, and how that changes: on the host.

``context`` is memory that GPUs share, as one argument of a kernel. ``docs/distributed.md`` shows it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tle_raw.distributed.exchange import Exchange, FileExchange
from tle_raw.distributed.make_context import context, contexts
from tle_raw.distributed.member import Context
from tle_raw.frontends.distributed.mesh import device_mesh
from tle_raw.frontends.distributed.parts import largest_part, local_box, own_part
from tle_raw.frontends.distributed.placements import from_placements, to_placements
from tle_raw.frontends.distributed.sharding import B, P, S, ShardedTensor, ShardingSpec, make_sharded_tensor, sharding
from tle_raw.frontends.distributed.topology import MeshConfig
from tle_raw.frontends.distributed.torch_meshes import from_torch_mesh, to_torch_mesh
from tle_raw.frontends.distributed.transitions import Step, transitions

if TYPE_CHECKING:
    from tle_raw.distributed.active_clusters import max_active_clusters
    from tle_raw.distributed.cluster_ranks import ranks_by_gpc
    from tle_raw.distributed.simulation import SimulatedContext, SimulatedWorld, simulate
    from tle_raw.frontends.distributed.reshard_host import reshard_part

__all__ = [
    "B",
    "Context",
    "Exchange",
    "FileExchange",
    "MeshConfig",
    "P",
    "S",
    "ShardedTensor",
    "ShardingSpec",
    "SimulatedContext",
    "SimulatedWorld",
    "Step",
    "context",
    "contexts",
    "device_mesh",
    "from_placements",
    "from_torch_mesh",
    "largest_part",
    "local_box",
    "make_sharded_tensor",
    "max_active_clusters",
    "own_part",
    "ranks_by_gpc",
    "reshard_part",
    "sharding",
    "simulate",
    "to_placements",
    "to_torch_mesh",
    "transitions",
]

_MODULES = {
    "max_active_clusters": "tle_raw.distributed.active_clusters",
    "ranks_by_gpc": "tle_raw.distributed.cluster_ranks",
    "SimulatedContext": "tle_raw.distributed.simulation",
    "SimulatedWorld": "tle_raw.distributed.simulation",
    "simulate": "tle_raw.distributed.simulation",
    "reshard_part": "tle_raw.frontends.distributed.reshard_host",
}


def __getattr__(name: str) -> Any:
    """What needs NumPy, the CPU target or Triton is imported where it is used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
