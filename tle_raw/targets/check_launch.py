"""Launches of kernels whose blocks form clusters or meet: a grid that does not fit is refused before it begins.

Triton's launcher of such a kernel looks at the grid first; those of other kernels stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from tle_raw.errors import MeshError, Row
from tle_raw.regions.clusters import COUNTED, METADATA
from tle_raw.targets.cuda_launchers import Look, look_at_launches


def install() -> None:
    """Launchers of Triton's for NVIDIA GPUs check the grids of such kernels. Idempotent."""
    look_at_launches(look_for_grids)


def look_for_grids(source: Any, metadata: Any) -> Look | None:
    """What looks at the grids of a kernel; None where any will do."""
    wanted = getattr(metadata, METADATA, None)
    return partial(_checked, wanted) if wanted else None


def blocks_of(wanted: Mapping[str, Any], grid: tuple[int, int, int]) -> tuple[int, int, int]:
    """The grid in blocks: that of a kernel in FlagTree's names counts clusters."""
    if not wanted.get(COUNTED):
        return grid
    x, y, z = (count * blocks for count, blocks in zip(grid, wanted[COUNTED]))
    return x, y, z


def check_grid(wanted: Mapping[str, Any], grid: tuple[int, int, int]) -> None:
    """A grid fits what a kernel's meshes say of it.

    Raises
    ------
    MeshError : its first axis is no whole number of clusters or of the mesh's blocks, or other blocks meet.
    """
    blocks, programs, exactly = wanted["cluster"], wanted["programs"], wanted["exactly"]
    if blocks and not wanted.get(COUNTED) and grid[0] % blocks:
        raise MeshError(
            "the grid is no whole number of clusters: neighbours along its first axis form one",
            table=[Row("grid[0]", f"a multiple of {blocks}", str(grid[0]))],
        )
    if grid[0] % programs:
        raise MeshError(
            "the grid does not fit the kernel's mesh of blocks",
            table=[Row("grid[0]", f"a multiple of {programs}", str(grid[0]))],
        )
    if exactly and grid[0] * grid[1] * grid[2] != exactly:
        raise MeshError(
            "all blocks of the launch meet, and they are others than the mesh's",
            table=[Row("blocks of the grid", str(exactly), " × ".join(map(str, grid)))],
        )


def _checked(wanted: Mapping[str, Any], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    grid = blocks_of(wanted, arguments[:3])
    check_grid(wanted, grid)
    return (*grid, *arguments[3:])
