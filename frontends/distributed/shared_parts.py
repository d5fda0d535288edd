"""Block tensors of a cluster's blocks, put where the other blocks reach them: in shared memory."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import MeshError, Row
from tle_raw.frontends.distributed.cluster_barrier import SYNC, meet_in_cluster
from tle_raw.frontends.distributed.mesh import device_mesh
from tle_raw.frontends.distributed.reshard_view import sharded_tensor
from tle_raw.frontends.gpu.alloc import alloc
from tle_raw.frontends.gpu.content import store


def shared(tensor: sharded_tensor, semantic: Any, generator: Any) -> sharded_tensor:
    """The same with a buffer for its block tensor. A barrier has to come before others read it."""
    traced = {"_semantic": semantic, "_generator": generator}
    value = tensor.handle
    buffer = alloc(core.tuple([core.constexpr(size) for size in value.shape]), dtype=value.dtype, **traced)
    store(buffer, value, **traced)
    return sharded_tensor(buffer, tensor.sharding, tensor.sizes)


def meet(mesh: device_mesh, semantic: Any, generator: Any) -> None:
    """The blocks of the mesh wait for each other."""
    meet_in_cluster(mesh, SYNC, semantic, generator)


def block_shape(what: str, sizes: list[Any]) -> tuple[int, ...]:
    """The shape of a part as that of a block tensor.

    Raises
    ------
    MeshError : a part that is empty, or no power of two.
    """
    for size in sizes:
        if not isinstance(size, int) or size < 1 or size & (size - 1):
            raise MeshError(
                f"tle.{what}: a block's part is a block tensor", table=[Row("part", "powers of two", repr(sizes))]
            )
    return tuple(sizes)
