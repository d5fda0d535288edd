"""``tl.gather`` for traced dialects, in a form that every Triton compiles.

Before Triton 3.9 its pass that lays gathers out (OptimizeThreadLocality) fails where more elements are taken than there
are along the axis, from fewer rows than the block has warps. Those rows are gathered from as one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from triton.language import core

from tle_raw.regions.partitions import warps_here
from tle_raw.regions.shapes import shape_of
from tle_raw.triton_types import Semantic
from tle_raw.triton_version import VERSION

_FAILS = VERSION < (3, 9)


def gather(semantic: Semantic, value: core.tensor, at: core.tensor, axis: int) -> core.tensor:
    """The elements of ``value`` along ``axis`` at the indices ``at``; the other dims are equal."""
    sizes, wanted = shape_of(value), shape_of(at)
    rows = math.prod(wanted) // wanted[axis]
    own = getattr(getattr(semantic.builder, "options", None), "num_warps", 1)
    if not _FAILS or len(sizes) == 1 or wanted[axis] <= sizes[axis] or rows >= max(own, warps_here(own)):
        return semantic.gather(value, at, axis)
    flat = _flat_index(semantic, at, axis, sizes)
    flat_value, flat_at = (semantic.reshape(t, [math.prod(shape_of(t))], False) for t in (value, flat))
    return semantic.reshape(semantic.gather(flat_value, flat_at, 0), list(wanted), False)


def _flat_index(semantic: Semantic, at: core.tensor, axis: int, sizes: Sequence[int]) -> core.tensor:
    """The index in row-major order of what ``at`` names along the axis."""
    element, rank = at.type.scalar, len(sizes)
    strides = [math.prod(sizes[d + 1 :]) for d in range(rank)]
    flat = semantic.mul(at, semantic.scalar_constant(strides[axis], element), False)
    for dim in range(rank):
        if dim == axis or sizes[dim] == 1:
            continue
        own = semantic.cast(semantic.arange(0, sizes[dim]), element)
        own = semantic.mul(own, semantic.scalar_constant(strides[dim], element), False)
        own = semantic.reshape(own, [sizes[dim] if d == dim else 1 for d in range(rank)], False)
        flat = semantic.add(flat, semantic.broadcast_impl_shape(own, list(shape_of(at))), False)
    return flat
