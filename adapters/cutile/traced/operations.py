"""cuTile's operations by opcode: each family's file registers its own here."""

from tle_raw.adapters.cutile.traced import (
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

FAMILIES = (
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

__all__ = ["FAMILIES", "OPERATIONS"]
