"""``tle.shard_id``, ``tle.remote``, ``tle.distributed_barrier``, ``tle.multicast_group``: a mesh's members in kernels.

What they do depends on the mesh's levels: blocks of a cluster reach each other's shared memory, blocks of a grid meet,
GPUs and nodes are reached by a context.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, MeshError, MeshTypeError, Row
from tle_raw.frontends.distributed.cluster_barrier import KINDS, LEAVES, SYNC, meet_in_cluster, meet_in_grid
from tle_raw.frontends.distributed.cluster_place import block_of_cluster, group_along, place_in_cluster, place_in_grid
from tle_raw.frontends.distributed.member_places import BLOCK, CLUSTER
from tle_raw.frontends.distributed.mesh import device_mesh, find_axis
from tle_raw.frontends.gpu.cluster_group import cluster_group
from tle_raw.frontends.lite.arguments import describe_value, plain
from tle_raw.frontends.lite.kernel_function import kernel_function

_DEVICES = ("node", "device", "chiplet")


@dataclass(frozen=True)
class Levels:
    """What is done with GPUs and nodes: by ``(mesh, axis, context, semantic, generator)``, ``(x, shard, context, more,
    semantic, generator)`` and ``(mesh, context, kind, more, semantic, generator)``. ``more`` are further keywords.
    """

    shard_id: Callable[..., Any]
    remote: Callable[..., Any]
    barrier: Callable[..., Any]


_devices: Levels | None = None


def set_devices(levels: Levels) -> None:
    """The levels above the blocks are reached by these functions."""
    global _devices
    _devices = levels


@kernel_function
def shard_id(mesh: Any, axis: Any, context: Any = None, _semantic: Any = None, _generator: Any = None) -> core.tensor:
    """Where this program stands along an axis of a mesh, counted from 0: a scalar int32.

    Along axes of ``block_cluster`` it is the block of the cluster: neighbouring programs of the first axis of the grid
    form a cluster. Along axes of ``block`` it is the block of the grid, where all blocks of a cluster stand at one
    place. In a part of a mesh it is the place in the part; of who is not in it, any number.

    Parameters
    ----------
    mesh : a ``device_mesh``; a constant.
    axis : its name, or its number, which may count from the end; a constant.
    context : for axes of GPUs and nodes, of ``tle_raw.distributed.context``.

    Raises
    ------
    MeshError, MeshTypeError, MeshIndexError : no mesh, or no such axis; two meshes with other clusters in one kernel.
    RegionError : a cluster where there is none: before sm_90, with ``num_ctas``, in Triton's interpreter.
    """
    of = _mesh("shard_id", mesh)
    number = find_axis(of.axes, plain(axis))
    level = of.axes[number].level
    if level == CLUSTER:
        return place_in_cluster(of, number, _semantic, _generator)
    if level == BLOCK:
        return place_in_grid(of, number, _semantic, _generator)
    if level not in _DEVICES and (level or plain(context) is None):  # of nodes and devices there is one number
        raise MeshError(
            f"tle.shard_id: axis `{of.dim_names[number]}` is made of several levels",
            table=[Row("axis", "one of a single level", str(of.axes[number]))],
        )
    return _of_devices("shard_id").shard_id(of, number, plain(context), _semantic, _generator)


@kernel_function
def remote(
    x: Any,
    shard_id: Any,
    context: Any = None,
    mesh: Any = None,
    _semantic: Any = None,
    _generator: Any = None,
    **more: Any,
) -> Any:
    """What another member has of ``x``.

    Of a buffer or a barrier in shared memory it is that of another block of the cluster: ``tle.gpu.local_ptr`` points
    into it, ``tle.gpu.copy`` copies a buffer into it, ``tle.gpu.barrier_arrive`` arrives at it. What blocks do there is
    ordered by barriers between them alone: ``tle.distributed_barrier``, or one with phases. No block leaves the kernel,
    or is reached before it has begun: the kernel has barriers of the cluster for that.

    Parameters
    ----------
    x : a buffer or one barrier of ``tle.gpu``, or pointers of ``tle.gpu.local_ptr``, which then point there; with a
        context a pointer or what its level takes.
    shard_id : the number of the block in its cluster; with a mesh its number there, or a tuple with its place along
        each axis. Scalars or constants.
    context : for GPUs and nodes, of ``tle_raw.distributed.context``.
    mesh : of blocks of a cluster alone; a constant.

    Raises
    ------
    ArgumentTypeError, MeshError, MeshIndexError : what cannot be another block's, or a member that is not there.
    RegionError : as for ``shard_id``.
    """
    of = None if plain(mesh) is None else _mesh("remote", mesh)
    if plain(context) is not None:
        return _of_devices("remote").remote(x, shard_id, plain(context), {"mesh": of, **more}, _semantic, _generator)
    _check_no_more("remote", more)
    return block_of_cluster(x, shard_id, of, _semantic, _generator)


@kernel_function
def multicast_group(mesh: Any, axis: Any, _semantic: Any = None, _generator: Any = None) -> cluster_group:
    """The blocks of the cluster along an axis of a mesh, this one among them, for ``tle.gpu.copy(..., multicast=)``.

    Parameters
    ----------
    mesh : of the whole launch; a constant.
    axis : one of blocks of a cluster, by its name or its number; a constant.

    Raises
    ------
    MeshError, MeshTypeError, MeshIndexError : no such mesh or axis. RegionError : as for ``shard_id``.
    """
    of = _mesh("multicast_group", mesh)
    return group_along(of, find_axis(of.axes, plain(axis)), _semantic, _generator)


@kernel_function
def distributed_barrier(
    mesh: Any = None,
    context: Any = None,
    kind: Any = SYNC,
    _semantic: Any = None,
    _generator: Any = None,
    **more: Any,
) -> None:
    """The members of a mesh wait for each other; what they wrote before is seen behind it.

    A mesh of blocks of a cluster is a barrier of each cluster, and a part of it one of that part, which the others
    pass. A mesh of blocks alone is one of the grid, whose launch is a cooperative one: all blocks run at a time.

    Parameters
    ----------
    mesh : a constant; without one it is the kernel's clusters.
    context : for meshes of GPUs and nodes.
    kind : ``"arrive"`` and later ``"wait"`` are the two halves of ``"sync"``, for whole clusters; a constant.
        ``"leave"`` waits for nobody, and nor does the kernel's end then: the kernel says that barriers of its own have
        shown this block that the others, all arrivals at its barriers and copies into its buffers, are done with its
        shared memory, which is gone when the block has left. On a GPU nothing checks that.

    Raises
    ------
    MeshError : members that cannot meet, or a mesh that says otherwise than the kernel's what a cluster is.
    RegionError : in a partition of ``tle.gpu.warp_specialize``; else as for ``shard_id``.
    """
    of = None if plain(mesh) is None else _mesh("distributed_barrier", mesh)
    wanted = plain(kind)
    if wanted not in KINDS:
        raise ArgumentTypeError(
            "tle.distributed_barrier: its kinds", table=[Row("kind", ", ".join(KINDS), describe_value(kind))]
        )
    levels = {axis.level for axis in of.axes} if of is not None else set()
    if plain(context) is not None or levels & {*_DEVICES, ""}:
        if wanted == LEAVES:
            raise MeshError(
                "tle.distributed_barrier: the blocks of a cluster alone leave without each other",
                table=[Row("mesh", "one of block_cluster", repr(of)), Row("kind", SYNC, wanted)],
            )
        _of_devices("distributed_barrier").barrier(of, plain(context), wanted, more, _semantic, _generator)
        return
    _check_no_more("distributed_barrier", more)
    if BLOCK in levels:
        meet_in_grid(of, wanted, _semantic, _generator)
    else:
        meet_in_cluster(of, wanted, _semantic, _generator)


def _mesh(function: str, value: Any) -> device_mesh:
    mesh = plain(value)
    if not isinstance(mesh, device_mesh):
        raise MeshTypeError(
            f"tle.{function} takes a mesh",
            table=[Row("mesh", "a device_mesh, as a tl.constexpr", describe_value(value))],
        )
    return mesh


def _of_devices(function: str) -> Levels:
    if _devices is None:
        raise MeshError(f"tle.{function}: GPUs and nodes are not reached by this release")
    return _devices


def _check_no_more(function: str, more: dict[str, Any]) -> None:
    if more:
        raise ArgumentTypeError(
            f"tle.{function}: these keywords belong to meshes of GPUs",
            table=[Row("keywords", "none without a context", ", ".join(more))],
        )
