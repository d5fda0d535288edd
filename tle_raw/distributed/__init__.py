"""Meshes of GPUs, clusters and blocks, what each member has of a tensor, and how that changes: on the host.

``context`` is memory that GPUs share, as one argument of a kernel. ``docs/distributed.md`` shows it.
"""

from tle_raw.distributed.exchange import Exchange, FileExchange
from tle_raw.distributed.make_context import context, contexts
from tle_raw.distributed.member import Context
from tle_raw.frontends.distributed.mesh import device_mesh
from tle_raw.frontends.distributed.parts import local_box
from tle_raw.frontends.distributed.placements import from_placements, to_placements
from tle_raw.frontends.distributed.sharding import B, P, S, ShardedTensor, ShardingSpec, make_sharded_tensor, sharding
from tle_raw.frontends.distributed.topology import MeshConfig
from tle_raw.frontends.distributed.transitions import Step, transitions

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
    "Step",
    "context",
    "contexts",
    "device_mesh",
    "from_placements",
    "local_box",
    "make_sharded_tensor",
    "sharding",
    "to_placements",
    "transitions",
]
