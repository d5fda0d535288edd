"""Which NVIDIA GPU a kernel is compiled for, and what only some have."""

from __future__ import annotations

import re
from typing import Any

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.regions.partitions import warps_here
from tle_raw.regions.stages import compiled_target

_AMPERE = 80
BLACKWELL = range(100, 120)  # sm_120 and later have no tensor memory


def capability_of(semantic: Any) -> int:
    """90 for sm_90; 0 where Triton does not say."""
    found = re.search(r"\d+", str(semantic.builder.options.arch))
    return int(found[0]) if found else 0


def check_has_barriers(function: str, semantic: Any, generator: Any) -> None:
    """The GPU counts arrivals at words of shared memory: it has mbarriers.

    Raises
    ------
    ArgumentTypeError : it has none.
    """
    if generator is not None and compiled_target() == "cuda" and capability_of(semantic) < _AMPERE:
        raise ArgumentTypeError(
            f"{function}: this GPU has no barriers in shared memory (mbarrier)",
            table=[Row("GPU", "sm_80 or later", f"sm_{capability_of(semantic)}")],
            hint="without partitions Triton orders accesses to buffers itself",
        )


def check_has_tensor_memory(function: str, semantic: Any, generator: Any) -> None:
    """The GPU has tensor memory; elsewhere it is memory like any other.

    Raises
    ------
    ArgumentTypeError : it has none, or the block has too few warps to read it.
    """
    if generator is None or compiled_target() != "cuda":
        return
    options = semantic.builder.options
    if capability_of(semantic) not in BLACKWELL:
        raise ArgumentTypeError(
            f"tle.gpu.{function}: this GPU has no tensor memory",
            table=[Row("GPU", "sm_100", f"sm_{capability_of(semantic)}")],
            hint="accumulate in registers there: wgmma with a block tensor as acc",
        )
    warps = warps_here(options.num_warps)
    if warps not in (4, 8):
        raise ArgumentTypeError(
            f"tle.gpu.{function}: four warps read the rows of tensor memory, eight also in two halves of its columns",
            table=[Row("num_warps", "4 or 8", str(warps))],
        )
