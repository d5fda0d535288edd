"""``triton.experimental.tle.language.distributed``: meshes, and who is reached in them, as FlagTree calls it.

Grids of kernels that use these names count clusters along their first axis, as FlagTree launches them.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import triton
import triton.language as tl
from triton.language import core

from tle_raw import language as ours
from tle_raw.distributed import MeshConfig, ShardedTensor, ShardingSpec
from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.distributed import context_layout
from tle_raw.frontends.distributed.device_memory import region_of, world_of
from tle_raw.frontends.distributed.existing_peer import existing_peer
from tle_raw.frontends.distributed.traced_call import checked_context, scalar_integer
from tle_raw.frontends.lite.arguments import describe_value, is_integer, plain
from tle_raw.frontends.lite.kernel_function import kernel_function
from tle_raw.frontends.lite.traced_call import call_kernel_function
from tle_raw.language import B, P, S, device_mesh, distributed_dot, make_sharded_tensor, reshard, sharding
from tle_raw.regions.stages import count_clusters, noted_cluster

__all__ = [
    "B",
    "BarrierKind",
    "GroupKind",
    "MemoryOrder",
    "MeshConfig",
    "P",
    "S",
    "ShardedTensor",
    "ShardingSpec",
    "device_mesh",
    "distributed_barrier",
    "distributed_dot",
    "make_sharded_tensor",
    "n_pes",
    "remote",
    "reshard",
    "shard_id",
    "sharding",
    "signal",
    "signal_wait",
]

_TENSORS = tl.constexpr(context_layout.TENSORS)
_CLUSTER, _DEVICE = "cluster", "device"


class BarrierKind(Enum):
    """A whole barrier, or one of its halves."""

    ARRIVE = "arrive"
    WAIT = "wait"
    SYNC = "sync"


class MemoryOrder(Enum):
    """What a barrier orders. All of them release before and acquire behind, whatever is asked for."""

    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acqrel"


class GroupKind(Enum):
    """Who takes part: the threads of a block, or all blocks of the grid."""

    THREAD = "thread"
    WARP = "warp"
    BLOCK = "block"
    TILE_SPAN = "tile_span"
    LANES = "lanes"
    GRID = "grid"


def _shard_id(
    mesh: Any, axis: Any, device_dptr: Any = None, comm_ptr: Any = None, _semantic: Any = None, _generator: Any = None
) -> core.tensor:
    """``tle.shard_id``; ``device_dptr``, or in older programs ``comm_ptr``, is the context."""
    count_clusters()
    context = device_dptr if plain(device_dptr) is not None else comm_ptr
    return ours.shard_id(mesh, axis, context, _semantic=_semantic, _generator=_generator)


def _distributed_barrier(
    mesh: Any = None,
    device_dptr: Any = None,
    space: Any = None,
    group_kind: Any = GroupKind.BLOCK,
    barrier_kind: Any = BarrierKind.SYNC,
    order: Any = MemoryOrder.ACQ_REL,
    index: Any = 0,
    _semantic: Any = None,
    _generator: Any = None,
) -> None:
    """``tle.distributed_barrier``. In a kernel without clusters one without a mesh is a barrier of the block."""
    traced = {"_semantic": _semantic, "_generator": _generator}
    count_clusters()
    kind = _one_of("barrier_kind", barrier_kind, BarrierKind)
    if plain(mesh) is None and plain(device_dptr) is None and not noted_cluster():
        core.debug_barrier(_semantic=_semantic)
        return
    ours.distributed_barrier(mesh, device_dptr, kind.value, **traced)


def _remote(
    tensor: Any,
    shard_id: Any,
    scope: Any = None,
    space: Any = _CLUSTER,
    dtype: Any = None,
    offset: Any = None,
    coopkind: Any = None,
    netidx: Any = 0,
    _semantic: Any = None,
    _generator: Any = None,
) -> Any:
    """``tle.remote``: ``scope`` is the mesh.

    With ``space="device"`` the tensor is the context; the result points to a peer's memory for tensors, ``offset``
    elements of ``dtype`` from its beginning.

    Raises
    ------
    ArgumentTypeError : another space, or no dtype.
    """
    where = plain(space)
    count_clusters()
    if where == _CLUSTER:
        if plain(scope) is None and not noted_cluster() and plain(shard_id) == 0:
            return tensor  # a cluster of one block
        return ours.remote(tensor, shard_id, mesh=scope, _semantic=_semantic, _generator=_generator)
    if where != _DEVICE:
        raise ArgumentTypeError(
            "tle.remote: memory that is reached", table=[Row("space", f"{_CLUSTER}, {_DEVICE}", describe_value(space))]
        )
    element = plain(dtype)
    if not isinstance(element, core.dtype):
        raise ArgumentTypeError(
            "tle.remote: what lies in a peer's memory", table=[Row("dtype", "tl.float32, …", describe_value(dtype))]
        )
    traced = {"semantic": _semantic, "generator": _generator}
    context = checked_context("remote", tensor)
    peer = scalar_integer("remote", "shard_id", shard_id, _semantic)
    start = 0 if plain(offset) is None else offset
    if is_integer(plain(start)):
        start = scalar_integer("remote", "offset", start, _semantic)
    peer = existing_peer(peer, context, _semantic, _generator)
    base = call_kernel_function(_tensors_of, context, peer, **traced)
    pointer = _semantic.cast(base, core.pointer_type(element))
    return _semantic.add(pointer, start, False)


def _signal(
    device_dptr: Any,
    peer: Any,
    slot_id: Any,
    value: Any = None,
    op: Any = "inc",
    space: Any = "intra_node",
    group_kind: Any = GroupKind.BLOCK,
    context_idx: Any = 0,
    scope: Any = "system",
    _semantic: Any = None,
    _generator: Any = None,
) -> None:
    """``tle.signal``; ``op`` is ``"inc"``, ``"add"`` or ``"set"``.

    Raises ArgumentTypeError for another one.
    """
    how, number = plain(op), 1 if plain(value) is None else value
    if how not in ("inc", "add", "set"):
        raise ArgumentTypeError("tle.signal: its operations", table=[Row("op", "inc, add, set", describe_value(op))])
    known = "set" if how == "set" else "add"
    ours.signal(device_dptr, peer, slot_id, number, known, _semantic=_semantic, _generator=_generator)


def _signal_wait(
    device_dptr: Any,
    slot_id: Any,
    wait_kind: Any = "signal",
    target: Any = None,
    group_kind: Any = GroupKind.BLOCK,
    context_idx: Any = 0,
    order: Any = "acquire",
    _semantic: Any = None,
    _generator: Any = None,
) -> None:
    """``tle.signal_wait`` until the number has reached ``target``, which is 1 if it is not named.

    Raises ArgumentTypeError for another ``wait_kind`` than ``"signal"``.
    """
    if plain(wait_kind) != "signal":
        raise ArgumentTypeError(
            "tle.signal_wait: what is waited for", table=[Row("wait_kind", "signal", describe_value(wait_kind))]
        )
    until = 1 if plain(target) is None else target
    ours.signal_wait(device_dptr, slot_id, until, _semantic=_semantic, _generator=_generator)


def _n_pes(device_dptr: Any, _semantic: Any = None, _generator: Any = None) -> core.tensor:
    """How many members the context has."""
    context = checked_context("n_pes", device_dptr)
    return call_kernel_function(world_of, context, semantic=_semantic, generator=_generator)


def _one_of(name: str, value: Any, kinds: type[Enum]) -> Enum:
    given = plain(value)
    for kind in kinds:
        if given in (kind, kind.value, kind.name):
            return kind
    raise ArgumentTypeError(
        f"tle.distributed_barrier: {name}",
        table=[Row(name, ", ".join(str(kind) for kind in kinds), describe_value(value))],
    )


@triton.jit
def _tensors_of(context, member):  # type: ignore[no-untyped-def]
    return region_of(context, member) + tl.load(context + _TENSORS)


shard_id = kernel_function(_shard_id, "shard_id")
distributed_barrier = kernel_function(_distributed_barrier, "distributed_barrier")
remote = kernel_function(_remote, "remote")
signal = kernel_function(_signal, "signal")
signal_wait = kernel_function(_signal_wait, "signal_wait")
n_pes = kernel_function(_n_pes, "n_pes")
