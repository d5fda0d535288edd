"""The block of threads that a whole kernel is launched with, as its user says it."""

from __future__ import annotations

import math
from typing import Any

from tle_raw.adapters.common.block_options import read_block
from tle_raw.adapters.common.launched_kernel import WARP, warps_for
from tle_raw.errors import DialectError, Row

MOST_THREADS = 1024

Block = tuple[int, int, int]


def read_launch_blocks(value: Any, any_size: bool = False) -> tuple[Block, ...]:
    """The blocks that ``as_kernel(block=…)`` was given: one, several, or none.

    Raises
    ------
    DialectError : as ``read_launch_block``.
    """
    if value is None:
        return ()
    if isinstance(value, (list, tuple)) and any(isinstance(item, (list, tuple)) for item in value):
        return tuple(dict.fromkeys(read_launch_block(item, any_size) for item in value))
    return (read_launch_block(value, any_size),)


def read_launch_block(value: Any, any_size: bool = False) -> Block:
    """One block, checked against what Triton can launch: whole warps, unless ``any_size`` lets threads stand idle.

    Raises
    ------
    DialectError : no extents, or not 32, 64, 96, … or 1024 threads.
    """
    x, y, z = (*read_block(value), 1, 1, 1)[:3]
    threads = math.prod((x, y, z))
    if (threads % WARP and not any_size) or threads > MOST_THREADS:
        wanted = f"at most {MOST_THREADS}"
        raise DialectError(
            f"Triton cannot launch a block of {threads} threads",
            table=[Row("threads", wanted if any_size else f"a multiple of 32, {wanted}", f"{threads} (block={value})")],
            hint="a GPU has no larger block"
            if any_size
            else "round the block up and let the threads beyond the data return, as for a grid that is too large",
        )
    return x, y, z


def warps_of(block: Block) -> int:
    """What Triton is told: a power of two. The kernel has no tensor, and gets exactly its own block all the same."""
    return warps_for(math.prod(block))
