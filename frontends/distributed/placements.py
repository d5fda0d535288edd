"""Shardings as torch writes them: one placement of ``torch.distributed.tensor`` for each axis of the mesh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.errors import MeshError, MeshTypeError, Row, ToolchainError
from tle_raw.frontends.distributed.mesh import device_mesh
from tle_raw.frontends.distributed.sharding import ShardingSpec, sharding


def to_placements(spec: ShardingSpec) -> list[Any]:
    """``Shard(dim)``, ``Partial()`` or ``Replicate()`` for each axis of the mesh, in its order.

    Raises
    ------
    MeshError : a dim whose axes are nested in another order than the mesh's: DTensor has no word for it.
    ToolchainError : torch is not installed.
    """
    tensor = _torch()
    order = spec.mesh.dim_names
    for dim, names in enumerate(spec.split):
        if [order.index(name) for name in names] != sorted(order.index(name) for name in names):
            raise MeshError(
                f"dim {dim} is split by axes in another order than the mesh's, which DTensor cannot say",
                table=[Row(f"split[{dim}]", ", ".join(name for name in order if name in names), ", ".join(names))],
            )
    placements = []
    for name in order:
        split = spec.split_dim(name)
        if split is not None:
            placements.append(tensor.Shard(split))
        else:
            placements.append(tensor.Partial() if name in spec.partial else tensor.Replicate())
    return placements


def from_placements(mesh: device_mesh, placements: Sequence[Any], rank: int) -> ShardingSpec:
    """The sharding that a DTensor of ``rank`` dims has, by its ``placements``, one for each axis of ``mesh``.

    Raises
    ------
    MeshError : another number of placements than axes, a dim that the tensor does not have, a ``Partial`` that is no
        sum. MeshTypeError : a placement of another kind, such as a strided one.
    ToolchainError : torch is not installed.
    """
    tensor = _torch()
    if len(placements) != mesh.ndim:
        raise MeshError(
            "a DTensor has one placement for each axis of its mesh",
            table=[Row("placements", f"{mesh.ndim}: {', '.join(mesh.dim_names)}", f"{len(placements)}")],
        )
    split: list[list[str]] = [[] for _ in range(rank)]
    partial = []
    for name, placement in zip(mesh.dim_names, placements, strict=True):
        if type(placement) is tensor.Shard:
            if not -rank <= placement.dim < rank:
                raise MeshError(
                    f"axis `{name}` splits a dim that the tensor does not have",
                    table=[Row(name, f"Shard of 0 to {rank - 1}", repr(placement))],
                )
            split[placement.dim].append(name)
        elif isinstance(placement, tensor.Partial):
            if placement.reduce_op != "sum":
                raise MeshError(
                    "partial tensors are added",
                    table=[Row(name, 'Partial("sum")', f'Partial("{placement.reduce_op}")')],
                )
            partial.append(name)
        elif type(placement) is not tensor.Replicate:
            raise MeshTypeError(
                f"the placement of axis `{name}` has no counterpart",
                table=[Row(name, "Shard(dim), Partial() or Replicate()", repr(placement))],
            )
    return sharding(mesh, split, partial)


def _torch() -> Any:
    try:
        import torch.distributed.tensor as tensor
    except ImportError as missing:
        raise ToolchainError(
            "placements are torch's, and torch is not installed", hint="pip install torch"
        ) from missing
    return tensor
