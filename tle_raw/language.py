"""What is spelled inside ``@triton.jit`` functions: ``import tle_raw.language as tle``.

The calls of fragments, TLE-Lite and TLE-Struct, ``tle.gpu`` and ``tle.dsa``, under FlagTree's names. To import it
gives ``tl.tensor`` the methods ``extract_tile`` and ``insert_tile``, unless Triton has some of its own.
"""

from typing import Any

from tle_raw.fragments import generated_kernels, watch
from tle_raw.frontends.distributed import check_members
from tle_raw.frontends.distributed.device_language import device_barrier, device_remote, device_shard_id
from tle_raw.frontends.distributed.distributed_dot import distributed_dot
from tle_raw.frontends.distributed.language import (
    Levels,
    distributed_barrier,
    multicast_group,
    remote,
    set_devices,
    shard_id,
)
from tle_raw.frontends.distributed.mesh import device_mesh
from tle_raw.frontends.distributed.multicast import store_to_all, sum_of_all
from tle_raw.frontends.distributed.own_parts import make_sharded_tensor
from tle_raw.frontends.distributed.put_and_get import get, put
from tle_raw.frontends.distributed.reshard import reshard
from tle_raw.frontends.distributed.sharding import B, P, S, sharding
from tle_raw.frontends.distributed.signals import signal, signal_wait
from tle_raw.frontends.dsa import language as dsa
from tle_raw.frontends.gpu import language as gpu
from tle_raw.frontends.gpu.language import alloc, copy, local_load, local_ptr, local_store
from tle_raw.frontends.gpu.pipes.create import pipe
from tle_raw.frontends.lite.cumsum import cumsum
from tle_raw.frontends.lite.extract_tile import extract_tile
from tle_raw.frontends.lite.insert_tile import insert_tile
from tle_raw.frontends.lite.load import load
from tle_raw.frontends.lite.pipeline_group import pipeline_group
from tle_raw.frontends.lite.range import look_up_range
from tle_raw.frontends.lite.tensor_methods import add_tensor_methods
from tle_raw.frontends.raw.call import call, call_smem
from tle_raw.regions.stages import install
from tle_raw.targets import check_launch

__all__ = [
    "B",
    "P",
    "S",
    "alloc",
    "call",
    "call_smem",
    "copy",
    "cumsum",
    "device_mesh",
    "distributed_barrier",
    "distributed_dot",
    "dsa",
    "extract_tile",
    "get",
    "gpu",
    "insert_tile",
    "load",
    "local_load",
    "local_ptr",
    "local_store",
    "make_sharded_tensor",
    "multicast_group",
    "pipe",
    "pipeline_group",
    "put",
    "range",
    "remote",
    "reshard",
    "shard_id",
    "sharding",
    "signal",
    "signal_wait",
    "store_to_all",
    "sum_of_all",
]

set_devices(Levels(device_shard_id, device_remote, device_barrier))
install()
check_launch.install()
check_members.install()
watch.install()
generated_kernels.install()
add_tensor_methods(extract_tile, insert_tile)


def __getattr__(name: str) -> Any:
    """``tle.range``: Triton's own where the head of a loop is traced, which it tells by identity."""
    if name == "range":
        return look_up_range()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
