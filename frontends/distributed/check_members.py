"""Launches of kernels for several GPUs: a mesh of other devices than the context's is refused before it begins.

Triton's launcher of a kernel that has such a mesh among its arguments looks at the context first; launchers of other
kernels stay as they are. A kernel whose mesh is a global constant finds it out itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from triton.language import core

from tle_raw.errors import MeshError, Row
from tle_raw.frontends.distributed.device_ranks import HOST_LEVELS, nodes_of, world_of
from tle_raw.frontends.distributed.mesh import device_mesh
from tle_raw.targets.cuda_launchers import Look, look_at_launches


def install() -> None:
    """Launchers of Triton's for NVIDIA GPUs check the contexts of such kernels. Idempotent."""
    look_at_launches(look_for_members)


def look_for_members(source: Any, metadata: Any) -> Look | None:
    """What looks at the contexts of a kernel; None where it has no mesh of devices."""
    meshes = [mesh for mesh in map(_plain, getattr(source, "constants", {}).values()) if _has_devices(mesh)]
    return partial(_checked, meshes) if meshes else None


def check_members(meshes: Iterable[device_mesh], arguments: Iterable[Any]) -> None:
    """Contexts among a launch's arguments have as many members, and nodes, as the kernel's meshes.

    Raises
    ------
    MeshError : another number.
    """
    for argument in arguments:
        layout = getattr(argument, "layout", None)
        members = getattr(layout, "world", None) if hasattr(argument, "data_ptr") else None
        for mesh in meshes if members is not None else ():
            if world_of(mesh) != members:
                raise MeshError(
                    "the kernel's mesh has other devices than the context",
                    table=[Row("devices", str(world_of(mesh)), str(members))],
                )
            nodes = getattr(layout, "nodes", 1)
            if nodes > 1 and nodes_of(mesh) != nodes:
                raise MeshError(
                    "the kernel's mesh has other nodes than the context",
                    table=[Row("nodes", str(nodes_of(mesh)), str(nodes))],
                )


def _checked(meshes: list[device_mesh], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    for one in arguments:
        check_members(meshes, one if isinstance(one, tuple) else (one,))
    return arguments


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, core.constexpr) else value


def _has_devices(value: Any) -> bool:
    return isinstance(value, device_mesh) and any(axis.level in HOST_LEVELS for axis in value.launch_axes)
