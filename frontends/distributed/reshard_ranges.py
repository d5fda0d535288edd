"""Where in a tensor a member's part begins and how long it is, as numbers of a kernel: what ``local_box`` says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tle_raw.frontends.distributed.folding import Folding
from tle_raw.frontends.distributed.reshard_plan import Plan
from tle_raw.frontends.distributed.sharding import ShardingSpec

Range = tuple[Any, Any]  # the first index and the length


def part(folding: Folding, size: Any, counts: Sequence[int], coordinates: Sequence[Any], align: int = 1) -> Range:
    """The part of a dim that is cut ``counts[i]`` times, the outermost first. An empty part begins anywhere."""
    begin, length = 0, size
    for count, coordinate in zip(counts, coordinates, strict=True):
        if count == 1:
            continue
        step = folding.multiple(folding.ceil_divide(length, count), align)
        place = folding.multiply(coordinate, step)
        begin = folding.add(begin, place)
        if isinstance(length, int) and length % count == 0:
            length = step
        else:
            rest = folding.subtract(length, place)
            length = folding.multiple(folding.maximum(folding.minimum(rest, step), 0), align)
    return folding.multiple(begin, align), length


def ranges(
    folding: Folding, plan: Plan, spec: ShardingSpec, sizes: Sequence[Any], places: Mapping[str, Any], align: int
) -> list[Range]:
    """The part of every dim that a member has whose coordinates these are; ``align`` holds along the last dim."""
    found = []
    for dim in range(plan.rank):
        names = plan.split(spec, dim)
        promised = align if dim == plan.rank - 1 else 1
        found.append(part(folding, sizes[dim], plan.sizes(names), [places[name] for name in names], promised))
    return found


def largest(folding: Folding, plan: Plan, spec: ShardingSpec, sizes: Sequence[Any], align: int) -> list[Any]:
    """The shape of the first member's part."""
    first = dict.fromkeys(plan.before.mesh.dim_names, 0)
    return [length for _, length in ranges(folding, plan, spec, sizes, first, align)]


def strides(folding: Folding, shape: Sequence[Any], align: int) -> list[Any]:
    """Of a tensor of this shape whose last dim is contiguous, in elements."""
    found, stride = [], 1
    for size in reversed(shape):
        found.append(stride)
        stride = folding.multiple(folding.multiply(stride, size), align)
    return found[::-1]


def owner(folding: Folding, plan: Plan, dim: int, size: Any, places: Mapping[str, Any], index: Any) -> dict[str, Any]:
    """The coordinates, along the axes that are searched in a dim, of the one who has the element with this index."""
    begin, length = 0, size
    found = {}
    names = plan.split(plan.before, dim)
    for name, count in zip(names, plan.sizes(names), strict=True):
        step = folding.ceil_divide(length, count)
        coordinate = places[name]
        if name in plan.searched[dim]:
            inside = folding.subtract(index, begin)
            coordinate = found[name] = 0 if count == 1 else folding.divide(inside, step)
        begin = folding.add(begin, folding.multiply(coordinate, step))
        length = step
    return found
