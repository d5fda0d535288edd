"""The options that every dialect with thread blocks has: ``block=`` and ``shared=``."""

from __future__ import annotations

from tle_raw.fragments.options import wrong_type


def read_block(value: object) -> tuple[int, ...]:
    """The option ``block=``: one to three extents."""
    block = (value,) if isinstance(value, int) else value
    if not isinstance(block, (list, tuple)) or len(block) > 3:
        raise wrong_type("block", "one to three positive integers", value)
    if any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in block):
        raise wrong_type("block", "one to three positive integers", value)
    return tuple(block)


def read_shared(value: object) -> int:
    """The option ``shared=``: bytes."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise wrong_type("shared", "a number of bytes", value)
    return value


def read_cluster(value: object) -> int:
    """The option ``cluster=``: how many blocks along x are a cluster, 1 to 16."""
    if isinstance(value, bool) or not isinstance(value, int) or value not in (1, 2, 4, 8, 16):
        raise wrong_type("cluster", "1, 2, 4, 8 or 16 blocks along x", value)
    return value
