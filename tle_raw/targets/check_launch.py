"""Launches of kernels whose blocks form clusters or meet: a grid that does not fit is refused before it begins.

Triton's launcher of such a kernel is given a function that looks at the grid first; those of other kernels stay as they
are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from tle_raw.errors import MeshError, Row
from tle_raw.regions.clusters import COUNTED, METADATA
from tle_raw.thread_lock import ThreadLock

_MARK = "tle_raw_checks_launches"
_LOCK = ThreadLock()


def install() -> None:
    """Launchers of Triton's for NVIDIA GPUs check the grids of such kernels. Idempotent."""
    try:
        from triton.backends.nvidia.driver import CudaLauncher
    except ImportError:  # a build of Triton may leave that backend out
        return
    with _LOCK:
        if not getattr(CudaLauncher.__init__, _MARK, False):
            CudaLauncher.__init__ = _checked(CudaLauncher.__init__)


def blocks_of(wanted: Mapping[str, int], grid: tuple[int, int, int]) -> tuple[int, int, int]:
    """The grid in blocks: that of a kernel in FlagTree's names counts clusters along its first axis."""
    return (grid[0] * wanted["cluster"], grid[1], grid[2]) if wanted.get(COUNTED) else grid


def check_grid(wanted: Mapping[str, int], grid: tuple[int, int, int]) -> None:
    """A grid fits what a kernel's meshes say of it.

    Raises
    ------
    MeshError : its first axis is no whole number of clusters or of the mesh's blocks, or other blocks meet.
    """
    blocks, programs, exactly = wanted["cluster"], wanted["programs"], wanted["exactly"]
    if blocks and grid[0] % blocks:
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


def _checked(own: Callable[..., None]) -> Callable[..., None]:
    @wraps(own)
    def __init__(self: Any, source: Any, metadata: Any) -> None:
        own(self, source, metadata)
        wanted = getattr(metadata, METADATA, None)
        if wanted:
            self.launch = _launching(self.launch, wanted)

    setattr(__init__, _MARK, True)
    return __init__


def _launching(launch: Callable[..., Any], wanted: dict[str, int]) -> Callable[..., Any]:
    @wraps(launch)
    def launched(*arguments: Any) -> Any:
        grid = blocks_of(wanted, arguments[:3])
        check_grid(wanted, grid)
        return launch(*grid, *arguments[3:])

    return launched
