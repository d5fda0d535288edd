"""Writing a block tensor at composed indices, such as ``s[i // 32, i % 32]`` and ``s[i * 32 + j]``.

Every element of the block asks which lane writes it: the indices are turned round, where each element has one lane.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any

from triton.language import core

from tle_raw.adapters.tilelang.regions import uses
from tle_raw.adapters.tilelang.traced.block_reads import clip, gathered
from tle_raw.adapters.tilelang.traced.tracer import ParallelAxes, Tracer
from tle_raw.adapters.tilelang.traced.types import padded
from tle_raw.regions.shapes import shape_of


@dataclass(frozen=True)
class Inverse:
    """For a block's elements: ``places``, a variable for each dim, and by ``lanes`` the lane's variables of them."""

    places: tuple[Any, ...]
    lanes: Mapping[Any, Any]


def turn_round(tracer: Tracer, indices: Sequence[Any]) -> Inverse | None:
    """Which lane stands behind which element; None where the indices cannot be turned round."""
    from tvm.arith.iter_affine_map import IterMapLevel, detect_iter_map, inverse_affine_iter_map
    from tvm.error import InternalError
    from tvm.ir import Range
    from tvm.tirx import Var

    lanes = tracer.lanes
    if any(tracer.varies(index) for index in indices):
        return None
    places = tuple(Var(f"place_{dim}", "int32") for dim in range(len(indices)))
    walked = [dim for dim, index in enumerate(indices) if uses(index, lanes.variables)]
    used = [v for v in lanes.variables if any(uses(indices[dim], [v]) for dim in walked)]
    ranges = {v: Range(0, lanes.extents[lanes.axis(v) or 0]) for v in used}
    try:
        found = detect_iter_map([indices[dim] for dim in walked], ranges, True, IterMapLevel.Bijective)
        if not len(found.indices):
            return None
        turned = inverse_affine_iter_map(found.indices, [places[dim] for dim in walked])
    except InternalError:  # of forms that TVM detects and does not turn round
        return None
    if any(variable not in turned for variable in used):
        return None
    return Inverse(places, {variable: turned[variable] for variable in used})


def write(
    tracer: Tracer,
    inverse: Inverse,
    indices: Sequence[Any],
    extents: Sequence[int],
    value: core.tensor,
    guard: core.tensor | None,
) -> tuple[core.tensor, core.tensor | None]:
    """The value for each element of a block with these extents, and where it has one; None for everywhere."""
    with _elements(tracer, inverse, extents) as lanes:
        hits = _hits(tracer, inverse, indices, lanes)
        new = _taken(tracer, inverse, value, lanes, extents)
        if guard is not None:
            hits = tracer.both(hits, _taken(tracer, inverse, guard, lanes, extents))
    return new, hits


@contextmanager
def _elements(tracer: Tracer, inverse: Inverse, extents: Sequence[int]) -> Iterator[ParallelAxes]:
    """The block's elements in the place of the lanes, which are given."""
    before, tracer.lanes = tracer.lanes, ParallelAxes(inverse.places, tuple(extents))
    for place, extent in zip(inverse.places, extents):
        tracer.bind_range(place, 0, extent)
    try:
        yield before
    finally:
        tracer.lanes = before


def _hits(tracer: Tracer, inverse: Inverse, indices: Sequence[Any], lanes: ParallelAxes) -> core.tensor | None:
    """Elements whose lane exists, and writes them."""
    from tvm.tirx.stmt_functor import substitute

    conditions = []
    for variable, lane in inverse.lanes.items():
        conditions += [lane >= 0, lane < lanes.extents[lanes.axis(variable) or 0]]
    for place, index in zip(inverse.places, indices):
        conditions.append(substitute(index, dict(inverse.lanes)) == place)
    hits = None
    for condition in conditions:
        if not tracer.proves(condition):
            hits = tracer.both(hits, tracer.evaluate(tracer.simplify(condition)))
    return hits


def _taken(
    tracer: Tracer, inverse: Inverse, value: core.tensor, lanes: ParallelAxes, extents: Sequence[int]
) -> core.tensor:
    """Each element's own of a value that the lanes have."""
    rank = len(lanes.extents)
    value = value if shape_of(value) else tracer.reshape(value, [1] * rank)
    axes = [lanes.axis(variable) for variable in inverse.lanes]
    sizes = shape_of(value)
    if any(size != 1 for axis, size in enumerate(sizes) if axis not in axes):
        raise tracer.fail("several lanes write one element, each another value")
    value = tracer.spread(value, [padded(lanes.extents[a]) if a in axes else 1 for a in range(rank)])
    flat: Any = 0
    for variable, axis in zip(lanes.variables, range(rank)):
        if axis in axes:
            flat = flat * padded(lanes.extents[axis]) + inverse.lanes[variable]
    number: Any = 0
    for place, extent in zip(inverse.places, extents):
        number = number * padded(extent) + place
    shape = [padded(extent) for extent in extents]
    total = prod(shape_of(value))
    if total == prod(shape) and tracer.proves(flat == number):
        return tracer.semantic.reshape(value, shape, False)  # both count in the same order
    at = tracer.cast(tracer.evaluate(tracer.simplify(flat)), core.int32)
    at = clip(tracer, tracer.spread(at, shape), total)
    at = tracer.semantic.reshape(at, [prod(shape)], False)
    picked = gathered(tracer, tracer.semantic.reshape(value, [total], False), at, 0)
    return tracer.semantic.reshape(picked, shape, False)
