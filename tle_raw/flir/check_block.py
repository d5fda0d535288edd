"""The block of a launch must be the one that a fragment was written for."""

from __future__ import annotations

from math import prod

from tle_raw.errors import RegionError, Row

WARP = 32


def check_block(block: tuple[int, ...] | None, num_warps: int, partition: str = "") -> None:
    """Nothing where any block will do.

    Parameters
    ----------
    partition : whose the warps are, where they are not the kernel's own.

    Raises
    ------
    RegionError : ``block`` has another size than ``num_warps * 32``.
    """
    threads = num_warps * WARP
    if block and prod(block) != threads:
        warps = prod(block) // WARP
        possible = prod(block) % WARP == 0 and warps & (warps - 1) == 0 and 1 <= warps <= 32
        given = f"{num_warps} warps of {partition}" if partition else f"num_warps={num_warps}"
        wanted = f"give {partition} {warps} warps" if partition else f"launch with num_warps={warps}"
        raise RegionError(
            "the fragment was written for a block of another size",
            table=[Row("threads", f"{prod(block)} (block={block})", f"{threads} ({given})")],
            hint=wanted if possible else "a block must be 32, 64, … or 1024 threads",
        )
