"""Meshes as torch writes them: a ``torch.distributed.device_mesh.DeviceMesh`` of a mesh's devices, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tle_raw.errors import MeshError, MeshTypeError, Row, ToolchainError
from tle_raw.frontends.distributed.device_ranks import HOST_LEVELS, ranks_of
from tle_raw.frontends.distributed.mesh import device_mesh


def to_torch_mesh(mesh: device_mesh, device_type: str = "cuda") -> Any:
    """torch's ``DeviceMesh`` of the same devices: its ranks are their numbers in the context of all.

    Parameters
    ----------
    mesh : of nodes and devices alone; a part of one too. All processes of torch's default group call this.
    device_type : as torch names it.

    Raises
    ------
    MeshError : the mesh has clusters or blocks. ToolchainError : torch is not installed.
    """
    ranks = ranks_of(mesh)
    torch, meshes = _torch()
    return meshes.DeviceMesh(device_type, torch.tensor(ranks).view(mesh.shape), mesh_dim_names=mesh.dim_names)


def from_torch_mesh(torch_mesh: Any, levels: Mapping[str, str] | None = None) -> device_mesh:
    """The mesh of a ``DeviceMesh`` of all ranks in their order.

    Parameters
    ----------
    torch_mesh : its dims have names, or are called ``dim0``, ``dim1``, …
    levels : ``{"replicas": "node"}`` says which dims are not of level ``device``. Nodes come before devices.

    Raises
    ------
    MeshTypeError : no DeviceMesh. MeshError : ranks that are not 0, 1, 2, … in order, or a level that is none.
    """
    ranks = getattr(torch_mesh, "mesh", None)
    if ranks is None:
        raise MeshTypeError("this is no mesh of torch", table=[Row("mesh", "a DeviceMesh", type(torch_mesh).__name__)])
    found = ranks.flatten().tolist()
    if found != list(range(len(found))):
        raise MeshError(
            "members are numbered in the order of the mesh",
            table=[Row("ranks", f"0 to {len(found) - 1}", ", ".join(map(str, found)))],
            hint="make the mesh of all ranks, and take its part: mesh[0], mesh[:, 1:]",
        )
    names = torch_mesh.mesh_dim_names or [f"dim{number}" for number in range(ranks.ndim)]
    unknown = set(levels or {}) - set(names) | set((levels or {}).values()) - set(HOST_LEVELS)
    if unknown:
        raise MeshError(
            "a dim of torch's mesh is of a level",
            table=[Row("levels", f"{', '.join(names)}: {', '.join(HOST_LEVELS)}", repr(dict(levels or {})))],
        )
    topology: dict[str, list[tuple[str, int]]] = {}
    for name, size in zip(names, ranks.shape, strict=True):
        topology.setdefault((levels or {}).get(name, "device"), []).append((name, int(size)))
    mesh = device_mesh(topology)
    if mesh.dim_names != tuple(names):
        raise MeshError("nodes come before devices", table=[Row("dims", ", ".join(mesh.dim_names), ", ".join(names))])
    return mesh


def _torch() -> tuple[Any, Any]:
    try:
        import torch
        import torch.distributed.device_mesh as meshes
    except ImportError as missing:
        raise ToolchainError("DeviceMesh is torch's, and torch is not installed", hint="pip install torch") from missing
    return torch, meshes
