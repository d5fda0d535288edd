"""cuTile's operations by opcode: each family's file registers its own here."""

from tle_raw.adapters.cutile.traced import (  # noqa: F401  each registers its own
    arithmetic,
    atomics,
    casts,
    control,
    grid,
    lists,
    messages,
    mma,
    pointers,
    promises,
    reductions,
    shapes,
    unary,
    views,
)
from tle_raw.adapters.cutile.traced.tracer import OPERATIONS

__all__ = ["OPERATIONS"]
